//! `manyfiles copy --link`: what copies share with their sources.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use common::{assert_same_tree, manyfiles, write};
use manyfiles_testkit::{Disk, Need, skip_unless};
use serde_json::Value;
use tempfile::tempdir;

fn store(at: &Path) {
    write(at.join("store/a.js"), "a");
    write(at.join("store/deep/b.js"), "b".repeat(10_000));
    fs::set_permissions(at.join("store/a.js"), fs::Permissions::from_mode(0o555)).unwrap();
}

/// Files, and how many of them were cloned and shared.
fn counts(json: &str) -> [u64; 3] {
    let report: Value = serde_json::from_str(json).unwrap();
    ["files", "cloned", "shared"].map(|key| report[key].as_u64().unwrap())
}

fn same_file(at: &Path, name: &str) -> bool {
    at.join("store").join(name).metadata().unwrap().ino() == at.join("out").join(name).metadata().unwrap().ino()
}

#[test]
fn what_is_shared_is_the_same_file_and_the_summary_warns_of_it() {
    let temp = tempdir().unwrap();
    store(temp.path());
    manyfiles(temp.path(), &["copy", "--link=hard", "store", "out"]).code(0).says("2 shared with the source");
    assert_same_tree(&temp.path().join("store"), &temp.path().join("out"));
    assert!(same_file(temp.path(), "a.js") && same_file(temp.path(), "deep/b.js"));
    let again = ["copy", "--link=hard", "store/.", "out", "--on-conflict", "skip-identical"];
    manyfiles(temp.path(), &again).code(0).says("2 entries skipped");
}

#[test]
fn each_way_of_linking_does_what_it_says_on_each_file_system() {
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("mkfs.btrfs"));
    for (disk, expected) in [
        (Disk::btrfs().mount().unwrap(), [[2, 2, 0], [2, 2, 0], [2, 0, 2]]),
        (Disk::ext4().megabytes(64).mount().unwrap(), [[2, 0, 2], [2, 0, 0], [2, 0, 2]]),
    ] {
        store(disk.path());
        for (how, expected) in ["--link", "--link=reflink", "--link=hard"].iter().zip(expected) {
            let output = manyfiles(disk.path(), &["copy", how, "store", "out", "--json"]).code(0);
            assert_eq!(counts(&output.out), expected, "{how}");
            assert_same_tree(&disk.path().join("store"), &disk.path().join("out"));
            fs::remove_dir_all(disk.path().join("out")).unwrap();
        }
    }
}

#[test]
fn a_file_that_is_to_lose_a_right_is_copied_and_its_source_keeps_it() {
    let temp = tempdir().unwrap();
    store(temp.path());
    let set_id = fs::Permissions::from_mode(0o4755);
    fs::set_permissions(temp.path().join("store/a.js"), set_id).unwrap();
    manyfiles(temp.path(), &["copy", "--link=hard", "store", "out"]).code(0).says("1 with content of its own");
    assert!(!same_file(temp.path(), "a.js"));
    let mode = |name: &str| temp.path().join(name).metadata().unwrap().mode() & 0o7777;
    assert_eq!([mode("store/a.js"), mode("out/a.js")], [0o4755, 0o755]);
}

#[test]
fn a_link_between_devices_is_a_copy() {
    let temp = tempdir().unwrap();
    store(temp.path());
    let other = tempfile::tempdir_in("/dev/shm").unwrap();
    let out = other.path().join("out");
    let output = manyfiles(temp.path(), &["copy", "--link", "store", out.to_str().unwrap(), "--json"]).code(0);
    assert_eq!(counts(&output.out), [2, 0, 0]);
    assert_same_tree(&temp.path().join("store"), &out);
}
