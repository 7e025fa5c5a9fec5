//! Tars of every format, made by real tools: the result is the same as that of the tool itself.
#![cfg(unix)] // the tools that make the archives, and what they keep, are Unix's

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::*;
use manyfiles_archive::{Input, Unpacker};
use manyfiles_testkit::{Compare, Need, Tree, skip_unless};

/// Unpacks `archive` with another tool, and with this crate as a file and as a stream, and compares.
#[track_caller]
fn assert_unpacked_as_by(tool: &str, archive: &Path) {
    let expected = manyfiles_testkit::scratch().unwrap();
    run(Command::new(tool).arg("-xpf").arg(archive).arg("-C").arg(expected.path()), false);
    let expected = Tree::read(expected.path()).unwrap();
    assert!(expected.files().0 > 10, "the tool has unpacked hardly anything");

    for input in [Input::File(archive.into()), stream_of(fs::read(archive).unwrap())] {
        println!("{archive:?} as {input:?}");
        let (place, summary, report) = unpack_whole(Unpacker::new(), input);
        assert_eq!(summary.format.to_string(), "tar");
        expected.assert_same(&Tree::read(place.root()).unwrap(), Compare::ALL);
        assert_eq!(report.files, expected.files().0 - report.hard_links);
    }
}

fn made_by_tar(args: &[&str], large_and_odd: bool, sparse: bool) {
    let sample = sample();
    if large_and_odd {
        add_large_and_odd(sample.path());
    }
    if sparse {
        add_sparse_files(sample.path());
    }
    let archive = sample.path().join("archive");
    // Some formats cannot hold every name: tar leaves those out and says so.
    run(Command::new("tar").args(args).arg("-cf").arg(&archive).arg("-C").arg(sample.path()).arg("sample"), true);
    assert_unpacked_as_by("tar", &archive);
}

#[test]
fn every_format_of_gnu_tar_is_unpacked_as_it_does_itself() {
    skip_unless!(Need::Program("tar"));
    for format in ["v7", "oldgnu", "gnu", "ustar", "pax"] {
        made_by_tar(&[&format!("--format={format}")], true, false);
    }
}

#[test]
fn every_kind_of_sparse_file_is_unpacked_with_its_holes() {
    skip_unless!(Need::Program("tar"));
    for args in [
        &["--format=gnu", "--sparse"][..],
        &["--format=oldgnu", "--sparse"],
        &["--format=pax", "--sparse", "--sparse-version=0.0"],
        &["--format=pax", "--sparse", "--sparse-version=0.1"],
        &["--format=pax", "--sparse", "--sparse-version=1.0"],
    ] {
        made_by_tar(args, false, true);
        let sample = sample();
        add_sparse_files(sample.path());
        let archive = sample.path().join("archive");
        run(Command::new("tar").args(args).arg("-cf").arg(&archive).arg("-C").arg(sample.path()).arg("sample"), false);
        let (place, ..) = unpack_whole(Unpacker::new(), Input::File(archive));
        let tree = Tree::read(place.root()).unwrap();
        let hole = &tree.entries[Path::new("sample/sparse/only a hole")];
        assert!(hole.allocated < 1 << 20, "{} bytes are allocated for a hole", hole.allocated);
    }
}

#[test]
fn tars_of_other_tools_are_unpacked() {
    skip_unless!(Need::Program("tar"), Need::Program("bsdtar"), Need::Program("python3"));
    let sample = sample();
    add_large_and_odd(sample.path());
    let archive = sample.path().join("archive");
    for format in ["ustar", "pax", "gnutar", "v7tar"] {
        let mut command = Command::new("bsdtar");
        command.args(["--format", format, "-cf"]).arg(&archive).arg("-C").arg(sample.path()).arg("sample");
        run(&mut command, true);
        // Not GNU tar: bsdtar names folders before what is in their neighbours, and GNU tar then sets their times too
        // early.
        assert_unpacked_as_by("bsdtar", &archive);
    }
    for format in ["USTAR_FORMAT", "GNU_FORMAT", "PAX_FORMAT"] {
        let script = format!(
            "import sys, tarfile\n\
             archive = tarfile.open(sys.argv[1], 'w', format=tarfile.{format}, encoding='utf-8', errors='surrogateescape')\n\
             def add(info):\n\
             \x20   try: info.tobuf(tarfile.{format}, 'utf-8', 'surrogateescape')\n\
             \x20   except ValueError: return None\n\
             \x20   return info\n\
             archive.add(sys.argv[2], 'sample', filter=add)\n\
             archive.close()\n"
        );
        run(Command::new("python3").args(["-c", &script]).arg(&archive).arg(sample.path().join("sample")), false);
        assert_unpacked_as_by("tar", &archive);
    }
}

