//! Zips made by hand: names of other systems, hostile ones, damaged ones, and ones that lie.
#![cfg(unix)] // links are made, and devices

mod common;
#[path = "common/zip.rs"]
mod made;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use common::*;
use made::{Zip, crc};
use manyfiles::tree::OnConflict;
use manyfiles_archive::{ErrorKind, Input, Limits, Trailing, Unpacker};

#[track_caller]
fn assert_unpacks_to(archive: &[u8], files: &[(&str, &[u8])]) {
    let (_temp, path) = file_of(archive);
    let (place, ..) = unpack_whole(Unpacker::new(), Input::File(path));
    let names: Vec<_> = files.iter().map(|(name, _)| *name).collect();
    assert_eq!(place.files(), names);
    for (name, content) in files {
        assert_eq!(fs::read(place.root().join(name)).unwrap(), *content, "{name}");
    }
}

/// Unpacks, and returns the written files and the failures.
fn unpacked(archive: &[u8]) -> (Place, Vec<String>, Vec<String>) {
    let (_temp, path) = file_of(archive);
    let place = Place::new();
    let (result, report) = place.unpack(Input::File(path));
    result.unwrap();
    place.assert_nothing_outside();
    let (files, failures) = (place.files(), report.failures.iter().map(ToString::to_string).collect());
    (place, files, failures)
}

#[test]
fn zstd_inside_zip_is_unpacked() {
    let content = b"some words ".repeat(1000);
    let packed = zstd::encode_all(&content[..], 3).unwrap();
    let archive = Zip::default().packed("a", 93, &packed, &content).end();
    assert_unpacks_to(&archive, &[("a", &content)]);
}

#[test]
fn names_of_other_systems_become_names_of_this_one() {
    let unicode = |raw: &[u8], name: &str| {
        let field = [&[1][..], &crc(raw).to_le_bytes(), name.as_bytes()].concat();
        [&0x7075u16.to_le_bytes()[..], &(field.len() as u16).to_le_bytes(), &field].concat()
    };
    let file = |zip: Zip, name: &[u8], host: u8, extra: &[u8]| zip.entry(name, 0, b"x", 1, crc(b"x"), host, 0, extra);
    let mut zip = Zip::default();
    zip = file(zip, b"dos\\folder\\file", 0, &[]);
    zip = file(zip, b"gr\x81\xe1e", 0, &[]);
    zip = file(zip, b"back\\slash", 3, &[]);
    zip = file(zip, b"\x80raw", 0, &unicode(b"\x80raw", "new name"));
    zip = file(zip, b"kept", 0, &unicode(b"another", "not this"));
    zip = file(zip, b"malformed extra", 0, b"\x01\0\xff\xff");
    assert_unpacks_to(
        &zip.end(),
        &[
            ("back\\slash", b"x"),
            ("dos/folder/file", b"x"),
            ("grüße", b"x"),
            ("kept", b"x"),
            ("malformed extra", b"x"),
            ("new name", b"x"),
        ],
    );
}

#[test]
fn hostile_names_are_refused_and_the_others_are_unpacked() {
    let names = ["../outside/file", "/etc/x", "a/../../outside/file", "C:\\x", "\\\\server\\share\\x", "nul\0byte", ""];
    let mut zip = Zip::default().stored("good", b"x");
    for name in names {
        zip = zip.stored(name, b"hostile");
    }
    let archive = zip.stored("good too", b"x").end();
    let (_place, files, failures) = unpacked(&archive);
    assert_eq!(files, ["good", "good too"]);
    assert_eq!(failures.len(), names.len(), "{failures:?}");
    let (_temp, path) = file_of(&archive);
    let mut refused = 0;
    Unpacker::new().list(Input::File(path), &mut |entry| refused += usize::from(entry.refusal.is_some())).unwrap();
    assert_eq!(refused, names.len(), "listing tells the same");
}

