//! A name that is taken: every policy, for every kind of entry.
#![cfg(feature = "full")]

use std::io::Write;
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use manyfiles::tree::{Answer, Metadata, OnConflict, Report, TreeWriter};
use manyfiles::{Error, Operation};
use manyfiles_testkit::{Need, skip_unless, symlink};

/// A folder that has `old.txt` already, in which `write` then writes.
fn over_old(on_conflict: OnConflict, write: impl FnOnce(&TreeWriter)) -> (tempfile::TempDir, Report) {
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("old.txt"), "the old bytes, longer").unwrap();
    let tree = TreeWriter::options().on_conflict(on_conflict).open(temp.path()).unwrap();
    write(&tree);
    let report = tree.finish().unwrap_or_else(|incomplete| incomplete.into_report());
    (temp, report)
}

fn text(root: &Path, name: &str) -> String {
    std::fs::read_to_string(root.join(name)).unwrap()
}

/// The same file, handed over whole and as a stream.
fn both_ways(on_conflict: OnConflict, check: impl Fn(&Path, &Report)) {
    for stream in [false, true] {
        let (temp, report) = over_old(on_conflict.clone(), |tree| {
            if stream {
                let mut file = tree.create("old.txt", Metadata::default()).unwrap();
                file.write_all(b"new").unwrap();
                file.skip(0).unwrap();
                drop(file.close()); // It is in the report.
            } else {
                tree.file("old.txt", "new").unwrap();
            }
        });
        check(temp.path(), &report);
        let left = std::fs::read_dir(temp.path()).unwrap().count();
        assert_eq!(left, 1 + report.renamed.len(), "no temporary file is left");
    }
}

#[test]
fn by_default_the_old_file_stays_and_the_new_one_is_a_failure() {
    both_ways(OnConflict::Error, |root, report| {
        assert_eq!(text(root, "old.txt"), "the old bytes, longer");
        let [failure] = &report.failures[..] else { panic!("{report:?}") };
        assert_eq!((failure.operation(), failure.path()), (Operation::Create, Some(Path::new("old.txt"))));
        assert_eq!(failure.kind(), std::io::ErrorKind::AlreadyExists);
        assert!(failure.raw_os_error().is_some());
        assert_eq!(report.files, 0);
    });
}

#[test]
fn skip_leaves_the_old_file_and_counts() {
    both_ways(OnConflict::Skip, |root, report| {
        assert_eq!(text(root, "old.txt"), "the old bytes, longer");
        assert_eq!((report.skipped, report.files, report.failures.len()), (1, 0, 0));
    });
}

#[test]
fn overwriting_leaves_nothing_of_a_longer_old_file() {
    for policy in [OnConflict::Overwrite, OnConflict::Replace, OnConflict::SkipIdentical] {
        both_ways(policy, |root, report| {
            assert_eq!(text(root, "old.txt"), "new");
            assert_eq!((report.files, report.bytes, report.failures.len()), (1, 3, 0));
        });
    }
}

#[test]
fn replacing_makes_a_new_file_and_overwriting_in_place_does_not() {
    skip_unless!(Need::OpenFilesReplaced);
    for (policy, same) in [(OnConflict::Overwrite, true), (OnConflict::Replace, false)] {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("f");
        std::fs::write(&path, "old").unwrap();
        let kept_open = std::fs::File::open(&path).unwrap();
        #[cfg(unix)]
        let before = kept_open.metadata().unwrap().ino();
        let tree = TreeWriter::options().on_conflict(policy).open(temp.path()).unwrap();
        tree.file("f", "new").unwrap();
        tree.finish().unwrap();
        #[cfg(unix)]
        assert_eq!(path.metadata().unwrap().ino() == before, same);
        let seen_by_a_reader = std::io::read_to_string(kept_open).unwrap();
        assert_eq!(seen_by_a_reader, if same { "new" } else { "old" });
    }
}

