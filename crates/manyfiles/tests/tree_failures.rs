//! Whatever a system call answers: every byte is in the file, or the caller has an error with its path, and nothing
//! half-written is left.
#![cfg(feature = "full")]
#![cfg(target_os = "linux")]

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use manyfiles::tree::{Content, Metadata, OnConflict, Report, TreeWriter};
use manyfiles::{Error, Operation};
use manyfiles_testkit::{Call, Disk, Need, Op, Preload, Rule, SlowMount, nofile_limit, skip_unless};

mod support;
use support::in_parent;

fn finished(tree: TreeWriter) -> Report {
    tree.finish().unwrap_or_else(|incomplete| incomplete.into_report())
}

/// Each of `count` files is there with its bytes, or not there and among the failures.
fn all_or_named(root: &Path, report: &Report, count: usize, bytes: impl Fn(usize) -> Vec<u8>) {
    let named = |path: &str| report.failures.iter().any(|failure| failure.path() == Some(Path::new(path)));
    for n in 0..count {
        let path = format!("{}/{n}", n % 3);
        match std::fs::read(root.join(&path)) {
            Ok(read) => assert!(read == bytes(n) && !named(&path), "{path} is there: {} bytes", read.len()),
            Err(_) => assert!(named(&path), "{path} is neither there nor named"),
        }
    }
    assert_eq!(report.files as usize + report.failures.len(), count);
    let left = (0..3).filter_map(|n| std::fs::read_dir(root.join(n.to_string())).ok()).flatten().count();
    assert_eq!(left as u64, report.files, "nothing half-written is left");
}

fn write_all(root: &Path, count: usize, bytes: impl Fn(usize) -> Vec<u8>) -> Report {
    let tree = TreeWriter::open(root).unwrap();
    for n in 0..count {
        tree.file(format!("{}/{n}", n % 3), bytes(n)).unwrap();
    }
    finished(tree)
}

#[test]
fn a_full_disk_at_write_and_at_open() {
    skip_unless!(Need::Root);
    let bytes = |n: usize| vec![n as u8; 30_000];
    let disk = Disk::tmpfs().megabytes(4).mount().unwrap();
    let report = write_all(disk.path(), 400, bytes);
    assert!(report.files >= 100 && !report.failures.is_empty());
    assert!(report.failures.iter().all(|failure| failure.raw_os_error() == Some(libc::ENOSPC)));
    all_or_named(disk.path(), &report, 400, bytes);
    let few_inodes = Disk::tmpfs().inodes(60).mount().unwrap();
    let report = write_all(few_inodes.path(), 100, bytes);
    assert!(report.failures.iter().all(|failure| failure.operation() == Operation::Create));
    all_or_named(few_inodes.path(), &report, 100, bytes);
}

#[test]
fn a_full_disk_while_a_stream_is_written() {
    skip_unless!(Need::Root);
    let disk = Disk::tmpfs().megabytes(4).mount().unwrap();
    let tree = TreeWriter::open(disk.path()).unwrap();
    let mut file = tree.create("d/long", Metadata::default()).unwrap();
    let failed = (0..100).find_map(|_| file.write_all(&[1; 100_000]).err()).expect("10 MB don't fit");
    let inner = failed.get_ref().unwrap().downcast_ref::<Error>().unwrap();
    assert_eq!((inner.raw_os_error(), inner.path()), (Some(libc::ENOSPC), Some(Path::new("d/long"))));
    assert_eq!(file.close().unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    let report = finished(tree);
    assert_eq!((report.files, report.failures.len()), (0, 1));
    assert!(!disk.path().join("d/long").exists());
}

#[test]
fn a_quota_and_a_read_only_mount() {
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("mkfs.btrfs"));
    let disk = Disk::btrfs().quota(2 << 20).mount().unwrap();
    let bytes = |n: usize| vec![n as u8; 60_000];
    let report = write_all(disk.path(), 100, bytes);
    assert!(report.failures.iter().any(|failure| failure.raw_os_error() == Some(libc::EDQUOT)), "{report:?}");
    all_or_named(disk.path(), &report, 100, bytes);
    disk.make_read_only().unwrap();
    let tree = TreeWriter::open(disk.path()).unwrap();
    tree.file("new", "x").unwrap();
    tree.folder("folder", Metadata::default()).unwrap();
    let report = finished(tree);
    assert_eq!(report.failures.len(), 2);
    assert!(report.failures.iter().all(|failure| failure.raw_os_error() == Some(libc::EROFS)));
}

