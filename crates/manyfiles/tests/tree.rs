//! What a tree writer makes: everything that was handed over, as it was handed over.
#![cfg(feature = "full")]

use std::collections::BTreeMap;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, PermissionsExt};
#[cfg(target_os = "linux")]
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(unix)]
use manyfiles::tree::Node;
use manyfiles::tree::{Content, Metadata, OnConflict, TreeWriter};
use manyfiles_testkit::{Compare, Corpus, Tree, cases};
use proptest::prelude::*;

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::new(seconds, 123_456_789)
}

/// Wine takes milliseconds for a new file, and looks through the whole folder for each.
fn fewer_on_windows(count: usize) -> usize {
    if cfg!(windows) { count / 20 } else { count }
}

#[test]
fn tens_of_thousands_of_files_in_thousands_of_folders_arrive_in_any_order_from_many_threads() {
    let corpus = Corpus::source_tree("W2", fewer_on_windows(50_000), fewer_on_windows(2_954), 1);
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path().join("out")).unwrap();
    std::thread::scope(|scope| {
        for part in 0..4 {
            let (tree, corpus) = (&tree, &corpus);
            scope.spawn(move || {
                for file in corpus.files.iter().skip(part).step_by(4) {
                    tree.file(&file.0, file.1.clone()).unwrap();
                }
            });
        }
    });
    let report = tree.finish().unwrap();
    assert_eq!((report.files, report.bytes), (corpus.files.len() as u64, corpus.bytes()));
    corpus.tree().assert_same(&Tree::read(temp.path().join("out")).unwrap(), Compare::default());
}

#[test]
fn one_large_folder_arrives_through_the_pipeline() {
    let corpus = Corpus::one_folder("one", fewer_on_windows(20_000), 2);
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    for file in &corpus.files {
        tree.file(&file.0, file.1.clone()).unwrap();
    }
    tree.finish().unwrap();
    corpus.tree().assert_same(&Tree::read(temp.path()).unwrap(), Compare::default());
}

#[test]
fn every_form_of_content_is_written_as_it_is() {
    let temp = tempfile::tempdir().unwrap();
    let source = temp.path().join("source");
    std::fs::write(&source, b"copied").unwrap();
    let root = temp.path().join("out");
    let tree = TreeWriter::open(&root).unwrap();
    let long: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    tree.file("vec", long.clone()).unwrap();
    tree.file("string", String::from("text")).unwrap();
    tree.file("str", "text").unwrap();
    tree.file("box", vec![1_u8, 2].into_boxed_slice()).unwrap();
    tree.file("arc", Arc::<[u8]>::from(&b"shared"[..])).unwrap();
    tree.file("slice", b"slice").unwrap();
    tree.file("static", Content::from_static(b"static")).unwrap();
    tree.file("empty", "").unwrap();
    tree.file("copy", Content::copy_of(&source)).unwrap();
    let pieces = [(1 << 20, Content::from("middle")), (3 << 20, Content::from("end"))];
    tree.file("sparse", Content::sparse((3 << 20) + 3, pieces)).unwrap();
    assert_eq!(tree.finish().unwrap().files, 10);
    let read = |name: &str| std::fs::read(root.join(name)).unwrap();
    assert!(read("vec") == long);
    assert_eq!(read("string"), b"text");
    assert_eq!(read("str"), b"text");
    assert_eq!(read("box"), [1, 2]);
    assert_eq!(read("arc"), b"shared");
    assert_eq!(read("slice"), b"slice");
    assert_eq!(read("static"), b"static");
    assert_eq!(read("empty"), b"");
    assert_eq!(read("copy"), b"copied");
    let sparse = read("sparse");
    assert_eq!(
        (sparse.len(), &sparse[1 << 20..][..6], &sparse[3 << 20..]),
        ((3 << 20) + 3, &b"middle"[..], &b"end"[..])
    );
    assert!(sparse[..1 << 20].iter().all(|&byte| byte == 0));
    let allocated = Tree::read(&root).unwrap().entries[&PathBuf::from("sparse")].allocated;
    assert!(allocated < 1 << 20, "the holes are holes");
}