#[test]
fn what_is_identical_is_not_written_but_gets_its_metadata() {
    let temp = tempfile::tempdir().unwrap();
    let long: Vec<u8> = (0..700_000_u32).map(|n| n as u8).collect();
    let mut longer_by_one_bit = long.clone();
    longer_by_one_bit[699_999] ^= 1;
    std::fs::write(temp.path().join("same"), &long).unwrap();
    std::fs::write(temp.path().join("other"), &long).unwrap();
    let tree = TreeWriter::options().on_conflict(OnConflict::SkipIdentical).open(temp.path()).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(5);
    tree.file_with("same", long, Metadata::default().modified(time)).unwrap();
    tree.file("other", longer_by_one_bit.clone()).unwrap();
    let report = tree.finish().unwrap();
    assert_eq!((report.skipped, report.files), (1, 1));
    assert_eq!(temp.path().join("same").metadata().unwrap().modified().unwrap(), time);
    assert!(std::fs::read(temp.path().join("other")).unwrap() == longer_by_one_bit);
}

#[test]
fn copies_and_mapped_content_are_compared_too() {
    use manyfiles::tree::{Content, MappedFile};
    let temp = tempfile::tempdir().unwrap();
    let (source, root) = (temp.path().join("source"), temp.path().join("root"));
    let bytes: Vec<u8> = (0..900_000_u32).map(|n| (n >> 3) as u8).collect();
    let mut other = bytes.clone();
    other[800_000] ^= 1;
    std::fs::write(&source, &bytes).unwrap();
    std::fs::create_dir(&root).unwrap();
    for (name, bytes) in [("copy same", &bytes), ("copy other", &other), ("map same", &bytes), ("map other", &other)] {
        std::fs::write(root.join(name), bytes).unwrap();
    }
    let mapped = MappedFile::new(std::fs::File::open(&source).unwrap(), &source).unwrap();
    let tree = TreeWriter::options().on_conflict(OnConflict::SkipIdentical).open(&root).unwrap();
    for name in ["same", "other"] {
        tree.file(format!("copy {name}"), Content::copy_of(&source)).unwrap();
        tree.file(format!("map {name}"), mapped.slice(0, bytes.len()).unwrap()).unwrap();
    }
    let report = tree.finish().unwrap();
    assert_eq!((report.skipped, report.files), (2, 2));
    for name in ["copy same", "copy other", "map same", "map other"] {
        assert!(std::fs::read(root.join(name)).unwrap() == bytes, "{name}");
    }
}

/// Read through, this would take minutes.
#[test]
#[cfg(target_os = "linux")]
fn what_is_a_hole_in_both_is_not_read_to_be_compared() {
    use manyfiles::tree::Content;
    use std::os::unix::fs::FileExt;
    const LEN: u64 = 1 << 40;
    let temp = tempfile::tempdir().unwrap();
    let (source, root) = (temp.path().join("source"), temp.path().join("root"));
    let file = std::fs::File::create(&source).unwrap();
    if file.set_len(LEN).is_err() {
        return manyfiles_testkit::skip("needs a file system that has files of a terabyte");
    }
    file.write_all_at(b"begins", 0).unwrap();
    file.write_all_at(b"goes on", LEN / 2 + 12_345).unwrap();
    drop(file);
    let sparse = |last: &'static str| Content::sparse(LEN, [(5 << 30, Content::from(last))]);
    let tree = TreeWriter::open(&root).unwrap();
    tree.file("copy", Content::copy_of(&source)).unwrap();
    tree.file("same", sparse("bytes")).unwrap();
    tree.file("other", sparse("other")).unwrap();
    tree.finish().unwrap();
    let tree = TreeWriter::options().on_conflict(OnConflict::SkipIdentical).open(&root).unwrap();
    tree.file("copy", Content::copy_of(&source)).unwrap();
    tree.file("same", sparse("bytes")).unwrap();
    tree.file("other", sparse("bytes")).unwrap();
    let report = tree.finish().unwrap();
    assert_eq!((report.skipped, report.files), (2, 1));
    let mut there = [0; 5];
    std::fs::File::open(root.join("other")).unwrap().read_exact_at(&mut there, 5 << 30).unwrap();
    assert_eq!(&there, b"bytes");
}

#[test]
fn only_what_is_older_is_written_over() {
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
    for (modified, written) in
        [(Some(long_ago), false), (Some(SystemTime::now() + Duration::from_secs(60)), true), (None, true)]
    {
        let (temp, report) = over_old(OnConflict::Newer, |tree| {
            let metadata = modified.map_or(Metadata::default(), |time| Metadata::default().modified(time));
            tree.file_with("old.txt", "new", metadata).unwrap();
        });
        assert_eq!(text(temp.path(), "old.txt") == "new", written);
        assert_eq!((report.files, report.skipped), (written as u64, !written as u64));
    }
}

