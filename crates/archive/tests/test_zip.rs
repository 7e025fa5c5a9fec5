//! `Unpacker::test` of zips: bytes that belong to no entry, sizes that lie about the limits, and a comment that is cut.
#![cfg(unix)] // the folder that is unpacked into is looked at as there

mod common;
#[path = "common/zip.rs"]
mod made;

use std::io::{Read, Write};

use common::*;
use made::Zip;
use manyfiles_archive::{ErrorKind, Finding, Input, Limits, Tested, Trailing, Unpacker};

/// What a test finds. What it says that `unpack` gets is what `unpack` gets.
#[track_caller]
fn told_with(unpacker: &Unpacker, archive: &[u8]) -> (Tested, Vec<String>) {
    let (_temp, path) = file_of(archive);
    let mut findings = Vec::new();
    let mut tell = |finding: &Finding| findings.push(finding.to_string());
    let tested = unpacker.test(Input::File(path.clone()), &mut tell).unwrap();
    let place = Place::new();
    let (_, report) = place.unpack_as(unpacker.clone(), Input::File(path));
    let had = report.files + report.folders + report.symlinks;
    assert_eq!((tested.intact, tested.intact_bytes), (had, report.bytes), "{findings:?}");
    (tested, findings)
}

#[track_caller]
fn told(archive: &[u8]) -> (Tested, Vec<String>) {
    told_with(&Unpacker::new(), archive)
}

#[track_caller]
fn assert_one(archive: &[u8], finding: &str, entries: u64) {
    let (tested, findings) = told(archive);
    assert_eq!((findings.len(), tested.entries, tested.intact), (1, entries, entries), "{findings:?}");
    assert!(findings[0].contains(finding), "{findings:?}");
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    flate2::read::DeflateEncoder::new(content, flate2::Compression::best()).read_to_end(&mut packed).unwrap();
    packed
}

