//! `fs::File` and `fs::OpenOptions`: all that std's can do, and a close that tells.

#[cfg(unix)]
#[path = "support/again.rs"]
mod again;

use std::io::{IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use manyfiles::close::{self, FastClose};
use manyfiles::fs::{self, File, OpenOptions};

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// What a library asks for that takes any file.
fn takes_any_file(file: &mut (impl Read + Write + Seek + Send + 'static)) {
    file.write_all(b"0123456789").unwrap();
    file.rewind().unwrap();
    let mut start = [0; 4];
    file.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"0123");
    assert_eq!(file.stream_position().unwrap(), 4);
    assert_eq!(file.seek(SeekFrom::End(-3)).unwrap(), 7);
    file.seek_relative(-1).unwrap();
    let mut rest = String::new();
    file.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "6789");
    // Windows takes the first one only.
    let (written, read) = if cfg!(unix) { (3, 5) } else { (2, 2) };
    assert_eq!(file.write_vectored(&[IoSlice::new(b"ab"), IoSlice::new(b"c")]).unwrap(), written);
    file.write_all(&b"abc"[written..]).unwrap();
    file.flush().unwrap();
    file.seek(SeekFrom::Start(8)).unwrap();
    let (mut one, mut two) = ([0; 2], [0; 3]);
    assert_eq!(file.read_vectored(&mut [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)]).unwrap(), read);
    assert_eq!((&one, &two[..read - 2]), (b"89", &b"abc"[..read - 2]));
    file.seek(SeekFrom::Start(0)).unwrap();
    let mut all = Vec::new();
    file.read_to_end(&mut all).unwrap();
    assert_eq!(all, b"0123456789abc");
}

#[test]
fn it_reads_writes_and_seeks_as_itself_and_through_a_reference() {
    let temp = tempfile::tempdir().unwrap();
    let open =
        |name: &str| File::options().read(true).write(true).create_new(true).open(temp.path().join(name)).unwrap();
    takes_any_file(&mut open("itself"));
    let file: &'static File = Box::leak(Box::new(open("reference")));
    takes_any_file(&mut &*file);
    takes_any_file(&mut FastClose::from(open("fast close")));
    takes_any_file(&mut open("std").into_inner());
    takes_any_file(&mut File::from(std::fs::File::create_new(temp.path().join("from std")).unwrap()));
    write!(open("fmt"), "{}-{}", 1, 2).unwrap();
    assert_eq!(read(&temp.path().join("fmt")), "1-2");
}

#[test]
fn the_methods_of_std_are_its_own_too() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    let mut file = File::create_new(&path).unwrap();
    File::create_new(&path).unwrap_err();
    file.write_all(b"some text").unwrap();
    file.sync_all().unwrap();
    file.set_len(4).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 4);
    file.try_clone().unwrap().write_all(b"!").unwrap();
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    file.set_modified(time).unwrap();
    assert_eq!(format!("{file:?}"), format!("{:?}", *file));
    drop(file);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), time);
    assert_eq!(read(&path), "some\0\0\0\0\0!");
}

#[test]
fn every_choice_of_opening_is_there() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    OpenOptions::new().write(true).open(&path).unwrap_err();
    OpenOptions::new().write(true).create(true).open(&path).unwrap().write_all(b"long text").unwrap();
    OpenOptions::new().write(true).open(&path).unwrap().write_all(b"LONG").unwrap();
    assert_eq!(read(&path), "LONG text");
    let append = OpenOptions::new().append(true).clone();
    append.open(&path).unwrap().write_all(b"!").unwrap();
    append.open(&path).unwrap().write_all(b"!").unwrap();
    assert_eq!(read(&path), "LONG text!!");
    File::options().write(true).truncate(true).open(&path).unwrap();
    assert_eq!(read(&path), "");
    let mut std = std::fs::OpenOptions::new();
    std.read(true).write(true);
    takes_any_file(&mut OpenOptions::from(std).open(&path).unwrap());
    close::wait().unwrap();
}

#[test]
fn a_child_process_writes_to_it() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("out");
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.arg("--list").stdout(Stdio::from(File::create(&path).unwrap()));
    assert!(manyfiles_testkit::started(|| child.status()).unwrap().success());
    assert!(read(&path).contains("a_child_process_writes_to_it"));
}