#[test]
fn a_tar_of_the_current_folder_sets_what_the_root_is_like() {
    skip_unless!(Need::Program("tar"));
    let sample = sample();
    let archive = sample.path().join("archive");
    run(Command::new("tar").arg("-cf").arg(&archive).arg("-C").arg(sample.path().join("sample")).arg("."), false);
    let (place, ..) = unpack_whole(Unpacker::new(), Input::File(archive));
    let expected = Tree::read(sample.path().join("sample")).unwrap();
    expected.assert_same(&Tree::read(place.root()).unwrap(), Compare { modes: true, times: false, hard_links: true });
}

#[test]
fn behind_a_folder_there_is_nothing_whatever_its_size() {
    for (kind, magic) in [(0, false), (b'0', true), (b'5', true)] {
        let mut first = Tar::header(kind, b"first/", b"00000000001", b"");
        if !magic {
            first[257..265].fill(0);
            Tar::seal(&mut first);
        }
        let archive = Tar::default()
            .block(&first)
            .file("first/file", b"x")
            .entry(kind, "second/", "", b"")
            .file("second/file", b"y")
            .end();
        let (files, refused) = unpacked(&archive);
        assert_eq!((&files[..], &refused[..]), (&["first/file", "second/file"].map(String::from)[..], &[][..]));
    }
}

#[test]
fn components_are_stripped_from_entries_and_from_hard_links() {
    skip_unless!(Need::Program("tar"));
    let sample = sample();
    let archive = sample.path().join("archive");
    run(Command::new("tar").arg("-cf").arg(&archive).arg("-C").arg(sample.path()).arg("sample"), false);
    for count in [1, 2] {
        let (place, summary, _) =
            unpack_whole(Unpacker::options().strip_components(count).build(), Input::File(archive.clone()));
        let expected = manyfiles_testkit::scratch().unwrap();
        let strip = format!("--strip-components={count}");
        run(Command::new("tar").arg("-xpf").arg(&archive).arg(strip).arg("-C").arg(expected.path()), false);
        let expected = Tree::read(expected.path()).unwrap();
        expected.assert_same(&Tree::read(place.root()).unwrap(), Compare::ALL);
        assert!(summary.left_out > 0);
        assert_eq!(summary.entries - summary.left_out, expected.entries.len() as u64);
    }
}

#[test]
fn what_is_listed_is_what_is_unpacked() {
    skip_unless!(Need::Program("tar"));
    let sample = sample();
    add_large_and_odd(sample.path());
    let archive = sample.path().join("archive");
    run(
        Command::new("tar").args(["--format=pax", "-cf"]).arg(&archive).arg("-C").arg(sample.path()).arg("sample"),
        false,
    );
    let unpacker = Unpacker::options()
        .strip_components(1)
        .select(std::sync::Arc::new(|path| !path.starts_with("sample/many")))
        .build();
    let mut listed = Vec::new();
    let mut bytes = 0;
    let summary = unpacker
        .list(Input::File(archive.clone()), &mut |entry| {
            assert!(entry.refusal.is_none(), "{entry:?}");
            listed.push(entry.path.components().collect::<std::path::PathBuf>());
            bytes += entry.size;
        })
        .unwrap();
    listed.sort();
    let (place, unpacked, _) = unpack_whole(unpacker, Input::File(archive));
    assert_eq!(summary, unpacked);
    assert_eq!(bytes, summary.bytes);
    let paths: Vec<_> = Tree::read(place.root()).unwrap().entries.into_keys().collect();
    assert_eq!(listed, paths);
    assert!(!listed.iter().any(|path| path.starts_with("many")));
}

#[test]
fn a_crate_is_a_compressed_tar() {
    skip_unless!(Need::Program("tar"), Need::Program("gzip"));
    let sample = sample();
    let tar = run(Command::new("tar").args(["-cf", "-", "-C"]).arg(sample.path()).arg("sample"), false);
    let (_temp, path) = file_of(&filter(&mut program("gzip", &[]), &tar));
    let named = path.with_extension("crate");
    fs::rename(path, &named).unwrap();
    let (place, summary, _) = unpack_whole(Unpacker::new(), Input::File(named));
    assert_eq!(summary.format.to_string(), "tar.gz");
    let root = place.root().join("sample");
    Tree::read(sample.path().join("sample")).unwrap().assert_same(&Tree::read(root).unwrap(), Compare::ALL_BUT_TIMES);
}
