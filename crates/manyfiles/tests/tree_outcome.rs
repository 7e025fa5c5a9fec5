//! An outcome for each entry, told once, with the path it was handed over with.
#![cfg(feature = "full")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use manyfiles::Errors;
use manyfiles::tree::{
    Content, Digest, Durability, EntryStat, Incomplete, Metadata, OnConflict, Options, Outcome, TreeWriter,
};
use manyfiles_testkit::{Need, skip_unless};

#[derive(Debug, Clone, PartialEq)]
enum Told {
    Written { renamed: Option<String>, stat: Option<EntryStat>, digest: Option<Vec<u8>> },
    Skipped,
    Failed(String),
    Cancelled,
}

type Log = Arc<Mutex<BTreeMap<String, Vec<Told>>>>;

fn text(path: &Path) -> String {
    path.to_str().unwrap().replace('\\', "/")
}

/// The options, with a log of all that is told.
fn logged(options: Options) -> (Options, Log) {
    let log = Log::default();
    let told = log.clone();
    let options = options.on_entry(move |entry| {
        let what = match &entry.outcome {
            Outcome::Written { renamed, stat, digest, .. } => {
                Told::Written { renamed: renamed.map(text), stat: *stat, digest: digest.map(<[u8]>::to_vec) }
            }
            Outcome::Skipped => Told::Skipped,
            Outcome::Failed(error) => {
                assert_eq!(error.path(), Some(entry.path), "an error has the entry's own path");
                Told::Failed(error.to_string())
            }
            Outcome::Cancelled => Told::Cancelled,
            _ => unreachable!("there are no others"),
        };
        told.lock().unwrap().entry(text(entry.path)).or_default().push(what);
    });
    (options, log)
}

/// The one thing that was told of a path.
fn of(log: &Log, path: &str) -> Told {
    let log = log.lock().unwrap();
    let told = log.get(path).unwrap_or_else(|| panic!("nothing was told of {path}: {log:?}"));
    assert_eq!(told.len(), 1, "{path}: {told:?}");
    told[0].clone()
}

#[test]
fn every_entry_is_told_once_with_what_the_system_says_of_it() {
    skip_unless!(Need::Symlinks);
    let temp = tempfile::tempdir().unwrap();
    let (options, log) = logged(TreeWriter::options());
    let tree = options.open(temp.path()).unwrap();
    tree.folder("d", Metadata::default()).unwrap();
    tree.file("d/small", "bytes").unwrap();
    tree.file("./d//copy", Content::copy_of(std::env::current_exe().unwrap())).unwrap();
    let mut large = tree.create("d/large", Metadata::default()).unwrap();
    large.write_all(&vec![7; 300 << 10]).unwrap();
    let mut same = tree.create("d/large", Metadata::default()).unwrap();
    same.write_all(&vec![8; 300 << 10]).unwrap();
    large.close().unwrap();
    same.abandon(std::io::Error::other("not wanted"));
    tree.symlink("link", "d", Metadata::default()).unwrap();
    tree.hard_link("second", "d/small").unwrap();
    tree.hard_link("third", "nothing").unwrap();
    tree.file("../out", "x").unwrap_err();
    let report = tree.finish().unwrap_err().into_report();
    for path in ["d/small", "d/copy", "link", "second"] {
        let Told::Written { renamed: None, stat: Some(stat), digest: None } = of(&log, path) else {
            panic!("{path}: {log:?}");
        };
        let there = std::fs::symlink_metadata(temp.path().join(path)).unwrap();
        assert_eq!((stat.len, stat.modified), (there.len(), there.modified().unwrap()), "{path}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            assert_eq!((stat.device, stat.inode), (there.dev(), u128::from(there.ino())), "{path}");
        }
    }
    assert_eq!(of(&log, "d"), Told::Written { renamed: None, stat: None, digest: None });
    assert!(matches!(of(&log, "third"), Told::Failed(why) if why.contains("nothing")));
    assert!(matches!(of(&log, "../out"), Told::Failed(why) if why.contains("refused")));
    let large = log.lock().unwrap()["d/large"].clone();
    assert!(matches!(&large[..], [Told::Written { .. }, Told::Failed(why)] if why.contains("not wanted")), "{large:?}");
    let told: usize = log.lock().unwrap().values().map(Vec::len).sum();
    let entries = report.files + report.folders + report.symlinks + report.hard_links + report.failures.len() as u64;
    assert_eq!(told as u64, entries);
}

