//! A mirror where something is in its way: mounts, rights, links, times, a neighbour.
#![cfg(feature = "full")]
#![cfg(target_os = "linux")]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use manyfiles::tree::{Mirror, OnConflict, TreeWriter, What};
use manyfiles_testkit::{Disk, Need, Op, SlowMount, skip_unless};
use tempfile::{TempDir, tempdir};

fn roots() -> (TempDir, PathBuf, PathBuf) {
    let temp = tempdir().unwrap();
    let (source, target) = (temp.path().join("source"), temp.path().join("target"));
    fs::create_dir(&source).unwrap();
    fs::create_dir(&target).unwrap();
    (temp, source, target)
}

fn set_mode(path: impl AsRef<Path>, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Files with times that no file system keeps in full but the best.
fn fill(folder: &Path) {
    for (n, seconds) in [1_u64, 2, 3, 1_000_000_001].into_iter().enumerate() {
        let path = folder.join(format!("in/{n}"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("the file {n}")).unwrap();
        let time = UNIX_EPOCH + Duration::new(1_000_000_000 + seconds, 987_654_321);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    }
}

fn mount(args: &[&OsStr]) {
    let output = Command::new("mount").args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Unmounted when dropped.
struct Bound(PathBuf);

impl Bound {
    fn at(from: &Path, to: &Path) -> Bound {
        mount(&["--bind".as_ref(), from.as_ref(), to.as_ref()]);
        Bound(to.to_owned())
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(&self.0).status());
    }
}

/// Runs the test `name` once more as a user without privileges. True: this process is root's, and has done that.
fn was_run_by_nobody(name: &str) -> bool {
    const NOBODY: u32 = 65_534;
    if std::env::var_os("MIRROR_BY_NOBODY").is_some() {
        return false;
    }
    let shared = tempdir().unwrap();
    chown(shared.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    set_mode(shared.path(), 0o755);
    let program = shared.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    set_mode(&program, 0o755);
    let mut command = Command::new(&program);
    command.args([name, "--exact", "--nocapture"]).current_dir(shared.path());
    command.env("MIRROR_BY_NOBODY", "1").env("TMPDIR", shared.path());
    std::os::unix::process::CommandExt::gid(std::os::unix::process::CommandExt::uid(&mut command, NOBODY), NOBODY);
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}{}", String::from_utf8_lossy(&output.stderr));
    true
}

#[test]
fn a_folder_that_cannot_be_read_keeps_the_rest_from_nothing_but_the_removal() {
    skip_unless!(Need::Root);
    if was_run_by_nobody("a_folder_that_cannot_be_read_keeps_the_rest_from_nothing_but_the_removal") {
        return;
    }
    let (_temp, source, target) = roots();
    fill(&source);
    fs::create_dir_all(source.join("secret")).unwrap();
    fs::create_dir_all(target.join("secret")).unwrap();
    fs::write(target.join("secret/kept"), "kept").unwrap();
    fs::write(target.join("old"), "old").unwrap();
    set_mode(source.join("secret"), 0o000);
    let found = Mirror::new().compare(&source, &target).unwrap();
    assert!(!found.is_empty() && found.failures()[0].path() == Some(&*source.join("secret")), "{found:?}");
    let not = found.apply().unwrap_err();
    set_mode(source.join("secret"), 0o755);
    assert_eq!((not.mirrored().written.files, not.mirrored().kept), (4, 1), "{not}");
    assert!(target.join("in/0").exists() && target.join("secret/kept").exists() && target.join("old").exists());
    Mirror::new().mirror(&source, &target).unwrap();
    assert!(!target.join("old").exists() && !target.join("secret/kept").exists());
}

#[test]
fn folders_of_the_target_that_forbid_changes_are_changed_and_closed_again() {
    skip_unless!(Need::Root);
    if was_run_by_nobody("folders_of_the_target_that_forbid_changes_are_changed_and_closed_again") {
        return;
    }
    let (_temp, source, target) = roots();
    fill(&source);
    set_mode(source.join("in"), 0o555);
    fs::create_dir_all(target.join("in")).unwrap();
    fs::create_dir_all(target.join("extra/deep")).unwrap();
    fs::write(target.join("extra/deep/file"), "").unwrap();
    fs::write(target.join("in/old"), "").unwrap();
    for folder in ["extra/deep", "extra", "in"] {
        set_mode(target.join(folder), 0o500);
    }
    Mirror::new().mirror(&source, &target).unwrap();
    assert_eq!(fs::metadata(target.join("in")).unwrap().mode() & 0o777, 0o555);
    assert!(!target.join("extra").exists() && !target.join("in/old").exists());
    assert!(Mirror::new().compare(&source, &target).unwrap().is_empty());
    for root in [&source, &target] {
        set_mode(root.join("in"), 0o755);
    }
}

#[test]
fn the_target_mounted_in_the_source_is_refused_before_anything_is_touched() {
    skip_unless!(Need::Root);
    for is_new in [true, false] {
        let (_temp, source, target) = roots();
        fill(&source);
        fs::create_dir_all(source.join("deep/mount")).unwrap();
        if !is_new {
            fs::create_dir_all(target.join("deep/mount")).unwrap();
        }
        let bound = Bound::at(&target, &source.join("deep/mount"));
        let not = Mirror::new().mirror(&source, &target).unwrap_err();
        drop(bound);
        assert!(not.to_string().contains("the target itself"), "{not}");
        assert!(!target.join("in").exists() && !target.join("deep/mount/in").exists());
    }
}

#[test]
fn the_source_mounted_in_the_target_is_named_and_not_emptied() {
    skip_unless!(Need::Root);
    let (_temp, source, target) = roots();
    fill(&source);
    fs::create_dir(source.join("mount")).unwrap();
    fs::create_dir(target.join("mount")).unwrap();
    let bound = Bound::at(&source, &target.join("mount"));
    let not = Mirror::new().mirror(&source, &target).unwrap_err();
    assert!(not.to_string().contains("the source itself"), "{not}");
    drop(bound);
    fs::create_dir(target.join("extra")).unwrap();
    let bound = Bound::at(&source, &target.join("extra"));
    let not = Mirror::new().mirror(&source, &target).unwrap_err();
    assert!(not.to_string().contains("mounted"), "{not}");
    drop(bound);
    assert!(source.join("in/0").exists() && source.join("in/3").exists());
}

#[test]
fn nothing_that_is_mounted_in_the_target_is_written_or_removed_and_it_is_named() {
    skip_unless!(Need::Root);
    let (temp, source, target) = roots();
    let other = temp.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("precious"), "precious").unwrap();
    // The source has a folder, a file, and nothing of the name.
    for (name, is_in) in [("folder", true), ("file", true), ("nothing/deep", false)] {
        for mounted in [&source, &other] {
            fs::create_dir_all(source.join("folder")).unwrap();
            fs::write(source.join("folder/new"), "new").unwrap();
            fs::write(source.join("file"), "a file").unwrap();
            fs::create_dir_all(target.join(name)).unwrap();
            fs::write(target.join("extra"), "extra").unwrap();
            let bound = Bound::at(mounted, &target.join(name));
            let not = Mirror::new().mirror(&source, &target).unwrap_err();
            let is_refused = mounted == &source && is_in;
            let why = if is_refused { "one is in the other" } else { "something is mounted there" };
            assert!(not.to_string().contains(why), "{name}: {not}");
            assert!(target.join("extra").exists());
            if !is_in {
                // Left out, it stays with what is above it, and the rest goes.
                let mirrored = Mirror::new().exclude(|path| path.ends_with("deep")).mirror(&source, &target).unwrap();
                assert_eq!((mirrored.removed.files, mirrored.removed.folders), (1, 0));
            }
            drop(bound);
            assert!(source.join("folder/new").exists() && source.join("file").exists());
            assert_eq!(fs::read_dir(&source).unwrap().count(), 2);
            assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
            fs::remove_dir_all(&target).unwrap();
            fs::create_dir(&target).unwrap();
        }
    }
}

#[test]
fn trees_of_which_one_is_in_the_other_by_a_mount_are_refused_before_anything_is_touched() {
    skip_unless!(Need::Root);
    let (temp, source, target) = roots();
    let view = temp.path().join("view");
    fs::create_dir(&view).unwrap();
    let refuse = |source: &Path, target: &Path| {
        let before = |root: &Path| Command::new("ls").args(["-lR", "--full-time"]).arg(root).output().unwrap().stdout;
        let (is, was) = (before(temp.path()), before(temp.path()));
        let not = Mirror::new().mirror(source, target).unwrap_err();
        assert!(not.to_string().contains("one is in the other"), "{not}");
        assert_eq!((before(temp.path()), is), (was.clone(), was));
    };
    // The source is a view of a folder that is only in the target.
    fs::create_dir_all(target.join("only/deep")).unwrap();
    fs::write(target.join("only/deep/file"), "the last copy").unwrap();
    let bound = Bound::at(&target.join("only/deep"), &view);
    refuse(&view, &target);
    drop(bound);
    // The target is a view of a folder in the source, or is to be made in one.
    fs::create_dir_all(source.join("new/deep")).unwrap();
    fs::write(source.join("new/file"), "a file").unwrap();
    let bound = Bound::at(&source.join("new/deep"), &view);
    refuse(&source, &view);
    refuse(&source, &view.join("not/there"));
    drop(bound);
    // A folder of the target is mounted in the source: what is removed in the one would be in the other.
    fs::create_dir(source.join("view")).unwrap();
    let bound = Bound::at(&target.join("only"), &source.join("view"));
    refuse(&source, &target);
    drop(bound);
    assert!(target.join("only/deep/file").exists());
}

#[test]
fn a_target_that_another_folder_took_the_place_of_is_left_alone() {
    let (temp, source, target) = roots();
    fill(&source);
    fs::write(target.join("old"), "").unwrap();
    let found = Mirror::new().compare(&source, &target).unwrap();
    fs::rename(&target, temp.path().join("aside")).unwrap();
    fs::create_dir(&target).unwrap();
    fs::write(target.join("old"), "another").unwrap();
    let not = found.apply().unwrap_err();
    assert!(not.to_string().contains("another folder has its name"), "{not}");
    assert_eq!(fs::read_dir(&target).unwrap().count(), 1);
}

#[test]
fn a_link_on_the_way_in_the_source_is_not_followed() {
    let (temp, source, target) = roots();
    fill(&source);
    fs::create_dir(temp.path().join("outside")).unwrap();
    fs::write(temp.path().join("outside/0"), "a secret").unwrap();
    let found = Mirror::new().compare(&source, &target).unwrap();
    fs::rename(source.join("in"), temp.path().join("aside")).unwrap();
    symlink("../outside", source.join("in")).unwrap();
    // The folder was one when it was compared: it is a link now, and copied as that.
    found.apply().unwrap();
    assert_eq!(fs::read_link(target.join("in")).unwrap(), Path::new("../outside"));
}

#[test]
fn a_target_that_is_a_link_to_a_folder_is_that_folder_and_links_in_it_are_not_followed() {
    let (temp, source, target) = roots();
    fill(&source);
    fs::create_dir(temp.path().join("outside")).unwrap();
    fs::write(temp.path().join("outside/0"), "kept").unwrap();
    symlink("../outside", target.join("in")).unwrap();
    symlink("target", temp.path().join("link")).unwrap();
    Mirror::new().mirror(&source, temp.path().join("link")).unwrap();
    assert!(target.join("in").symlink_metadata().unwrap().is_dir());
    assert_eq!(fs::read_to_string(temp.path().join("outside/0")).unwrap(), "kept");
    assert_eq!(fs::read_dir(temp.path().join("outside")).unwrap().count(), 1);
}

#[test]
fn each_kind_takes_the_place_of_each_other() {
    skip_unless!(Need::Root);
    let make = |path: &Path, kind: &str| match kind {
        "file" => fs::write(path, "a file").unwrap(),
        "folder" => fill(path),
        "link" => symlink("somewhere", path).unwrap(),
        "fifo" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "device" => assert!(Command::new("mknod").arg(path).args(["c", "1", "3"]).status().unwrap().success()),
        other => panic!("{other}"),
    };
    let kinds = ["file", "folder", "link", "fifo", "device"];
    let (_temp, source, target) = roots();
    for ours in kinds {
        for theirs in kinds {
            make(&source.join(format!("{ours} {theirs}")), ours);
            make(&target.join(format!("{ours} {theirs}")), theirs);
        }
    }
    let mirror = Mirror::new().special_files(true);
    mirror.mirror(&source, &target).unwrap();
    for ours in kinds {
        for theirs in kinds {
            let name = format!("{ours} {theirs}");
            let kind = |root: &Path| fs::symlink_metadata(root.join(&name)).unwrap().mode() & 0o170_000;
            assert_eq!(kind(&source), kind(&target), "{name}");
        }
    }
    let found = mirror.compare(&source, &target).unwrap();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn names_that_are_no_text_and_times_before_1970_are_kept() {
    let (_temp, source, target) = roots();
    let name = OsStr::from_bytes(b"not \xff text\n\x01");
    fs::create_dir(source.join(name)).unwrap();
    fs::write(source.join(name).join(name), "x").unwrap();
    let file = fs::File::options().write(true).open(source.join(name).join(name)).unwrap();
    file.set_modified(UNIX_EPOCH - Duration::new(86_400 * 365, 5)).unwrap();
    let extra = OsStr::from_bytes(b"\xfe\xfe");
    fs::write(target.join(extra), "").unwrap();
    Mirror::new().mirror(&source, &target).unwrap();
    let time = |root: &Path| fs::metadata(root.join(name).join(name)).unwrap().modified().unwrap();
    assert_eq!(time(&source), time(&target));
    assert!(!target.join(extra).exists() && Mirror::new().compare(&source, &target).unwrap().is_empty());
}

#[test]
fn a_file_that_may_not_be_changed_is_named_and_nothing_is_removed() {
    skip_unless!(Need::LoopDevices, Need::Program("chattr"));
    let disk = Disk::ext4().megabytes(16).mount().unwrap();
    let source = tempdir().unwrap();
    fill(source.path());
    fs::create_dir(disk.path().join("target")).unwrap();
    let target = disk.path().join("target");
    Mirror::new().mirror(source.path(), &target).unwrap();
    let chattr = |how: &str| {
        let status = Command::new("chattr").arg(how).arg(target.join("in/0")).status().unwrap();
        assert!(status.success());
    };
    chattr("+i");
    fs::write(source.path().join("in/0"), "changed").unwrap();
    fs::remove_file(source.path().join("in/1")).unwrap();
    let not = Mirror::new().mirror(source.path(), &target).unwrap_err();
    assert_eq!(not.errors().iter().next().unwrap().path(), Some(Path::new("in/0")), "{not}");
    assert!(target.join("in/1").exists());
    chattr("-i");
    Mirror::new().mirror(source.path(), &target).unwrap();
    assert!(!target.join("in/1").exists());
}

#[test]
fn a_full_disk_is_named_nothing_is_removed_and_the_next_run_goes_on() {
    skip_unless!(Need::LoopDevices);
    let disk = Disk::ext4().megabytes(16).mount().unwrap();
    let source = tempdir().unwrap();
    let target = disk.path().join("target");
    for n in 0..40 {
        fs::write(source.path().join(n.to_string()), vec![n; 500_000]).unwrap();
    }
    fs::create_dir(&target).unwrap();
    fs::write(target.join("old"), "old").unwrap();
    let not = Mirror::new().mirror(source.path(), &target).unwrap_err();
    assert!(not.errors().iter().any(|error| error.raw_os_error() == Some(libc::ENOSPC)), "{not}");
    assert!(target.join("old").exists());
    for n in 10..40 {
        fs::remove_file(source.path().join(n.to_string())).unwrap();
    }
    // What could be written of those is to go first: there is no room else.
    for n in 10..40 {
        drop(fs::remove_file(target.join(n.to_string())));
    }
    Mirror::new().mirror(source.path(), &target).unwrap();
    assert!(Mirror::new().compare(source.path(), &target).unwrap().is_empty());
}

#[test]
fn a_second_run_finds_nothing_to_do_where_times_are_whole_seconds() {
    skip_unless!(Need::LoopDevices);
    let image = tempdir().unwrap();
    let (file, point) = (image.path().join("image"), image.path().join("mount"));
    fs::create_dir(&point).unwrap();
    fs::File::create(&file).unwrap().set_len(16 << 20).unwrap();
    // Inodes of 128 bytes, as ext3 had them, have no room for parts of seconds.
    let made = Command::new("mkfs.ext4").args(["-q", "-I", "128"]).arg(&file).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    mount(&["-o".as_ref(), "loop".as_ref(), file.as_ref(), point.as_ref()]);
    let bound = Bound(point.clone());
    let source = tempdir().unwrap();
    fill(source.path());
    symlink("x", source.path().join("in/link")).unwrap();
    let target = point.join("target");
    Mirror::new().mirror(source.path(), &target).unwrap();
    assert_eq!(fs::metadata(target.join("in/0")).unwrap().mtime_nsec(), 0);
    let found = Mirror::new().compare(source.path(), &target).unwrap();
    assert!(found.is_empty(), "{found:#?}");
    let moved = source.path().join("moved");
    fs::rename(source.path().join("in/0"), &moved).unwrap();
    assert_eq!(Mirror::new().mirror(source.path(), &target).unwrap().moved, 1);
    let later = UNIX_EPOCH + Duration::from_secs(1_000_000_003);
    fs::File::options().write(true).open(&moved).unwrap().set_modified(later).unwrap();
    let found = Mirror::new().compare(source.path(), &target).unwrap();
    assert!(found.iter().any(|it| it.path == Path::new("moved") && it.what == What::Content), "{found:#?}");
    drop(bound);
}

#[test]
fn where_times_are_even_seconds_and_permissions_are_not_kept_no_file_is_written_twice() {
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options().like_fat().mount().unwrap();
    let source = tempdir().unwrap();
    fill(source.path());
    let target = mount.path().join("target");
    Mirror::new().mirror(source.path(), &target).unwrap();
    let mirrored = Mirror::new().mirror(source.path(), &target).unwrap();
    assert_eq!(mirrored.written.files, 0, "{mirrored:?}");
    fs::rename(source.path().join("in/0"), source.path().join("moved")).unwrap();
    let mirrored = Mirror::new().mirror(source.path(), &target).unwrap();
    assert_eq!((mirrored.moved, mirrored.written.files), (1, 0), "{mirrored:?}");
}

#[test]
fn names_that_the_target_cannot_link_are_copies_and_counted() {
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options().like_fat().mount().unwrap();
    let source = tempdir().unwrap();
    fill(source.path());
    fs::hard_link(source.path().join("in/0"), source.path().join("further")).unwrap();
    let target = mount.path().join("target");
    for _ in 0..2 {
        let mirrored = Mirror::new().mirror(source.path(), &target).unwrap();
        assert_eq!((mirrored.not_linked, mirrored.written.hard_links), (1, 0), "{mirrored:?}");
        assert_eq!(fs::read(target.join("further")).unwrap(), fs::read(target.join("in/0")).unwrap());
    }
}

#[test]
fn what_is_of_another_kind_is_replaced_where_names_cannot_be_exchanged() {
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options().like_fat().mount().unwrap();
    let (source, target) = (tempdir().unwrap(), mount.path().join("target"));
    fs::create_dir_all(source.path().join("folder/in")).unwrap();
    fs::write(source.path().join("file"), "a file").unwrap();
    fs::create_dir_all(target.join("file/in")).unwrap();
    fs::write(target.join("folder"), "another file").unwrap();
    let mirrored = Mirror::new().mirror(source.path(), &target).unwrap();
    assert_eq!((mirrored.removed.files, mirrored.removed.folders), (1, 2), "{mirrored:?}");
    assert_eq!(fs::read_to_string(target.join("file")).unwrap(), "a file");
    assert!(target.join("folder/in").is_dir());
    assert_eq!(fs::read_dir(&target).unwrap().count(), 2);
}

#[test]
fn few_handles_are_enough() {
    use manyfiles_testkit::nofile_limit;
    let name = "few_handles_are_enough";
    if support::in_parent(name, |command| {
        nofile_limit(command, 16);
    }) {
        return;
    }
    let (_temp, source, target) = roots();
    for n in 0..300 {
        let folder = source.join(format!("{}/{}/{}", n % 7, n % 5, n % 3));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(n.to_string()), vec![b'x'; n + 1]).unwrap();
    }
    for n in 0..100 {
        let folder = target.join(format!("x{}/{}", n % 7, n % 5));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(n.to_string()), "").unwrap();
    }
    Mirror::new().mirror(&source, &target).unwrap();
    fs::rename(source.join("3"), source.join("moved")).unwrap();
    let mirrored = Mirror::new().mirror(&source, &target).unwrap();
    assert!(mirrored.moved > 30 && mirrored.written.files == 0, "{mirrored:?}");
    assert!(Mirror::new().compare(&source, &target).unwrap().is_empty());
}

