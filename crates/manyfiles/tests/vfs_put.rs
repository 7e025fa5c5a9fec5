//! What replaces a file takes nothing but the content: rights stay, and what is no regular file is left alone.
#![cfg(all(target_os = "linux", feature = "full"))]

use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use manyfiles::sync::{BatchMethod, SyncBatch};
use manyfiles::vfs::Vfs;
use manyfiles::{Error, Operation};
use manyfiles_testkit::{Call, Need, Preload, Rule, skip_unless};

mod support;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

type Replace = fn(&Path, &str) -> Result<(), Error>;

/// Each way of replacing a whole file.
fn ways() -> [(&'static str, Replace); 2] {
    fn put(path: &Path, text: &str) -> Result<(), Error> {
        Vfs::new().put(path, text)
    }
    fn batch(path: &Path, text: &str) -> Result<(), Error> {
        let batch = SyncBatch::options().atomic(true).build();
        batch.write(path, text)?;
        batch.finish().map(drop).map_err(|failed| failed.errors().iter().next().unwrap().clone())
    }
    [("put", put), ("batch", batch)]
}

#[test]
fn what_is_replaced_keeps_its_permissions() {
    for (way, replace) in ways() {
        let temp = tempfile::tempdir().unwrap();
        for wanted in [0o600, 0o640, 0o444, 0o755, 0o200, 0o666] {
            let path = temp.path().join(format!("{wanted:o}"));
            fs::write(&path, "old").unwrap();
            set_mode(&path, wanted);
            replace(&path, "new").unwrap();
            assert_eq!(mode(&path), wanted, "{way}: {:o}", mode(&path));
        }
        // A link gives nobody more than the file that it led to.
        let (secret, link) = (temp.path().join("600"), temp.path().join("link"));
        symlink(&secret, &link).unwrap();
        replace(&link, "new").unwrap();
        assert_eq!(mode(&link), 0o600, "{way}");
        // A new file has what new files have.
        let (new, plain) = (temp.path().join("new"), temp.path().join("plain"));
        fs::write(&plain, "").unwrap();
        replace(&new, "new").unwrap();
        assert_eq!(mode(&new), mode(&plain), "{way}");
    }
}

#[test]
fn nobody_may_read_the_content_before_it_has_its_name() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("secret");
    fs::write(&path, "old").unwrap();
    set_mode(&path, 0o600);
    let batch = SyncBatch::options().atomic(true).build();
    let mut looked = 0;
    batch
        .write_with(&path, |_| {
            for entry in fs::read_dir(temp.path())? {
                assert_eq!(entry?.metadata()?.mode() & 0o777, 0o600);
                looked += 1;
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(looked, 2, "the old file and the one that is to replace it");
    batch.finish().unwrap();
}

#[test]
fn what_is_replaced_keeps_its_owner_where_that_may_be_set() {
    skip_unless!(Need::Root);
    for (way, replace) in ways() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::chown(&path, Some(65_534), Some(65_533)).unwrap();
        set_mode(&path, 0o4750);
        replace(&path, "new").unwrap();
        let found = fs::metadata(&path).unwrap();
        assert_eq!((found.uid(), found.gid(), mode(&path)), (65_534, 65_533, 0o4750), "{way}");
    }
}

#[test]
fn what_cannot_be_set_makes_the_rights_fewer() {
    skip_unless!(Need::Root);
    const FOLDER: &str = "MANYFILES_TEST_RIGHTS";
    let test = "what_cannot_be_set_makes_the_rights_fewer";
    if let Some(folder) = std::env::var_os(FOLDER) {
        // SAFETY: numbers in, numbers out, and no other thread depends on who this process is.
        unsafe {
            assert_eq!((libc::setgroups(0, std::ptr::null()), libc::setgid(65_533), libc::setuid(65_533)), (0, 0, 0))
        };
        for (way, replace) in ways() {
            for (old, new) in [(0o4660, 0o600), (0o664, 0o644), (0o604, 0o600)] {
                let path = Path::new(&folder).join(format!("{way}-{old:o}"));
                replace(&path, "new").unwrap();
                let found = fs::metadata(&path).unwrap();
                assert_eq!((found.uid(), mode(&path)), (65_533, new), "{way}: {old:o}");
            }
        }
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    set_mode(temp.path(), 0o777);
    for (way, _) in ways() {
        for old in [0o4660, 0o664, 0o604] {
            let path = temp.path().join(format!("{way}-{old:o}"));
            fs::write(&path, "old").unwrap();
            set_mode(&path, old);
        }
    }
    support::in_parent(test, |child| {
        child.env(FOLDER, temp.path());
    });
}

#[test]
fn what_is_no_regular_file_is_not_replaced() {
    for (way, replace) in ways() {
        let temp = tempfile::tempdir().unwrap();
        let pipe = temp.path().join("pipe");
        let name = std::ffi::CString::new(pipe.as_os_str().as_bytes()).unwrap();
        // SAFETY: a string that ends in NUL, and a mode.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let link = temp.path().join("link");
        symlink("pipe", &link).unwrap();
        for path in [&pipe, &link] {
            let error = replace(path, "new").unwrap_err();
            // `put` replaces what a link leads to, and names that.
            let named = error.path().is_some_and(|named| named == path || (way == "put" && named == pipe));
            assert!(named && error.kind() == ErrorKind::InvalidInput, "{way}: {error}");
        }
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo(), "{way}");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{way}");
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 2, "{way}: nothing is left over");
    }
    // What comes between the writing and the end.
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("late");
    let batch = SyncBatch::options().atomic(true).build();
    batch.write(&path, "new").unwrap();
    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    assert_eq!(batch.finish().unwrap_err().replaced().len(), 0);
    assert!(fs::symlink_metadata(&path).unwrap().file_type().is_fifo());
}

#[test]
fn names_that_no_file_can_have_are_refused_before_anything_is_written() {
    for (way, replace) in ways() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("file"), "old").unwrap();
        let long = "n".repeat(256);
        for name in ["new/", "new/.", "file/", &long] {
            let path = temp.path().join(name);
            assert_eq!(replace(&path, "new").unwrap_err().path(), Some(&*path), "{way} {name}");
        }
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1, "{way}");
        assert_eq!(fs::read(temp.path().join("file")).unwrap(), b"old", "{way}");
    }
    let temp = tempfile::tempdir().unwrap();
    let batch = SyncBatch::options().atomic(true).build();
    batch.write(temp.path().join("n".repeat(256)), "new").unwrap_err();
}

