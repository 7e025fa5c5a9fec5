//! Files that are made of others share with them what the file systems can share, and never change them.
#![cfg(feature = "full")]
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use manyfiles::tree::{
    Content, Digest, Durability, Metadata, OnConflict, Options, Outcome, Report, Shares, TreeWriter,
};
use manyfiles_testkit::{Disk, Need, nofile_limit, skip_unless};

type Make = fn(PathBuf) -> Content;
const ALL: [Make; 4] = [Content::copy_of, Content::clone_of, Content::link_to, Content::hard_link_to];

/// A store with files of several sizes, and a folder for what is made of them.
fn store(at: &Path) -> (PathBuf, PathBuf) {
    let store = at.join("store");
    fs::create_dir(&store).unwrap();
    for (name, len) in [("empty", 0), ("tiny", 5), ("small", 5000), ("large", 200_000)] {
        fs::write(store.join(name), vec![b'x'; len]).unwrap();
    }
    (store, at.join("out"))
}

fn write(options: Options, store: &Path, out: &Path, make: Make) -> Report {
    let tree = options.open(out).unwrap();
    // First one of no length, which tells nothing of the file systems.
    for name in ["empty", "tiny", "small", "large"] {
        tree.file(name, make(store.join(name))).unwrap();
    }
    tree.finish().unwrap()
}

fn same_bytes(store: &Path, out: &Path) {
    for name in ["empty", "tiny", "small", "large"] {
        assert_eq!(fs::read(store.join(name)).unwrap(), fs::read(out.join(name)).unwrap(), "{name}");
    }
    let names: Vec<_> = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 4, "no trial stays: {names:?}");
}

/// How many are cloned and shared, for each way: on this disk, out of the store on it.
fn counts(disk: &Disk) -> [(u64, u64); 4] {
    ALL.map(|make| {
        let temp = tempfile::tempdir_in(disk.path()).unwrap();
        let (store, out) = store(temp.path());
        // With one thread, what is known when each file comes is the same in every run.
        let report = write(TreeWriter::options().threads(1), &store, &out, make);
        same_bytes(&store, &out);
        assert_eq!((report.files, report.bytes), (4, 205_005));
        (report.cloned, report.shared)
    })
}

#[test]
fn where_blocks_can_be_shared_files_are_cloned_and_the_same_file_only_on_demand() {
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("mkfs.btrfs"), Need::Program("mkfs.xfs"));
    for disk in [Disk::btrfs().mount().unwrap(), Disk::xfs().mount().unwrap()] {
        assert_eq!(counts(&disk), [(1, 0), (3, 0), (3, 0), (0, 4)]);
    }
}

/// The first file that `link_to` is given has no length, which tells nothing: it is copied.
#[test]
fn where_blocks_cannot_be_shared_the_same_file_gets_another_name() {
    skip_unless!(Need::Root, Need::LoopDevices);
    for disk in [Disk::ext4().megabytes(64).mount().unwrap(), Disk::tmpfs().mount().unwrap()] {
        assert_eq!(counts(&disk), [(0, 0), (0, 0), (0, 3), (0, 4)]);
    }
}

#[test]
fn between_two_devices_all_is_copied() {
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("mkfs.btrfs"));
    let (from, to) = (Disk::btrfs().mount().unwrap(), Disk::tmpfs().mount().unwrap());
    let (store, _) = store(from.path());
    for (n, make) in ALL.into_iter().enumerate() {
        let out = to.path().join(n.to_string());
        let report = write(TreeWriter::options(), &store, &out, make);
        same_bytes(&store, &out);
        assert_eq!((report.files, report.cloned, report.shared), (4, 0, 0));
    }
}

#[test]
fn sources_of_two_devices_each_share_what_they_can() {
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("mkfs.btrfs"));
    let (here, there) = (Disk::btrfs().mount().unwrap(), Disk::tmpfs().mount().unwrap());
    let (near, out) = store(here.path());
    let (far, _) = store(there.path());
    let tree = TreeWriter::options().threads(1).open(&out).unwrap();
    for n in 0..20 {
        let store = if n % 2 == 0 { &far } else { &near };
        tree.file(n.to_string(), Content::link_to(store.join("small"))).unwrap();
    }
    let report = tree.finish().unwrap();
    assert_eq!((report.files, report.cloned, report.shared), (20, 10, 0));
}

