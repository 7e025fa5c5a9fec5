//! Archives in several parts: split zips, and files that were cut into pieces.
#![cfg(unix)] // the tools that make them are Unix's

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::*;
use manyfiles_archive::{Archive, ErrorKind, Input, Unpacker};
use manyfiles_testkit::{Compare, Need, Tree, skip_unless};

const COMPARE: Compare = Compare { modes: true, times: false, hard_links: false };

/// Unpacks, lists, tests and reads by entries; all of it is what `sample` is.
#[track_caller]
fn assert_is(sample: &Path, archive: &Path) {
    let (place, summary, _) = unpack_whole(Unpacker::new(), Input::File(archive.into()));
    Tree::read(sample).unwrap().assert_same(&Tree::read(place.root()).unwrap(), COMPARE);
    let mut entries = 0;
    assert_eq!(Unpacker::new().list(Input::File(archive.into()), &mut |_| entries += 1).unwrap(), summary);
    assert_eq!(entries, summary.entries);
    let tested = Unpacker::new().test(Input::File(archive.into()), &mut |finding| panic!("{finding}")).unwrap();
    assert_eq!(tested.entries, summary.entries);
    if summary.format.to_string().starts_with("tar") {
        return;
    }
    let archive = Archive::open(archive).unwrap();
    for name in ["sample/sizes/600000 bytes", "sample/folder/link", "sample/many/3/10"] {
        assert_eq!(archive.read(name).unwrap(), fs::read(sample.join(name)).unwrap(), "{name}");
    }
}

fn parts(folder: &Path, begin: &str) -> Vec<PathBuf> {
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(begin);
    let mut parts: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).filter(name).collect();
    parts.sort();
    parts
}

fn error_of(archive: &Path) -> String {
    let error = Place::new().unpack(Input::File(archive.into())).0.unwrap_err();
    assert_eq!(Archive::open(archive).unwrap_err().to_string(), error.to_string());
    error.to_string()
}

/// A zip of the sample in parts of 64 KiB. `args` go to `zip`.
fn spanned(args: &[&str]) -> (tempfile::TempDir, tempfile::TempDir) {
    let sample = sample();
    let temp = manyfiles_testkit::scratch().unwrap();
    let zip = temp.path().join("split.zip");
    run(
        Command::new("zip").current_dir(sample.path()).args(["-qry", "-s", "64k"]).args(args).arg(zip).arg("sample"),
        false,
    );
    (sample, temp)
}

#[test]
fn a_split_zip_is_read_by_its_last_part() {
    skip_unless!(Need::Program("zip"));
    for args in [&["-0"][..], &["-9"], &["-9", "-fz"]] {
        let (sample, temp) = spanned(args);
        assert!(parts(temp.path(), "split.z").len() > 5, "{:?}", parts(temp.path(), "split.z"));
        assert_is(sample.path(), &temp.path().join("split.zip"));
    }
}

#[test]
fn a_part_that_is_missing_is_named_and_so_is_one_that_is_not_the_last() {
    skip_unless!(Need::Program("zip"));
    let (_sample, temp) = spanned(&["-0"]);
    let part = |name: &str| temp.path().join(name);
    for name in ["split.z01", "split.z02"] {
        let error = error_of(&part(name));
        assert!(error.contains("one part of a split zip") && error.contains("give the last one"), "{error}");
    }
    fs::rename(part("split.z02"), part("away")).unwrap();
    fs::rename(part("split.z04"), part("away too")).unwrap();
    let error = error_of(&part("split.zip"));
    assert!(error.ends_with("these are missing: split.z02, split.z04"), "{error}");
    fs::write(part("split.z02"), "").unwrap();
    fs::rename(part("away too"), part("split.z04")).unwrap();
    let error = error_of(&part("split.zip"));
    assert!(error.contains("split.z02") && error.contains("it is empty"), "{error}");
}

