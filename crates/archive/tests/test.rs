//! `Unpacker::test`: archives with one bit changed at every place, or cut at every place, against the compressions' own
//! programs, `unzip` and 7-Zip: nothing that those say is damaged is called sound.
#![cfg(unix)] // runs the programs that are usual there

mod common;
#[path = "common/zip.rs"]
mod made;

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use common::*;
use made::Zip;
use manyfiles_archive::{ErrorKind, Finding, Input, Limits, Tested, Unpacker};
use manyfiles_testkit::Need;

/// Tests as a file: what was found, and what is left. An error is one that says that it is no archive.
fn test(archive: &[u8]) -> Result<(Tested, Vec<Finding>), ErrorKind> {
    let (_temp, path) = file_of(archive);
    test_file(&path)
}

fn test_file(path: &Path) -> Result<(Tested, Vec<Finding>), ErrorKind> {
    let mut findings = Vec::new();
    match Unpacker::new().test(Input::File(path.into()), &mut |finding| findings.push(finding.clone())) {
        Ok(tested) => {
            assert_eq!(tested.findings, findings.len() as u64);
            Ok((tested, findings))
        }
        Err(error) => match error.kind() {
            ErrorKind::NotAnArchive { looks_like, compression } => {
                Err(ErrorKind::NotAnArchive { looks_like: *looks_like, compression: *compression })
            }
            ErrorKind::Empty => Err(ErrorKind::Empty),
            &ErrorKind::Limit { limit, value, entries } => Err(ErrorKind::Limit { limit, value, entries }),
            ErrorKind::Unsupported(why) => Err(ErrorKind::Unsupported(why.clone())),
            other => panic!("{other:?}"),
        },
    }
}

fn is_sound(path: &Path) -> bool {
    test_file(path).is_ok_and(|(tested, _)| tested.is_sound())
}

fn tar() -> Vec<u8> {
    Tar::default()
        .file("a", &noise(200))
        .entry(b'5', "folder/", "", b"")
        .entry(b'2', "folder/link", "../a", b"")
        .pax(&[("path", b"folder/long name"), ("mtime", b"1.5")])
        .file("b", b"abc")
        .end()
}

fn packed(command: &str, args: &[&str]) -> Vec<u8> {
    filter(&mut program(command, args), &tar())
}

