//! Extended attributes of what a tree writes: they are there at the end, with everything else that was given.
#![cfg(feature = "full")]
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use manyfiles::tree::{Metadata, OnConflict, TreeWriter};
use manyfiles_testkit::skip;
use tempfile::tempdir;

fn xattr(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 1 << 16];
    let len = rustix::fs::lgetxattr(path, name, &mut value).ok()?;
    Some(value[..len].to_vec())
}

/// Says why not, if the file system of temporary files keeps none.
fn keeps(folder: &Path, name: &str, value: &[u8]) -> bool {
    let probe = folder.join("probe");
    fs::write(&probe, "").unwrap();
    let set = rustix::fs::setxattr(&probe, name, value, rustix::fs::XattrFlags::empty());
    fs::remove_file(&probe).unwrap();
    set.inspect_err(|why| skip(format_args!("{name} cannot be set here: {why}"))).is_ok()
}

/// Revision 2, `cap_net_raw` permitted.
const CAPABILITY: [u8; 20] = [0, 0, 0, 2, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// The owner reads and writes, user 1 reads, the mask is to read.
const LIST: [u8; 44] = [
    2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 4, 0, 1, 0, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255, 16, 0, 4, 0,
    255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255,
];

#[test]
fn files_and_folders_have_them_with_rights_that_forbid_writing() {
    let temp = tempdir().unwrap();
    if !keeps(temp.path(), "user.note", b"x") {
        return;
    }
    let time = UNIX_EPOCH + Duration::from_secs(1 << 30);
    let given = |mode| Metadata::default().mode(mode).modified(time).xattr("user.note", "a\0b").xattr("user.empty", "");
    let tree = TreeWriter::open(temp.path().join("new")).unwrap();
    tree.folder(".", given(0o700)).unwrap();
    tree.folder("closed", given(0o500)).unwrap();
    tree.file_with("closed/whole", "bytes", given(0o400)).unwrap();
    for (name, len) in [("short", 10), ("long", 300 << 10)] {
        let mut file = tree.create(format!("closed/{name}"), given(0o444)).unwrap();
        file.write_all(&vec![b'n'; len]).unwrap();
        drop(file.close()); // It is in the report.
    }
    tree.hard_link("second", "closed/whole").unwrap();
    let report = tree.finish().unwrap();
    assert!(report.is_complete(), "{report:?}");
    let modes = [("", 0o700), ("closed", 0o500), ("closed/whole", 0o400), ("closed/short", 0o444), ("second", 0o400)];
    for (name, mode) in modes.into_iter().chain([("closed/long", 0o444)]) {
        let path = temp.path().join("new").join(name);
        let has = fs::symlink_metadata(&path).unwrap();
        assert_eq!((has.mode() & 0o7777, has.modified().unwrap()), (mode, time), "{name}");
        assert_eq!(xattr(&path, "user.note").as_deref(), Some(&b"a\0b"[..]), "{name}");
        assert_eq!(xattr(&path, "user.empty").as_deref(), Some(&b""[..]), "{name}");
    }
    fs::set_permissions(temp.path().join("new/closed"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn whatever_was_there_has_them_then() {
    let temp = tempdir().unwrap();
    if !keeps(temp.path(), "user.note", b"x") {
        return;
    }
    for on_conflict in [OnConflict::Overwrite, OnConflict::Replace, OnConflict::SkipIdentical, OnConflict::Newer] {
        for content in ["same", "other"] {
            let root = tempdir().unwrap();
            let path = root.path().join("file");
            fs::write(&path, "same").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            let how = format!("{on_conflict:?} of {content}");
            let tree = TreeWriter::options().on_conflict(on_conflict.clone()).open(root.path()).unwrap();
            let metadata = Metadata::default().mode(0o444).modified(UNIX_EPOCH + Duration::from_secs(1 << 33));
            tree.file_with("file", content, metadata.xattr("user.note", "old").xattr("user.note", "new")).unwrap();
            let report = tree.finish().unwrap();
            assert!(report.is_complete(), "{how}: {report:?}");
            assert_eq!(xattr(&path, "user.note").as_deref(), Some(&b"new"[..]), "{how}");
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o444, "{how}");
        }
    }
}

#[test]
fn a_capability_and_a_list_outlast_owner_content_and_mode() {
    let temp = tempdir().unwrap();
    if !keeps(temp.path(), "security.capability", &CAPABILITY) || !keeps(temp.path(), "system.posix_acl_access", &LIST)
    {
        return;
    }
    let tree = TreeWriter::options().exact_permissions(true).open(temp.path()).unwrap();
    let owned = || Metadata::default().owner(7, 8).xattr("security.capability", CAPABILITY);
    tree.file_with("program", "bytes", owned().mode(0o4755)).unwrap();
    tree.file_with("listed", "bytes", owned().mode(0o640).xattr("system.posix_acl_access", LIST)).unwrap();
    tree.folder("folder", Metadata::default().mode(0o750).xattr("system.posix_acl_default", LIST)).unwrap();
    tree.file_with("folder/file", "bytes", Metadata::default().mode(0o600)).unwrap();
    tree.symlink("link", "program", Metadata::default().xattr("trusted.note", "of the link")).unwrap();
    let report = tree.finish().unwrap();
    assert!(report.is_complete(), "{report:?}");
    for (name, mode) in [("program", 0o4755), ("listed", 0o640)] {
        let path = temp.path().join(name);
        let has = fs::metadata(&path).unwrap();
        assert_eq!((has.mode() & 0o7777, has.uid(), has.gid()), (mode, 7, 8), "{name}");
        assert_eq!(xattr(&path, "security.capability").as_deref(), Some(&CAPABILITY[..]), "{name}");
    }
    assert_eq!(xattr(&temp.path().join("listed"), "system.posix_acl_access").as_deref(), Some(&LIST[..]));
    assert_eq!(xattr(&temp.path().join("folder"), "system.posix_acl_default").as_deref(), Some(&LIST[..]));
    assert_eq!(xattr(&temp.path().join("folder/file"), "system.posix_acl_access"), None, "made before the list");
    assert_eq!(xattr(&temp.path().join("link"), "trusted.note").as_deref(), Some(&b"of the link"[..]));
    assert_eq!(xattr(&temp.path().join("program"), "trusted.note"), None);
}

#[test]
fn one_that_cannot_be_set_is_a_failure_of_its_entry() {
    let temp = tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    for (n, name) in ["without", "user.a\0b", "", "no.such.space"].into_iter().enumerate() {
        tree.file_with(format!("{n}"), "bytes", Metadata::default().xattr(name, "x")).unwrap();
    }
    tree.file_with("long", "bytes", Metadata::default().xattr("user.long", vec![0; 70_000])).unwrap();
    tree.file_with("good", "bytes", Metadata::default()).unwrap();
    let report = tree.finish().unwrap_err().report().clone();
    assert_eq!((report.failures.len(), report.files), (5, 1), "{report:?}");
    assert!(report.failures[0].to_string().contains("extended attribute"), "{}", report.failures[0]);
    let says = |error: &manyfiles::Error| error.raw_os_error() == Some(rustix::io::Errno::OPNOTSUPP.raw_os_error());
    assert!(report.failures.iter().any(says), "what the system said: {report:?}");
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
}
