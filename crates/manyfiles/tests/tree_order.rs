//! The result is that of the entries one after the other, hard links included.
#![cfg(feature = "full")]

use std::path::Path;

use manyfiles::tree::{Incomplete, Metadata, OnConflict, Report, TreeWriter};
use manyfiles::{Error, Operation};

fn report(result: Result<Report, Incomplete>) -> Report {
    result.unwrap_or_else(Incomplete::into_report)
}

fn text(root: &Path, path: &str) -> String {
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn policies() -> [OnConflict; 3] {
    [OnConflict::Overwrite, OnConflict::Replace, OnConflict::SkipIdentical]
}

#[test]
fn a_link_is_made_to_what_has_the_name_where_the_link_stands() {
    for policy in policies() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        let tree = TreeWriter::options().on_conflict(policy.clone()).open(root).unwrap();
        for folder in ["1", "2", "3"] {
            tree.file(format!("{folder}/a"), "old").unwrap();
            tree.hard_link(format!("{folder}/links/b"), format!("{folder}/a")).unwrap();
        }
        tree.file("1/links/b", "new").unwrap();
        tree.file("2/a", "new").unwrap();
        tree.file("3/links/b", "new").unwrap();
        tree.hard_link("3/a", "3/links/b").unwrap();
        let report = tree.finish().unwrap();
        assert_eq!((report.files, report.hard_links), (6, 4), "{policy:?}");
        let pair = |folder: &str| (text(root, &format!("{folder}/a")), text(root, &format!("{folder}/links/b")));
        assert_eq!(
            pair("1"),
            ("old".into(), "new".into()),
            "{policy:?}: what is written over one name leaves the other"
        );
        assert_eq!(pair("2"), ("new".into(), "old".into()), "{policy:?}");
        assert_eq!(pair("3"), ("new".into(), "new".into()), "{policy:?}");
    }
}

#[test]
fn a_chain_of_links_through_many_folders_is_one_file() {
    for round in 0..20 {
        let temp = tempfile::tempdir().unwrap();
        let tree = TreeWriter::open(temp.path()).unwrap();
        tree.file("0/0", "the one").unwrap();
        for n in 1..200 {
            let before = n - 1;
            tree.hard_link(format!("{}/{n}", n % (2 + round % 5)), format!("{}/{before}", before % (2 + round % 5)))
                .unwrap();
            tree.file(format!("{}/other{n}", n % 3), "x").unwrap();
        }
        let report = tree.finish().unwrap();
        assert_eq!((report.files, report.hard_links), (200, 199));
        for n in 0..200 {
            assert_eq!(text(temp.path(), &format!("{}/{n}", n % (2 + round % 5))), "the one");
        }
    }
}

#[test]
fn a_link_to_nothing_names_itself_and_its_target_and_makes_no_folder() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("f"), "a file").unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    tree.hard_link("a", "nothing").unwrap();
    tree.hard_link("b", "no/folder").unwrap();
    tree.hard_link("c", "f/x").unwrap();
    tree.hard_link("d", "./").unwrap_err();
    tree.hard_link("e", "").unwrap_err();
    tree.hard_link("./", "f").unwrap_err();
    let report = report(tree.finish());
    let told = |path: &str| {
        let of = |failure: &&Error| failure.path() == Some(Path::new(path));
        report.failures.iter().find(of).unwrap_or_else(|| panic!("{path}: {report:?}")).to_string()
    };
    assert!(told("b").contains("no/folder") || told("b").contains("open no"), "{}", told("b"));
    assert!(told("c").contains('f'), "{}", told("c"));
    for path in ["a", "b", "c", "d", "e"] {
        assert!(told(path).starts_with(&format!("cannot make the hard link {path}: ")), "{}", told(path));
    }
    assert_eq!((report.failures.len(), report.hard_links), (6, 0));
    assert!(report.failures.iter().all(|failure| failure.operation() == Operation::HardLink));
    assert!(!temp.path().join("no").exists());
}

#[test]
fn a_link_that_cannot_be_made_may_have_content_of_its_own() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(temp.path().join("folder is in the way")).unwrap();
    let tree = TreeWriter::options().on_conflict(OnConflict::Overwrite).open(temp.path()).unwrap();
    tree.file("folder is in the way", "content").unwrap_or(());
    let mode = Metadata::default().mode(0o600);
    tree.hard_link_or("second", "folder is in the way", "content", mode.clone()).unwrap();
    tree.hard_link_or("third", "second", "never needed", mode).unwrap();
    let report = report(tree.finish());
    assert_eq!((report.files, report.hard_links, report.failures.len()), (1, 1, 1), "{report:?}");
    assert_eq!(text(temp.path(), "third"), "content");
}