#[test]
fn a_part_that_is_cut_or_of_another_archive_is_noticed_in_each_entry_that_it_has() {
    skip_unless!(Need::Program("zip"));
    let (_sample, temp) = spanned(&["-0"]);
    let (part, zip) = (temp.path().join("split.z03"), temp.path().join("split.zip"));
    let bytes = fs::read(&part).unwrap();
    for wrong in [bytes[..bytes.len() - 100].to_vec(), noise(bytes.len()), [&bytes[..], b"more"].concat()] {
        fs::write(&part, wrong).unwrap();
        let (result, report) = Place::new().unpack(Input::File(zip.clone()));
        result.unwrap();
        assert!(!report.failures.is_empty());
        assert!(report.failures.iter().all(|failure| failure.to_string().contains("the archive is damaged here")));
        let mut findings = 0;
        Unpacker::new().test(Input::File(zip.clone()), &mut |_| findings += 1).unwrap();
        assert!(findings >= report.failures.len(), "{findings}");
    }
}

#[test]
fn a_file_that_was_cut_into_pieces_is_read_by_its_first_piece() {
    skip_unless!(Need::Program("zip"), Need::Program("7zz"), Need::Program("tar"), Need::Program("split"));
    let sample = sample();
    let temp = manyfiles_testkit::scratch().unwrap();
    let name = |name: &str| temp.path().join(name).into_os_string().into_string().unwrap();
    let pack = |program: &str, args: &[&str]| {
        run(Command::new(program).current_dir(sample.path()).args(args), false);
    };
    pack("7zz", &["a", "-snl", "-v64k", "-bso0", &name("a.zip"), "sample"]);
    pack("tar", &["-czf", &name("b.tar.gz"), "sample"]);
    pack("split", &["-b", "50000", "-d", "-a", "4", "--numeric-suffixes=1", &name("b.tar.gz"), &name("b.tar.gz.")]);
    fs::remove_file(name("b.tar.gz")).unwrap();
    assert!(parts(temp.path(), "a.").len() > 5);
    assert_is(sample.path(), Path::new(&name("a.zip.001")));
    assert_is_tar(sample.path(), Path::new(&name("b.tar.gz.0001")));

    let error = error_of(Path::new(&name("a.zip.002")));
    assert!(error.contains("one part of an archive that was cut into several"), "{error}");
    // One in the middle, one at the end, one too long.
    fs::rename(name("a.zip.003"), name("away")).unwrap();
    let error = error_of(Path::new(&name("a.zip.001")));
    assert!(error.contains("its part a.zip.003 is missing, and a.zip.004 is there"), "{error}");
    fs::rename(name("away"), name("a.zip.003")).unwrap();
    let last = parts(temp.path(), "a.").pop().unwrap();
    fs::rename(&last, name("away")).unwrap();
    let error = error_of(Path::new(&name("a.zip.001")));
    let last_name = last.file_name().unwrap().to_str().unwrap();
    assert!(error.contains("cut short") && error.contains(&format!("if a part {last_name} is missing")), "{error}");
    fs::rename(name("away"), &last).unwrap();
    for odd in [fs::read(name("a.zip.002")).unwrap()[1..].to_vec(), vec![1; 65_537]] {
        fs::write(name("a.zip.002"), odd).unwrap();
        let result = Place::new().unpack(Input::File(name("a.zip.001").into()));
        match result {
            (Err(error), _) => assert!(error.to_string().contains("a.zip.002 has another length"), "{error}"),
            (Ok(_), report) => assert!(!report.failures.is_empty()),
        }
    }
}

#[track_caller]
fn assert_is_tar(sample: &Path, archive: &Path) {
    let (place, _, _) = unpack_whole(Unpacker::new(), Input::File(archive.into()));
    Tree::read(sample).unwrap().assert_same(&Tree::read(place.root()).unwrap(), COMPARE);
    let error = Archive::open(archive).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unsupported(why) if why.contains("join them first")), "{error}");
}

#[test]
fn a_part_that_changes_while_the_archive_is_open_is_an_error() {
    skip_unless!(Need::Program("zip"));
    let (_sample, temp) = spanned(&["-0"]);
    let archive = Archive::open(temp.path().join("split.zip")).unwrap();
    archive.read("sample/many/3/10").unwrap();
    fs::write(temp.path().join("split.z01"), "changed").unwrap();
    let error = archive.read("sample/many/3/10").unwrap_err();
    assert!(error.to_string().contains("changed"), "{error}");
}