#[test]
fn a_link_out_of_the_root_is_not_written_through() {
    let link = |zip: Zip, name: &str, to: &[u8]| {
        zip.entry(name.as_bytes(), 0, to, to.len() as u32, crc(to), 3, 0o120_777 << 16, &[])
    };
    let zip = link(Zip::default(), "way", b"../outside").stored("way/file", b"hostile");
    let (_place, _, failures) = unpacked(&zip.end());
    assert_eq!(failures.len(), 1, "{failures:?}");
}

#[test]
fn a_device_in_a_zip_is_refused() {
    let zip = Zip::default().entry(b"null", 0, b"", 0, 0, 3, 0o020_666 << 16, &[]);
    let zip = zip.entry(b"fifo", 0, b"", 0, 0, 3, 0o010_666 << 16, &[]);
    let (_place, files, failures) = unpacked(&zip.end());
    assert!(files.is_empty());
    assert_eq!(failures.len(), 2);
}

#[test]
fn content_that_is_not_what_the_directory_says_is_an_error_of_the_entry() {
    let large = noise(2_000_000);
    let deflated = {
        let mut encoder = flate2::read::DeflateEncoder::new(&large[..], flate2::Compression::fast());
        let mut packed = Vec::new();
        std::io::Read::read_to_end(&mut encoder, &mut packed).unwrap();
        packed
    };
    let mut zip = Zip::default().stored("good", b"x");
    for (name, size, crc) in [
        ("checksum", large.len() as u32, crc(&large) ^ 1),
        ("shorter", large.len() as u32 + 1, crc(&large)),
        ("longer", large.len() as u32 - 1, crc(&large)),
        ("much longer", 10, crc(&large)),
    ] {
        zip = zip.entry(name.as_bytes(), 8, &deflated, size, crc, 3, 0, &[]);
    }
    let small = |zip: Zip, name: &str, method, packed: &[u8], size| {
        zip.entry(name.as_bytes(), method, packed, size, 1, 3, 0, &[])
    };
    zip = small(zip, "small checksum", 0, b"abc", 3);
    zip = small(zip, "small length", 0, b"abc", 4);
    zip = small(zip, "small garbage", 8, b"\xff\xff\xff", 3);
    zip = small(zip, "small cut", 8, &deflated[..100], 10_000);
    zip = small(zip, "unknown method", 77, b"abc", 3);
    zip = small(zip, "short lzma", 14, b"abc", 3);
    let archive = zip.stored("good too", b"x").end();
    let (_place, files, failures) = unpacked(&archive);
    assert_eq!(files, ["good", "good too"], "nothing wrong stays");
    assert_eq!(failures.len(), 10, "{failures:#?}");
    assert!(failures.iter().any(|failure| failure.contains("compression method 77 is not supported")));
    assert!(failures.iter().any(|failure| failure.contains("longer than the directory says")));
}

#[test]
fn two_entries_with_one_name_are_handed_over_in_order() {
    let mut zip = Zip::default();
    for n in 0..200u32 {
        // The later entry is smaller: it would be written first if it did not wait for the earlier one.
        zip = zip.stored(if n % 2 == 0 { "twice" } else { "./twice" }, &noise(200_000 - n as usize * 1000));
        zip = zip.stored(format!("other {n}"), b"x");
    }
    let (_temp, path) = file_of(&zip.end());
    let place = Place::new();
    let tree = manyfiles::tree::Options::default().on_conflict(OnConflict::Overwrite).open(place.root()).unwrap();
    Unpacker::options().threads(8).build().unpack(Input::File(path.clone()), &tree).unwrap();
    tree.finish().unwrap();
    assert_eq!(fs::read(place.root().join("twice")).unwrap().len(), 200_000 - 199_000, "the last one wins");

    let place = Place::new();
    let (result, report) = place.unpack(Input::File(path));
    result.unwrap();
    assert_eq!(report.failures.len(), 199, "by default the first one stays and the others are reported");
    assert_eq!(fs::read(place.root().join("twice")).unwrap().len(), 200_000);
}

#[test]
fn cut_short_a_zip_has_no_directory_and_says_so() {
    let zip = Zip::default().stored("a", &noise(1000)).stored("b", b"x").end();
    for end in [4, 30, 500, zip.len() - 1] {
        let (_temp, path) = file_of(&zip[..end]);
        let (result, _) = Place::new().unpack(Input::File(path));
        assert_damaged(&result);
        assert!(result.unwrap_err().to_string().contains("cut short"));
    }
}

