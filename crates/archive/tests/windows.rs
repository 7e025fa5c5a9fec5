//! What archives mean on Windows: which names are written, which are refused, and that content arrives.
#![cfg(windows)]

mod common;

use std::fs;

use common::*;
use manyfiles::tree::Refusal;
use manyfiles_archive::{ErrorKind, Input, Unpacker};

/// A tar is read as a file and as a stream.
fn both_ways(tar: &[u8], check: impl Fn(Input)) {
    let (_temp, path) = file_of(tar);
    check(Input::File(path));
    check(stream_of(tar));
}

#[test]
fn a_tar_with_files_of_all_sizes_holes_and_second_names_comes_out_as_it_went_in() {
    let mut tar = Tar::default();
    let sizes = [0, 1, 511, 512, 513, 8191, 70_000, 300_000, 5_000_000];
    for size in sizes {
        tar = tar.file(format!("sizes/{size}"), &noise(size));
    }
    let tar = tar
        .entry(b'5', "folder/empty/", "", b"")
        .entry(b'1', "second", "sizes/513", b"")
        .pax(&[("path", "grüße/你好".as_bytes()), ("mtime", b"1000000000.5")])
        .file("x", b"unicode")
        .pax(&[("GNU.sparse.map", b"0,5,1048576,5"), ("GNU.sparse.size", b"2097152"), ("GNU.sparse.name", b"sparse")])
        .file("x", b"0123456789")
        .end();
    both_ways(&tar, |input| {
        let (place, _, report) = unpack_whole(Unpacker::new(), input);
        assert_eq!((report.files, report.hard_links), (sizes.len() as u64 + 2, 1));
        for size in sizes {
            assert!(fs::read(place.root().join(format!("sizes/{size}"))).unwrap() == noise(size), "{size}");
        }
        assert!(place.root().join("folder/empty").is_dir());
        assert!(fs::read(place.root().join("second")).unwrap() == noise(513));
        let unicode = place.root().join("grüße/你好");
        assert_eq!(fs::read_to_string(&unicode).unwrap(), "unicode");
        let modified = fs::metadata(unicode).unwrap().modified().unwrap();
        let expected = std::time::Duration::from_millis(1_000_000_000_500);
        assert_eq!(modified.duration_since(std::time::UNIX_EPOCH).unwrap(), expected);
        let sparse = fs::read(place.root().join("sparse")).unwrap();
        assert_eq!((sparse.len(), &sparse[..6], &sparse[1 << 20..][..6]), (2 << 20, &b"01234\0"[..], &b"56789\0"[..]));
    });
}

#[test]
fn names_that_would_leave_the_root_or_be_something_else_are_refused_each_by_name() {
    let hostile = [
        ("../up", Refusal::ParentFolder),
        ("a\\..\\..\\up", Refusal::ParentFolder),
        ("/rooted", Refusal::Absolute),
        ("\\rooted", Refusal::Absolute),
        ("C:\\absolute", Refusal::Absolute),
        ("\\\\server\\share\\x", Refusal::Absolute),
        ("C:relative", Refusal::Stream),
        ("good:stream", Refusal::Stream),
        ("con", Refusal::Device),
        ("a/nul.tar.gz", Refusal::Device),
        ("dot.", Refusal::NotAName),
        (".. /x", Refusal::NotAName),
        ("star*", Refusal::NotAName),
    ];
    let mut tar = Tar::default();
    for (name, _) in hostile {
        tar = tar.file(name, b"x");
    }
    let tar = tar.file(b"caf\xe9", b"x").entry(b'1', "link", "C:\\good", b"").file("good", b"fine").end();
    both_ways(&tar, |input| {
        let place = Place::new();
        let (result, report) = place.unpack_in_order(input);
        result.unwrap();
        place.assert_nothing_outside();
        assert_eq!(place.files(), ["good"]);
        let refusals: Vec<_> = report.failures.iter().map(|failure| failure.refusal().unwrap()).collect();
        let expected = hostile.map(|(_, refusal)| refusal).into_iter().chain([Refusal::NotUnicode, Refusal::Absolute]);
        assert_eq!(refusals, expected.collect::<Vec<_>>(), "{:#?}", report.failures);
    });
}