#[test]
fn conflicts_are_told_as_they_were_settled() {
    for policy in [OnConflict::Error, OnConflict::Skip, OnConflict::SkipIdentical, OnConflict::Rename] {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("a"), "same").unwrap();
        let (options, log) = logged(TreeWriter::options().on_conflict(policy.clone()));
        let tree = options.open(temp.path()).unwrap();
        tree.file("a", "same").unwrap();
        drop(tree.finish());
        match (&policy, of(&log, "a")) {
            (OnConflict::Error, Told::Failed(_)) => {}
            (OnConflict::Skip | OnConflict::SkipIdentical, Told::Skipped) => {}
            (OnConflict::Rename, Told::Written { renamed: Some(renamed), stat: Some(_), .. }) => {
                assert_eq!(renamed, "a (1)");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_a_cancellation_stops_is_told_of_each_entry() {
    let temp = tempfile::tempdir().unwrap();
    let (options, log) = logged(TreeWriter::options().bytes_in_flight(usize::MAX));
    let tree = options.open(temp.path()).unwrap();
    let mut stream = tree.create("stream", Metadata::default()).unwrap();
    stream.write_all(&vec![1; 300 << 10]).unwrap();
    for n in 0..3000 {
        tree.file(format!("{}/{n}", n % 7), vec![1; 2000]).unwrap();
        tree.hard_link(format!("links/{n}"), format!("{}/{n}", n % 7)).unwrap();
    }
    tree.canceller().cancel();
    tree.file("after", "x").unwrap_err();
    stream.write_all(&vec![1; 300 << 10]).unwrap_err();
    drop(stream);
    let report = tree.finish().unwrap_err().into_report();
    let log = log.lock().unwrap();
    assert!(log.values().all(|told| told.len() == 1), "each is told once");
    let count = |what: fn(&Told) -> bool| log.values().filter(|told| what(&told[0])).count() as u64;
    assert_eq!(log.len() as u64, 6002);
    assert_eq!(count(|told| matches!(told, Told::Cancelled)), report.not_written);
    assert_eq!(count(|told| matches!(told, Told::Written { .. })), report.files + report.hard_links);
}

#[test]
fn a_callback_that_panics_is_a_failure_and_nothing_else_is_lost() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::options().on_entry(|entry| assert_ne!(entry.path, Path::new("50"), "the user's bug"));
    let tree = tree.open(temp.path()).unwrap();
    (0..100).for_each(|n| tree.file(n.to_string(), "x").unwrap());
    let report = tree.finish().unwrap_err().into_report();
    assert_eq!((report.files, report.failures.len()), (100, 1));
    assert_eq!(report.failures[0].path(), Some(Path::new("50")));
}

/// A digest that a test can check by itself: how many bytes, and their sum.
#[derive(Default)]
struct Sum(u64, u64);

impl Digest for Sum {
    fn update(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
        self.1 = bytes.iter().fold(self.1, |sum, &byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        [self.0.to_le_bytes(), self.1.to_le_bytes()].concat()
    }
}

#[test]
fn a_digest_is_that_of_the_bytes_that_the_file_has_however_they_came() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("out");
    let source = temp.path().join("source");
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|n| (n / 7) as u8).collect();
    std::fs::write(&source, &bytes).unwrap();
    let sparse = temp.path().join("sparse");
    let mut file = std::fs::File::create(&sparse).unwrap();
    file.write_all(b"begin").unwrap();
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(1 << 20)).unwrap();
    file.write_all(b"middle").unwrap();
    file.set_len(3 << 20).unwrap();
    drop(file);
    let mapped = manyfiles::tree::MappedFile::new(std::fs::File::open(&source).unwrap(), &source).unwrap();
    let (options, log) = logged(TreeWriter::options().digest(|| Box::<Sum>::default()));
    let tree = options.open(&root).unwrap();
    tree.file("empty", "").unwrap();
    tree.file("bytes", bytes.clone()).unwrap();
    tree.file("mapped", mapped.slice(1000, 600_000).unwrap()).unwrap();
    tree.file("copy", Content::copy_of(&source)).unwrap();
    tree.file("sparse copy", Content::copy_of(&sparse)).unwrap();
    tree.file("pieces", Content::sparse(100_000, [(10, "a".into()), (50_000, "bcd".into())])).unwrap();
    let mut streams: Vec<_> = (0..2).map(|_| tree.create("stream", Metadata::default()).unwrap()).collect();
    for stream in &mut streams {
        stream.write_all(&bytes).unwrap();
        stream.skip(5000).unwrap();
        stream.write_all(b"behind a hole").unwrap();
        stream.skip(70_000).unwrap();
    }
    drop(streams.pop());
    streams.pop().unwrap().close().unwrap();
    tree.finish().unwrap_err();
    for path in ["empty", "bytes", "mapped", "copy", "sparse copy", "pieces"] {
        let Told::Written { digest: Some(digest), .. } = of(&log, path) else { panic!("{path}") };
        assert_eq!(digest, sum(&root.join(path)), "{path}");
    }
    let digest = log.lock().unwrap()["stream"].iter().find_map(|told| match told {
        Told::Written { digest, .. } => digest.clone(),
        _ => None,
    });
    assert_eq!(digest.unwrap(), sum(&root.join("stream")));
}