/// Whichever close fails: with an error of it the old content is there.
#[test]
fn every_handle_is_closed_before_the_first_path_is_changed() {
    skip_unless!(Need::Preload);
    let rules = (1..=8).flat_map(|n| {
        ["put", "batch", "whole"]
            .map(|way| Rule::fail(Call::Close, libc::EIO).path_contains(&format!("{way}-{n}-")).nth(n))
    });
    if support::in_parent("every_handle_is_closed_before_the_first_path_is_changed", |child| {
        rules.fold(Preload::new(), Preload::rule).apply(child).unwrap();
    }) {
        return;
    }
    let mut failed = 0;
    for n in 1..=8 {
        for (way, replace) in ways() {
            let temp = tempfile::Builder::new().prefix(&format!("{way}-{n}-")).tempdir().unwrap();
            let path = temp.path().join("file");
            fs::write(&path, "old").unwrap();
            let result = replace(&path, "new");
            failed += u32::from(result.is_err());
            let expected = if result.is_ok() { "new" } else { "old" };
            assert_eq!(fs::read_to_string(&path).unwrap(), expected, "{way} {n}: {result:?}");
        }
        // So many folders that their names are made durable by one more sync of everything.
        let temp = tempfile::Builder::new().prefix(&format!("whole-{n}-")).tempdir().unwrap();
        let batch = SyncBatch::options().atomic(true).method(BatchMethod::FileSystem).build();
        for folder in 0..20 {
            let folder = temp.path().join(folder.to_string());
            fs::create_dir(&folder).unwrap();
            batch.write(folder.join("file"), "new").unwrap();
        }
        if let Err(error) = batch.finish() {
            assert_eq!(error.replaced().len(), 0, "{n}: {error}");
        }
    }
    assert!(failed > 0, "no close of a replacing file was made to fail");
}