#[test]
fn both_are_kept_under_a_number_that_is_free() {
    both_ways(OnConflict::Rename, |root, report| {
        assert_eq!(text(root, "old.txt"), "the old bytes, longer");
        assert_eq!(text(root, "old (1).txt"), "new");
        assert_eq!(report.renamed, [("old.txt".into(), "old (1).txt".into())]);
    });
    let (temp, report) = over_old(OnConflict::Rename, |tree| {
        (0..20).for_each(|n| tree.file("old.txt", n.to_string()).unwrap());
    });
    assert_eq!((report.files, report.renamed.len()), (20, 20));
    assert_eq!(text(temp.path(), "old (20).txt"), "19");
    skip_unless!(Need::Symlinks);
    let (temp, report) = over_old(OnConflict::Rename, |tree| {
        tree.symlink("old.txt", "x", Metadata::default()).unwrap();
    });
    assert_eq!((report.symlinks, report.renamed.len()), (1, 1));
    assert!(temp.path().join("old (1).txt").is_symlink());
}

#[test]
fn each_conflict_is_asked_about_and_answered_on_the_programs_own_descriptors() {
    let temp = tempfile::tempdir().unwrap();
    for n in 0..40 {
        std::fs::write(temp.path().join(format!("{n}.t")), "old").unwrap();
    }
    // The callback writes down the questions, in a file that was open before.
    let asked = Arc::new(Mutex::new(tempfile::tempfile().unwrap()));
    let log = asked.clone();
    let answer = move |path: &Path| {
        let name = path.to_str().unwrap();
        writeln!(log.lock().unwrap(), "{name}").unwrap();
        match name.trim_end_matches(".t").parse::<u32>().unwrap() % 4 {
            0 => Answer::Error,
            1 => Answer::Skip,
            2 => Answer::Overwrite,
            _ => Answer::Rename,
        }
    };
    let tree = TreeWriter::options().on_conflict(OnConflict::Ask(Arc::new(answer))).open(temp.path()).unwrap();
    for n in 0..60 {
        tree.file(format!("{n}.t"), "new").unwrap();
    }
    let report = tree.finish().unwrap_err().into_report();
    assert_eq!((report.failures.len(), report.skipped, report.renamed.len(), report.files), (10, 10, 10, 40));
    let mut log = Arc::into_inner(asked).unwrap().into_inner().unwrap();
    std::io::Seek::rewind(&mut log).unwrap();
    assert_eq!(std::io::read_to_string(log).unwrap().lines().count(), 40);
    assert_eq!([text(temp.path(), "0.t"), text(temp.path(), "1.t"), text(temp.path(), "3.t")], ["old", "old", "old"]);
    assert_eq!(
        [text(temp.path(), "2.t"), text(temp.path(), "3 (1).t"), text(temp.path(), "41.t")],
        ["new", "new", "new"]
    );
}

#[test]
fn a_link_in_the_place_of_a_file_is_replaced_and_never_written_through() {
    let symbolic = Need::Symlinks.check().is_ok();
    for policy in [OnConflict::Overwrite, OnConflict::Replace, OnConflict::Newer, OnConflict::SkipIdentical] {
        let temp = tempfile::tempdir().unwrap();
        let (outside, root) = (temp.path().join("outside"), temp.path().join("root"));
        std::fs::create_dir(&root).unwrap();
        std::fs::write(&outside, "precious").unwrap();
        if symbolic {
            symlink(&outside, root.join("symbolic")).unwrap();
        }
        std::fs::hard_link(&outside, root.join("hard")).unwrap();
        let tree = TreeWriter::options().on_conflict(policy).open(&root).unwrap();
        tree.file("symbolic", "new").unwrap();
        tree.file("hard", "new").unwrap();
        assert_eq!(tree.finish().unwrap().files, 2);
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "precious");
        assert!(!root.join("symbolic").is_symlink());
        assert_eq!([text(&root, "symbolic"), text(&root, "hard")], ["new", "new"]);
    }
}

