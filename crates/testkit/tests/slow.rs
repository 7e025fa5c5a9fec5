//! The slow mount keeps files as any file system does, waits as told and fails as told.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::{Duration, Instant, SystemTime};

use manyfiles_testkit::{Compare, Corpus, Need, Op, SlowMount, Tree, skip_unless};

const DELAY: Duration = Duration::from_millis(20);

#[test]
fn what_is_written_to_the_mount_is_in_the_folder_behind_it() {
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options().mount().unwrap();
    let corpus = Corpus::spread(300, 100, 1);
    for (path, bytes) in &corpus.files {
        let path = mount.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let expected = corpus.tree();
    expected.assert_same(&Tree::read(mount.path()).unwrap(), Compare::default());
    expected.assert_same(&Tree::read(mount.backing()).unwrap(), Compare::default());
}

#[test]
fn links_times_permissions_renames_and_lengths_pass_through() {
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options().mount().unwrap();
    let path = |name: &str| mount.path().join(name);
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);

    let mut file = File::create(path("a")).unwrap();
    file.write_all(b"0123456789").unwrap();
    file.set_len(5).unwrap();
    file.set_modified(time).unwrap();
    file.set_permissions(fs::Permissions::from_mode(0o640)).unwrap();
    file.sync_all().unwrap();
    drop(file);
    fs::hard_link(path("a"), path("hard")).unwrap();
    symlink("a", path("soft")).unwrap();
    fs::create_dir(path("folder")).unwrap();
    fs::rename(path("a"), path("folder/b")).unwrap();

    assert_eq!(fs::read(path("hard")).unwrap(), b"01234");
    assert_eq!(fs::read_link(path("soft")).unwrap().to_str(), Some("a"));
    let meta = fs::metadata(path("folder/b")).unwrap();
    assert_eq!((meta.mode() & 0o7777, meta.modified().unwrap()), (0o640, time));
    let (through, behind) = (Tree::read(mount.path()).unwrap(), Tree::read(mount.backing()).unwrap());
    behind.assert_same(&through, Compare::ALL);
    fs::remove_dir_all(path("folder")).unwrap();
    assert!(!mount.backing().join("folder").exists());
}

#[test]
fn each_operation_waits_as_long_as_it_was_told_to() {
    skip_unless!(Need::Fuse);
    let slow = |op| SlowMount::options().delay(op, DELAY).mount().unwrap();
    let took = |work: &dyn Fn()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };

    let mount = slow(Op::Close);
    let file = File::create(mount.path().join("a")).unwrap();
    assert!(took(&|| drop(file.try_clone().unwrap())) >= DELAY, "close");
    let mount = slow(Op::Create);
    assert!(took(&|| drop(File::create(mount.path().join("a")).unwrap())) >= DELAY, "create");
    let mount = slow(Op::Write);
    let file = File::create(mount.path().join("a")).unwrap();
    assert!(took(&|| (&file).write_all(b"x").unwrap()) >= DELAY, "write");
    let mount = slow(Op::Mkdir);
    assert!(took(&|| fs::create_dir(mount.path().join("a")).unwrap()) >= DELAY, "mkdir");
    let mount = slow(Op::SetAttr);
    let file = File::create(mount.path().join("a")).unwrap();
    assert!(took(&|| file.set_modified(SystemTime::now()).unwrap()) >= DELAY, "setattr");
}

#[test]
fn two_hundred_closes_wait_at_the_same_time() {
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options().delay(Op::Close, Duration::from_secs(1)).mount().unwrap();
    let open = |n| File::create(mount.path().join(format!("{n}"))).unwrap();
    let files: Vec<File> = (0..200).map(open).collect();
    std::thread::scope(|scope| {
        for file in files {
            scope.spawn(move || drop(file));
        }
    });
    assert!(mount.threads().unwrap() > 200, "a thread was added for each close that found all others waiting");
}

#[test]
fn errors_reach_the_paths_they_were_meant_for_and_no_others() {
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options()
        .fail(Op::Create, libc::EACCES, "locked")
        .fail(Op::Write, libc::ENOSPC, "big")
        .fail(Op::Close, libc::EDQUOT, "quota")
        .fail(Op::Mkdir, libc::EROFS, "fixed")
        .mount()
        .unwrap();
    let path = |name: &str| mount.path().join(name);
    let errno = |e: std::io::Error| e.raw_os_error();

    assert_eq!(File::create(path("locked")).map_err(errno).err(), Some(Some(libc::EACCES)));
    assert_eq!(fs::write(path("big"), "x").map_err(errno), Err(Some(libc::ENOSPC)));
    assert_eq!(fs::create_dir(path("fixed")).map_err(errno), Err(Some(libc::EROFS)));
    fs::write(path("fine"), "x").unwrap();

    use std::os::fd::IntoRawFd;
    let close = |name| {
        let fd = File::create(path(name)).unwrap().into_raw_fd();
        // SAFETY: the descriptor is owned here and not used again.
        match unsafe { libc::close(fd) } {
            0 => None,
            _ => std::io::Error::last_os_error().raw_os_error(),
        }
    };
    assert_eq!((close("quota"), close("fine")), (Some(libc::EDQUOT), None));
}

#[test]
fn a_dropped_mount_is_gone_even_while_a_file_is_open_there() {
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options().mount().unwrap();
    let path = mount.path().to_owned();
    let _open = File::create(path.join("a")).unwrap();
    drop(mount);
    assert!(!path.exists(), "the mount point is removed");
    assert!(!fs::read_to_string("/proc/self/mountinfo").unwrap().contains(path.to_str().unwrap()));
}

#[test]
fn a_mount_over_a_folder_of_ones_own_leaves_its_files_there() {
    skip_unless!(Need::Fuse);
    let backing = tempfile::tempdir().unwrap();
    let mount = SlowMount::options().mount_over(backing.path()).unwrap();
    fs::write(mount.path().join("a"), "kept").unwrap();
    drop(mount);
    assert_eq!(fs::read_to_string(backing.path().join("a")).unwrap(), "kept");
}

#[test]
fn what_is_held_goes_on_when_it_is_released_and_nothing_else_waits() {
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options().hold(Op::Close, "held").log().mount().unwrap();
    let path = |name: &str| mount.path().join(name);
    std::thread::scope(|scope| {
        let closing = scope.spawn(|| fs::write(path("held"), "x").unwrap());
        while !mount.log().unwrap().contains(&"held flush /held".to_owned()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        fs::write(path("other"), "y").unwrap();
        fs::rename(path("other"), path("renamed")).unwrap();
        assert!(!closing.is_finished());
        mount.release();
    });
    assert_eq!(
        mount.log().unwrap(),
        ["cut /held", "held flush /held", "cut /other", "flush /other", "rename /other", "flush /held"]
            .map(String::from)
    );
}

#[test]
fn a_mount_that_is_dropped_takes_what_is_held_with_it() {
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options().hold(Op::Close, "held").log().mount().unwrap();
    let path = mount.path().join("held");
    let closing = std::thread::spawn(move || fs::write(path, "x").unwrap());
    while mount.log().unwrap().is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(mount);
    closing.join().unwrap();
}