#[test]
fn metadata_that_differs_is_given_to_a_file_of_its_own_and_never_to_the_source() {
    let temp = tempfile::tempdir().unwrap();
    let (store, out) = store(temp.path());
    let source = store.join("small");
    fs::set_permissions(&source, Permissions::from_mode(0o444)).unwrap();
    let old = source.metadata().unwrap();
    let time = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for make in [Content::link_to as Make, Content::hard_link_to] {
        drop(fs::remove_dir_all(&out));
        let tree = TreeWriter::options().exact_permissions(true).open(&out).unwrap();
        tree.file_with("mode", make(source.clone()), Metadata::default().mode(0o600)).unwrap();
        tree.file_with("time", make(source.clone()), Metadata::default().modified(time)).unwrap();
        tree.file_with("xattr", make(source.clone()), Metadata::default().xattr("user.x", b"1")).unwrap();
        let same = Metadata::default().mode(0o444).modified(old.modified().unwrap());
        tree.file_with("same", make(source.clone()), same).unwrap();
        let report = tree.finish().unwrap();
        let [mode, time_of, xattr] = ["mode", "time", "xattr"].map(|name| out.join(name).metadata().unwrap());
        assert_eq!(mode.mode() & 0o7777, 0o600);
        assert_eq!(time_of.modified().unwrap(), time);
        assert!([&mode, &time_of, &xattr].iter().all(|file| file.ino() != old.ino()));
        assert_eq!((report.files, report.cloned + report.shared >= 1), (4, true));
        let now = source.metadata().unwrap();
        assert_eq!((now.mode(), now.modified().unwrap()), (old.mode(), old.modified().unwrap()));
    }
}

#[test]
fn a_second_run_that_skips_what_is_identical_writes_nothing() {
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("mkfs.btrfs"));
    for disk in [Disk::ext4().megabytes(64).mount().unwrap(), Disk::btrfs().mount().unwrap()] {
        let (store, out) = store(disk.path());
        for first in ALL {
            for second in ALL {
                drop(fs::remove_dir_all(&out));
                write(TreeWriter::options(), &store, &out, first);
                let inodes =
                    || ["empty", "tiny", "small", "large"].map(|name| out.join(name).metadata().unwrap().ino());
                let before = inodes();
                let report = write(TreeWriter::options().on_conflict(OnConflict::SkipIdentical), &store, &out, second);
                assert_eq!((report.files, report.skipped), (0, 4));
                assert_eq!(inodes(), before);
            }
        }
    }
}

#[test]
fn a_name_that_is_taken_is_settled_by_the_policy_and_nothing_is_written_through_it() {
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("mkfs.btrfs"));
    for disk in [Disk::ext4().megabytes(64).mount().unwrap(), Disk::btrfs().mount().unwrap()] {
        let (store, out) = store(disk.path());
        let source = store.join("small");
        for make in [Content::link_to as Make, Content::hard_link_to, Content::clone_of] {
            for (policy, expected) in [
                (OnConflict::Error, "failed"),
                (OnConflict::Skip, "kept"),
                (OnConflict::SkipIdentical, "new"),
                (OnConflict::Overwrite, "new"),
                (OnConflict::Replace, "new"),
                (OnConflict::Newer, "new"),
                (OnConflict::Rename, "renamed"),
            ] {
                drop(fs::remove_dir_all(&out));
                fs::create_dir(&out).unwrap();
                // Another name of it, which is to stay as it is.
                fs::write(out.join("other"), "old").unwrap();
                fs::hard_link(out.join("other"), out.join("file")).unwrap();
                fs::File::open(out.join("file")).unwrap().set_modified(UNIX_EPOCH).unwrap();
                let told = format!("{policy:?}");
                let tree = TreeWriter::options().on_conflict(policy).open(&out).unwrap();
                tree.file("file", make(source.clone())).unwrap();
                let report = tree.finish().unwrap_or_else(|incomplete| incomplete.into_report());
                let new = fs::read(&source).unwrap();
                let has = fs::read(out.join("file")).unwrap();
                assert_eq!(fs::read(out.join("other")).unwrap(), b"old", "{told}");
                match expected {
                    "failed" => assert_eq!((has, report.failures.len()), (b"old".to_vec(), 1)),
                    "kept" => assert_eq!((has, report.skipped), (b"old".to_vec(), 1)),
                    "renamed" => assert_eq!((has, fs::read(out.join("file (1)")).unwrap()), (b"old".to_vec(), new)),
                    _ => assert_eq!((has == new, report.files), (true, 1), "{told}"),
                }
            }
        }
    }
}

