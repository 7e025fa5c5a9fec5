//! Zips of several tools and every method.
#![cfg(unix)] // the tools that make the archives, and what they keep, are Unix's

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::*;
use manyfiles_archive::{Input, Unpacker};
use manyfiles_testkit::{Compare, Need, Tree, skip_unless};

/// Permissions and links, not hard links, which zip does not have, nor times, which it has in steps of a second or two.
const COMPARE: Compare = Compare { modes: true, times: false, hard_links: false };

#[track_caller]
fn assert_is(expected: &Path, archive: &Path) {
    let mut summaries = Vec::new();
    for threads in [1, 4] {
        let (place, summary, _) =
            unpack_whole(Unpacker::options().threads(threads).build(), Input::File(archive.into()));
        Tree::read(expected).unwrap().assert_same(&Tree::read(place.root()).unwrap(), COMPARE);
        assert_eq!(summary.format.to_string(), "zip");
        summaries.push(summary);
    }
    let mut listed = 0;
    let list = Unpacker::new().list(Input::File(archive.into()), &mut |entry| {
        assert!(entry.refusal.is_none(), "{entry:?}");
        listed += 1;
    });
    assert_eq!(list.unwrap(), summaries[0]);
    assert_eq!(listed, summaries[1].entries);
}

/// The sample in a folder of its own, and where an archive can be put.
fn sample_and_archive() -> (tempfile::TempDir, tempfile::TempDir, std::path::PathBuf) {
    let sample = sample();
    let temp = manyfiles_testkit::scratch().unwrap();
    let archive = temp.path().join("archive");
    (sample, temp, archive)
}

fn zip(sample: &Path, archive: &Path, args: &[&str]) {
    let with_ending = archive.with_extension("zip");
    run(Command::new("zip").current_dir(sample).arg("-qry").args(args).arg(&with_ending).arg("sample"), false);
    fs::rename(with_ending, archive).unwrap();
}

#[test]
fn zips_of_info_zip_are_unpacked_with_permissions_and_links() {
    skip_unless!(Need::Program("zip"));
    for args in [&["-9"][..], &["-0"], &["-Z", "bzip2"], &["-fz"]] {
        let (sample, _temp, archive) = sample_and_archive();
        zip(sample.path(), &archive, args);
        assert_is(sample.path(), &archive);
    }
}

#[test]
fn times_are_those_of_the_files() {
    skip_unless!(Need::Program("zip"));
    let (sample, _temp, archive) = sample_and_archive();
    zip(sample.path(), &archive, &[]);
    let (place, ..) = unpack_whole(Unpacker::new(), Input::File(archive));
    let (expected, actual) = (Tree::read(sample.path()).unwrap(), Tree::read(place.root()).unwrap());
    for (path, entry) in
        expected.entries.iter().filter(|(_, entry)| !matches!(entry.kind, manyfiles_testkit::Kind::Symlink(_)))
    {
        assert_eq!(actual.entries[path].modified, (entry.modified.0, 0), "{path:?}");
    }
}

#[test]
fn a_zip_from_a_pipe_has_its_sizes_behind_the_content() {
    skip_unless!(Need::Program("zip"));
    let (sample, _temp, archive) = sample_and_archive();
    let bytes = run(Command::new("zip").current_dir(sample.path()).args(["-qry", "-", "sample"]), false);
    fs::write(&archive, bytes).unwrap();
    assert_is(sample.path(), &archive);
}

#[test]
fn every_method_of_7zz_is_unpacked() {
    skip_unless!(Need::Program("7zz"));
    for method in ["Copy", "Deflate", "Deflate64", "BZip2", "LZMA"] {
        let (sample, temp, _) = sample_and_archive();
        let archive = temp.path().join("archive.zip");
        let method = format!("-mm={method}");
        let mut command = Command::new("7zz");
        command
            .current_dir(sample.path())
            .args(["a", "-tzip", "-bso0", "-bsp0", "-snl", &method])
            .arg(&archive)
            .arg("sample");
        run(&mut command, false);
        assert_is(sample.path(), &archive);
    }
}