#[test]
fn what_was_wrong_with_the_old_file_is_not_wrong_with_the_new_one() {
    skip_unless!(Need::Preload);
    // The file's own sync, then that of the folder behind a `put`.
    if support::in_parent("what_was_wrong_with_the_old_file_is_not_wrong_with_the_new_one", |child| {
        let folder = Rule::fail(Call::Fsync, libc::EIO).path_contains("unlucky-folder").nth(3);
        let file = Rule::fail(Call::Fsync, libc::ENOSPC).path_contains("unlucky-file").nth(1);
        Preload::new().rule(file).rule(folder).apply(child).unwrap();
    }) {
        return;
    }
    let temp = tempfile::Builder::new().prefix("unlucky-folder").tempdir().unwrap();
    let path = temp.path().join("unlucky-file");
    let vfs = Vfs::new();
    vfs.append(&path, b"old").unwrap();
    assert_eq!(vfs.sync(&path).unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    let error = vfs.put(&path, "new").unwrap_err();
    assert_eq!((error.operation(), error.raw_os_error()), (Operation::Sync, Some(libc::EIO)), "{error}");
    assert_eq!(vfs.read(&path).unwrap(), b"new");
    vfs.write(&path, b"+").unwrap();
    vfs.flush(&path).unwrap();
    // The new file's name may not be durable, and no later sync of the folder can be trusted to tell.
    let error = vfs.sync(&path).unwrap_err();
    assert_eq!((error.operation(), error.raw_os_error()), (Operation::Sync, Some(libc::EIO)), "{error}");
    vfs.flush(&path).unwrap_err();
    vfs.put(&path, "newer").unwrap();
    vfs.write(&path, b"+").unwrap();
    vfs.sync(&path).unwrap();
    vfs.finish().unwrap();
}

#[test]
fn a_copy_whose_close_fails_is_told() {
    skip_unless!(Need::Preload);
    if support::in_parent("a_copy_whose_close_fails_is_told", |child| {
        // The target is closed once, and by no other name.
        let rule = Rule::fail(Call::Close, libc::EIO).path_contains("unlucky-target");
        Preload::new().rule(rule).apply(child).unwrap();
    }) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let (from, to) = (temp.path().join("from"), temp.path().join("unlucky-target"));
    let content = vec![7; 300_000];
    fs::write(&from, &content).unwrap();
    let vfs = Vfs::new();
    let error = vfs.copy(&from, &to).unwrap_err();
    let found = (error.operation(), error.path(), error.raw_os_error());
    assert_eq!(found, (Operation::Close, Some(&*to), Some(libc::EIO)), "{error}");
    let fine = temp.path().join("fine");
    assert_eq!(vfs.copy(&from, &fine).unwrap(), 300_000);
    assert_eq!(fs::read(&fine).unwrap(), content);
}

#[test]
fn a_copy_of_what_cannot_be_read_blames_the_source_and_leaves_the_target() {
    skip_unless!(Need::Preload);
    if support::in_parent("a_copy_of_what_cannot_be_read_blames_the_source_and_leaves_the_target", |child| {
        let rule = Rule::fail(Call::Open, libc::EACCES).path_contains("unreadable");
        Preload::new().rule(rule).apply(child).unwrap();
    }) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let (from, to) = (temp.path().join("unreadable"), temp.path().join("to"));
    fs::write(&to, "source").unwrap();
    fs::hard_link(&to, &from).unwrap();
    let other = temp.path().join("other");
    fs::write(&other, "kept").unwrap();
    let vfs = Vfs::new();
    vfs.put("mem://to", "kept").unwrap();
    for to in [other.to_str().unwrap(), "mem://to"] {
        let error = vfs.copy(&from, to).unwrap_err();
        let found = (error.operation(), error.path(), error.kind());
        assert_eq!(found, (Operation::Read, Some(&*from), ErrorKind::PermissionDenied), "{error}");
        assert_eq!(vfs.read(to).unwrap(), b"kept");
    }
}

#[test]
fn beyond_the_end_there_is_nothing_however_far() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("file");
    let vfs = Vfs::new();
    for uri in [file.to_str().unwrap(), "mem://file"] {
        vfs.write(uri, b"bytes").unwrap();
        for offset in [5, 1 << 40, i64::MAX as u64 - 1, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX] {
            assert_eq!(vfs.read_at(uri, offset, &mut [0; 16]).unwrap(), 0, "{uri}: {offset}");
        }
    }
}
