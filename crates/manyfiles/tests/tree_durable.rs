//! TreeWriter with durability: the same tree, synced in the promised way, and a sync that fails is told.
#![cfg(feature = "full")]

#[cfg(target_os = "linux")]
mod support;

use std::fs;
use std::path::Path;

use manyfiles::tree::{Durability, OnConflict, TreeWriter};

const ALL: [Durability; 3] = [Durability::None, Durability::EachFile, Durability::AtFinish];

fn open(root: &Path, durability: Durability) -> TreeWriter {
    TreeWriter::options().durability(durability).on_conflict(OnConflict::Replace).open(root).unwrap()
}

#[test]
fn whatever_is_promised_the_tree_is_the_same() {
    for durability in ALL {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("new/root");
        let tree = open(&root, durability);
        for n in 0..300 {
            tree.file(format!("{}/{n}", n % 7), vec![n as u8; n * 10]).unwrap();
        }
        tree.folder("empty/below", Default::default()).unwrap();
        let mut stream = tree.create("streamed", Default::default()).unwrap();
        std::io::Write::write_all(&mut stream, b"as it comes").unwrap();
        stream.close().unwrap();
        let report = tree.finish().unwrap();
        assert_eq!((report.files, report.failures.len()), (301, 0), "{durability:?}");
        for n in 0..300 {
            assert_eq!(fs::read(root.join((n % 7).to_string()).join(n.to_string())).unwrap(), vec![n as u8; n * 10]);
        }
        assert!(root.join("empty/below").is_dir());
        assert_eq!(fs::read(root.join("streamed")).unwrap(), b"as it comes");
        if durability != Durability::AtFinish {
            assert_eq!(report.times.sync.is_zero(), durability == Durability::None);
        }
    }
}

#[cfg(target_os = "linux")]
mod injected {
    use super::*;
    use crate::support;
    use manyfiles::Operation;
    use manyfiles::tree::{Incomplete, Report};
    use manyfiles_testkit::{Call, Disk, Need, Preload, Rule, scratch, skip_unless};

    /// Runs the rest of the test named `test` in a process whose calls these rules spoil; true in the process that
    /// starts it.
    fn spoilt(test: &str, rules: &[Rule]) -> bool {
        let preload = rules.iter().cloned().fold(Preload::new(), Preload::rule);
        support::in_parent(&format!("injected::{test}"), |child| {
            preload.apply(child).unwrap();
        })
    }

    fn failures(finished: Result<Report, Incomplete>) -> Vec<(Operation, Option<i32>, String)> {
        let report = match finished {
            Ok(report) => report,
            Err(incomplete) => incomplete.into_report(),
        };
        let told = |error: &manyfiles::Error| {
            (error.operation(), error.raw_os_error(), error.path().unwrap().display().to_string())
        };
        report.failures.iter().map(told).collect()
    }

    #[test]
    fn a_file_whose_sync_failed_is_told_and_gone() {
        skip_unless!(Need::Preload);
        let rule = Rule::fail(Call::Fsync, libc::EIO).path_contains("lost");
        if spoilt("a_file_whose_sync_failed_is_told_and_gone", &[rule]) {
            return;
        }
        for durability in ALL {
            let temp = scratch().unwrap();
            let tree = open(temp.path(), durability);
            for name in ["a", "lost", "z"] {
                tree.file(name, "new").unwrap();
            }
            let expected = match durability {
                Durability::EachFile => vec![(Operation::Sync, Some(libc::EIO), "lost".to_owned())],
                _ => vec![], // New files are synced at the end, with all.
            };
            assert_eq!(failures(tree.finish()), expected, "{durability:?}");
            assert_eq!(temp.path().join("lost").exists(), expected.is_empty(), "{durability:?}");
            assert_eq!(fs::read_to_string(temp.path().join("z")).unwrap(), "new");
        }
    }