#[test]
fn sixty_four_handles_are_enough_for_any_tree() {
    if in_parent("sixty_four_handles_are_enough_for_any_tree", |command| {
        nofile_limit(command, 64);
    }) {
        return;
    }
    // The program itself has most of them: what is left is less than the two halves of a pipeline like to have open.
    for own in [40, 44, 48, 50, 52] {
        let temp = tempfile::tempdir().unwrap();
        let own: Vec<_> = (0..own).map(|_| std::fs::File::open(temp.path()).unwrap()).collect();
        let tree = TreeWriter::open(temp.path()).unwrap();
        for n in 0..600 {
            tree.file(format!("{}/{}/{n}", n % 7, n % 113), vec![1; 3000]).unwrap();
        }
        (0..3000).for_each(|n| tree.file(format!("one/{n}"), vec![1; 3000]).unwrap());
        assert_eq!(tree.finish().unwrap().files, 3600, "{} handles of its own", own.len());
    }
}

/// A slow mount is given many threads, and each holds what it copies while it opens the copy.
#[test]
fn sixty_four_handles_are_enough_for_copies_to_a_slow_mount() {
    skip_unless!(Need::Fuse);
    if in_parent("sixty_four_handles_are_enough_for_copies_to_a_slow_mount", |command| {
        nofile_limit(command, 64);
    }) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("source"), vec![1; 3000]).unwrap();
    let mount = SlowMount::options().delay(Op::Close, Duration::from_millis(2)).mount().unwrap();
    for own in [0, 30, 45] {
        let own: Vec<_> = (0..own).map(|_| std::fs::File::open(temp.path()).unwrap()).collect();
        let tree = TreeWriter::open(mount.path().join(own.len().to_string())).unwrap();
        for n in 0..1500 {
            tree.file(format!("{}/{n}", n % 30), Content::copy_of(temp.path().join("source"))).unwrap();
        }
        assert_eq!(tree.finish().unwrap().files, 1500, "{} handles of its own", own.len());
    }
}

/// Runs this test's body in a child process in which `rule` holds.
fn with_rule(name: &str, rule: Rule) -> bool {
    in_parent(name, |command| {
        Preload::new().rule(rule).apply(command).unwrap();
    })
}

macro_rules! injected {
    ($($name:ident: $rule:expr, $body:expr;)*) => {$(
        #[test]
        fn $name() {
            skip_unless!(Need::Preload);
            if with_rule(stringify!($name), $rule) {
                return;
            }
            let temp = tempfile::tempdir().unwrap();
            let body: fn(&Path) = $body;
            body(temp.path());
        }
    )*};
}

/// The one failure of a tree with three files, of which the one named "bad" cannot be written.
fn one_bad_file(root: &Path, operation: Operation, errno: i32) {
    for policy in [OnConflict::Error, OnConflict::Overwrite, OnConflict::Replace] {
        let tree = TreeWriter::options().on_conflict(policy.clone()).open(root.join(format!("{policy:?}"))).unwrap();
        let metadata = Metadata::default().modified(std::time::SystemTime::now());
        for name in ["good", "bad", "better"] {
            tree.file_with(format!("d/{name}"), "bytes", metadata.clone()).unwrap();
        }
        let report = finished(tree);
        let [failure] = &report.failures[..] else { panic!("{report:?}") };
        assert_eq!(
            (failure.operation(), failure.path(), failure.raw_os_error()),
            (operation, Some(Path::new("d/bad")), Some(errno))
        );
        assert!(failure.to_string().contains("d/bad"), "{failure}");
        assert_eq!(report.files, 2);
        assert!(!root.join(format!("{policy:?}/d/bad")).exists(), "what is incomplete is removed");
    }
}