#[test]
#[cfg(unix)]
fn permissions_and_times_are_set_and_folders_get_theirs_last() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::options().exact_permissions(true).open(temp.path()).unwrap();
    let folder = |mode, time| Metadata::default().mode(mode).modified(at(time));
    tree.folder(".", folder(0o750, 1)).unwrap();
    tree.folder("a", folder(0o555, 2)).unwrap();
    tree.folder("a/b", folder(0o700, 3)).unwrap();
    tree.folder("a/b/empty", folder(0o1777, 4)).unwrap();
    tree.file_with("a/b/run", "x", Metadata::default().mode(0o4755).modified(at(5))).unwrap();
    tree.file_with("a/open", "x", Metadata::default().mode(0o666).modified(UNIX_EPOCH - Duration::from_millis(1500)))
        .unwrap();
    tree.symlink("a/link", "nowhere", Metadata::default().modified(at(6))).unwrap();
    tree.hard_link("second", "a/open").unwrap();
    let report = tree.finish().unwrap();
    assert_eq!((report.files, report.folders, report.symlinks, report.hard_links), (2, 4, 1, 1));
    let stat = |path: &str| std::fs::symlink_metadata(temp.path().join(path)).unwrap();
    for (path, mode, time) in
        [("", 0o750, 1), ("a", 0o555, 2), ("a/b", 0o700, 3), ("a/b/empty", 0o1777, 4), ("a/b/run", 0o4755, 5)]
    {
        assert_eq!((stat(path).mode() & 0o7777, stat(path).modified().unwrap()), (mode, at(time)), "{path:?}");
    }
    assert_eq!((stat("a/open").mtime(), stat("a/open").mtime_nsec()), (-2, 500_000_000));
    assert_eq!(stat("a/link").modified().unwrap(), at(6));
    assert_eq!(stat("second").ino(), stat("a/open").ino());
}

#[test]
#[cfg(unix)]
fn the_umask_holds_unless_exact_permissions_are_asked_for() {
    let temp = tempfile::tempdir().unwrap();
    let plain = temp.path().join("plain");
    std::fs::write(&plain, "").unwrap();
    let umask = 0o666 & !plain.metadata().unwrap().permissions().mode();
    for (exact, expected) in [(false, 0o777 & !umask), (true, 0o777)] {
        let root = temp.path().join(format!("{exact}"));
        let tree = TreeWriter::options().exact_permissions(exact).open(&root).unwrap();
        tree.file_with("file", "", Metadata::default().mode(0o777)).unwrap();
        tree.folder("folder", Metadata::default().mode(0o777)).unwrap();
        tree.file("plain", "").unwrap();
        tree.finish().unwrap();
        let mode = |name| std::fs::metadata(root.join(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("file"), mode("folder")), (expected, expected), "exact: {exact}");
        assert_eq!(mode("plain"), 0o666 & !umask, "no mode was given that could be exact");
    }
}

#[test]
#[cfg(unix)]
fn a_fifo_is_made_and_counted() {
    use std::os::unix::fs::FileTypeExt;
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    tree.node("d/pipe", Node::Fifo, Metadata::default().mode(0o600)).unwrap();
    assert_eq!(tree.finish().unwrap().nodes, 1);
    assert!(std::fs::metadata(temp.path().join("d/pipe")).unwrap().file_type().is_fifo());
}

#[test]
#[cfg(unix)]
fn a_copy_keeps_permissions_times_and_holes() {
    let temp = tempfile::tempdir().unwrap();
    let source = temp.path().join("source");
    let file = std::fs::File::create(&source).unwrap();
    use std::os::unix::fs::FileExt;
    file.write_all_at(b"begin", 0).unwrap();
    file.write_all_at(&[7; 300_000], 5 << 20).unwrap();
    file.set_len(9 << 20).unwrap();
    file.set_permissions(PermissionsExt::from_mode(0o640)).unwrap();
    file.set_modified(at(77)).unwrap();
    let tree = TreeWriter::open(temp.path().join("out")).unwrap();
    tree.file("copy", Content::copy_of(&source)).unwrap();
    tree.file_with("dated", Content::copy_of(&source), Metadata::default().modified(at(78))).unwrap();
    tree.finish().unwrap();
    for (name, time) in [("copy", 77), ("dated", 78)] {
        let copy = temp.path().join("out").join(name);
        assert!(std::fs::read(&copy).unwrap() == std::fs::read(&source).unwrap());
        let stat = copy.metadata().unwrap();
        assert_eq!((stat.mode() & 0o7777, stat.modified().unwrap()), (0o640, at(time)));
        assert!(stat.blocks() <= source.metadata().unwrap().blocks() + 16, "{} blocks", stat.blocks());
    }
}