    #[test]
    fn what_replaces_a_file_is_synced_before_it_has_the_name() {
        skip_unless!(Need::Preload);
        let test = "what_replaces_a_file_is_synced_before_it_has_the_name";
        if spoilt(test, &[Rule::fail(Call::Fsync, libc::EIO).path_contains("/tree/")]) {
            return;
        }
        for durability in ALL {
            let temp = scratch().unwrap();
            let root = temp.path().join("tree");
            fs::create_dir(&root).unwrap();
            fs::write(root.join("taken"), "old").unwrap();
            let tree = open(&root, durability);
            tree.file("taken", "new").unwrap();
            let failed = failures(tree.finish());
            let (expected, content) = match durability {
                Durability::None => (vec![], "new"),
                _ => (vec![(Operation::Sync, Some(libc::EIO), "taken".to_owned())], "old"),
            };
            assert_eq!(failed, expected, "{durability:?}");
            assert_eq!(fs::read_to_string(root.join("taken")).unwrap(), content, "{durability:?}");
            assert_eq!(fs::read_dir(&root).unwrap().count(), 1, "{durability:?}: a temporary file is left");
        }
    }

    #[test]
    fn one_sync_of_all_is_made_at_the_end_and_if_it_fails_that_is_told() {
        skip_unless!(Need::Preload);
        let test = "one_sync_of_all_is_made_at_the_end_and_if_it_fails_that_is_told";
        // Were there a second, it would succeed; and no other sync is made.
        let rules = [Rule::fail(Call::Syncfs, libc::ENOSPC).nth(1), Rule::fail(Call::Fsync, libc::EIO)];
        if spoilt(test, &rules) {
            return;
        }
        let temp = scratch().unwrap();
        let tree = open(temp.path(), Durability::AtFinish);
        for n in 0..500 {
            tree.file(format!("{}/{n}", n % 10), "x").unwrap();
        }
        assert_eq!(failures(tree.finish()), [(Operation::Sync, Some(libc::ENOSPC), ".".to_owned())]);
    }

    #[test]
    fn an_observer_sees_that_only_the_disk_is_waited_for() {
        skip_unless!(Need::Preload);
        let slow = Rule::delay(Call::Syncfs, std::time::Duration::from_millis(300));
        if spoilt("an_observer_sees_that_only_the_disk_is_waited_for", &[slow]) {
            return;
        }
        let temp = scratch().unwrap();
        let tree = open(temp.path(), Durability::AtFinish);
        tree.file("one", "x").unwrap();
        let observer = tree.observer();
        assert!(!observer.progress().syncing);
        let watching = std::thread::spawn(move || {
            while !observer.progress().syncing {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            observer.progress().entries_done
        });
        tree.finish().unwrap();
        assert_eq!(watching.join().unwrap(), 1, "the files come first");
    }

    #[test]
    fn names_are_synced_those_above_the_root_too() {
        skip_unless!(Need::Preload);
        let test = "names_are_synced_those_above_the_root_too";
        // The first is the file's.
        let rules = [Rule::fail(Call::Fsync, libc::EDQUOT).path_contains("made").after(1)];
        if spoilt(test, &rules) {
            return;
        }
        let temp = scratch().unwrap();
        let root = temp.path().join("made/root");
        let tree = open(&root, Durability::EachFile);
        tree.file("folder/file", "x").unwrap();
        let mut failed = failures(tree.finish());
        failed.sort_by(|a, b| a.2.cmp(&b.2));
        let lost = |path: &str| (Operation::Sync, Some(libc::EDQUOT), path.to_owned());
        assert_eq!(failed, [lost("."), lost(temp.path().join("made").to_str().unwrap()), lost("folder")]);
    }

    #[test]
    fn what_is_mounted_below_the_root_is_synced_by_itself() {
        skip_unless!(Need::Preload, Need::Root);
        let test = "what_is_mounted_below_the_root_is_synced_by_itself";
        if spoilt(test, &[Rule::fail(Call::Fsync, libc::EIO).path_contains("apart")]) {
            return;
        }
        let disk = Disk::tmpfs().mount().unwrap();
        let (root, mount) = (disk.path().parent().unwrap(), disk.path().file_name().unwrap());
        let tree = open(root, Durability::AtFinish);
        tree.file(Path::new(mount).join("folder/apart"), "x").unwrap();
        tree.file("with-all/apart", "x").unwrap();
        let apart = Path::new(mount).join("folder/apart").display().to_string();
        assert_eq!(failures(tree.finish()), [(Operation::Sync, Some(libc::EIO), apart)]);
    }
}