#[test]
fn a_name_that_is_the_source_already_is_done() {
    let temp = tempfile::tempdir().unwrap();
    let (store, out) = store(temp.path());
    for policy in [OnConflict::Replace, OnConflict::Overwrite, OnConflict::Newer, OnConflict::Skip] {
        drop(fs::remove_dir_all(&out));
        fs::create_dir(&out).unwrap();
        fs::hard_link(store.join("small"), out.join("small")).unwrap();
        let tree = TreeWriter::options().on_conflict(policy).open(&out).unwrap();
        tree.file("small", Content::link_to(store.join("small"))).unwrap();
        let report = tree.finish().unwrap();
        assert_eq!(report.shared + report.skipped, 1);
        assert_eq!(fs::metadata(store.join("small")).unwrap().nlink(), 2);
    }
}

#[test]
fn what_is_no_file_is_a_failure_that_names_it() {
    let temp = tempfile::tempdir().unwrap();
    let (store, _) = store(temp.path());
    std::os::unix::fs::symlink("small", store.join("link")).unwrap();
    for (n, make) in ALL.into_iter().enumerate() {
        for name in ["link", "missing", "."] {
            let tree = TreeWriter::open(temp.path().join(n.to_string())).unwrap();
            tree.file("x", make(store.join(name))).unwrap();
            let incomplete = tree.finish().unwrap_err();
            let told = incomplete.to_string();
            assert!(told.contains("store"), "{told}");
            assert!(!temp.path().join(n.to_string()).join("x").exists());
        }
    }
}

#[test]
fn a_file_that_has_as_many_names_as_it_can_is_copied_for_the_rest() {
    skip_unless!(Need::Root, Need::LoopDevices);
    let disk = Disk::ext4().megabytes(256).mount().unwrap();
    let (store, out) = store(disk.path());
    /// Of ext4.
    const MOST: u64 = 65_000;
    let tree = TreeWriter::open(&out).unwrap();
    for n in 0..MOST + 20 {
        tree.file(format!("{}/{n}", n % 50), Content::link_to(store.join("tiny"))).unwrap();
    }
    tree.file("another", Content::link_to(store.join("small"))).unwrap();
    let report = tree.finish().unwrap();
    assert_eq!((report.files, report.shared), (MOST + 21, MOST), "one name is the store's, and another file is shared");
    assert_eq!(fs::metadata(store.join("tiny")).unwrap().nlink(), MOST);
}

#[test]
fn a_file_of_the_image_is_shared_in_a_container() {
    skip_unless!(Need::Overlay);
    let image = tempfile::tempdir().unwrap();
    fs::create_dir(image.path().join("store")).unwrap();
    fs::write(image.path().join("store/file"), "bytes").unwrap();
    let container = Disk::overlay(image.path()).unwrap();
    for make in ALL {
        let out = tempfile::tempdir_in(container.path()).unwrap();
        let tree = TreeWriter::open(out.path()).unwrap();
        tree.file("file", make(container.path().join("store/file"))).unwrap();
        assert_eq!(tree.finish().unwrap().files, 1);
        assert_eq!(fs::read_to_string(out.path().join("file")).unwrap(), "bytes");
    }
    assert_eq!(fs::read_to_string(image.path().join("store/file")).unwrap(), "bytes");
}

#[test]
fn each_entry_tells_what_it_shares_and_has_its_digest() {
    struct Sum(u64);
    impl Digest for Sum {
        fn update(&mut self, bytes: &[u8]) {
            self.0 += bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
        }
        fn finish(self: Box<Self>) -> Vec<u8> {
            self.0.to_le_bytes().to_vec()
        }
    }
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("mkfs.btrfs"));
    let disks =
        [(Disk::ext4().megabytes(64).mount().unwrap(), Shares::All), (Disk::btrfs().mount().unwrap(), Shares::Blocks)];
    for (disk, expected) in disks {
        for (n, make) in ALL.into_iter().enumerate() {
            let (out, seen) = (disk.path().join(n.to_string()), Arc::new(Mutex::new(BTreeMap::new())));
            let source = disk.path().join("source");
            fs::write(&source, vec![1; 5000]).unwrap();
            let tell = seen.clone();
            let options = TreeWriter::options().digest(|| Box::new(Sum(0))).on_entry(move |entry| {
                if let Outcome::Written { stat, digest, shares, .. } = &entry.outcome {
                    let told = (stat.unwrap().len, digest.unwrap().to_vec(), *shares);
                    tell.lock().unwrap().insert(entry.path.to_path_buf(), told);
                }
            });
            let tree = options.open(&out).unwrap();
            tree.file("a", make(source.clone())).unwrap();
            tree.file("b", "plain").unwrap();
            tree.finish().unwrap();
            let seen = seen.lock().unwrap();
            let shares = match n {
                0 => Shares::Nothing,
                1 if expected == Shares::All => Shares::Nothing,
                3 => Shares::All,
                _ => expected,
            };
            assert_eq!(seen[Path::new("a")], (5000, 5000_u64.to_le_bytes().to_vec(), shares), "{n}");
            assert_eq!(seen[Path::new("b")].2, Shares::Nothing);
        }
    }
}