fn xz(content: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn bytes_behind_the_end_of_an_entrys_compressed_stream_are_told() {
    // One that is decoded in one piece, and one that is not.
    for content in [noise(1000), noise(2_000_000)] {
        for (method, packed) in [(8, deflated(&content)), (95, xz(&content))] {
            let sound = Zip::default().packed("a", method, &packed, &content).end();
            assert!(told(&sound).0.is_sound());
            for behind in [&b"x"[..], &[0; 300_000]] {
                let zip = Zip::default().packed("a", method, &[&packed, behind].concat(), &content).stored("b", b"x");
                assert_one(&zip.end(), ": a: bytes stand behind its compressed content", 2);
            }
        }
    }
    let folder = Zip::default().packed("folder/", 8, b"\x03\0XX", b"").stored("b", b"x").end();
    assert_one(&folder, ": folder/: bytes stand behind its compressed content", 2);
}

#[test]
fn what_needs_more_memory_than_is_given_is_not_called_damaged() {
    for content in [noise(1000), noise(2_000_000)] {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(27).unwrap();
        encoder.write_all(&content).unwrap();
        let mut packed = encoder.finish().unwrap();
        assert!(told(&Zip::default().packed("a", 93, &packed, &content).end()).0.is_sound());
        packed[5] = 21 << 3;
        let (tested, findings) = told(&Zip::default().packed("a", 93, &packed, &content).end());
        assert_eq!((tested.intact, findings.len()), (0, 1), "{findings:?}");
        assert!(findings[0].contains("a: it needs more memory than is spent on it"), "{findings:?}");
    }
}

#[test]
fn content_of_a_folder_is_told() {
    assert_one(&Zip::default().stored("folder/", b"lost").end(), "folder/: a folder has content", 1);
    assert!(told(&Zip::default().stored("folder/", b"").end()).0.is_sound());
    assert!(told(&Zip::default().packed("folder/", 8, b"\x03\0", b"").end()).0.is_sound());
}

#[test]
fn entries_that_the_directory_does_not_have_are_told() {
    let first = Zip::default().stored("lost", b"x").stored("lost too", b"y").end();
    let second = Zip::default().stored("one", b"x").stored("two", b"y");
    let cause = "byte 0: an entry stands here that the directory does not have";
    let joined = [&first[..], &second.bytes, &end_of(&second, 0)].concat();
    assert_one(&joined, cause, 2);
    // Also if the directory knows that something stands before it.
    let shifted = [&first[..], &second.bytes, &end_of(&second, first.len())].concat();
    assert_one(&shifted, cause, 2);
    // Unpacking reads what the directory has, and says that there is more.
    for zip in [joined, shifted] {
        let (_temp, path) = file_of(&zip);
        let (_, summary, _) = unpack_whole(Unpacker::new(), Input::File(path.clone()));
        assert_eq!(summary.trailing, Some(Trailing::BeforeZip));
        let listed = Unpacker::new().list(Input::File(path), &mut |_| {}).unwrap();
        assert_eq!((listed.trailing, listed.entries), (Some(Trailing::BeforeZip), 2));
    }

    // Between two entries, and before the directory.
    let hidden = Zip::default().stored("hidden", b"x").bytes;
    let mut between = Zip::default().stored("one", b"x");
    let at = between.bytes.len();
    between.bytes.extend(&hidden);
    let between = between.stored("two", b"y");
    let cause = format!("byte {at}: an entry stands here");
    assert_one(&between.end(), &cause, 2);
    let mut last = Zip::default().stored("one", b"x");
    last.bytes.extend(&hidden);
    assert_one(&last.end(), &cause, 1);

    // What is no entry may stand there: a program that unpacks the archive, a signature.
    let mut room = Zip { bytes: b"#!/bin/sh\n".repeat(10), ..Zip::default() }.stored("one", b"x");
    room.bytes.extend([7; 100]);
    let (_temp, path) = file_of(&room.end());
    let (_, summary, _) = unpack_whole(Unpacker::new(), Input::File(path.clone()));
    assert_eq!(summary.trailing, None);
    assert!(Unpacker::new().test(Input::File(path), &mut |_| {}).unwrap().is_sound());
}

/// The directory and the end of a zip whose offsets are `shift` larger.
fn end_of(zip: &Zip, shift: usize) -> Vec<u8> {
    let whole =
        Zip { bytes: zip.bytes.clone(), directory: zip.directory.clone(), entries: zip.entries, dos: None }.end();
    let mut end = whole[zip.bytes.len()..].to_vec();
    let records = end.windows(4).enumerate().filter(|(_, four)| *four == b"PK\x01\x02").map(|(at, _)| at + 42);
    let places: Vec<_> = records.chain([end.len() - 6]).collect();
    for at in places {
        let offset = u32::from_le_bytes(end[at..at + 4].try_into().unwrap()) + shift as u32;
        end[at..at + 4].copy_from_slice(&offset.to_le_bytes());
    }
    end
}

#[test]
fn sizes_at_which_unpacking_ends_are_told_as_that() {
    let zip = Zip::default().stored("huge", b"x").stored("small", b"y").end();
    let record = zip.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    // The bytes of both sizes in the directory.
    let mut lies = zip.clone();
    lies[record + 20..record + 28].fill(0xff);
    let (tested, findings) = told(&lies);
    assert_eq!((tested.entries, tested.intact, findings.len()), (2, 0, 2), "{findings:?}");
    assert!(findings[0].contains("huge: its content reaches past the end"), "{findings:?}");
    assert!(findings[1].contains("more than the limits allow"), "{findings:?}");
    // Without the limits the other entry is had.
    let unlimited = Unpacker::options().limits(Limits::NONE).build();
    let (tested, findings) = told_with(&unlimited, &lies);
    assert_eq!((tested.entries, tested.intact, findings.len()), (2, 1, 1), "{findings:?}");
}

#[test]
fn a_zip_whose_comment_is_cut_short_is_read_and_is_damaged() {
    let mut zip = Zip::default().stored("a", b"x").stored("b", b"y").end();
    let comment = b"a comment of the archive";
    let len = zip.len();
    zip[len - 2] = comment.len() as u8;
    zip.extend(comment);
    assert!(told(&zip).0.is_sound());
    for end in [len, len + 1, zip.len() - 1] {
        let cut = &zip[..end];
        assert_one(cut, "the comment at its end is cut short", 2);
        let (_temp, path) = file_of(cut);
        let mut names = Vec::new();
        let listed = Unpacker::new().list(Input::File(path), &mut |entry| names.push(entry.path.to_path_buf()));
        assert!(matches!(listed.unwrap_err().kind(), ErrorKind::Damaged { entries: 2, .. }));
        assert_eq!(names.len(), 2);
    }
    let (tested, findings) = told(&zip[..len - 1]);
    assert_eq!((tested.entries, findings.len()), (0, 1), "{findings:?}");
}
