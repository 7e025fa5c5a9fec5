//! What Windows needs besides: a file is settled whatever path it is called by, and no other one is.
#![cfg(windows)]

#[path = "support/again.rs"]
mod again;
#[path = "support/held.rs"]
mod held;

use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use again::{again, is_again};
use held::every_close_stays_pending;
use manyfiles::close::{self, FastClose};
use manyfiles::fs::{self, OpenOptions};

fn for_oneself_alone() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).share_mode(0);
    options
}

fn is_open(path: &Path) -> bool {
    const SHARING_VIOLATION: i32 = 32;
    match std::fs::OpenOptions::new().read(true).share_mode(0).open(path) {
        Ok(_) => false,
        Err(error) if error.raw_os_error() == Some(SHARING_VIOLATION) => true,
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

/// The path with short names (8.3), where the system keeps any.
fn short(path: &Path) -> PathBuf {
    use std::os::windows::ffi::{OsStrExt, OsStringExt};
    use windows_sys::Win32::Storage::FileSystem::GetShortPathNameW;
    let long: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    let mut short = [0; 1024];
    // SAFETY: `long` ends with a zero, and `short` has the length that is given.
    let length = unsafe { GetShortPathNameW(long.as_ptr(), short.as_mut_ptr(), short.len() as u32) } as usize;
    assert!((1..short.len()).contains(&length), "{}", io::Error::last_os_error());
    std::ffi::OsString::from_wide(&short[..length]).into()
}

/// Other ways to say the same path.
fn spellings(path: &Path) -> Vec<PathBuf> {
    let (folder, name) = (path.parent().unwrap(), path.file_name().unwrap());
    let mut extended = std::ffi::OsString::from(r"\\?\");
    extended.push(path);
    let text = path.to_str().unwrap();
    vec![
        path.to_owned(),
        short(folder).join(name),
        extended.into(),
        text.replace('\\', "/").into(),
        text.to_uppercase().into(),
        text.to_lowercase().into(),
        folder.join(".").join(name),
        folder.join("nowhere").join("..").join(name),
        name.into(),
    ]
}

/// Does `what` to each spelling of a file whose close is pending, while the close of another file is pending.
fn only_that_file_is_settled(what: impl Fn(&Path)) {
    every_close_stays_pending();
    let temp = tempfile::tempdir().unwrap();
    std::env::set_current_dir(temp.path()).unwrap();
    for folder in ["short", "a folder with a long name"] {
        std::fs::create_dir_all(temp.path().join(folder)).unwrap();
        std::env::set_current_dir(temp.path().join(folder)).unwrap();
        let (path, other) = (temp.path().join(folder).join("File.Text"), temp.path().join(folder).join("file.text2"));
        for spelling in spellings(&path) {
            fs::write(&path, "text").unwrap();
            fs::write(&other, "text").unwrap();
            assert!(is_open(&path) && is_open(&other));
            what(&spelling);
            assert!(is_open(&other), "{} settled the other one too", spelling.display());
            assert!(!path.exists() || !is_open(&path), "{} did not settle it", spelling.display());
        }
    }
    std::env::set_current_dir(std::env::temp_dir()).unwrap();
    close::wait().unwrap();
}

#[test]
fn opening_settles_that_file_alone_whatever_path_is_given() {
    if !is_again() {
        again("opening_settles_that_file_alone_whatever_path_is_given", |_| {});
        return;
    }
    only_that_file_is_settled(|path| drop(for_oneself_alone().open(path).unwrap().into_inner()));
}

#[test]
fn asking_and_removing_settle_that_file_alone_whatever_path_is_given() {
    if !is_again() {
        again("asking_and_removing_settle_that_file_alone_whatever_path_is_given", |_| {});
        return;
    }
    only_that_file_is_settled(|path| {
        assert_eq!(fs::metadata(path).unwrap().len(), 4);
        fs::remove_file(path).unwrap();
    });
}

#[test]
fn renaming_and_linking_settle_that_file_alone_whatever_path_is_given() {
    if !is_again() {
        again("renaming_and_linking_settle_that_file_alone_whatever_path_is_given", |_| {});
        return;
    }
    only_that_file_is_settled(|path| {
        fs::hard_link(path, "link").unwrap();
        std::fs::remove_file("link").unwrap();
        fs::rename(path, "renamed").unwrap();
        fs::copy("renamed", path).unwrap();
    });
}

#[test]
fn a_folder_is_settled_with_all_below_and_nothing_beside_it() {
    if !is_again() {
        again("a_folder_is_settled_with_all_below_and_nothing_beside_it", |_| {});
        return;
    }
    every_close_stays_pending();
    let temp = tempfile::tempdir().unwrap();
    let path = |name: &str| temp.path().join(name);
    std::fs::create_dir_all(path("folder/below")).unwrap();
    for name in ["folder2", "folder/file", "folder/below/file"] {
        fs::write(path(name), "text").unwrap();
    }
    let entries: io::Result<Vec<_>> = fs::read_dir(path("folder")).unwrap().collect();
    assert_eq!(entries.unwrap().len(), 2);
    assert!(!is_open(&path("folder/file")));
    assert!(is_open(&path("folder/below/file")), "no entry of the folder itself");
    fs::rename(path("folder"), path("moved")).unwrap();
    assert!(!is_open(&path("moved/below/file")));
    assert!(is_open(&path("folder2")), "it is beside the folder");
    close::wait().unwrap();
}

#[test]
fn what_fast_close_closes_is_settled_like_what_this_module_opened() {
    if !is_again() {
        again("what_fast_close_closes_is_settled_like_what_this_module_opened", |_| {});
        return;
    }
    every_close_stays_pending();
    let temp = tempfile::tempdir().unwrap();
    let (path, other) = (temp.path().join("file"), temp.path().join("other"));
    for path in [&path, &other] {
        drop(FastClose::new(std::fs::File::create(path).unwrap()));
    }
    assert!(is_open(&path) && is_open(&other));
    drop(for_oneself_alone().open(&path).unwrap().into_inner());
    assert!(is_open(&other));
    close::wait().unwrap();
}

#[test]
fn a_file_that_is_removed_by_its_close_is_closed_at_once() {
    if !is_again() {
        again("a_file_that_is_removed_by_its_close_is_closed_at_once", |_| {});
        return;
    }
    const DELETE_ON_CLOSE: u32 = 0x0400_0000;
    every_close_stays_pending();
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    drop(fs::File::options().write(true).create_new(true).custom_flags(DELETE_ON_CLOSE).open(&path).unwrap());
    assert!(!path.exists());
    fs::write(&path, "stays").unwrap();
    close::wait().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"stays");
}
