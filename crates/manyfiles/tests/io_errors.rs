//! `?` takes each of this crate's errors into a function of `io::Result`, and nothing of the error is lost.
#![cfg(feature = "full")]

use std::io::{self, ErrorKind};
use std::path::Path;

use manyfiles::close::Closer;
use manyfiles::sync::{BatchFailed, SyncBatch, sync_folder};
use manyfiles::{Error, Errors, Operation};

struct Breaks;

impl Drop for Breaks {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new("it broke"));
    }
}

#[test]
fn an_error_goes_into_an_io_error() {
    fn work(path: &Path) -> io::Result<()> {
        sync_folder(path)?;
        Ok(())
    }
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("missing");
    let error = work(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let carried: &Error = error.get_ref().unwrap().downcast_ref().unwrap();
    assert_eq!((carried.operation(), carried.path()), (Operation::Sync, Some(&*path)));
}

#[test]
fn a_list_of_errors_goes_into_an_io_error() {
    fn work() -> io::Result<()> {
        let closer = Closer::new();
        closer.close_at(Breaks, "one");
        closer.close_at(Breaks, "two");
        closer.finish()?;
        Ok(())
    }
    let error = work().unwrap_err();
    let carried: &Errors = error.get_ref().unwrap().downcast_ref().unwrap();
    assert_eq!((carried.len(), carried.omitted(), carried.iter().count()), (2, 0, 2));
    assert_eq!(error.to_string(), carried.to_string());
    assert!(error.to_string().starts_with("2 failures; the first: cannot close "), "{error}");
}

#[test]
fn the_failure_of_a_batch_goes_into_an_io_error_and_into_a_list() {
    /// One of two files of an atomic batch cannot get its name, because a folder has it.
    fn batch(folder: &Path) -> Result<(), BatchFailed> {
        let batch = SyncBatch::options().atomic(true).build();
        batch.write(folder.join("fine"), "fine").unwrap();
        batch.write(folder.join("taken"), "never").unwrap();
        std::fs::create_dir(folder.join("taken")).unwrap();
        std::fs::write(folder.join("taken/it"), "it").unwrap();
        batch.finish().map(drop)
    }
    fn work(folder: &Path) -> io::Result<()> {
        batch(folder)?;
        Ok(())
    }
    fn listed(folder: &Path) -> Result<(), Errors> {
        batch(folder)?;
        Ok(())
    }
    let temp = tempfile::tempdir().unwrap();
    let error = work(temp.path()).unwrap_err();
    let carried: &BatchFailed = error.get_ref().unwrap().downcast_ref().unwrap();
    assert_eq!(carried.replaced().collect::<Vec<_>>(), [temp.path().join("fine")]);
    let first = carried.errors().iter().next().unwrap();
    assert_eq!((first.kind(), first.path()), (error.kind(), Some(&*temp.path().join("taken"))));
    assert!(error.to_string().ends_with("has its new content all the same"), "{error}");

    let temp = tempfile::tempdir().unwrap();
    let errors = listed(temp.path()).unwrap_err();
    assert_eq!((errors.len(), errors.omitted()), (1, 0));
}
