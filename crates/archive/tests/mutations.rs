//! Archives changed at random: reading them ends, without a panic, and nothing gets out of the root.
//!
//! proptest prints the input of a failure and keeps its seed beside this file.

mod common;
#[cfg(unix)] // it compares links
#[path = "common/same.rs"]
mod same;

#[cfg(unix)]
use std::collections::BTreeMap;
use std::sync::OnceLock;

use common::*;
use manyfiles::Operation;
use manyfiles::tree::Keep;
use manyfiles_archive::{Format, Input, Unpacker};
use manyfiles_testkit::cases;
use proptest::prelude::*;

/// One archive of each kind, small enough to be hit where it matters.
fn originals() -> &'static [Vec<u8>] {
    static ORIGINALS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    ORIGINALS.get_or_init(|| {
        let tar = Tar::default()
            .file("a", &noise(700))
            .entry(b'5', "folder/", "", b"")
            .entry(b'2', "folder/link", "../a", b"")
            .entry(b'1', "folder/other", "a", b"")
            .entry(b'L', "long", "", b"a name that is long\0")
            .file("short", b"x")
            .pax(&[("path", b"folder/p\xc3\xa4x"), ("mtime", b"1.5"), ("size", b"3")])
            .file("b", b"abc")
            .pax(&[("GNU.sparse.map", b"0,5,10,5"), ("GNU.sparse.size", b"20"), ("GNU.sparse.name", b"sparse")])
            .file("c", b"0123456789")
            .pax(&[("GNU.sparse.major", b"1"), ("GNU.sparse.minor", b"0"), ("GNU.sparse.realsize", b"20")])
            .file("d", &[&b"1\n10\n3\n"[..], &[0; 504], b"abc"].concat())
            .pax(&[
                ("SCHILY.acl.access", b"user::rw-,user:root:r--:0,group::r--,group:7:r-x,mask::rwx,other::---"),
                ("SCHILY.acl.default", b"u::rwx\ng::r-x\to:r--\n"),
                ("SCHILY.xattr.user.a%3Db", b"x=\0"),
                ("uname", b"root"),
            ])
            .file("e", b"1")
            .end();
        let gzip = {
            let mut packed = Vec::new();
            flate2::read::GzEncoder::new(&tar[..], flate2::Compression::fast()).read_to_end(&mut packed).unwrap();
            packed
        };
        let lz4 = {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            encoder.write_all(&tar).unwrap();
            encoder.finish().unwrap()
        };
        let bzip2 = {
            let mut packed = Vec::new();
            bzip2::read::BzEncoder::new(&tar[..], bzip2::Compression::fast()).read_to_end(&mut packed).unwrap();
            packed
        };
        let xz = liblzma::encode_all(&tar[..], 1).unwrap();
        let zstd = zstd::encode_all(&tar[..], 1).unwrap();
        let lzma = {
            let options = liblzma::stream::LzmaOptions::new_preset(0).unwrap();
            let stream = liblzma::stream::Stream::new_lzma_encoder(&options).unwrap();
            let mut packed = Vec::new();
            liblzma::read::XzEncoder::new_stream(&tar[..], stream).read_to_end(&mut packed).unwrap();
            packed
        };
        let (lzip, lzw) = (lzip(&lzma, &tar), lzw(&tar));
        let others =
            [cpio("070701"), cpio("070702"), octal_cpio(), binary_cpio(), ar(b"a"), ar(b"debian-binary"), rpm()];
        [vec![tar, gzip, zstd, xz, bzip2, lz4, zip(), lzma, lzip, lzw], others.to_vec()].concat()
    })
}

/// How many there are, and which of them is the zip.
const ORIGINALS: usize = 17;
const ZIP: usize = 6;

/// An lzip file of what LZMA alone has, behind another head and before another end.
fn lzip(lzma: &[u8], content: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(content);
    let data = &lzma[13..];
    let len = (data.len() + 26) as u64;
    let (sum, size) = (crc.sum().to_le_bytes(), (content.len() as u64).to_le_bytes());
    [&b"LZIP\x01\x14"[..], data, &sum, &size, &len.to_le_bytes()].concat()
}