#[test]
fn threads_that_find_out_at_once_find_the_same() {
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("mkfs.btrfs"));
    for (disk, cloned) in [(Disk::ext4().megabytes(64).mount().unwrap(), 0), (Disk::btrfs().mount().unwrap(), 400)] {
        let (store, out) = store(disk.path());
        for round in 0..10 {
            let out = out.join(round.to_string());
            let tree = TreeWriter::options().threads(8).open(&out).unwrap();
            for n in 0..400 {
                tree.file(format!("{}/{n}", n % 40), Content::link_to(store.join("small"))).unwrap();
            }
            let report = tree.finish().unwrap();
            assert_eq!((report.cloned, report.shared), (cloned, 400 - cloned));
            let left = (0..40).flat_map(|n| fs::read_dir(out.join(n.to_string())).unwrap()).count();
            assert_eq!(left, 400, "no trial stays");
        }
    }
}

#[test]
fn what_is_durable_or_published_is_shared_too() {
    let temp = tempfile::tempdir().unwrap();
    let (store, out) = store(temp.path());
    for durability in [Durability::EachFile, Durability::AtFinish] {
        for publish in [false, true] {
            drop(fs::remove_dir_all(&out));
            let options = TreeWriter::options().durability(durability).publish(publish);
            let report = write(options, &store, &out, Content::hard_link_to);
            same_bytes(&store, &out);
            assert_eq!(report.shared, 4);
        }
    }
}

/// Runs a test of this file in a child: as another user, or with few handles.
fn in_a_child(test: &str, folder: &Path, change: impl FnOnce(&mut Command)) {
    // A user may not reach the folder of the build.
    let program = folder.join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(program);
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads", "1"]);
    command.env("MANYFILES_TEST_FOLDER", folder).current_dir(folder);
    change(&mut command);
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

fn folder() -> PathBuf {
    std::env::var_os("MANYFILES_TEST_FOLDER").expect("run by another test").into()
}

#[test]
fn another_users_file_that_is_protected_is_copied() {
    skip_unless!(Need::Root);
    let protected = fs::read_to_string("/proc/sys/fs/protected_hardlinks").unwrap_or_default();
    if protected.trim() != "1" {
        return manyfiles_testkit::skip("fs.protected_hardlinks is off");
    }
    let temp = tempfile::tempdir().unwrap();
    fs::set_permissions(temp.path(), Permissions::from_mode(0o777)).unwrap();
    store(temp.path());
    in_a_child("as_nobody", temp.path(), |command| {
        command.uid(65_534).gid(65_534);
    });
}

#[test]
#[ignore = "run by another_users_file_that_is_protected_is_copied"]
fn as_nobody() {
    let folder = folder();
    fs::write(folder.join("store/own"), "").unwrap_err();
    fs::write(folder.join("own"), "mine").unwrap();
    for make in [Content::link_to as Make, Content::hard_link_to] {
        let out = folder.join("out");
        drop(fs::remove_dir_all(&out));
        let report = write(TreeWriter::options(), &folder.join("store"), &out, make);
        same_bytes(&folder.join("store"), &out);
        assert_eq!((report.files, report.shared), (4, 0));
        let tree = TreeWriter::options().threads(1).open(folder.join("out")).unwrap();
        tree.file("more/own", Content::hard_link_to(folder.join("own"))).unwrap();
        assert_eq!(tree.finish().unwrap().shared, 1, "a file of its own");
    }
}

#[test]
fn few_handles_are_enough() {
    let temp = tempfile::tempdir().unwrap();
    store(temp.path());
    in_a_child("with_few_handles", temp.path(), |command| {
        nofile_limit(command, 24);
    });
}

#[test]
#[ignore = "run by few_handles_are_enough"]
fn with_few_handles() {
    let folder = folder();
    for (n, make) in ALL.into_iter().enumerate() {
        let tree = TreeWriter::options().threads(8).open(folder.join("out")).unwrap();
        for m in 0..500 {
            tree.file(format!("{n}/{}/{m}", m % 50), make(folder.join("store/small"))).unwrap();
        }
        assert_eq!(tree.finish().unwrap().files, 500);
    }
}
