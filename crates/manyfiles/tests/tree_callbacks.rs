//! Code of the program's that a tree calls: what goes wrong in it is a failure of the entry, and of no other.
#![cfg(feature = "full")]

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use manyfiles::tree::{Content, Digest, Metadata, OnConflict, TreeWriter};

/// Panics in the call with this number.
struct Summing {
    call: usize,
    panics_in: usize,
}

impl Digest for Summing {
    fn update(&mut self, _bytes: &[u8]) {
        self.call += 1;
        assert_ne!(self.call, self.panics_in, "a panic of the test's own");
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        assert_ne!(self.panics_in, 100, "a panic of the test's own");
        vec![1]
    }
}

impl Drop for Summing {
    fn drop(&mut self) {
        if self.panics_in == 101 && !std::thread::panicking() {
            panic!("a panic of the test's own");
        }
    }
}

#[test]
fn a_digest_that_panics_is_a_failure_of_its_file_alone_and_nothing_is_left() {
    for panics_in in [0, 1, 3, 100, 101] {
        let temp = tempfile::tempdir().unwrap();
        let files = AtomicUsize::new(0);
        let new = move || -> Box<dyn Digest> {
            let panics_in = if files.fetch_add(1, Relaxed) == 0 { panics_in } else { 99 };
            assert_ne!(panics_in, 0, "a panic of the test's own");
            Box::new(Summing { call: 0, panics_in })
        };
        let tree = TreeWriter::options().threads(1).digest(new).open(temp.path()).unwrap();
        tree.file("bytes", vec![7; 900_000]).unwrap();
        let mut stream = tree.create("stream", Metadata::default()).unwrap();
        stream.write_all(&[7; 900_000]).unwrap();
        stream.close().ok(); // It may be the one whose digest panics.
        let report = tree.finish().unwrap_err().into_report();
        assert_eq!((report.failures.len(), report.files), (1, 1), "{panics_in}: {report:?}");
        let told = report.failures[0].to_string();
        assert!(told.contains("the program's digest of this file panicked"), "{panics_in}: {told}");
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
    }
}

/// What `as_ref` does after the first time, which is when it is handed over.
#[derive(Clone, Copy, Debug)]
enum Later {
    Panics,
    Grows,
    Shrinks,
    PanicsWhenDropped,
}

struct Owner(AtomicUsize, Later);

const LONG: [u8; 1000] = [7; 1000];

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        match self.1 {
            _ if self.0.fetch_add(1, Relaxed) == 0 => &LONG[..100],
            Later::Panics => panic!("a panic of the test's own"),
            Later::Grows => &LONG,
            Later::Shrinks => &LONG[..10],
            Later::PanicsWhenDropped => &LONG[..100],
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if matches!(self.1, Later::PanicsWhenDropped) {
            panic!("a panic of the test's own");
        }
    }
}

#[test]
fn bytes_that_are_not_what_was_handed_over_are_a_failure_and_nothing_is_left_or_damaged() {
    for policy in [OnConflict::Error, OnConflict::Overwrite, OnConflict::Replace, OnConflict::SkipIdentical] {
        for later in [Later::Panics, Later::Grows, Later::Shrinks] {
            let temp = tempfile::tempdir().unwrap();
            if !matches!(policy, OnConflict::Error) {
                std::fs::write(temp.path().join("bytes"), [1; 100]).unwrap();
            }
            let owner = || Content::from_owner(Owner(AtomicUsize::new(0), later));
            let tree = TreeWriter::options().on_conflict(policy.clone()).open(temp.path()).unwrap();
            tree.file("bytes", owner()).unwrap();
            tree.file("holes", Content::sparse(10_000, [(50, owner())])).unwrap();
            tree.file("good", "x").unwrap();
            let report = tree.finish().unwrap_err().into_report();
            assert_eq!((report.failures.len(), report.files, report.bytes), (2, 1, 1), "{later:?} {report:?}");
            for told in report.failures.iter().map(ToString::to_string) {
                assert!(told.starts_with("cannot read "), "{told}");
                let is_panic = told.contains("the program's `as_ref` panicked");
                let is_length = told.contains("had 100 bytes when it was handed over");
                assert!(if matches!(later, Later::Panics) { is_panic } else { is_length }, "{later:?}: {told}");
            }
            assert!(!temp.path().join("holes").exists());
            match policy {
                OnConflict::Error => assert!(!temp.path().join("bytes").exists()),
                _ => assert_eq!(std::fs::read(temp.path().join("bytes")).unwrap(), [1; 100], "{policy:?} {later:?}"),
            }
        }
    }
}

#[test]
fn an_owner_that_panics_when_it_is_dropped_is_written_all_the_same() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    for n in 0..10 {
        tree.file(n.to_string(), Content::from_owner(Owner(AtomicUsize::new(0), Later::PanicsWhenDropped))).unwrap();
    }
    let report = tree.finish().unwrap();
    assert_eq!((report.files, report.bytes), (10, 1000));
}
