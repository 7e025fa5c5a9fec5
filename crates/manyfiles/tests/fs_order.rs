//! The order that std has, under the default policy, on mounts that behave as NFS and plain FUSE file systems do.
#![cfg(target_os = "linux")]

#[path = "support/again.rs"]
mod again;
#[path = "support/slow.rs"]
mod slow;

use std::ffi::CString;
use std::io::{self, Read, Write};
use std::net::UdpSocket;
use std::time::Duration;

use again::{again, is_again};
use manyfiles::close::{self, Closer, Policy};
use manyfiles::fs;
use manyfiles_testkit::{Need, Op, SlowMount, skip_unless};
use slow::{server, warm_up};

#[test]
fn files_are_flushed_before_anything_is_done_to_them() {
    skip_unless!(Need::Fuse);
    let mount = server().log().mount().unwrap();
    let root = mount.path();
    warm_up(root);
    // Each by way of its own closer, so that no function can know by that what is pending.
    let files = Closer::options().policy(Policy::Always).build();
    for n in 0..10 {
        let path = |what: &str| root.join(format!("{what}-{n}"));
        files.write(path("renamed"), "new").unwrap();
        fs::rename(path("renamed"), path("target")).unwrap();

        files.write(path("linked"), "new").unwrap();
        fs::hard_link(path("linked"), path("link")).unwrap();

        files.write(path("removed"), "new").unwrap();
        fs::remove_file(path("removed")).unwrap();

        fs::create_dir(path("folder")).unwrap();
        files.write(path("folder").join("inside"), "new").unwrap();
        fs::rename(path("folder"), path("moved")).unwrap();
        fs::remove_file(path("moved").join("inside")).unwrap();
        fs::remove_dir(path("moved")).unwrap();
    }
    files.finish().unwrap();
    let log = mount.log().unwrap();
    let found = |line: &str| log.iter().position(|own| own == line);
    // A flush is waited for, but the release after it is not: a server that is late with the release keeps a removed
    // file under another name until then, whichever thread closed it.
    let at = |line: &str| {
        let kept = || found(&line.strip_prefix("unlink").map(|file| format!("rename{file}"))?);
        found(line).or_else(kept).unwrap_or_else(|| panic!("{line}: {log:?}"))
    };
    for n in 0..10 {
        for (done, file) in [
            ("rename /renamed", format!("/renamed-{n}")),
            ("link /linked", format!("/linked-{n}")),
            ("unlink /removed", format!("/removed-{n}")),
            ("rename /folder", format!("/folder-{n}/inside")),
        ] {
            assert!(at(&format!("flush {file}")) < at(&format!("{done}-{n}")), "{file}: {log:?}");
        }
    }
}

/// A file system may send at a close what was written: then bytes from before a cut would be in the file after it.
#[test]
fn a_file_is_flushed_before_it_is_cut() {
    skip_unless!(Need::Fuse);
    let mount = server().log().mount().unwrap();
    let path = |way: &str| mount.path().join(way);
    let files = Closer::options().policy(Policy::Always).build();
    std::fs::write(path("source"), "short").unwrap();
    for round in 0..10 {
        let path = |way: &str| path(&format!("{way}-{round}"));
        for way in ["written", "created", "copied", "own"] {
            files.write(path(way), "a long text").unwrap();
        }
        fs::write(path("written"), "short").unwrap();
        drop(fs::File::create(path("created")).unwrap());
        fs::copy(mount.path().join("source"), path("copied")).unwrap();
        let again = files.open_with(fs::OpenOptions::new().write(true).truncate(true), path("own")).unwrap();
        assert_eq!(again.metadata().unwrap().len(), 0);
    }
    files.finish().unwrap();
    close::wait().unwrap();
    let log = mount.log().unwrap();
    for way in ["written", "created", "copied", "own"] {
        for round in 0..10 {
            let flushed = log.iter().position(|line| *line == format!("flush /{way}-{round}"));
            let cut = log.iter().rposition(|line| *line == format!("cut /{way}-{round}"));
            assert!(flushed.is_some() && flushed < cut, "{way}-{round}: {log:?}");
        }
    }
}

/// What a thread has dropped it sees closed, whichever thread makes the process know of a closer just then.
#[test]
fn what_was_dropped_first_of_all_is_seen_closed() {
    skip_unless!(Need::Fuse);
    if !is_again() {
        for _ in 0..10 {
            again("what_was_dropped_first_of_all_is_seen_closed", |_| {});
        }
        return;
    }
    let mount = SlowMount::options().publish_at_close().delay(Op::Close, Duration::from_millis(2)).mount().unwrap();
    let files = Closer::options().policy(Policy::Always).build();
    let begin = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (files, begin, path) = (&files, &begin, mount.path().join(thread.to_string()));
            scope.spawn(move || {
                begin.wait();
                files.write(&path, "text").unwrap();
                assert_eq!(fs::read(&path).unwrap(), b"text");
            });
        }
    });
    files.finish().unwrap();
}