#[test]
fn the_last_entry_of_a_path_wins_under_every_policy_and_the_policy_is_for_what_was_there() {
    for policy in [
        OnConflict::Error,
        OnConflict::Skip,
        OnConflict::SkipIdentical,
        OnConflict::Overwrite,
        OnConflict::Replace,
        OnConflict::Newer,
        OnConflict::Rename,
    ] {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        std::fs::write(root.join("there"), "mine").unwrap();
        let at =
            |seconds| Metadata::default().modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds));
        let tree = TreeWriter::options().on_conflict(policy.clone()).last_wins(true).open(root).unwrap();
        for (n, content) in ["first", "second", "third"].into_iter().enumerate() {
            for path in ["a", "d/b", "there"] {
                tree.file_with(path, content, at(1_000 - n as u64)).unwrap();
            }
            tree.hard_link("link", "a").unwrap();
        }
        let report = report(tree.finish());
        assert_eq!(text(root, "a"), "third", "{policy:?} {report:?}");
        assert_eq!(text(root, "d/b"), "third", "{policy:?}");
        assert_eq!(text(root, "link"), "third", "{policy:?}");
        let expected = match &policy {
            OnConflict::SkipIdentical | OnConflict::Overwrite | OnConflict::Replace => "third",
            _ => "mine",
        };
        assert_eq!(text(root, "there"), expected, "{policy:?}");
        match &policy {
            OnConflict::Error => assert_eq!(report.failures.len(), 3),
            OnConflict::Skip | OnConflict::Newer => assert_eq!((report.skipped, report.failures.len()), (3, 0)),
            OnConflict::Rename => {
                assert_eq!(text(root, "there (1)"), "third", "{report:?}");
                assert!(!root.join("there (2)").exists() && !root.join("a (1)").exists());
            }
            _ => assert!(report.failures.is_empty()),
        }
    }
}

#[test]
fn streams_of_one_path_that_is_taken_share_the_new_name_and_leave_what_was_there() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("a"), "mine").unwrap();
    let tree = TreeWriter::options().on_conflict(OnConflict::Rename).last_wins(true).open(temp.path()).unwrap();
    for byte in 1..4_u8 {
        tree.copy_from("a", &vec![byte; 300 << 10][..], Metadata::default()).unwrap();
    }
    assert_eq!(tree.finish().unwrap().files, 3);
    assert_eq!(text(temp.path(), "a"), "mine");
    assert_eq!(std::fs::read(temp.path().join("a (1)")).unwrap(), vec![3; 300 << 10]);
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 2);
}

#[test]
fn without_it_what_this_run_wrote_is_as_what_was_there() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::options().on_conflict(OnConflict::Skip).open(temp.path()).unwrap();
    tree.file("a", "first").unwrap();
    tree.file("a", "second").unwrap();
    assert_eq!(tree.finish().unwrap().skipped, 1);
    assert_eq!(text(temp.path(), "a"), "first");
}

#[test]
fn a_path_that_ends_as_a_folder_s_does_is_no_file_s() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    tree.file("d/", "x").unwrap_err();
    assert!(tree.create("d/e/", Metadata::default()).is_err());
    tree.folder("d/", Metadata::default()).unwrap();
    let report = report(tree.finish());
    assert_eq!((report.failures.len(), report.files, report.folders), (2, 0, 1));
}

/// The archive of the findings: 12 paths of 990 names of 255 bytes took 2.96 GB.
#[test]
#[cfg(target_os = "linux")]
fn deep_paths_take_memory_for_their_names_only() {
    let peak = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    };
    let temp = manyfiles_testkit::scratch().unwrap();
    let before = peak();
    let tree = TreeWriter::open(temp.path()).unwrap();
    let deep = vec!["d".repeat(255); 990].join("/");
    for n in 0..12 {
        tree.file(format!("{n}/{deep}/f"), "x").unwrap();
    }
    assert_eq!(tree.finish().unwrap().files, 12);
    assert!(peak() - before < 64 << 20, "{} MiB", (peak() - before) >> 20);
    // A path of that length is more than remove_dir_all's own stack of open folders may hold.
    assert!(std::process::Command::new("rm").arg("-rf").arg(temp.path().join("0")).status().unwrap().success());
    for n in 1..12 {
        assert!(
            std::process::Command::new("rm")
                .arg("-rf")
                .arg(temp.path().join(n.to_string()))
                .status()
                .unwrap()
                .success()
        );
    }
}