injected! {
    a_root_that_cannot_be_looked_at_is_told_as_that: Rule::fail(Call::Stat, libc::EIO).path_contains("the-root"),
        |temp| {
            let root = temp.join("the-root");
            std::fs::create_dir(&root).unwrap();
            for publish in [false, true] {
                let error = TreeWriter::options().publish(publish).open(&root).unwrap_err();
                assert_eq!((error.raw_os_error(), error.path()), (Some(libc::EIO), Some(&*root)), "{error}");
            }
        };
    a_file_that_cannot_be_opened: Rule::fail(Call::Open, libc::EIO).path_contains("d/bad"),
        |root| one_bad_file(root, Operation::Create, libc::EIO);
    a_file_that_cannot_be_written: Rule::fail(Call::Write, libc::EIO).path_contains("d/bad"),
        |root| one_bad_file(root, Operation::Write, libc::EIO);
    a_file_over_quota: Rule::fail(Call::Write, libc::EDQUOT).path_contains("d/bad"),
        |root| one_bad_file(root, Operation::Write, libc::EDQUOT);
    a_file_whose_close_says_that_the_disk_is_full: Rule::fail(Call::Close, libc::ENOSPC).path_contains("d/bad"),
        |root| one_bad_file(root, Operation::Close, libc::ENOSPC);
    a_file_whose_close_is_interrupted_is_not_closed_again: Rule::fail(Call::Close, libc::EINTR).path_contains("d/bad"),
        |root| one_bad_file(root, Operation::Close, libc::EINTR);
    a_file_whose_time_cannot_be_set: Rule::fail(Call::Utimens, libc::EPERM).path_contains("d/bad"),
        |root| one_bad_file(root, Operation::SetMetadata, libc::EPERM);
    writes_that_fall_short_are_continued: Rule::short(Call::Write, 7),
        |root| {
            let report = write_all(root, 60, |n| vec![n as u8; 100 + n]);
            assert_eq!(report.files, 60);
            all_or_named(root, &report, 60, |n| vec![n as u8; 100 + n]);
        };
    an_interrupted_write_is_made_again: Rule::fail(Call::Write, libc::EINTR).path_contains("/tmp/").nth(3),
        |root| assert_eq!(write_all(root, 60, |_| vec![1; 100]).files, 60);
    a_name_that_waits_for_one_slow_write_is_written_when_that_is_done:
        Rule::delay(Call::Write, Duration::from_millis(300)).path_contains("/slow"),
        |root| {
            // One folder has all, so that one thread opens and one writes. The one that opens has nothing more to do
            // until the first "slow" is written, and goes to sleep meanwhile.
            let tree = TreeWriter::options().on_conflict(OnConflict::Overwrite).bytes_in_flight(usize::MAX).open(root).unwrap();
            (0..1000).for_each(|n| tree.file(n.to_string(), "x").unwrap());
            (0..2).for_each(|n| tree.file("slow", n.to_string()).unwrap());
            (1000..2000).for_each(|n| tree.file(n.to_string(), "x").unwrap());
            assert_eq!(tree.finish().unwrap().files, 2002);
            assert_eq!(std::fs::read_to_string(root.join("slow")).unwrap(), "1");
        };
    a_folder_that_cannot_be_made_fails_what_was_to_be_in_it: Rule::fail(Call::Mkdir, libc::ENOSPC).path_contains("/1"),
        |root| {
            let report = write_all(root, 60, |_| vec![1; 100]);
            assert_eq!((report.files, report.failures.len()), (40, 20));
            assert!(report.failures.iter().all(|failure| failure.raw_os_error() == Some(libc::ENOSPC)));
            all_or_named(root, &report, 60, |_| vec![1; 100]);
        };
    a_rename_that_fails_leaves_the_old_file: Rule::fail(Call::Rename, libc::EIO).path_contains("d/bad"),
        |root| {
            std::fs::create_dir(root.join("d")).unwrap();
            std::fs::write(root.join("d/bad"), "old").unwrap();
            let tree = TreeWriter::options().on_conflict(OnConflict::Replace).open(root).unwrap();
            tree.file("d/bad", "new").unwrap();
            let report = finished(tree);
            assert_eq!(report.failures[0].operation(), Operation::Rename);
            assert_eq!(std::fs::read_to_string(root.join("d/bad")).unwrap(), "old");
            assert_eq!(std::fs::read_dir(root.join("d")).unwrap().count(), 1);
        };
    a_copy_whose_source_cannot_be_read: Rule::fail(Call::Read, libc::EIO).path_contains("source"),
        |root| {
            std::fs::write(root.join("source"), "x").unwrap();
            let tree = TreeWriter::open(root.join("out")).unwrap();
            tree.file("bad", Content::copy_of(root.join("source"))).unwrap();
            let report = finished(tree);
            assert_eq!((report.failures[0].path(), report.failures[0].raw_os_error()), (Some(Path::new("bad")), Some(libc::EIO)));
            let source = root.join("source").display().to_string();
            let told = report.failures[0].to_string();
            assert!(told.starts_with(&format!("cannot write bad: cannot read {source}: ")), "{told}");
            assert!(!root.join("out/bad").exists());
        };
}

