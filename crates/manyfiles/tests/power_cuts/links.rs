//! What is wrong with a file that has two names is told although it loses one of them.

use std::path::Path;

use manyfiles::vfs::Vfs;
use manyfiles_testkit::model::{Call, Disk, Fault};

use crate::calls::Inside;

/// A world with the file `a`, which is `b` as well, and to which `way` leads.
fn prepared(disk: &Disk, root: &Path) -> (Inside, Vfs) {
    let inside = Inside::enter(disk.clone(), root, &[], &[("way", "a")]);
    let vfs = Vfs::new();
    vfs.append(root.join("c"), b"another").unwrap();
    vfs.write(root.join("a"), b"first").unwrap();
    std::fs::hard_link(root.join("a"), root.join("b")).unwrap();
    (inside, vfs)
}

fn root() -> (tempfile::TempDir, std::path::PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(temp.path()).unwrap();
    (temp, root)
}

const FULL: Fault = Fault::Fail { errno: 28, for_good: false };

#[test]
fn a_file_that_loses_one_of_its_names_keeps_its_failure() {
    type Change = (&'static str, &'static str, fn(&Vfs, &Path) -> manyfiles::Result<()>);
    let changes: [Change; 4] = [
        ("put", "a", |vfs, root| vfs.put(root.join("a"), b"anew")),
        ("remove", "a", |vfs, root| vfs.remove(root.join("a"))),
        ("remove the link", "way", |vfs, root| vfs.remove(root.join("way"))),
        ("rename", "a", |vfs, root| vfs.rename(root.join("c"), root.join("a"))),
    ];
    for (call, name, change) in changes {
        let (disk, (_temp, root)) = (Disk::default(), root());
        let (inside, vfs) = prepared(&disk, &root);
        vfs.flush(root.join("a")).unwrap();
        vfs.write(root.join(name), b"second").unwrap();
        vfs.write(root.join(name), b"third").unwrap();
        disk.inject(Call::Write, 1, FULL);
        change(&vfs, &root).unwrap_or_else(|error| panic!("{call}: {error}"));
        assert_eq!(disk.failed(), 1, "{call}: nothing was to be written");
        // The name is another file's by now, which is well.
        vfs.append(root.join(if call == "remove the link" { "c" } else { "a" }), b"more").unwrap();
        let told = [vfs.sync(root.join("b")), vfs.write(root.join("b"), b"fourth"), vfs.flush(root.join("b"))];
        for told in told {
            assert_eq!(told.unwrap_err().raw_os_error(), Some(28), "{call}");
        }
        vfs.write(root.join("b"), b"fifth").unwrap();
        vfs.wait().unwrap();
        drop(inside);
    }
}

#[test]
fn a_file_without_other_names_takes_its_failure_along() {
    let (disk, (_temp, root)) = (Disk::default(), root());
    let (inside, vfs) = prepared(&disk, &root);
    std::fs::remove_file(root.join("b")).unwrap();
    vfs.write(root.join("a"), b"second").unwrap();
    disk.inject(Call::Write, 1, FULL);
    vfs.remove(root.join("a")).unwrap();
    assert_eq!(disk.failed(), 1);
    vfs.wait().unwrap();
    drop(inside);
}

#[test]
fn what_failed_by_two_names_is_taken_note_of_once() {
    let (disk, (_temp, root)) = (Disk::default(), root());
    let (inside, vfs) = prepared(&disk, &root);
    // By its path, after the handle that another name has opened.
    disk.inject(Call::Sync, 2, Fault::Fail { errno: 5, for_good: false });
    assert_eq!(vfs.sync(root.join("b")).unwrap_err().raw_os_error(), Some(5));
    assert_eq!(vfs.sync(root.join("b")).unwrap_err().raw_os_error(), Some(5));
    assert_eq!(vfs.flush(root.join("b")).unwrap_err().raw_os_error(), Some(5));
    vfs.flush(root.join("b")).unwrap();
    vfs.flush(root.join("a")).unwrap();
    vfs.wait().unwrap();
    drop(inside);
}

#[test]
fn a_sync_by_path_tells_what_its_close_says() {
    let (disk, (_temp, root)) = (Disk::default(), root());
    let (inside, vfs) = prepared(&disk, &root);
    vfs.flush(root.join("a")).unwrap();
    disk.inject(Call::Close, 1, Fault::Fail { errno: 5, for_good: false });
    assert_eq!(vfs.sync(root.join("a")).unwrap_err().raw_os_error(), Some(5));
    drop(inside);
}