#[test]
#[cfg(windows)]
fn a_file_that_nobody_may_write_is_read_only_and_folders_get_their_times_last() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::options().exact_permissions(true).open(temp.path()).unwrap();
    let folder = |mode, time| Metadata::default().mode(mode).modified(at(time));
    tree.folder(".", folder(0o750, 1)).unwrap();
    tree.folder("a", folder(0o555, 2)).unwrap();
    tree.folder("a/b", folder(0o700, 3)).unwrap();
    tree.file_with("a/b/read", "x", Metadata::default().mode(0o4555).modified(at(5))).unwrap();
    tree.file_with("a/write", "x", Metadata::default().mode(0o600).modified(UNIX_EPOCH - Duration::from_millis(1500)))
        .unwrap();
    tree.hard_link("second", "a/write").unwrap();
    let report = tree.finish().unwrap();
    assert_eq!((report.files, report.folders, report.hard_links), (2, 3, 1));
    let stat = |path: &str| std::fs::metadata(temp.path().join(path)).unwrap();
    for (path, time) in [("", 1), ("a", 2), ("a/b", 3), ("a/b/read", 5)] {
        assert_eq!(stat(path).modified().unwrap(), at(time), "{path:?}");
    }
    assert_eq!(stat("a/write").modified().unwrap(), UNIX_EPOCH - Duration::from_millis(1500));
    assert!(stat("a/b/read").permissions().readonly() && !stat("a/write").permissions().readonly());
    let read = Tree::read(temp.path()).unwrap();
    assert_eq!(read.entries[&PathBuf::from("second")].link_to, Some(PathBuf::from("a/write")));
}

#[test]
#[cfg(windows)]
fn what_windows_has_not_is_an_error_that_says_so() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    tree.node("pipe", manyfiles::tree::Node::Fifo, Metadata::default()).unwrap();
    tree.file_with("owned", "x", Metadata::default().owner(1, 1)).unwrap();
    let report = tree.finish().unwrap_err().into_report();
    let mut told: Vec<_> = report.failures.iter().map(ToString::to_string).collect();
    told.sort();
    assert_eq!(
        told,
        [
            "cannot make the device or FIFO pipe: folders of Windows hold no devices or FIFOs",
            "cannot set permissions, times or owner of owned: users and groups of Windows have no numbers, so that no owner can be set",
        ]
    );
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
}

#[test]
fn a_copy_in_a_path_of_any_length_has_its_bytes_and_time() {
    let temp = tempfile::tempdir().unwrap();
    let source = temp.path().join("source");
    std::fs::write(&source, vec![7; 300_000]).unwrap();
    std::fs::File::options().write(true).open(&source).unwrap().set_modified(at(77)).unwrap();
    let deep = ["a folder whose name is forty characters.x"; 12].join("/");
    assert!(deep.len() > 260, "longer than a Windows path once could be");
    let tree = TreeWriter::open(temp.path().join("out")).unwrap();
    tree.file(format!("{deep}/copy"), Content::copy_of(&source)).unwrap();
    tree.finish().unwrap();
    let mut copy = temp.path().join("out");
    // In this form Windows takes paths of any length.
    if cfg!(windows) {
        copy = copy.canonicalize().unwrap();
    }
    copy.extend(deep.split('/'));
    copy.push("copy");
    assert!(std::fs::read(&copy).unwrap() == vec![7; 300_000]);
    assert_eq!(std::fs::metadata(&copy).unwrap().modified().unwrap(), at(77));
}

#[test]
fn a_tree_that_is_dropped_still_writes_everything() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    for n in 0..500 {
        tree.file(format!("{}/{n}", n % 7), n.to_string()).unwrap();
    }
    drop(tree);
    for n in 0..500 {
        let path = temp.path().join(format!("{}/{n}", n % 7));
        assert_eq!(std::fs::read_to_string(path).unwrap(), n.to_string());
    }
}