#[test]
fn zips_of_bsdtar_and_python_are_unpacked() {
    skip_unless!(Need::Program("bsdtar"), Need::Program("python3"));
    let (sample, _temp, archive) = sample_and_archive();
    run(
        Command::new("bsdtar").args(["--format=zip", "-cf"]).arg(&archive).arg("-C").arg(sample.path()).arg("sample"),
        false,
    );
    assert_is(sample.path(), &archive);
    for method in ["ZIP_STORED", "ZIP_DEFLATED", "ZIP_BZIP2", "ZIP_LZMA"] {
        let script = format!(
            "import sys, zipfile, os\n\
             archive = zipfile.ZipFile(sys.argv[1], 'w', zipfile.{method})\n\
             for size in (0, 1, 5000, 600000, 3000000):\n\
             \x20   with archive.open(f'sizes/{{size}} ü', 'w', force_zip64=True) as file: file.write(b'abcdefgh' * (size // 8))\n"
        );
        run(Command::new("python3").args(["-c", &script]).arg(&archive), false);
        let (place, summary, _) = unpack_whole(Unpacker::new(), Input::File(archive.clone()));
        assert_eq!(summary.entries, 5);
        assert_eq!(fs::read(place.root().join("sizes/3000000 ü")).unwrap(), b"abcdefgh".repeat(375_000));
    }
}

#[test]
fn a_program_before_a_zip_is_not_looked_at() {
    skip_unless!(Need::Program("zip"));
    let (sample, _temp, archive) = sample_and_archive();
    zip(sample.path(), &archive, &[]);
    let whole = [b"#!/bin/sh\nexit 1\n".repeat(1000), fs::read(&archive).unwrap()].concat();
    fs::write(&archive, &whole).unwrap();
    assert_is(sample.path(), &archive);
    fs::write(&archive, [&whole[..], b"and something behind it"].concat()).unwrap();
    assert_is(sample.path(), &archive);
    // `zip -A` makes its offsets count the program.
    let named = archive.with_extension("zip");
    fs::write(&named, &whole).unwrap();
    run(Command::new("zip").arg("-qA").arg(&named), false);
    assert_is(sample.path(), &named);
}

#[test]
fn more_entries_than_zip_counts_without_zip64_are_unpacked() {
    skip_unless!(Need::Program("python3"));
    let (_sample, _temp, archive) = sample_and_archive();
    let script = "import sys, zipfile\n\
                  archive = zipfile.ZipFile(sys.argv[1], 'w')\n\
                  for n in range(70000): archive.writestr(f'{n % 100}/{n}', str(n))\n";
    run(Command::new("python3").args(["-c", script]).arg(&archive), false);
    let (place, summary, report) = unpack_whole(Unpacker::new(), Input::File(archive));
    assert_eq!((summary.entries, report.files), (70_000, 70_000));
    assert_eq!(fs::read(place.root().join("99/69999")).unwrap(), b"69999");
}

#[test]
fn an_encrypted_entry_fails_and_the_others_are_unpacked() {
    skip_unless!(Need::Program("zip"));
    let (sample, _temp, archive) = sample_and_archive();
    run(
        Command::new("zip")
            .current_dir(sample.path())
            .args(["-q", "-P", "word"])
            .arg(&archive)
            .arg("sample/folder/script"),
        false,
    );
    let archive = archive.with_extension("zip");
    run(Command::new("zip").current_dir(sample.path()).arg("-q").arg(&archive).arg("sample/folder/secret"), false);
    let place = Place::new();
    let (result, report) = place.unpack(Input::File(archive));
    assert_eq!(result.unwrap().entries, 2);
    assert_eq!(place.files(), ["sample/folder/secret"]);
    assert_eq!(report.failures.len(), 1);
    assert!(report.failures[0].to_string().contains("encrypted"), "{}", report.failures[0]);
    assert_eq!(report.failures[0].path(), Some(Path::new("sample/folder/script")));
}