fn sum(path: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    std::fs::File::open(path).unwrap().read_to_end(&mut all).unwrap();
    let mut sum = Box::<Sum>::default();
    sum.update(&all);
    sum.finish()
}

#[test]
fn copy_from_takes_all_that_a_reader_has_and_says_what_a_reader_said() {
    struct Failing(usize);
    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.0 == 0 {
                return Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
            }
            let read = buffer.len().min(self.0).min(1000);
            self.0 -= read;
            buffer[..read].fill(1);
            Ok(read)
        }
    }
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    for len in [0, 10, 5 << 20] {
        let bytes = vec![len as u8; len];
        assert_eq!(tree.copy_from(len.to_string(), &bytes[..], Metadata::default()).unwrap(), len as u64);
    }
    for len in [10, 1 << 20] {
        let error = tree.copy_from(format!("failing {len}"), Failing(len), Metadata::default()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        assert_eq!(error.path(), Some(Path::new(&format!("failing {len}"))));
    }
    let report = tree.finish().unwrap_or_else(Incomplete::into_report);
    assert_eq!((report.files, report.failures.len()), (3, 2));
    for len in [0, 10, 5 << 20] {
        assert_eq!(std::fs::read(temp.path().join(len.to_string())).unwrap(), vec![len as u8; len]);
    }
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 3);
}

#[test]
fn a_folder_that_cannot_be_made_is_told_once_however_deep_it_is() {
    for _ in 0..50 {
        let temp = tempfile::tempdir().unwrap();
        let (options, log) = logged(TreeWriter::options());
        let tree = options.open(temp.path()).unwrap();
        tree.file("d", "x").unwrap();
        tree.folder("d/a/b/c", Metadata::default().mode(0o700)).unwrap();
        let report = tree.finish().unwrap_err().into_report();
        assert_eq!((report.files, report.failures.len()), (1, 1), "{report:?}");
        assert!(matches!(of(&log, "d/a/b/c"), Told::Failed(_)));
        assert_eq!(log.lock().unwrap().len(), 2);
    }
}