/// What compress(1) makes, with codes of nine bits alone: the table is emptied before they become longer.
fn lzw(content: &[u8]) -> Vec<u8> {
    let mut codes = Vec::new();
    for part in content.chunks(200) {
        codes.extend(part.iter().map(|&byte| u32::from(byte)));
        codes.push(256);
        // The rest of the group is padding.
        codes.resize(codes.len().next_multiple_of(8), 0);
    }
    let mut packed = vec![0x1f, 0x9d, 0x90];
    let (mut held, mut bits) = (0, 0);
    for code in codes {
        held |= code << bits;
        bits += 9;
        while bits >= 8 {
            packed.push(held as u8);
            held >>= 8;
            bits -= 8;
        }
    }
    packed
}

type CpioEntry = (&'static str, u32, u32, &'static [u8]);

/// A file, a folder, a link, and a file with two names, of which one has the content.
const CPIO: [CpioEntry; 7] = [
    ("a", 0o100_644, 1, b"content"),
    ("folder", 0o040_755, 1, b""),
    ("folder/link", 0o120_777, 1, b"../a"),
    ("folder/one", 0o100_600, 2, b""),
    ("two", 0o100_600, 2, b"of both"),
    ("empty", 0o100_600, 1, b""),
    ("TRAILER!!!", 0, 1, b""),
];

fn cpio(magic: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, mode, names, content) in CPIO {
        let sum = if magic == "070702" { content.iter().map(|&byte| u32::from(byte)).sum() } else { 0 };
        let fields = [5, mode, 0, 0, names, 7, content.len() as u32, 0, 0, 0, 0, name.len() as u32 + 1, sum];
        bytes.extend(magic.bytes());
        fields.iter().for_each(|field| bytes.extend(format!("{field:08x}").bytes()));
        bytes.extend([name.as_bytes(), b"\0"].concat());
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

fn octal_cpio() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, mode, names, content) in CPIO {
        bytes.extend(format!("070707000001000005{mode:06o}000000000000{names:06o}00000000000000007").bytes());
        bytes.extend(format!("{:06o}{:011o}{name}\0", name.len() + 1, content.len()).bytes());
        bytes.extend(content);
    }
    bytes
}

fn binary_cpio() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, mode, names, content) in CPIO {
        let (name_len, len) = (name.len() as u32 + 1, content.len() as u32);
        let words = [0o070_707, 1, 5, mode, 0, 0, names, 0, 0, 7, name_len, len >> 16, len & 0xffff];
        words.iter().for_each(|&word| bytes.extend((word as u16).to_le_bytes()));
        bytes.extend([name.as_bytes(), b"\0"].concat());
        bytes.resize(bytes.len().next_multiple_of(2), 0);
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(2), 0);
    }
    bytes
}

/// An ar archive whose first member has this name: with the right one, it is a package of Debian.
fn ar(first: &[u8]) -> Vec<u8> {
    let tar = Tar::default().file("in", b"the tar").end();
    let mut bytes = b"!<arch>\n".to_vec();
    let members: [(&[u8], &[u8]); 5] = [
        (first, b"2.0\n"),
        (b"//", b"a long name in a table/\n\n"),
        (b"control.tar", &tar),
        (b"data.tar", &tar),
        (b"/0", b"odd"),
    ];
    // In a package, nothing knows names in a table.
    let is_member = |name: &[u8]| first == b"a" || !name.starts_with(b"/");
    for (name, content) in members.into_iter().filter(|(name, _)| is_member(name)) {
        bytes.extend(format!("{:<16}7           0     0     100644  ", String::from_utf8_lossy(name)).bytes());
        bytes.extend(format!("{:<10}`\n", content.len()).bytes());
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    }
    bytes
}

fn rpm() -> Vec<u8> {
    let header = |len: u8| [&[0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, len][..], &[3; 21]].concat();
    [&b"\xed\xab\xee\xdb\x03"[..], &[0; 91], &header(5), &[0; 3], &header(5), &cpio("070701")].concat()
}