/// Each bit of each byte in turn would take long: of each byte one, another one each time.
fn flips(archive: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> {
    (0..archive.len()).map(|at| {
        let mut changed = archive.to_vec();
        changed[at] ^= 1 << (at % 8);
        (at, changed)
    })
}

/// Fails if `judge` says that a changed archive is damaged that was called sound.
fn against(name: &str, archive: &[u8], judges: &[&[&'static str]]) {
    let judges: Vec<_> = judges.iter().filter(|judge| has(judge[0])).collect();
    let temp = manyfiles_testkit::scratch().unwrap();
    let path = temp.path().join(name);
    fs::write(&path, archive).unwrap();
    assert!(is_sound(&path), "{name}: {:?}", test_file(&path).unwrap().1);
    let says_damaged = |judge: &[&str]| {
        let mut command = Command::new(judge[0]);
        let command = command.args(&judge[1..]).arg(&path).stdin(Stdio::null());
        let output = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        !output.success()
    };
    judges.iter().for_each(|judge| assert!(!says_damaged(judge), "{judge:?} is not fit to judge {name}"));
    let mut wrong = Vec::new();
    let mut compare = |what: String, changed: &[u8]| {
        fs::write(&path, changed).unwrap();
        if is_sound(&path) {
            wrong
                .extend(judges.iter().filter(|judge| says_damaged(judge)).map(|judge| format!("{what}: {}", judge[0])));
        }
    };
    for (at, changed) in flips(archive) {
        // The record of a zip that it is in, and how far behind its start.
        let before =
            archive[..at].windows(2).rposition(|two| two == b"PK").map_or((0, at), |start| (start, at - start));
        compare(format!("byte {at} changed (of the record at {}, its byte {})", before.0, before.1), &changed);
    }
    for end in 0..archive.len() {
        compare(format!("cut to {end}"), &archive[..end]);
    }
    for behind in [&[0; 1][..], &[0; 3], &[0; 4], b"garbage"] {
        compare(format!("{behind:?} behind"), &[archive, behind].concat());
    }
    assert!(wrong.is_empty(), "{name} is called sound: {wrong:#?}");
}

/// Whether a program is there; if not, that is told as a skip.
fn has(program: &'static str) -> bool {
    match Need::Program(program).check() {
        Ok(()) => true,
        Err(why) => {
            manyfiles_testkit::skip(format_args!("{program}: {why}"));
            false
        }
    }
}

#[test]
fn a_tar_that_was_changed_or_cut_is_never_called_sound_where_tar_says_it_is_damaged() {
    against("a.tar", &tar(), &[&["tar", "-tf"]]);
}

#[test]
fn a_gzip_that_was_changed_or_cut_is_never_called_sound_where_gzip_says_it_is_damaged() {
    if has("gzip") {
        against("a.tar.gz", &packed("gzip", &["-n"]), &[&["gzip", "-t"]]);
        // With a name and a time in its header.
        let temp = manyfiles_testkit::scratch().unwrap();
        fs::write(temp.path().join("a.tar"), tar()).unwrap();
        run(Command::new("gzip").arg(temp.path().join("a.tar")), false);
        against("a.tar.gz", &fs::read(temp.path().join("a.tar.gz")).unwrap(), &[&["gzip", "-t"]]);
    }
}

#[test]
fn an_xz_that_was_changed_or_cut_is_never_called_sound_where_xz_says_it_is_damaged() {
    if has("xz") {
        against("a.tar.xz", &packed("xz", &[]), &[&["xz", "-t"]]);
        let two = packed("xz", &["--check=crc32", "--block-size=1KiB"]);
        against("a.tar.xz", &[two, filter(&mut program("xz", &[]), b"")].concat(), &[&["xz", "-t"]]);
    }
}

#[test]
fn a_zstd_that_was_changed_or_cut_is_never_called_sound_where_zstd_says_it_is_damaged() {
    if has("zstd") {
        for args in [&["-q"][..], &["-q", "--no-check"]] {
            against("a.tar.zst", &packed("zstd", args), &[&["zstd", "-q", "-t"]]);
        }
    }
}

#[test]
fn a_bzip2_that_was_changed_or_cut_is_never_called_sound_where_bzip2_says_it_is_damaged() {
    if has("bzip2") {
        against("a.tar.bz2", &packed("bzip2", &[]), &[&["bzip2", "-t"]]);
    }
}

#[test]
fn an_lz4_that_was_changed_or_cut_is_never_called_sound_where_lz4_says_it_is_damaged() {
    if has("lz4") {
        for args in [&["-q"][..], &["-q", "-BX", "--content-size"]] {
            against("a.tar.lz4", &packed("lz4", args), &[&["lz4", "-q", "-t"]]);
        }
    }
}

#[test]
fn an_lzma_that_was_changed_or_cut_is_never_called_sound_where_xz_says_it_is_damaged() {
    if has("xz") {
        against("a.tar.lzma", &packed("xz", &["--format=lzma"]), &[&["xz", "-t", "--format=lzma"]]);
    }
}

#[test]
fn an_lzip_that_was_changed_or_cut_is_never_called_sound_where_lzip_says_it_is_damaged() {
    if has("lzip") {
        against("a.tar.lz", &packed("lzip", &[]), &[&["lzip", "-q", "-t"]]);
        let two = [packed("lzip", &["-0"]), filter(&mut program("lzip", &[]), b"")].concat();
        against("a.tar.lz", &two, &[&["lzip", "-q", "-t"]]);
    }
}

#[test]
fn a_compressed_file_of_compress_that_was_changed_or_cut_is_never_called_sound_where_gzip_says_it_is_damaged() {
    if has("compress") {
        for args in [&["-c", "-f"][..], &["-c", "-f", "-b", "10"]] {
            against("a.tar.Z", &packed("compress", args), &[&["gzip", "-t"], &["uncompress", "-c"]]);
        }
    }
}

#[test]
fn a_cpio_archive_that_was_changed_or_cut_is_never_called_sound_where_cpio_or_bsdtar_says_it_is_damaged() {
    if !has("cpio") {
        return;
    }
    let temp = manyfiles_testkit::scratch().unwrap();
    fs::create_dir(temp.path().join("folder")).unwrap();
    fs::write(temp.path().join("folder/a"), noise(101)).unwrap();
    fs::hard_link(temp.path().join("folder/a"), temp.path().join("b")).unwrap();
    std::os::unix::fs::symlink("folder/a", temp.path().join("link")).unwrap();
    for kind in ["newc", "crc", "odc"] {
        let script = format!("find . | sort | cpio -o -H {kind} -C 4 --quiet");
        let archive = run(Command::new("sh").args(["-c", &script]).current_dir(temp.path()), false);
        // It unpacks into nothing.
        let cpio = ["sh", "-c", "cpio -i --quiet --to-stdout < \"$0\""];
        against("a.cpio", &archive, &[&cpio, &["bsdtar", "-tf"]]);
    }
}

/// A zip by the program that everybody has: stored and deflated files, a folder, a symbolic link.
fn zip_by_zip(args: &[&str]) -> Vec<u8> {
    let temp = manyfiles_testkit::scratch().unwrap();
    let root = temp.path().join("root");
    fs::create_dir_all(root.join("folder")).unwrap();
    fs::write(root.join("folder/text"), "text ".repeat(50)).unwrap();
    fs::write(root.join("stored"), "abc").unwrap();
    std::os::unix::fs::symlink("stored", root.join("link")).unwrap();
    let mut zip = program("zip", &[&["-q", "-y", "-r"], args, &["../a.zip", "."]].concat());
    run(zip.current_dir(&root), false);
    fs::read(temp.path().join("a.zip")).unwrap()
}

#[test]
fn a_zip_that_was_changed_or_cut_is_never_called_sound_where_unzip_or_7_zip_says_it_is_damaged() {
    if has("zip") {
        against("a.zip", &zip_by_zip(&[]), &[&["unzip", "-qt"], &["7zz", "t"]]);
        // Extra fields left out; numbers behind the content.
        against("a.zip", &zip_by_zip(&["-X", "-fd"]), &[&["unzip", "-qt"], &["7zz", "t"]]);
        against("a.zip", &zip_by_zip(&["-X", "-fz"]), &[&["unzip", "-qt"], &["7zz", "t"]]);
    }
}

fn zstd_with_checksum(tar: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(tar).unwrap();
    encoder.finish().unwrap()
}

/// What is wrong, as it is told.
fn told(archive: &[u8]) -> (Tested, Vec<String>) {
    let (tested, findings) = test(archive).unwrap_or_else(|error| panic!("{error}"));
    (tested, findings.iter().map(ToString::to_string).collect())
}

/// The entries found, and those that `unpack` gets: as the test says, and as unpacking does.
#[track_caller]
fn found_and_had(archive: &[u8]) -> (u64, u64) {
    let (tested, told) = told(archive);
    let (_temp, path) = file_of(archive);
    let place = Place::new();
    let (_, report) = place.unpack(Input::File(path));
    let had = report.files + report.folders + report.symlinks + report.hard_links;
    // Folders above entries are made, too; the archives here name them, or have none.
    assert_eq!((tested.intact, tested.intact_bytes), (had, report.bytes), "{told:?}");
    (tested.entries, tested.intact)
}

#[test]
fn behind_a_damaged_header_of_a_tar_the_others_are_found_and_those_before_are_what_unpack_gets() {
    let mut tar = Tar::default().file("a", b"x").file("b", b"x").file("c", b"xyz").file("d", b"").end();
    tar[1024] ^= 1;
    assert_eq!(found_and_had(&tar), (3, 1));
    let (tested, findings) = told(&tar);
    assert_eq!(findings, ["byte 1024: no valid header where an entry should begin"]);
    assert_eq!((tested.bytes, tested.findings), (4, 1));
    // A second damage is told, too.
    tar[3072] ^= 1;
    let (_, findings) = told(&tar);
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert_eq!(found_and_had(&tar), (2, 1));
    // Inside of whole compressed data as well, counted from the start of the tar there.
    let packed = zstd_with_checksum(&tar);
    assert_eq!(told(&packed).1[0], "byte 1024 of the archive inside: no valid header where an entry should begin");
    assert_eq!((found_and_had(&packed), told(&packed).0.unproven), ((2, 1), false));
}

#[test]
fn records_that_lie_are_told_and_the_entry_behind_them_is_found() {
    let tar = Tar::default().file("a", b"x").entry(b'x', "pax", "", b"99 path=b\n").file("c", b"x").end();
    let (tested, findings) = told(&tar);
    assert_eq!((tested.entries, tested.intact), (2, 1));
    assert_eq!(findings, ["byte 2048: a pax record's length is wrong"]);
}

#[test]
fn a_tar_that_is_cut_short_names_the_entry_and_one_without_an_end_is_not_sound() {
    let whole = Tar::default().file("a", b"x").file("b", &[7; 700]);
    let tar = whole.0.clone();
    assert_eq!(told(&tar[..2000]).1, ["byte 2000: b: it is cut short"]);
    assert_eq!(found_and_had(&tar[..2000]), (2, 1));
    for (tar, what) in
        [(&tar[..1024], "are missing"), (&tar[..], "are missing"), (&[&tar[..], &[0; 512]].concat(), "one of the two")]
    {
        let (tested, findings) = told(tar);
        assert_eq!((findings.len(), tested.intact), (1, tested.entries), "{findings:?}");
        assert!(findings[0].contains(what), "{findings:?}");
    }
    assert!(told(&whole.end()).0.is_sound());
}

#[test]
fn a_header_that_became_zeros_is_told() {
    let mut tar = Tar::default().file("a", b"x").entry(b'5', "folder/", "", b"").file("b", b"x").end();
    assert!(told(&tar).0.is_sound());
    tar[1024..1536].fill(0);
    let cause = "a block of zeros stands where an entry should begin; some programs take it for the end of the tar";
    assert_eq!(told(&tar).1, [format!("byte 1024: {cause}")]);
    assert_eq!(found_and_had(&tar), (2, 2));
    assert_eq!(told(&zstd_with_checksum(&tar)).1, [format!("byte 1024 of the archive inside: {cause}")]);
    // Zeros between tars are what this option is about.
    let (_temp, path) = file_of(&tar);
    let tested = Unpacker::options().ignore_zeros(true).build().test(Input::File(path), &mut |_| {}).unwrap();
    assert!(tested.is_sound());
}

#[test]
fn damaged_compressed_data_is_told_once_and_ends_the_test() {
    let packed = zstd_with_checksum(&tar());
    let (tested, findings) = told(&packed[..packed.len() - 1]);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].ends_with("it is cut short"), "{findings:?}");
    assert_eq!((tested.entries, tested.unproven), (4, true));
    let mut wrong = packed.clone();
    *wrong.last_mut().unwrap() ^= 1;
    assert_eq!(told(&wrong).1.len(), 1);
    let (_, findings) = told(&[&packed[..], b"garbage"].concat());
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(
        findings[0].starts_with(&format!("byte {}: bytes that are no compressed data", packed.len())),
        "{findings:?}"
    );
}

#[test]
fn of_a_zip_each_damaged_entry_is_named_and_the_others_are_had() {
    let mut zip = Zip::default();
    for n in 0..50 {
        zip = zip.stored(format!("{n}"), format!("content {n}").as_bytes());
    }
    // Longer than what is decoded in one piece.
    zip = zip.stored("long", &noise(2_000_000)).stored("last", b"x");
    let mut zip = zip.end();
    assert!(told(&zip).0.is_sound());
    for at in [30 + 2, 1_000_000] {
        zip[at] ^= 1;
    }
    let (tested, findings) = told(&zip);
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert!(findings[0].starts_with("byte 0: 0: its content has another checksum"), "{findings:?}");
    assert!(findings[1].contains(": long: its content has another checksum"), "{findings:?}");
    assert_eq!((tested.entries, found_and_had(&zip)), (52, (52, 50)));
}

#[test]
fn a_zip_of_which_two_programs_would_see_two_is_not_sound() {
    let zip = Zip::default().stored("one", b"x").stored("two", b"y").end();
    let changed = |at: usize, to: &[u8]| {
        let mut zip = zip.clone();
        zip[at..at + to.len()].copy_from_slice(to);
        let (tested, findings) = told(&zip);
        assert_eq!((findings.len(), tested.intact), (1, 2), "{findings:?}");
        findings[0].clone()
    };
    assert!(changed(30, b"eno").contains("one: its own header has another name than the directory"));
    assert!(changed(14, b"1234").contains("one: its own header has another checksum"));
    assert!(changed(22, b"\x09").contains("one: its own header has another size"));
    assert!(changed(7, b"\x04").contains("one: its own header has other flags"));
    // The second record of the directory points to the first entry's bytes.
    let second = zip.windows(4).rposition(|four| four == b"PK\x01\x02").unwrap();
    let mut overlapping = zip.clone();
    overlapping[second + 42] = 0;
    let (_, findings) = told(&overlapping);
    assert!(findings.iter().any(|finding| finding.contains("it begins inside of another entry")), "{findings:?}");
}

#[test]
fn what_cannot_be_tested_is_not_called_sound() {
    let mut encrypted = Zip::default().stored("secret", b"x").end();
    let directory = encrypted.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    encrypted[6] |= 1;
    encrypted[directory + 8] |= 1;
    assert!(told(&encrypted).1[0].contains("secret: it is encrypted"));
    let shrunk = Zip::default().packed("old", 1, b"x", b"x").end();
    assert!(told(&shrunk).1[0].contains("old: compression method 1 (shrink)"));
    let cut = Zip::default().stored("a", b"x").end();
    let (tested, findings) = told(&cut[..cut.len() - 30]);
    assert_eq!((tested.entries, findings.len()), (0, 1), "{findings:?}");
    assert!(findings[0].contains("the directory at its end is missing"), "{findings:?}");
}

#[test]
fn a_bomb_ends_at_the_limit_and_a_size_that_lies_is_told_as_damage() {
    let zeros = vec![0; 3_000_000];
    let mut packed = Vec::new();
    flate2::read::DeflateEncoder::new(&zeros[..], flate2::Compression::best()).read_to_end(&mut packed).unwrap();
    let bomb = Zip::default().packed("bomb", 8, &packed, &zeros).end();
    let (_temp, path) = file_of(&bomb);
    let limited = Unpacker::options().limits(Limits::default().bytes(1_000_000)).build();
    let error = limited.test(Input::File(path), &mut |_| {}).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
    // A claim of 4 GB by 3 MB is over the ratio, which unpacking asks before it writes.
    let mut lies = bomb.clone();
    let directory = lies.windows(4).rposition(|four| four == b"PK\x01\x02").unwrap();
    lies[directory + 27] = 0xf0;
    let (_, findings) = told(&lies);
    assert!(findings.iter().any(|finding| finding.contains("shorter than the directory says")), "{findings:?}");
}

#[test]
fn a_stream_is_tested_as_a_file_is() {
    let mut tar = tar();
    tar[2048] ^= 1;
    for archive in [tar.clone(), zstd::encode_all(&tar[..], 1).unwrap()] {
        let mut findings = Vec::new();
        let streamed = Unpacker::new().test(stream_of(&archive[..]), &mut |finding| findings.push(finding.clone()));
        let (tested, expected) = test(&archive).unwrap();
        assert_eq!((streamed.unwrap(), findings), (tested, expected));
    }
}

#[test]
fn every_entry_is_tested_selected_or_not() {
    let mut zip = Zip::default().stored("a", b"x").stored("b", b"y").end();
    zip[31] ^= 1;
    let (_temp, path) = file_of(&zip);
    let unpacker = Unpacker::options().select(std::sync::Arc::new(|path| path == Path::new("b"))).strip_components(1);
    let tested = unpacker.build().test(Input::File(path), &mut |_| {}).unwrap();
    assert_eq!((tested.entries, tested.findings), (2, 1));
}