#[test]
fn what_a_second_entry_for_a_folder_does_not_give_stays_as_the_first_left_it() {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000);
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    tree.folder("d", Metadata::default().mode(0o700).modified(time)).unwrap();
    tree.folder("d", Metadata::default()).unwrap();
    tree.file("d/f", "x").unwrap();
    tree.finish().unwrap();
    let there = std::fs::metadata(temp.path().join("d")).unwrap();
    assert_eq!(there.modified().unwrap(), time);
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&there.permissions()) & 0o7777, 0o700);
}

/// Panics when it is finished, if it has seen a byte.
struct Panics(bool);

impl Digest for Panics {
    fn update(&mut self, bytes: &[u8]) {
        self.0 |= !bytes.is_empty();
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        assert!(!self.0, "the user's digest");
        Vec::new()
    }
}

#[test]
fn a_digest_that_panics_is_a_failure_of_its_file_and_nothing_of_that_is_left() {
    let temp = tempfile::tempdir().unwrap();
    let (options, log) = logged(TreeWriter::options().digest(|| Box::new(Panics(false))));
    let tree = options.open(temp.path()).unwrap();
    tree.file("empty", "").unwrap();
    tree.file("small", "x").unwrap();
    tree.copy_from("large", &vec![1; 300 << 10][..], Metadata::default()).unwrap_err();
    let report = tree.finish().unwrap_err().into_report();
    assert_eq!((report.files, report.failures.len()), (1, 2), "{report:?}");
    for path in ["small", "large"] {
        assert!(matches!(of(&log, path), Told::Failed(why) if why.contains("digest")), "{path}");
        assert!(!temp.path().join(path).exists());
    }
}

#[test]
fn a_question_that_panics_says_so_of_its_entry_and_the_next_one_is_asked() {
    let temp = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        std::fs::write(temp.path().join(name), "old").unwrap();
    }
    let ask = OnConflict::Ask(Arc::new(|path: &Path| {
        assert_ne!(path, Path::new("a"), "the user's bug");
        manyfiles::tree::Answer::Overwrite
    }));
    let tree = TreeWriter::options().on_conflict(ask).open(temp.path()).unwrap();
    tree.file("a", "new").unwrap();
    tree.file("b", "new").unwrap();
    let report = tree.finish().unwrap_err().into_report();
    assert_eq!((report.files, report.failures.len()), (1, 1));
    assert!(report.failures[0].to_string().contains("panicked"), "{}", report.failures[0]);
    assert_eq!(std::fs::read(temp.path().join("b")).unwrap(), b"new");
}

#[test]
fn a_closed_file_tells_how_many_bytes_it_took() {
    let temp = tempfile::tempdir().unwrap();
    let large = vec![7; 600_000];
    std::fs::write(temp.path().join("taken"), "old").unwrap();
    std::fs::write(temp.path().join("identical"), &large).unwrap();
    let create = |tree: &TreeWriter, name: &str, bytes: &[u8]| {
        let mut file = tree.create(name, Metadata::default()).unwrap();
        file.write_all(bytes).unwrap();
        file
    };
    let tree = TreeWriter::options().on_conflict(OnConflict::Skip).open(temp.path()).unwrap();
    assert_eq!(create(&tree, "none", b"").close().unwrap().bytes, 0);
    assert_eq!(create(&tree, "small", b"some bytes").close().unwrap().bytes, 10);
    assert_eq!(create(&tree, "large", &large).close().unwrap().bytes, 600_000);
    assert_eq!(create(&tree, "taken", &large).close().unwrap().bytes, 0, "it was left as it was");
    let mut holes = create(&tree, "holes", b"begin");
    holes.skip(1 << 20).unwrap();
    holes.write_all(b"end").unwrap();
    holes.skip(1000).unwrap();
    assert_eq!(holes.close().unwrap().bytes, 8);
    // Both have one name: the second is written beside it.
    let (first, second) = (create(&tree, "twice", &large), create(&tree, "twice", &large));
    assert_eq!(second.close().unwrap().bytes, 600_000);
    assert_eq!(first.close().unwrap().bytes, 600_000);
    tree.finish().unwrap();
    let tree = TreeWriter::options().on_conflict(OnConflict::SkipIdentical).open(temp.path()).unwrap();
    assert_eq!(create(&tree, "identical", &large).close().unwrap().bytes, 0);
    tree.finish().unwrap();
    for durability in [Durability::EachFile, Durability::AtFinish] {
        let tree = TreeWriter::options().durability(durability).open(temp.path().join("durable")).unwrap();
        let written = create(&tree, &format!("{durability:?}"), &large).close().unwrap();
        assert_eq!((written.bytes, written.durable), (600_000, 0), "the name is made durable by the end of the tree");
        tree.finish().unwrap();
    }
}