#[test]
fn an_observer_sees_everything_done_at_the_end() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    let observer = tree.observer();
    for n in 0..300 {
        tree.file(n.to_string(), "1234").unwrap();
    }
    tree.file("../out", "").unwrap_err();
    assert!(tree.finish().is_err());
    let progress = observer.progress();
    assert_eq!((progress.entries_accepted, progress.entries_done, progress.bytes_written), (301, 301, 1200));
    assert_eq!(progress.threads, 0);
}

#[test]
#[cfg(target_os = "linux")]
fn the_program_is_left_with_no_more_descriptors_or_threads_than_before() {
    let count = |what: &str| std::fs::read_dir(format!("/proc/self/{what}")).unwrap().count();
    if !Path::new("/proc/self/fd").exists() {
        return manyfiles_testkit::skip("needs /proc");
    }
    // Other tests of this process come and go: the least of many counts is this one's own.
    let before = (0..50).map(|_| count("fd")).min().unwrap();
    let temp = tempfile::tempdir().unwrap();
    for round in 0..200 {
        let tree = TreeWriter::open(temp.path().join(round.to_string())).unwrap();
        (0..20).for_each(|n| tree.file(format!("{n}/x"), "x").unwrap());
        tree.finish().unwrap();
    }
    let after = (0..50).map(|_| count("fd")).min().unwrap();
    assert!(after < before + 150, "200 trees left {} descriptors", after - before);
}

#[test]
fn a_pipe_that_the_program_closes_while_a_tree_is_written_has_an_end() {
    use std::io::Read;
    let temp = tempfile::tempdir().unwrap();
    let (mut reader, writer) = std::io::pipe().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    tree.file("a", "a").unwrap();
    while tree.observer().progress().entries_done == 0 {
        std::thread::yield_now();
    }
    drop(writer);
    // Threads with tables of their own must hold no copy of the writing end, or this would wait for ever.
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    tree.finish().unwrap();
}

/// What one step of a random run hands over.
#[derive(Clone, Debug)]
enum Step {
    File(String, Vec<u8>),
    Stream(String, Vec<u8>),
    Folder(String),
}

fn step() -> impl Strategy<Value = Step> {
    let path = "[a-c](/[a-c]){0,3}/[x-z]";
    prop_oneof![
        4 => (path, prop::collection::vec(any::<u8>(), 0..2000)).prop_map(|(path, bytes)| Step::File(path, bytes)),
        1 => (path, 0..400_000_usize, any::<u8>()).prop_map(|(path, len, byte)| Step::Stream(path, vec![byte; len])),
        1 => "[a-c](/[a-c]){0,3}".prop_map(Step::Folder),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(64), ..ProptestConfig::default() })]

    /// Written over each other in any order, files have the bytes that came last: a plain map says which.
    #[test]
    fn random_runs_leave_what_a_map_would(steps in prop::collection::vec(step(), 0..120), threads in 1..5_usize) {
        use std::io::Write;
        let temp = tempfile::tempdir().unwrap();
        let tree = TreeWriter::options().on_conflict(OnConflict::Overwrite).threads(threads).open(temp.path()).unwrap();
        let mut expected = BTreeMap::new();
        for step in steps {
            match step {
                Step::File(path, bytes) => {
                    tree.file(&path, bytes.clone()).unwrap();
                    expected.insert(PathBuf::from(path), bytes);
                }
                Step::Stream(path, bytes) => {
                    let mut file = tree.create(&path, Metadata::default()).unwrap();
                    bytes.chunks(7777).for_each(|chunk| file.write_all(chunk).unwrap());
                    file.close().unwrap();
                    expected.insert(PathBuf::from(path), bytes);
                }
                Step::Folder(path) => tree.folder(path, Metadata::default()).unwrap(),
            }
        }
        tree.finish().unwrap();
        for (path, bytes) in expected {
            prop_assert!(std::fs::read(temp.path().join(&path)).unwrap() == bytes, "{path:?}");
        }
    }
}