/// A folder that is mounted in two places has two names.
#[test]
fn a_folder_is_settled_by_each_of_the_names_that_it_is_mounted_at() {
    skip_unless!(Need::Root, Need::Fuse);
    /// Undone at the end, after a panic too.
    struct Bound(CString);
    impl Drop for Bound {
        fn drop(&mut self) {
            // SAFETY: the path ends with a zero.
            unsafe { libc::umount2(self.0.as_ptr(), libc::MNT_DETACH) };
        }
    }
    let mount = SlowMount::options().publish_at_close().delay(Op::Close, Duration::from_millis(20)).mount().unwrap();
    let files = Closer::options().policy(Policy::Always).build();
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = mount.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    let [from, to] = [folder.as_path(), elsewhere.path()].map(|path| CString::new(path.to_str().unwrap()).unwrap());
    // SAFETY: the paths end with a zero, and a bind mount needs no more.
    let bound = unsafe { libc::mount(from.as_ptr(), to.as_ptr(), std::ptr::null(), libc::MS_BIND, std::ptr::null()) };
    assert_eq!(bound, 0, "{}", io::Error::last_os_error());
    let _bound = Bound(to);
    for round in 0..5 {
        let name = round.to_string();
        files.write(folder.join(&name), "text").unwrap();
        fs::read_dir(elsewhere.path()).unwrap();
        assert_eq!(std::fs::metadata(elsewhere.path().join(&name)).unwrap().len(), 4);
    }
    files.finish().unwrap();
}

#[test]
fn what_is_seen_after_its_close_alone_is_seen() {
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options().publish_at_close().delay(Op::Close, Duration::from_millis(2)).mount().unwrap();
    let path = |name: &str| mount.path().join(name);
    warm_up(mount.path());
    let files = Closer::options().policy(Policy::Always).build();
    for round in 0..20 {
        let text = format!("this is round {round}");
        files.write(path("a"), &text).unwrap();
        assert_eq!(fs::metadata(path("a")).unwrap().len(), text.len() as u64);
        files.write(path("a"), text.replace("this", "That")).unwrap();
        assert_eq!(fs::read_to_string(path("a")).unwrap(), text.replace("this", "That"));
        fs::write(path("a"), &text).unwrap();
        fs::copy(path("a"), path("b")).unwrap();
        assert_eq!(files.read_to_string(path("b")).unwrap(), text);
        files.open_with(fs::OpenOptions::new().append(true), path("b")).unwrap().write_all(b" and more").unwrap();
        let mut read = String::new();
        fs::File::open(path("b")).unwrap().read_to_string(&mut read).unwrap();
        assert_eq!(read, format!("{text} and more"));
    }
    // Two handles of one file: the last to be dropped wins, whichever closer closes.
    for _ in 0..20 {
        let mut older = files.create(path("c")).unwrap();
        let mut newer = fs::File::create(path("c")).unwrap();
        older.write_all(b"older").unwrap();
        newer.write_all(b"newer").unwrap();
        drop(older);
        drop(newer);
        assert_eq!(fs::read_to_string(path("c")).unwrap(), "newer");
    }
    files.finish().unwrap();
    close::wait().unwrap();
}

/// A handle too many would have to be closed, which is what takes long here. In a process of its own: a test that
/// starts a process copies all descriptors for a moment, and each copy's close is one more flush.
#[test]
fn a_file_whose_close_is_pending_is_opened_once_to_be_read() {
    skip_unless!(Need::Fuse);
    if !is_again() {
        again("a_file_whose_close_is_pending_is_opened_once_to_be_read", |_| {});
        return;
    }
    let mount = server().log().mount().unwrap();
    let files = Closer::options().policy(Policy::Always).build();
    for n in 0..10 {
        let path = mount.path().join(format!("{n}-file"));
        files.write(&path, "text").unwrap();
        assert_eq!(files.read(&path).unwrap(), b"text");
    }
    files.finish().unwrap();
    let log = mount.log().unwrap();
    for n in 0..10 {
        let closes = log.iter().filter(|line| **line == format!("flush /{n}-file")).count();
        assert_eq!(closes, 2, "one of the writer, one of the reader: {log:?}");
    }
}