#[test]
fn a_tree_deeper_than_any_path_becomes_equal() {
    let (_temp, source, target) = roots();
    let name = "a-name-that-is-long-enough-that-a-path-of-some-of-them-is-too-long-for-one-call-of-the-system";
    let mut command = Command::new("sh");
    let script = format!("for n in $(seq 60); do mkdir {name} && cd -P {name} || exit 1; done; echo deep > file");
    assert!(command.args(["-c", &script]).current_dir(&source).status().unwrap().success());
    let mirrored = Mirror::new().mirror(&source, &target).unwrap();
    assert_eq!(mirrored.written.files, 1);
    assert!(Mirror::new().compare(&source, &target).unwrap().is_empty());
}

#[test]
fn a_mount_whose_calls_wait_is_worked_on_by_more_threads() {
    skip_unless!(Need::Fuse);
    let ops = [Op::Open, Op::Create, Op::Mkdir, Op::Unlink, Op::Close, Op::SetAttr, Op::Rename];
    let mount = ops.into_iter().fold(SlowMount::options(), |mount, op| mount.delay(op, Duration::from_millis(5)));
    let mount = mount.mount().unwrap();
    let source = tempdir().unwrap();
    let target = mount.path().join("target");
    for n in 0..60 {
        fs::create_dir_all(source.path().join(n.to_string())).unwrap();
        fs::write(source.path().join(format!("{n}/file")), n.to_string()).unwrap();
        fs::create_dir_all(mount.backing().join(format!("target/{n}"))).unwrap();
        fs::write(mount.backing().join(format!("target/{n}/extra")), "").unwrap();
    }
    let most = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (seen, over) = (most.clone(), std::sync::Arc::new(AtomicBool::new(false)));
    let is_over = over.clone();
    let watch = std::thread::spawn(move || {
        while !is_over.load(Relaxed) {
            seen.fetch_max(fs::read_dir("/proc/self/task").unwrap().count(), Relaxed);
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let mirrored = Mirror::new().mirror(source.path(), &target).unwrap();
    over.store(true, Relaxed);
    watch.join().unwrap();
    assert_eq!((mirrored.written.files, mirrored.removed.files), (60, 60));
    assert!(most.load(Relaxed) >= 16, "{} threads", most.load(Relaxed));
}

/// Both trees are changed meanwhile, by a process that has rights to them: nothing outside is touched, and no run hangs
/// or panics.
#[test]
fn a_neighbour_in_both_trees_leads_nothing_outside() {
    for seed in manyfiles_testkit::seeds(1, 3) {
        let (temp, source, target) = roots();
        let outside = temp.path().join("outside");
        fs::create_dir_all(outside.join("a/b")).unwrap();
        let kept = ["f", "a/f", "a/b/f", "1", "a/1"];
        for name in kept {
            fs::write(outside.join(name), format!("kept {name}")).unwrap();
        }
        let time = SystemTime::now();
        let is_over = AtomicBool::new(false);
        let trouble = |folder, seed| manyfiles_testkit::make_trouble(folder, &outside, seed, || is_over.load(Relaxed));
        std::thread::scope(|scope| {
            let first = scope.spawn(|| trouble(&source, seed));
            let second = scope.spawn(|| trouble(&target, seed + 1));
            for round in 0..10_u64 {
                for root in [&source, &target] {
                    // It follows no link itself.
                    let tree = TreeWriter::options().on_conflict(OnConflict::Replace).open(root).unwrap();
                    for n in 0..100 {
                        drop(tree.file(format!("{}/{}/{n}", (n + round) % 7, n % 3), vec![n as u8; 1000]));
                    }
                    drop(tree.finish());
                }
                let mirror = Mirror::new().max_delete(u64::MAX).by_content(round % 3 == 0);
                if let Err(error) = mirror.mirror(&source, &target) {
                    assert!(error.errors().iter().all(|it| it.path().is_some()), "round {round}: {error}");
                }
            }
            is_over.store(true, Relaxed);
            first.join().unwrap();
            second.join().unwrap()
        });
        let names = |folder: &str| fs::read_dir(outside.join(folder)).unwrap().count();
        assert_eq!((names(""), names("a"), names("a/b")), (3, 3, 1), "seed {seed}");
        for name in kept {
            assert_eq!(fs::read_to_string(outside.join(name)).unwrap(), format!("kept {name}"), "seed {seed}");
            assert!(fs::metadata(outside.join(name)).unwrap().modified().unwrap() <= time, "seed {seed}");
        }
    }
}
