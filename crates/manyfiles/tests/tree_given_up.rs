//! What cannot be read, is cancelled or is given up: named, and nothing of it is left.
#![cfg(feature = "full")]

use std::io::Write;

use manyfiles::Operation;
use manyfiles::tree::{Content, MappedFile, Metadata, Report, TreeWriter};
use manyfiles_testkit::{Need, skip_unless, symlink};

fn finished(tree: TreeWriter) -> Report {
    tree.finish().unwrap_or_else(|incomplete| incomplete.into_report())
}

#[test]
fn a_copy_of_what_is_not_there_or_not_a_file_names_the_source() {
    skip_unless!(Need::Symlinks);
    let temp = tempfile::tempdir().unwrap();
    symlink("x", temp.path().join("link")).unwrap();
    let tree = TreeWriter::open(temp.path().join("out")).unwrap();
    let none = temp.path().join("none");
    tree.file("a", Content::copy_of(&none)).unwrap();
    tree.file("b", Content::copy_of(temp.path())).unwrap();
    tree.file("c", Content::copy_of(temp.path().join("link"))).unwrap();
    let report = finished(tree);
    assert_eq!(report.failures.len(), 3);
    for failure in &report.failures {
        assert_eq!(failure.operation(), Operation::Create);
        assert!(failure.to_string().contains(temp.path().to_str().unwrap()), "{failure}");
    }
    assert_eq!(report.failures[0].kind(), std::io::ErrorKind::NotFound);
    assert_eq!(std::fs::read_dir(temp.path().join("out")).unwrap().count(), 0);
}

#[test]
fn a_mapped_file_that_is_cut_short_is_an_error_of_what_it_hits_and_no_crash() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("archive");
    std::fs::write(&path, vec![7; 4 << 20]).unwrap();
    let mapped = MappedFile::new(std::fs::File::open(&path).unwrap(), &path).unwrap();
    let pieces: Vec<_> = (0..1024).map(|n| mapped.slice(n << 12, 4096).unwrap()).collect();
    mapped.check().unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
    let tree = TreeWriter::open(temp.path().join("out")).unwrap();
    for (n, piece) in pieces.into_iter().enumerate() {
        tree.file(n.to_string(), piece).unwrap();
    }
    let report = finished(tree);
    // Windows has read it by now; others let the kernel read, which finds nothing there any more.
    assert_eq!((report.files, report.failures.len()), if cfg!(windows) { (1024, 0) } else { (256, 768) });
    assert!(report.failures.iter().all(|failure| failure.operation() == Operation::Read));
    let changed = mapped.check().unwrap_err();
    assert!(changed.to_string().contains("cut short"));
    let past_the_end = mapped.slice(4 << 20, 1).unwrap_err();
    assert_eq!(past_the_end.kind(), std::io::ErrorKind::InvalidInput);
    for error in [changed, past_the_end] {
        assert_eq!((error.operation(), error.path()), (Operation::Read, Some(&*path)));
    }
}

#[test]
#[cfg(unix)]
fn what_cannot_be_mapped_is_told_with_its_path() {
    let temp = tempfile::tempdir().unwrap();
    let error = MappedFile::new(std::fs::File::open(temp.path()).unwrap(), temp.path()).unwrap_err();
    assert_eq!((error.operation(), error.path()), (Operation::Read, Some(temp.path())));
    assert!(error.to_string().contains("only a regular file"), "{error}");
}

#[test]
fn a_cancellation_removes_what_is_half_written_and_counts_the_rest() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::options().bytes_in_flight(usize::MAX).open(temp.path()).unwrap();
    let mut long = tree.create("long", Metadata::default()).unwrap();
    long.write_all(&vec![1; 1 << 20]).unwrap();
    assert!(temp.path().join("long").exists());
    (0..2000).for_each(|n| tree.file(n.to_string(), vec![2; 5000]).unwrap());
    tree.canceller().cancel();
    assert!(long.write_all(&vec![1; 1 << 20]).is_err());
    long.close().unwrap_err();
    assert!(tree.file("after", "x").unwrap_err().is_cancelled());
    let report = tree.finish().unwrap_err().into_report();
    assert!(report.cancelled && report.failures.is_empty());
    assert_eq!(report.files + report.not_written, 2002);
    let left: Vec<_> = std::fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left.len() as u64, report.files);
    assert!(left.iter().all(|path| path.metadata().unwrap().len() == 5000), "what is there is complete");
}

#[test]
fn a_stream_that_is_dropped_or_given_up_is_a_failure_and_leaves_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    for len in [10, 1 << 20] {
        let mut dropped = tree.create(format!("dropped {len}"), Metadata::default()).unwrap();
        dropped.write_all(&vec![1; len]).unwrap();
        drop(dropped);
        let mut abandoned = tree.create(format!("abandoned {len}"), Metadata::default()).unwrap();
        abandoned.write_all(&vec![1; len]).unwrap();
        abandoned.abandon(std::io::Error::other("its checksum is wrong"));
    }
    let report = finished(tree);
    assert_eq!((report.files, report.failures.len()), (0, 4));
    assert!(report.failures[1].to_string().contains("its checksum is wrong"));
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
}