/// Between file systems of one kind and of two, of files that say that they are empty, and of those that are.
#[test]
fn a_copy_is_whole_whichever_way_the_kernel_makes_it() {
    skip_unless!(Need::Fuse);
    let mount = server().mount().unwrap();
    let (here, memory) = (tempfile::tempdir().unwrap(), tempfile::tempdir_in("/dev/shm").unwrap());
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| (n.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
    for from in [here.path(), memory.path(), mount.path()] {
        for (name, content) in [("much", &bytes[..]), ("nothing", &[])] {
            std::fs::write(from.join(name), content).unwrap();
            for to in [here.path(), memory.path(), mount.path()] {
                assert_eq!(fs::copy(from.join(name), to.join("copy")).unwrap(), content.len() as u64);
                assert!(fs::read(to.join("copy")).unwrap() == content, "{name} from {from:?} to {to:?}");
            }
        }
    }
    let copied = fs::copy("/proc/self/mountinfo", here.path().join("mounts")).unwrap();
    assert_eq!(copied, std::fs::metadata(here.path().join("mounts")).unwrap().len());
    assert!(copied > 0);
    close::wait().unwrap();
}

#[test]
fn a_program_with_few_descriptors_left_works_as_with_std() {
    skip_unless!(Need::Fuse);
    if !is_again() {
        again("a_program_with_few_descriptors_left_works_as_with_std", |_| {});
        return;
    }
    let mount = server().mount().unwrap();
    warm_up(mount.path());
    use rustix::process::{Resource, Rlimit, setrlimit};
    setrlimit(Resource::Nofile, Rlimit { current: Some(256), maximum: Some(256) }).unwrap();
    let path = |n: usize| mount.path().join(n.to_string());
    let mut own: Vec<_> = (0..150).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
    for n in 0..500 {
        fs::write(path(n), "x").unwrap_or_else(|error| panic!("file {n}: {error}"));
        UdpSocket::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("a socket at file {n}: {error}"));
    }
    // To the last descriptor: what is pending is closed when a file is opened.
    for n in 0..100 {
        fs::write(path(n), "y").unwrap();
    }
    let mut more = Vec::new();
    while own.len() + more.len() < 230 {
        more.push(fs::File::open(path(more.len())).unwrap_or_else(|error| panic!("own file {}: {error}", more.len())));
    }
    own.clear();
    drop(more);
    close::wait().unwrap();
}

/// What fails whatever is closed fails at once, while the close hangs.
#[test]
fn ordinary_errors_come_while_a_close_is_pending() {
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options().hold(Op::Close, "pending").mount().unwrap();
    let other = tempfile::tempdir().unwrap();
    let at = |name: &str| mount.path().join(name);
    for folder in ["folder", "empty"] {
        std::fs::create_dir(at(folder)).unwrap();
    }
    std::os::unix::fs::symlink("nowhere", at("taken")).unwrap();
    let files = Closer::options().policy(Policy::Always).build();
    files.write(at("folder/pending"), "x").unwrap();
    let pending = at("folder/pending");
    let kind = |result: io::Result<()>| result.unwrap_err().kind();
    use io::ErrorKind::{AlreadyExists, CrossesDevices, DirectoryNotEmpty, IsADirectory, NotADirectory, NotFound};
    assert_eq!(kind(fs::rename(&pending, at("missing/name"))), NotFound);
    assert_eq!(kind(fs::rename(at("missing"), &pending)), NotFound);
    assert_eq!(kind(fs::rename(&pending, other.path().join("name"))), CrossesDevices);
    assert_eq!(kind(fs::rename(at("folder"), other.path().join("name"))), CrossesDevices);
    assert_eq!(kind(fs::rename(&pending, at("empty"))), IsADirectory);
    assert_eq!(kind(fs::rename(at("folder"), at("taken"))), NotADirectory);
    assert_eq!(kind(fs::rename(at("empty"), at("folder"))), DirectoryNotEmpty);
    assert_eq!(kind(fs::hard_link(&pending, at("taken"))), AlreadyExists);
    assert_eq!(kind(fs::hard_link(&pending, other.path().join("name"))), CrossesDevices);
    assert_eq!(kind(fs::read_dir(&pending).map(drop)), NotADirectory);
    assert_eq!(kind(fs::remove_file(at("folder"))), IsADirectory);
    assert_eq!(kind(fs::remove_dir(at("folder"))), DirectoryNotEmpty);
    assert_eq!(files.pending(), 1, "none of these waited");
    mount.release();
    files.finish().unwrap();
}

/// The kernel does not list the locks that a FUSE process keeps.
#[test]
fn a_lock_on_a_fuse_mount_is_closed_on_the_spot() {
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options().mount().unwrap();
    let files = Closer::options().policy(Policy::Always).build();
    for n in 0..20 {
        let file = files.create(mount.path().join(n.to_string())).unwrap();
        file.lock().unwrap();
        drop(file);
    }
    assert_eq!(files.metrics().closed_inline, 20);
    files.finish().unwrap();
}