/// A zip with a stored, a deflated and a linked entry, and a zip64 field.
fn zip() -> Vec<u8> {
    let content = noise(3000);
    let mut deflated = Vec::new();
    flate2::read::DeflateEncoder::new(&content[..], flate2::Compression::fast()).read_to_end(&mut deflated).unwrap();
    let crc = |bytes: &[u8]| {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        crc.sum()
    };
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    let zip64 = [&[1, 0, 8, 0][..], &(content.len() as u64).to_le_bytes()].concat();
    type Entry<'a> = (&'a [u8], u8, &'a [u8], &'a [u8], u32, &'a [u8]);
    let entries: [Entry<'_>; 4] = [
        (b"stored", 0, b"abc", b"abc", 0o100_644, b""),
        (b"folder/deflated", 8, &deflated, &content, 0o100_755, &zip64),
        (b"folder/link", 0, b"../stored", b"../stored", 0o120_777, b"\x55\x54\x05\0\x01\x01\x02\x03\x04"),
        (b"empty/", 0, b"", b"", 0o040_755, b""),
    ];
    let count = entries.len() as u8;
    for (name, method, packed, content, mode, extra) in entries {
        let start = bytes.len() as u32;
        let size = if extra == zip64 { u32::MAX } else { content.len() as u32 };
        let common = [
            &[45, 0, 0, 0, method, 0, 0, 0, 0x21, 0x52][..],
            &crc(content).to_le_bytes(),
            &(packed.len() as u32).to_le_bytes(),
            &size.to_le_bytes(),
            &[name.len() as u8, 0],
        ]
        .concat();
        bytes.extend([b"PK\x03\x04", &common[..], &[0, 0], name, packed].concat());
        let attributes = mode << 16;
        directory.extend([b"PK\x01\x02\x2d\x03", &common[..], &[extra.len() as u8, 0], &[0; 6]].concat());
        directory.extend([&attributes.to_le_bytes()[..], &start.to_le_bytes(), name, extra].concat());
    }
    let start = bytes.len() as u32;
    bytes.extend(&directory);
    bytes.extend([b"PK\x05\x06\0\0\0\0", &[count, 0, count, 0][..], &(directory.len() as u32).to_le_bytes()].concat());
    bytes.extend([&start.to_le_bytes()[..], &[0, 0]].concat());
    bytes
}

use std::io::{Read, Write};

#[test]
fn the_archives_that_are_changed_are_what_they_should_be_before() {
    assert_eq!(originals().len(), ORIGINALS);
    let mut formats = Vec::new();
    for original in originals() {
        let (_temp, path) = file_of(original);
        let tested = Unpacker::new().test(Input::File(path), &mut |_| {}).unwrap();
        // The last file of the tar has a sparse map that lies, and the zip a field.
        let is_tar = tested.format.to_string().starts_with("tar");
        assert!(tested.entries > 2 || tested.format == Format::Deb, "{}", tested.format);
        assert!(tested.is_sound() != (is_tar || tested.format == Format::Zip), "{}", tested.format);
        formats.push(tested.format.to_string());
    }
    let expected = [
        "tar", "tar.gz", "tar.zst", "tar.xz", "tar.bz2", "tar.lz4", "zip", "tar.lzma", "tar.lz", "tar.Z", "cpio",
        "cpio", "cpio", "cpio", "ar", "deb", "rpm",
    ];
    assert_eq!(formats, expected);
}

