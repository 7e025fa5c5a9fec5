//! A server that does not answer, under the default policy: closes that hang hold up nothing but themselves, and calls
//! that are about those very files. What hangs is let go of at the end of a test, and by the mount itself after a
//! minute.
#![cfg(target_os = "linux")]

use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use manyfiles::close::{self, Closer};
use manyfiles::fs;
use manyfiles_testkit::{Need, Op, SlowMount, SlowOptions, skip_unless};

fn server() -> SlowOptions {
    SlowMount::options().write_back().keep_removed().delay(Op::Close, Duration::from_millis(2)).log()
}

/// Lets the closes that hang go on, after a panic too, before anything waits for them.
struct Release<'a>(&'a SlowMount);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

fn count(mount: &SlowMount, what: &str) -> usize {
    mount.log().unwrap().iter().filter(|line| line.starts_with(what)).count()
}

/// While one test has files open, another must not start a process: a new process has copies of the handles for a
/// moment, and closes them.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until so many lines of the log begin so. A minute is long enough for anything, and a failure then.
fn until(mount: &SlowMount, what: &str, times: usize) {
    let begun = Instant::now();
    while count(mount, what) < times {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}: {} of {times}", count(mount, what));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// More than a volume has threads.
const STUCK: usize = 70;

/// Everything that a program may do with other files.
fn everything_else_goes_on(folder: &Path, elsewhere: &Path, files: &Closer) {
    let at = |name: &str| folder.join(name);
    fs::create_dir(folder).unwrap();
    for n in 0..20 {
        let (old, new) = (at(&format!("old-{n}")), at(&format!("new-{n}")));
        fs::write(&old, "text").unwrap();
        assert_eq!(fs::metadata(&old).unwrap().len(), 4);
        fs::rename(&old, &new).unwrap();
        files.write(&old, "more text").unwrap();
        assert_eq!(fs::read_to_string(&old).unwrap(), "more text");
        fs::rename(&old, &new).unwrap();
        assert_eq!(files.read(&new).unwrap(), b"more text");
        files.open_with(fs::OpenOptions::new().append(true), &new).unwrap().write_all(b" yet").unwrap();
        fs::hard_link(&new, &old).unwrap();
        assert_eq!(fs::copy(&new, at("copy")).unwrap(), 13);
        fs::remove_file(&new).unwrap();
        fs::set_permissions(&old, fs::metadata(at("copy")).unwrap().permissions()).unwrap();
    }
    // Ordinary errors.
    let kind = |result: io::Result<()>| result.unwrap_err().kind();
    assert_eq!(kind(fs::File::open(at("missing")).map(drop)), ErrorKind::NotFound);
    assert_eq!(kind(fs::File::create_new(at("copy")).map(drop)), ErrorKind::AlreadyExists);
    assert_eq!(kind(fs::remove_dir(folder)), ErrorKind::DirectoryNotEmpty);
    assert_eq!(kind(fs::rename(at("copy"), elsewhere.join("copy"))), ErrorKind::CrossesDevices);
    assert_eq!(kind(fs::create_dir(folder)), ErrorKind::AlreadyExists);

    assert_eq!(fs::read_dir(folder).unwrap().count(), 21);
    fs::rename(folder, folder.with_extension("moved")).unwrap();
    fs::remove_dir_all(folder.with_extension("moved")).unwrap();
}

#[test]
fn a_mount_that_hangs_stops_no_other_closes() {
    skip_unless!(Need::Fuse);
    let _alone = alone();
    let mount = server().hold(Op::Close, "stuck").mount().unwrap();
    let healthy = server().mount().unwrap();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let (hanging, others) = (Closer::new(), Closer::new());
    // Each of them learns that closes are slow here.
    for n in 0..4 {
        let name = format!("warm-{n}");
        fs::write(mount.path().join(&name), "x").unwrap();
        hanging.write(mount.path().join(&name), "x").unwrap();
        others.write(healthy.path().join(&name), "x").unwrap();
    }
    let release = Release(&mount);

    std::fs::create_dir(mount.backing().join("folder")).unwrap();
    let stuck = |whose: &str, n: usize| mount.path().join(format!("folder/stuck-{whose}-{n}"));
    for n in 0..STUCK {
        fs::write(stuck("global", n), "the global closer's").unwrap();
        hanging.write(stuck("own", n), "of its own").unwrap();
    }
    assert_eq!(hanging.pending(), STUCK);
    until(&mount, "held flush /folder/stuck-global", 64);
    until(&mount, "held flush /folder/stuck-own", 64);

    // Other volumes, by the closers that have hanging files and by one that has none.
    everything_else_goes_on(&healthy.path().join("a"), memory.path(), &others);
    everything_else_goes_on(&healthy.path().join("b"), memory.path(), &hanging);
    // Their closes are made though no call waits.
    for n in 0..40 {
        fs::write(healthy.path().join(format!("global-{n}")), "x").unwrap();
        hanging.write(healthy.path().join(format!("own-{n}")), "x").unwrap();
    }
    until(&healthy, "flush /global-", 40);
    until(&healthy, "flush /own-", 40);
    // Other files of the mount itself.
    everything_else_goes_on(&mount.path().join("c"), memory.path(), &others);
    everything_else_goes_on(&mount.path().join("d"), memory.path(), &hanging);
    everything_else_goes_on(&memory.path().join("e"), mount.path(), &hanging);
    // What fails whatever hangs, of those very files. (To remove their folder is refused by the server, and libfuse
    // lets it wait for a flush in there, std's call too.)
    let kind = |result: io::Result<()>| result.unwrap_err().kind();
    assert_eq!(kind(fs::rename(stuck("own", 0), memory.path().join("name"))), ErrorKind::CrossesDevices);
    assert_eq!(kind(fs::hard_link(stuck("own", 0), stuck("own", 1))), ErrorKind::AlreadyExists);
    assert_eq!(kind(fs::File::create_new(stuck("own", 0)).map(drop)), ErrorKind::AlreadyExists);
    // The folder that the mount is in: what hangs is no entry of it, and no close makes the mount go away.
    assert!(fs::read_dir(mount.path().parent().unwrap()).unwrap().count() > 0);
    assert_eq!(kind(fs::remove_dir(mount.path())), ErrorKind::ResourceBusy);
    // Another closer ends.
    others.finish().unwrap();

    assert_eq!(hanging.pending(), STUCK, "its other closes were made, and nothing waited for those that hang");
    assert_eq!(count(&mount, "flush /folder/stuck"), 0, "a close that hangs was let go of before the end");

    drop(release);
    hanging.finish().unwrap();
    close::wait().unwrap();
    assert_eq!(count(&mount, "flush /folder/stuck"), 2 * STUCK);
    for n in 0..STUCK {
        assert_eq!(std::fs::read(stuck("global", n)).unwrap(), b"the global closer's");
        assert_eq!(std::fs::read(stuck("own", n)).unwrap(), b"of its own");
    }
}

#[test]
fn a_call_about_a_folder_waits_for_what_hangs_in_it_however_long() {
    skip_unless!(Need::Fuse);
    let _alone = alone();
    let mount = server().hold(Op::Close, "stuck").mount().unwrap();
    let files = Closer::new();
    for n in 0..4 {
        files.write(mount.path().join(format!("warm-{n}")), "x").unwrap();
    }
    let release = Release(&mount);
    // All the threads that a volume may have close what is in the first folder. What is in the second waits for one of
    // them.
    let [closing, waiting] = ["closing", "waiting"].map(|name| mount.path().join(name));
    for folder in [&closing, &waiting] {
        std::fs::create_dir(folder).unwrap();
    }
    for n in 0..64 {
        files.write(closing.join(format!("stuck-{n}")), "x").unwrap();
    }
    until(&mount, "held flush /closing", 64);
    for n in 0..3 {
        files.write(waiting.join(format!("stuck-{n}")), "x").unwrap();
    }
    let came_back = [&closing, &waiting].map(|folder| {
        let folder = folder.clone();
        std::thread::spawn(move || fs::read_dir(folder).unwrap().count())
    });
    // A close that only may be in the way is waited for one second.
    std::thread::sleep(Duration::from_millis(2500));
    assert!(came_back.iter().all(|thread| !thread.is_finished()), "a folder was shown before its files were closed");

    drop(release);
    assert_eq!(came_back.map(|thread| thread.join().unwrap()), [64, 3]);
    files.finish().unwrap();
}