#[test]
fn entries_before_damage_in_the_directory_are_unpacked() {
    let mut zip = Zip::default().stored("a", b"x");
    let damage = zip.directory.len();
    zip = zip.stored("b", b"x");
    zip.directory[damage] = 0;
    let (_temp, path) = file_of(&zip.end());
    let place = Place::new();
    let (result, report) = place.unpack(Input::File(path));
    assert!(matches!(result.unwrap_err().kind(), ErrorKind::Damaged { entries: 1, .. }));
    assert_eq!(report.files, 1);
    assert_eq!(place.files(), ["a"]);
}

#[test]
fn limits_are_asked_before_anything_is_written() {
    let zip = Zip::default().stored("a", &[1; 1000]).stored("b", &[1; 1000]).end();
    let (_temp, path) = file_of(&zip);
    for limits in [Limits::default().entries(1), Limits::default().bytes(1999)] {
        let place = Place::new();
        let (result, report) = place.unpack_as(Unpacker::options().limits(limits).build(), Input::File(path.clone()));
        assert!(matches!(result.unwrap_err().kind(), ErrorKind::Limit { .. }));
        assert_eq!(report.files, 0);
    }
    let only_a = Unpacker::options()
        .limits(Limits::default().bytes(1000))
        .select(Arc::new(|path| path == Path::new("a")))
        .build();
    let (place, ..) = unpack_whole(only_a, Input::File(path));
    assert_eq!(place.files(), ["a"]);
}

#[test]
fn a_zip_bomb_is_stopped_by_its_ratio() {
    // Entries that share their content: the directory is all they cost.
    let content = vec![0; 10 << 20];
    let mut encoder = flate2::read::DeflateEncoder::new(&content[..], flate2::Compression::best());
    let mut packed = Vec::new();
    std::io::Read::read_to_end(&mut encoder, &mut packed).unwrap();
    let mut zip = Zip::default().packed("0", 8, &packed, &content);
    let record = zip.directory.clone();
    for n in 1..100u8 {
        let mut again = record.clone();
        *again.last_mut().unwrap() = b'0' + n;
        zip.directory.extend(again);
        zip.entries += 1;
    }
    let (_temp, path) = file_of(&zip.end());
    let place = Place::new();
    let (result, report) = place.unpack(Input::File(path));
    let error = result.unwrap_err();
    assert!(error.to_string().contains("--max-ratio"), "{error}");
    assert_eq!(report.files, 0);
}

#[test]
fn a_zip_that_is_cut_short_meanwhile_is_an_error() {
    let mut zip = Zip::default();
    for n in 0..100 {
        zip = zip.stored(n.to_string(), &noise(10_000));
    }
    let (_temp, path) = file_of(&zip.end());
    let shortened = fs::File::options().write(true).open(&path).unwrap();
    let cut = Arc::new(move |path: &Path| {
        if path == Path::new("99") {
            shortened.set_len(100_000).unwrap();
        }
        true
    });
    let place = Place::new();
    let (result, report) = place.unpack_as(Unpacker::options().select(cut).build(), Input::File(path));
    assert!(matches!(result.unwrap_err().kind(), ErrorKind::Changed(_)));
    assert_eq!(place.files().len() as u64, report.files, "nothing that is cut short stays");
    assert_eq!(report.files + report.failures.len() as u64, 100);
}

#[test]
fn bytes_behind_a_zip_are_named_and_padding_is_not() {
    let zip = Zip::default().stored("a", b"A").end();
    for (behind, expected) in [(&b""[..], None), (&[0; 512], None), (b"trailing", Some(Trailing::AfterZip))] {
        let (_temp, archive) = file_of(&[&zip[..], behind].concat());
        let summary = Unpacker::new().list(Input::File(archive), &mut |_| {}).unwrap();
        assert_eq!(summary.trailing, expected);
    }
}