#[test]
fn a_compressed_tar_is_read_from_its_beginning() {
    let tar = Tar::default().file("a", &noise(700_000)).file("b", b"x").end();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &tar).unwrap();
    both_ways(&gzip.finish().unwrap(), |input| {
        let (place, _, report) = unpack_whole(Unpacker::new(), input);
        assert_eq!(report.files, 2);
        assert!(fs::read(place.root().join("a")).unwrap() == noise(700_000));
    });
}

/// A zip of entries that are not compressed.
fn zip(entries: &[(&[u8], &[u8])]) -> Vec<u8> {
    const UNIX: u16 = 3 << 8;
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    let numbers = |to: &mut Vec<u8>, numbers: &[u16]| numbers.iter().for_each(|it| to.extend(it.to_le_bytes()));
    for (name, content) in entries {
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let start = bytes.len() as u32;
        let mut common = Vec::new();
        numbers(&mut common, &[20, 0, 0, 0, 0x21]);
        for number in [crc.sum(), content.len() as u32, content.len() as u32] {
            common.extend(number.to_le_bytes());
        }
        numbers(&mut common, &[name.len() as u16, 0]);
        bytes.extend([&b"PK\x03\x04"[..], &common, name, content].concat());
        directory.extend(b"PK\x01\x02");
        numbers(&mut directory, &[UNIX]);
        directory.extend(&common);
        numbers(&mut directory, &[0, 0, 0, 0, 0o100_644]);
        directory.extend(start.to_le_bytes());
        directory.extend(*name);
    }
    let (start, count) = (bytes.len() as u32, entries.len() as u16);
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06");
    numbers(&mut bytes, &[0, 0, count, count]);
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(start.to_le_bytes());
    numbers(&mut bytes, &[0]);
    bytes
}

#[test]
fn a_zip_is_read_by_several_threads_and_a_name_that_is_not_unicode_is_read_as_ms_dos_would() {
    let contents: Vec<_> = (0..100).map(|n| noise(n * 100)).collect();
    let names: Vec<_> = (0..100).map(|n| format!("folder/{n}").into_bytes()).collect();
    let mut entries: Vec<_> = names.iter().zip(&contents).map(|(name, content)| (&name[..], &content[..])).collect();
    entries.push((b"caf\x82", b"x"));
    let (_temp, path) = file_of(&zip(&entries));
    let (place, _, report) = unpack_whole(Unpacker::options().threads(4).build(), Input::File(path));
    assert_eq!(report.files, 101);
    for (n, content) in contents.iter().enumerate() {
        assert!(fs::read(place.root().join(format!("folder/{n}"))).unwrap() == *content, "{n}");
    }
    assert!(place.root().join("café").exists());
}

#[test]
fn a_device_is_refused_and_made_even_if_asked_for_is_an_error_that_says_why() {
    let tar = Tar::default().entry(b'6', "pipe", "", b"").file("good", b"fine").end();
    let place = Place::new();
    let (_, report) = place.unpack(stream_of(tar.clone()));
    assert_eq!(report.failures[0].refusal(), Some(Refusal::UnwantedKind));
    let place = Place::new();
    let (_, report) = place.unpack_as(Unpacker::options().special_files(true).build(), stream_of(tar));
    assert!(report.failures[0].to_string().contains("hold no devices"), "{report:?}");
}

#[test]
fn what_is_no_archive_is_said_to_be_what_it_is() {
    let place = Place::new();
    let (result, _) = place.unpack(Input::File("no such file".into()));
    let error = result.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Open(_)), "{error}");
    assert_eq!(error.raw_os_error(), Some(2));
    let (result, _) = place.unpack(Input::File(std::env::temp_dir()));
    assert!(matches!(result.unwrap_err().kind(), ErrorKind::Folder));
}