/// A change of an archive: at a place, in per mille of its length.
#[derive(Clone, Debug)]
enum Change {
    Set(u16, u8),
    Number(u16, &'static [u8]),
    Cut(u16),
    Remove(u16, u16),
    Repeat(u16, u16),
    Zeros(u16, u16),
}

fn change() -> impl Strategy<Value = Change> {
    let place = 0..1000u16;
    let numbers = prop::sample::select(vec![
        &b"\xff\xff\xff\xff"[..],
        b"\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\0\0\0\0",
        b"77777777777",
        b"-1",
        b"18446744073709551615",
        b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff",
        b"../../../../outside/file",
        b"PK\x05\x06",
    ]);
    prop_oneof![
        4 => (place.clone(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        3 => (place.clone(), numbers).prop_map(|(at, bytes)| Change::Number(at, bytes)),
        1 => place.clone().prop_map(Change::Cut),
        1 => (place.clone(), 1..600u16).prop_map(|(at, len)| Change::Remove(at, len)),
        1 => (place.clone(), 1..600u16).prop_map(|(at, len)| Change::Repeat(at, len)),
        1 => (place, 1..600u16).prop_map(|(at, len)| Change::Zeros(at, len)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    let len = bytes.len();
    let place = |at: u16| usize::from(at) * len / 1000;
    match *change {
        Change::Set(at, byte) => bytes.iter_mut().skip(place(at)).take(1).for_each(|it| *it = byte),
        Change::Number(at, number) => bytes.iter_mut().skip(place(at)).zip(number).for_each(|(it, byte)| *it = *byte),
        Change::Cut(at) => bytes.truncate(place(at)),
        Change::Remove(at, count) => drop(bytes.drain(place(at)..len.min(place(at) + usize::from(count)))),
        Change::Repeat(at, count) => {
            let part = bytes[place(at)..len.min(place(at) + usize::from(count))].to_vec();
            bytes.splice(place(at)..place(at), part);
        }
        Change::Zeros(at, count) => {
            bytes.splice(place(at)..place(at), std::iter::repeat_n(0, usize::from(count)));
        }
    }
}

/// Makes headers' checksums right again, so that changes get past them.
fn seal(tar: &mut [u8]) {
    for block in tar.chunks_exact_mut(512).filter(|block| block[257..].starts_with(b"ustar")) {
        Tar::seal(block.try_into().unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(400), ..ProptestConfig::default() })]

    #[test]
    fn listing_a_changed_archive_ends(
        original in 0..ORIGINALS,
        sealed in any::<bool>(),
        changes in prop::collection::vec(change(), 1..5),
    ) {
        let mut bytes = originals()[original].clone();
        changes.iter().for_each(|change| apply(&mut bytes, change));
        if original == 0 && sealed {
            seal(&mut bytes);
        }
        let count = |input| {
            let mut entries = 0u64;
            let result = Unpacker::options().keep(Keep::everything().acls()).build().list(input, &mut |_| entries += 1);
            if let Ok(summary) = &result {
                assert_eq!(summary.entries, entries);
            }
            (entries, result.is_ok())
        };
        let (_temp, path) = file_of(&bytes);
        let from_file = count(Input::File(path));
        // Only a file can be a zip, by what is at its end.
        let may_be_zip = original == ZIP || bytes.windows(4).any(|bytes| bytes == b"PK\x05\x06");
        if !may_be_zip {
            prop_assert_eq!(from_file, count(stream_of(bytes)), "a file and a stream differ");
        }
    }
}

/// Compressed tars of several blocks or frames, which several threads decode.
fn of_many_parts() -> &'static [Vec<u8>] {
    static PARTS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    PARTS.get_or_init(|| {
        let names: Vec<_> = (0..30).map(|number| format!("folder/{number}")).collect();
        let tar = names.iter().fold(Tar::default(), |tar, name| tar.file(name, &noise(20_000))).end();
        let bzip2 = |content: &[u8]| {
            let mut packed = Vec::new();
            bzip2::read::BzEncoder::new(content, bzip2::Compression::fast()).read_to_end(&mut packed).unwrap();
            packed
        };
        let frame = |content: &[u8]| zstd::bulk::compress(content, 1).unwrap();
        vec![bzip2(&tar), tar.chunks(170_000).flat_map(bzip2).collect(), tar.chunks(140_000).flat_map(frame).collect()]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60), ..ProptestConfig::default() })]

    #[test]
    fn several_threads_find_in_a_changed_archive_what_one_finds(
        original in 0..3usize,
        changes in prop::collection::vec(change(), 1..4),
    ) {
        let mut bytes = of_many_parts()[original].clone();
        changes.iter().for_each(|change| apply(&mut bytes, change));
        let read = |threads| {
            let mut entries = Vec::new();
            let unpacker = Unpacker::options().threads(threads).build();
            let result = unpacker.list(stream_of(bytes.clone()), &mut |entry| entries.push(format!("{entry:?}")));
            (format!("{:?}", result.map_err(|error| error.to_string())), entries)
        };
        prop_assert_eq!(read(1), read(4));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60), ..ProptestConfig::default() })]

    #[test]
    fn unpacking_a_changed_archive_stays_in_the_root(
        original in prop::sample::select(vec![0, 0, 0, 1, ZIP, ZIP, 10, 11, 12, 13, 14, 15, 16]),
        changes in prop::collection::vec(change(), 1..4),
    ) {
        let mut bytes = originals()[original].clone();
        changes.iter().for_each(|change| apply(&mut bytes, change));
        if original == 0 {
            seal(&mut bytes);
        }
        let (_temp, path) = file_of(&bytes);
        let place = Place::new();
        let (result, report) = place.unpack(Input::File(path));
        place.assert_nothing_outside();
        if result.is_ok() && report.is_complete() {
            let files = place.files().len() as u64;
            prop_assert_eq!(files, report.files + report.hard_links);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(150), ..ProptestConfig::default() })]

    /// What a test finds sound, `list` and `unpack` read to the end; what `unpack` cannot read, a test tells of.
    #[test]
    fn a_changed_archive_that_is_sound_can_be_read(
        original in 0..ORIGINALS,
        sealed in any::<bool>(),
        changes in prop::collection::vec(change(), 1..3),
    ) {
        let mut bytes = originals()[original].clone();
        changes.iter().for_each(|change| apply(&mut bytes, change));
        if original == 0 && sealed {
            seal(&mut bytes);
        }
        let (_temp, path) = file_of(&bytes);
        let mut told = Vec::new();
        let tested = Unpacker::new().test(Input::File(path.clone()), &mut |finding| told.push(format!("{finding:?}")));
        let listed = Unpacker::new().list(Input::File(path.clone()), &mut |_| {});
        let (unpacked, report) = Place::new().unpack_in_order(Input::File(path));
        let unread = report.failures.iter().find(|failure| failure.operation() == Operation::Read);
        match &tested {
            Ok(tested) => prop_assert_eq!(tested.findings, told.len() as u64),
            Err(_) => prop_assert!(listed.is_err() && unpacked.is_err(), "{tested:?}, {listed:?}, {unpacked:?}"),
        }
        if tested.as_ref().is_ok_and(|tested| tested.is_sound()) {
            prop_assert!(listed.is_ok() && unpacked.is_ok() && unread.is_none(), "{listed:?}, {unpacked:?}, {report:?}");
            prop_assert_eq!(tested.unwrap().entries, unpacked.unwrap().entries);
        }
    }
}

