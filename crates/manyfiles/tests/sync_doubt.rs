//! After a sync that failed, whatever it was of (a file, a file system, a folder), no part of the library calls the files that
//! it was for durable again before they are empty or new.
#![cfg(all(target_os = "linux", feature = "full"))]

use std::fs::{self, File};
use std::path::Path;

use manyfiles::sync::{BatchMethod, SyncBatch};
use manyfiles::vfs::Vfs;
use manyfiles::writer::FileWriter;
use manyfiles::{Error, Operation};
use manyfiles_testkit::{Call, Need, Preload, Rule, skip_unless};

mod support;
use support::in_parent;

fn is_refused(error: &Error, path: &Path) {
    let found = (error.operation(), error.path(), error.raw_os_error());
    assert_eq!(found, (Operation::Sync, Some(path), Some(libc::EIO)), "{error}");
    assert!(error.to_string().contains("has failed before"), "{error}");
}

/// Nothing that syncs this file says that it is durable; the file can be read and written all the same.
fn is_in_doubt(path: &Path) {
    is_refused(&Vfs::new().sync(path).unwrap_err(), path);
    let mut writer = FileWriter::append(path).unwrap();
    writer.write_all(b"more").unwrap();
    is_refused(&writer.sync().unwrap_err(), path);
    is_refused(&writer.close().unwrap_err(), path);
    let batch = SyncBatch::new();
    batch.add(File::open(path).unwrap(), path);
    is_refused(batch.finish().unwrap_err().errors().iter().next().unwrap(), path);
}

fn is_trusted(path: &Path) {
    let mut writer = FileWriter::append(path).unwrap();
    writer.write_all(b"more").unwrap();
    writer.sync().unwrap();
    writer.close().unwrap();
    Vfs::new().sync(path).unwrap();
}

#[test]
fn a_failed_sync_of_a_file_system_is_one_of_each_file_of_the_batch() {
    skip_unless!(Need::Preload);
    let rule = || Rule::fail(Call::Syncfs, libc::EIO).nth(1);
    if in_parent("a_failed_sync_of_a_file_system_is_one_of_each_file_of_the_batch", |child| {
        Preload::new().rule(rule()).apply(child).unwrap();
    }) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let path = |n: u8| temp.path().join(n.to_string());
    fs::write(path(9), "of another program").unwrap();
    let batch = SyncBatch::options().method(BatchMethod::FileSystem).build();
    for n in 0..3 {
        batch.write(path(n), [n; 1000]).unwrap();
    }
    let failed = batch.finish().unwrap_err();
    assert_eq!(failed.errors().iter().next().unwrap().raw_os_error(), Some(libc::EIO), "{failed}");
    (0..3).for_each(|n| is_in_doubt(&path(n)));
    is_trusted(&path(9));
    // A file that is new has no past, and neither has one that is empty.
    Vfs::new().put(path(0), "new").unwrap();
    is_trusted(&path(0));
    FileWriter::create(path(1)).unwrap().close().unwrap();
    is_trusted(&path(1));
}

#[test]
fn a_failed_sync_of_a_folder_is_one_of_each_file_that_has_a_new_name_there() {
    skip_unless!(Need::Preload);
    if in_parent("a_failed_sync_of_a_folder_is_one_of_each_file_that_has_a_new_name_there", |child| {
        // Once for each of the three ways below: the first sync there is the file's own.
        let rule = |which: &str| Rule::fail(Call::Fsync, libc::EIO).path_contains(&format!("/unlucky-{which}")).nth(2);
        ["batch", "vfs", "put"]
            .into_iter()
            .fold(Preload::new(), |all, which| all.rule(rule(which)))
            .apply(child)
            .unwrap();
    }) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        let folder = temp.path().join(name);
        fs::create_dir(&folder).unwrap();
        folder
    };
    let (unlucky, lucky) = (folder("unlucky-batch"), folder("lucky"));
    let batch = SyncBatch::options().method(BatchMethod::EachFile).build();
    batch.write(unlucky.join("a"), "a").unwrap();
    batch.write(lucky.join("b"), "b").unwrap();
    let failed = batch.finish().unwrap_err();
    assert_eq!(failed.errors().iter().next().unwrap().path(), Some(&*unlucky), "{failed}");
    is_in_doubt(&unlucky.join("a"));
    is_trusted(&lucky.join("b"));

    let log = folder("unlucky-vfs").join("log");
    let vfs = Vfs::new();
    vfs.write(&log, b"record").unwrap();
    let error = vfs.sync(&log).unwrap_err();
    assert_eq!((error.path(), error.raw_os_error()), (log.parent(), Some(libc::EIO)), "{error}");
    vfs.flush(&log).unwrap_err();
    is_in_doubt(&log);

    let object = folder("unlucky-put").join("object");
    let error = Vfs::new().put(&object, "new").unwrap_err();
    assert_eq!((error.operation(), error.raw_os_error()), (Operation::Sync, Some(libc::EIO)), "{error}");
    is_in_doubt(&object);
    Vfs::new().put(&object, "newer").unwrap();
    is_trusted(&object);
}

/// A batch has two handles of its first file, and both are told when the disk is gone.
#[test]
fn a_close_that_fails_is_told_once() {
    skip_unless!(Need::Preload);
    if in_parent("a_close_that_fails_is_told_once", |child| {
        Preload::new().rule(Rule::fail(Call::Close, libc::EIO).path_contains("unlucky-file")).apply(child).unwrap();
    }) {
        return;
    }
    for method in [BatchMethod::EachFile, BatchMethod::FileSystem] {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("unlucky-file");
        let batch = SyncBatch::options().method(method).build();
        batch.write(&path, "bytes").unwrap();
        let failed = batch.finish().unwrap_err();
        let told: Vec<_> = failed.errors().iter().map(|error| (error.operation(), error.path())).collect();
        assert_eq!(told, [(Operation::Close, Some(&*path))], "{failed}");
    }
}

#[test]
fn what_cannot_be_synced_is_in_no_doubt() {
    // A device answers `EINVAL`, which says nothing of bytes.
    let add = || {
        let batch = SyncBatch::new();
        batch.add(File::open("/dev/null").unwrap(), "/dev/null");
        batch.finish().unwrap_err().errors().iter().next().unwrap().clone()
    };
    let (first, second) = (add(), add());
    assert_eq!(first.raw_os_error(), Some(libc::EINVAL), "{first}");
    assert_eq!(second.to_string(), first.to_string());
}