#[cfg(unix)]
mod unix {
    use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};
    use std::os::unix::fs::{FileExt, PermissionsExt};

    use manyfiles_testkit::{Call, Need, Preload, Rule, skip_unless};

    use super::*;

    #[test]
    fn it_is_a_file_of_unix() {
        let temp = tempfile::tempdir().unwrap();
        let file = File::create_new(temp.path().join("file")).unwrap();
        file.write_all_at(b"some text", 0).unwrap();
        assert_eq!(file.write_at(b"T", 5).unwrap(), 1);
        let mut text = [0; 4];
        file.read_exact_at(&mut text, 5).unwrap();
        assert_eq!(file.read_at(&mut text, 5).unwrap(), 4);
        assert_eq!(&text, b"Text");
        assert_eq!(file.as_fd().as_raw_fd(), file.as_raw_fd());
        let raw = file.as_raw_fd();
        let owned = OwnedFd::from(file);
        assert_eq!(File::from(std::fs::File::from(owned)).into_raw_fd(), raw);
    }

    #[test]
    fn the_choices_of_unix_are_methods() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        OpenOptions::new().write(true).create(true).mode(0o600).open(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::os::unix::fs::symlink(&path, temp.path().join("link")).unwrap();
        let error =
            File::options().read(true).custom_flags(libc::O_NOFOLLOW).open(temp.path().join("link")).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ELOOP));
    }

    /// Runs `test` again in a process where closes of files with "fails" in their path fail. `false`: this is that
    /// process.
    fn where_closes_fail(test: &str) -> bool {
        let parent = !again::is_again();
        if parent {
            again::again(test, |command| {
                let rule = Rule::fail(Call::Close, libc::EDQUOT).path_contains("fails");
                Preload::new().rule(rule).apply(command).unwrap();
            });
        }
        parent
    }

    #[test]
    fn a_close_that_fails_is_told_with_the_path_that_was_given() {
        skip_unless!(Need::Preload);
        if where_closes_fail("unix::a_close_that_fails_is_told_with_the_path_that_was_given") {
            return;
        }
        let temp = tempfile::tempdir().unwrap();
        std::env::set_current_dir(temp.path()).unwrap();
        let told = || -> Vec<String> {
            let told = close::wait().unwrap_err().into_iter().map(|error| {
                assert_eq!(error.raw_os_error(), Some(libc::EDQUOT));
                error.path().expect("all of them have one").to_str().unwrap().to_owned()
            });
            told.collect()
        };
        fs::write("fails by write", "text").unwrap();
        assert_eq!(told(), ["fails by write"]);
        fs::read("fails by write").unwrap();
        fs::read_to_string("./fails by write").unwrap();
        assert_eq!(told(), ["fails by write", "./fails by write"]);
        fs::write("source", "text").unwrap();
        fs::copy("source", "fails by copy").unwrap();
        if cfg!(not(target_vendor = "apple")) {
            assert_eq!(told(), ["fails by copy"]);
        }
        File::create("fails by drop").unwrap().write_all(b"text").unwrap();
        assert_eq!(told(), ["fails by drop"]);
        drop(FastClose::from(File::open("fails by drop").unwrap()));
        assert_eq!(
            close::wait().unwrap_err().into_iter().next().unwrap().path(),
            None,
            "a FastClose has no room for it"
        );
        drop(File::open("fails by drop").unwrap().into_inner());
        close::wait().expect("std's file tells nobody");
    }

    #[test]
    fn a_write_that_fails_is_not_the_only_thing_told_if_the_close_fails_as_well() {
        skip_unless!(Need::Preload);
        if !again::is_again() {
            again::again("unix::a_write_that_fails_is_not_the_only_thing_told_if_the_close_fails_as_well", |command| {
                let write = Rule::fail(Call::Write, libc::EIO).path_contains("fails");
                let close = Rule::fail(Call::Close, libc::EDQUOT).path_contains("fails");
                Preload::new().rule(write).rule(close).apply(command).unwrap();
            });
            return;
        }
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("fails");
        assert_eq!(fs::write(&path, "text").unwrap_err().raw_os_error(), Some(libc::EIO));
        let errors = close::wait().unwrap_err();
        assert_eq!(errors.len(), 1);
        let error = errors.into_iter().next().unwrap();
        assert_eq!((error.raw_os_error(), error.path()), (Some(libc::EDQUOT), Some(&*path)));
    }
}

#[cfg(windows)]
mod windows {
    use std::os::windows::fs::{FileExt, MetadataExt};
    use std::os::windows::io::{AsHandle, AsRawHandle, IntoRawHandle, OwnedHandle};

    use super::*;

    #[test]
    fn it_is_a_file_of_windows() {
        let temp = tempfile::tempdir().unwrap();
        let file = File::create_new(temp.path().join("file")).unwrap();
        assert_eq!(file.seek_write(b"some text", 0).unwrap(), 9);
        let mut text = [0; 4];
        assert_eq!(file.seek_read(&mut text, 5).unwrap(), 4);
        assert_eq!(&text, b"text");
        assert_eq!(file.as_handle().as_raw_handle(), file.as_raw_handle());
        let raw = file.as_raw_handle();
        let owned = OwnedHandle::from(file);
        assert_eq!(File::from(std::fs::File::from(owned)).into_raw_handle(), raw);
    }

    #[test]
    fn the_choices_of_windows_are_methods() {
        const GENERIC_WRITE: u32 = 0x4000_0000;
        const HIDDEN: u32 = 2;
        const BACKUP_SEMANTICS: u32 = 0x0200_0000;
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).attributes(HIDDEN).share_mode(0);
        let file = options.open(&path).unwrap();
        assert_eq!(File::open(&path).unwrap_err().raw_os_error(), Some(32), "it is not shared");
        drop(file);
        assert_eq!(fs::metadata(&path).unwrap().file_attributes() & HIDDEN, HIDDEN);
        File::options()
            .access_mode(GENERIC_WRITE)
            .security_qos_flags(0)
            .open(&path)
            .unwrap()
            .write_all(b"text")
            .unwrap();
        assert_eq!(read(&path), "text");
        File::open(temp.path()).unwrap_err();
        File::options().read(true).custom_flags(BACKUP_SEMANTICS).open(temp.path()).unwrap();
    }
}