#[test]
fn what_did_not_arrive_goes_into_functions_with_other_errors() {
    fn in_io(tree: TreeWriter) -> std::io::Result<()> {
        tree.finish()?;
        Ok(())
    }
    fn in_errors(tree: TreeWriter) -> Result<(), Errors> {
        tree.finish()?;
        Ok(())
    }
    let temp = tempfile::tempdir().unwrap();
    let failing = || {
        let tree = TreeWriter::open(temp.path()).unwrap();
        drop(tree.file("/absolute", "x"));
        drop(tree.file("../x", "x"));
        tree
    };
    let error = in_io(failing()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    let inner: &Incomplete = error.get_ref().unwrap().downcast_ref().unwrap();
    assert_eq!(inner.report().failures.len(), 2);
    assert!(error.to_string().contains("/absolute"), "{error}");
    let errors = in_errors(failing()).unwrap_err();
    let paths: Vec<_> = errors.iter().map(|error| error.path().unwrap()).collect();
    assert_eq!(paths, [Path::new("/absolute"), Path::new("../x")]);

    let cancelled = || {
        let tree = TreeWriter::open(temp.path().join("cancelled")).unwrap();
        tree.canceller().cancel();
        tree
    };
    let incomplete = cancelled().finish().unwrap_err();
    assert!(incomplete.report().failures.is_empty());
    let [error] = &incomplete.errors().iter().collect::<Vec<_>>()[..] else { panic!("{incomplete:?}") };
    assert!(error.is_cancelled());
    assert_eq!(error.path(), Some(&*temp.path().join("cancelled")));
    assert_eq!(in_errors(cancelled()).unwrap_err().len(), 1);
    in_io(cancelled()).unwrap_err();
}

/// What only the end of a tree does: it sets the time of the folder `d`.
fn is_ended(root: &Path, time: std::time::SystemTime) -> bool {
    std::fs::metadata(root.join("d")).is_ok_and(|there| there.modified().is_ok_and(|modified| modified == time))
}

#[test]
fn a_tree_that_is_dropped_or_finished_in_its_callback_is_ended_all_the_same() {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000);
    for (asked, finishes) in [(false, false), (true, false), (false, true)] {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("taken"), "old").unwrap();
        let slot = Arc::new(Mutex::new(None::<TreeWriter>));
        let own = slot.clone();
        let end = move || {
            let tree = own.lock().unwrap().take();
            match tree {
                Some(tree) if finishes => drop(tree.finish()),
                tree => drop(tree),
            }
        };
        let options = match asked {
            true => TreeWriter::options().on_conflict(OnConflict::Ask(Arc::new(move |_| {
                end();
                manyfiles::tree::Answer::Skip
            }))),
            false => TreeWriter::options().on_entry(move |_| end()),
        };
        let mut held = slot.lock().unwrap();
        let tree = held.insert(options.open(temp.path()).unwrap());
        tree.folder("d", Metadata::default().modified(time)).unwrap();
        tree.file(if asked { "taken" } else { "a" }, "x").unwrap();
        drop(held);
        let begun = std::time::Instant::now();
        while !is_ended(temp.path(), time) {
            assert!(begun.elapsed().as_secs() < 60, "it was not ended: asked {asked}, finishes {finishes}");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}