#[test]
fn a_folder_is_never_replaced_by_a_file_nor_a_fifo_written_into() {
    for policy in [OnConflict::Error, OnConflict::Overwrite, OnConflict::Replace, OnConflict::SkipIdentical] {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("folder")).unwrap();
        std::fs::write(temp.path().join("folder/x"), "x").unwrap();
        #[cfg(unix)]
        assert!(std::process::Command::new("mkfifo").arg(temp.path().join("pipe")).status().unwrap().success());
        let tree = TreeWriter::options().on_conflict(policy.clone()).open(temp.path()).unwrap();
        tree.file("folder", "new").unwrap();
        #[cfg(unix)]
        tree.symlink("folder", "x", Metadata::default()).unwrap();
        tree.file("after", "new").unwrap();
        if cfg!(unix) && matches!(policy, OnConflict::Overwrite) {
            tree.file("pipe", "new").unwrap();
        }
        let report = tree.finish().unwrap_err().into_report();
        assert_eq!(report.files, 1, "{policy:?} {report:?}");
        assert!(report.failures.iter().all(|failure: &Error| failure.path() != Some(Path::new("after"))));
        assert_eq!(text(temp.path(), "folder/x"), "x");
        let mut names: Vec<_> = std::fs::read_dir(temp.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names.retain(|name| name != "pipe");
        assert_eq!(names, ["after", "folder"], "{policy:?}");
    }
}

#[test]
fn a_file_without_permission_to_write_is_replaced() {
    let (temp, report) = over_old(OnConflict::Overwrite, |tree| {
        let path = tree.root().join("old.txt");
        let mut permissions = std::fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(path, permissions).unwrap();
        tree.file("old.txt", "new").unwrap();
    });
    assert_eq!((text(temp.path(), "old.txt").as_str(), report.files), ("new", 1));
}

#[test]
#[cfg(unix)]
fn a_running_program_is_replaced() {
    let temp = tempfile::tempdir().unwrap();
    let program = temp.path().join("sleep");
    std::fs::copy("/bin/sleep", &program).unwrap();
    // A child that another test forks meanwhile has the copy open for writing until it executes something: try again.
    let mut child = loop {
        match std::process::Command::new(&program).arg("100").spawn() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            child => break child.unwrap(),
        }
    };
    let tree = TreeWriter::options().on_conflict(OnConflict::Overwrite).open(temp.path()).unwrap();
    tree.file("sleep", "new").unwrap();
    let result = tree.finish();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(result.unwrap().files, 1);
    assert_eq!(text(temp.path(), "sleep"), "new");
}

#[test]
fn a_hard_link_goes_to_the_file_of_this_tree_or_nowhere() {
    for (policy, linked) in
        [(OnConflict::Error, None), (OnConflict::Rename, Some("new")), (OnConflict::Replace, Some("new"))]
    {
        let (temp, report) = over_old(policy.clone(), |tree| {
            tree.file("old.txt", "new").unwrap();
            tree.hard_link("link", "./old.txt").unwrap();
        });
        let link = std::fs::read_to_string(temp.path().join("link")).ok();
        assert_eq!(link.as_deref(), linked, "{policy:?} {report:?}");
        let named = report.failures.iter().any(|failure| failure.path() == Some(Path::new("link")));
        assert_eq!((named, report.hard_links), (linked.is_none(), linked.is_some() as u64));
    }
}

#[test]
fn two_entries_of_one_name_keep_their_order_under_every_policy() {
    for round in 0..30 {
        let temp = tempfile::tempdir().unwrap();
        let tree = TreeWriter::options().on_conflict(OnConflict::Overwrite).open(temp.path()).unwrap();
        for n in 0..400 {
            tree.file(format!("{}", n % 5), format!("{n:0>width$}", width = 1 + (n + round) % 9)).unwrap();
        }
        tree.finish().unwrap();
        for n in 395..400 {
            assert_eq!(text(temp.path(), &(n % 5).to_string()).parse::<usize>().unwrap(), n);
        }
        let first_wins = TreeWriter::open(temp.path().join("first")).unwrap();
        (0..300).for_each(|n| first_wins.file((n % 3).to_string(), n.to_string()).unwrap());
        assert_eq!(first_wins.finish().unwrap_err().report().failures.len(), 297);
        assert_eq!(text(temp.path(), "first/2"), "2");
    }
}