#[cfg(unix)]
proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60), ..ProptestConfig::default() })]

    /// Whatever a changed archive says: read by entries it has what unpacking writes, or it is refused.
    #[test]
    fn a_changed_archive_is_read_as_it_is_unpacked(
        original in 0..ORIGINALS,
        sealed in any::<bool>(),
        changes in prop::collection::vec(change(), 1..4),
    ) {
        let mut bytes = originals()[original].clone();
        changes.iter().for_each(|change| apply(&mut bytes, change));
        if original == 0 && sealed {
            seal(&mut bytes);
        }
        let (_temp, path) = file_of(&bytes);
        let Ok(archive) = manyfiles_archive::Archive::options().cache(None).open(&path) else { return Ok(()) };
        // An entry may claim terabytes of holes.
        let mut longest = 0;
        archive.walk("", &mut |entry| longest = longest.max(entry.size)).unwrap();
        if longest > 1 << 20 {
            return Ok(());
        }
        let shown = same::shown(&archive);
        if let Some(written) = same::written(&path) {
            // A file whose content is damaged is not there, nor the folder that only it is in; nor are devices,
            // without the right to make them.
            let is_lost = |what: &String| what.contains("Err(") || what.starts_with("Node(");
            let any_lost = shown.values().any(is_lost);
            let shown: BTreeMap<_, _> = shown
                .into_iter()
                .filter(|(path, what)| {
                    let is_emptied = any_lost && what == "folder" && !written.contains_key(path);
                    !is_lost(what) && !is_emptied
                })
                .collect();
            let written: BTreeMap<_, _> =
                written.into_iter().filter(|(_, what)| what != "Device" && what != "Fifo").collect();
            prop_assert_eq!(shown, written);
        }
    }
}