#[test]
fn a_close_that_fails_on_a_network_file_system_is_reported_with_its_path() {
    skip_unless!(Need::Fuse);
    for errno in [libc::EIO, libc::ENOSPC, libc::EDQUOT] {
        let mount = SlowMount::options().fail(Op::Close, errno, "bad").mount().unwrap();
        one_bad_file(mount.path(), Operation::Close, errno);
    }
}

#[test]
fn a_file_system_that_waits_gets_more_threads_than_cores_and_a_fast_one_does_not() {
    skip_unless!(Need::Fuse);
    let many = |root: &Path| {
        let tree = TreeWriter::options().threads(2).open(root).unwrap();
        (0..600).for_each(|n| tree.file(format!("{}/{n}", n % 20), "bytes").unwrap());
        tree.finish().unwrap().peak_threads
    };
    let temp = tempfile::tempdir().unwrap();
    // Its first files may find the disk asleep; that is not what makes a file system slow.
    assert!(many(temp.path()) < 16);
    for slow in [Op::Close, Op::Write, Op::Create] {
        let mount = SlowMount::options().delay(slow, Duration::from_millis(3)).mount().unwrap();
        assert!(many(mount.path()) > 16, "{slow:?}");
    }
}

#[test]
fn threads_that_waited_for_a_slow_file_system_leave_when_it_is_fast_again() {
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options().delay(Op::Close, Duration::from_millis(3)).mount().unwrap();
    // What is behind the mount is fast: a link to it cannot be followed, so the fast part is a bind mount, where root
    // may.
    skip_unless!(Need::Root);
    let fast = mount.path().join("fast");
    std::fs::create_dir(&fast).unwrap();
    let disk = Disk::tmpfs().mount().unwrap();
    let bind =
        |args: &[&std::ffi::OsStr]| std::process::Command::new(args[0]).args(&args[1..]).status().unwrap().success();
    assert!(bind(&["mount".as_ref(), "--bind".as_ref(), disk.path().as_ref(), fast.as_ref()]));
    let tree = TreeWriter::options().threads(2).open(mount.path()).unwrap();
    (0..300).for_each(|n| tree.file(format!("{}/{n}", n % 20), "bytes").unwrap());
    while tree.observer().progress().entries_done < 300 {
        std::thread::sleep(Duration::from_millis(1));
    }
    (0..5000).for_each(|n| tree.file(format!("fast/{}/{n}", n % 20), "bytes").unwrap());
    while tree.observer().progress().entries_done < 5300 {
        std::thread::sleep(Duration::from_millis(1));
    }
    // Those of other tests are among them, and leave as well.
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let name = |task: &std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
        // A thread that ends meanwhile has no name to read any more.
        tasks.filter(|task| name(task.as_ref().unwrap()).is_ok_and(|comm| comm.trim() == "manyfiles")).count()
    };
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while threads() > 16 {
        assert!(std::time::Instant::now() < deadline, "{} threads are left after a minute", threads());
        std::thread::sleep(Duration::from_millis(5));
    }
    let report = tree.finish();
    assert!(bind(&["umount".as_ref(), fast.as_ref()]));
    assert!(report.unwrap().peak_threads > 16);
}
