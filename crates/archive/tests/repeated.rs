//! Several entries of one path: the last one is what the archive means, under every policy.
#![cfg(unix)] // links are made

mod common;
#[path = "common/zip.rs"]
mod made;

use std::fs;
use std::path::Path;

use common::*;
use made::Zip;
use manyfiles::tree::{OnConflict, TreeWriter};
use manyfiles_archive::{Input, Unpacker};

const POLICIES: [OnConflict; 7] = [
    OnConflict::Error,
    OnConflict::Skip,
    OnConflict::SkipIdentical,
    OnConflict::Overwrite,
    OnConflict::Replace,
    OnConflict::Newer,
    OnConflict::Rename,
];

/// Unpacks into an empty folder under every policy, where nothing may fail; `check` sees what came out.
fn under_every_policy(input: impl Fn() -> Input, check: impl Fn(&Path)) {
    for policy in POLICIES {
        println!("{policy:?}");
        let place = Place::new();
        let tree = TreeWriter::options().on_conflict(policy).last_wins(true).open(place.root()).unwrap();
        Unpacker::options().threads(8).build().unpack(input(), &tree).unwrap();
        assert_eq!(tree.finish().unwrap().skipped, 0, "nothing was there before");
        check(&place.root());
    }
}

/// As a file and as a stream.
fn tar_under_every_policy(tar: &[u8], check: impl Fn(&Path)) {
    let (_temp, path) = file_of(tar);
    under_every_policy(|| Input::File(path.clone()), &check);
    under_every_policy(|| stream_of(tar), &check);
}

#[track_caller]
fn assert_content(path: &Path, content: &[u8]) {
    assert!(fs::read(path).unwrap() == content, "{} is not the last one", path.display());
}

/// Lengths above and below the limit up to which content is handed over whole. The later entry is shorter: it would be
/// written first if it did not wait for the earlier one.
const LENGTHS: [usize; 6] = [3_000_000, 700_000, 600_000, 300_000, 5000, 10];

#[test]
fn of_files_the_last_one_remains() {
    let mut tar = Tar::default();
    let mut zip = Zip::default();
    for (at, len) in LENGTHS.into_iter().chain(LENGTHS).chain([42]).enumerate() {
        let name = ["twice", "./twice"][at % 2];
        tar = tar.file(name, &noise(len)).file(format!("other {at}"), b"x");
        zip = zip.stored(name, &noise(len)).stored(format!("other {at}"), b"x");
    }
    tar_under_every_policy(&tar.end(), |root| assert_content(&root.join("twice"), &noise(42)));
    let (_temp, path) = file_of(&zip.end());
    under_every_policy(|| Input::File(path.clone()), |root| assert_content(&root.join("twice"), &noise(42)));
}

#[test]
fn a_long_file_that_comes_last_remains() {
    let zip = Zip::default().stored("twice", b"first").stored("twice", &noise(3_000_000));
    let zip = LENGTHS.iter().fold(zip, |zip, len| zip.stored("again", &noise(*len))).stored("again", &noise(900_000));
    let (_temp, path) = file_of(&zip.end());
    under_every_policy(
        || Input::File(path.clone()),
        |root| {
            assert_content(&root.join("twice"), &noise(3_000_000));
            assert_content(&root.join("again"), &noise(900_000));
        },
    );
}

#[test]
fn a_file_that_comes_after_a_link_of_its_name_takes_the_name_and_not_the_other() {
    let tar = Tar::default().file("a", b"old").entry(b'1', "b", "a", b"").file("b", b"new").end();
    tar_under_every_policy(&tar, |root| {
        assert_content(&root.join("a"), b"old");
        assert_content(&root.join("b"), b"new");
    });
    let tar = Tar::default().file("a", b"old").entry(b'1', "b", "a", b"").file("a", b"new").end();
    tar_under_every_policy(&tar, |root| {
        assert_content(&root.join("a"), b"new");
        assert_content(&root.join("b"), b"old");
    });
}

#[test]
fn of_links_and_files_of_one_name_the_last_one_remains() {
    let link = 0o120_777 << 16;
    let tar =
        Tar::default().entry(b'2', "a", "file", b"").file("a", b"new").file("b", b"old").entry(b'2', "b", "a", b"");
    let zip =
        Zip::default().with("a", b"file", 3, link).stored("a", b"new").stored("b", b"old").with("b", b"a", 3, link);
    let check = |root: &Path| {
        assert!(fs::symlink_metadata(root.join("a")).unwrap().is_file());
        assert_content(&root.join("a"), b"new");
        assert_eq!(fs::read_link(root.join("b")).unwrap(), Path::new("a"));
    };
    tar_under_every_policy(&tar.end(), check);
    let (_temp, path) = file_of(&zip.end());
    under_every_policy(|| Input::File(path.clone()), check);
}
