//! What the entries of a zip become: pipes that `zip` read from, times of zero, and the order of all.
#![cfg(unix)] // the tools that make the archives, and links, are Unix's

mod common;
#[path = "common/zip.rs"]
mod made;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use common::*;
use made::{Zip, crc};
use manyfiles::tree::{OnConflict, TreeWriter};
use manyfiles_archive::{Input, Unpacker};
use manyfiles_testkit::{Compare, Need, Tree, cases, skip_unless};
use proptest::prelude::*;

const FIFO: u32 = 0o010_600;
const CHARACTER_DEVICE: u32 = 0o020_666;
const BLOCK_DEVICE: u32 = 0o060_660;
const SOCKET: u32 = 0o140_777;

fn unzipped(archive: &Path) -> Tree {
    let place = manyfiles_testkit::scratch().unwrap();
    run(Command::new("unzip").arg("-q").arg(archive).arg("-d").arg(place.path()), false);
    Tree::read(place.path()).unwrap()
}

#[test]
fn what_zip_read_from_its_standard_input_is_a_file_as_unzip_writes_it() {
    skip_unless!(Need::Program("zip"), Need::Program("unzip"));
    let temp = manyfiles_testkit::scratch().unwrap();
    fs::write(temp.path().join("content"), "from a file").unwrap();
    let null = || Stdio::from(fs::File::open("/dev/null").unwrap());
    let file = || Stdio::from(fs::File::open(temp.path().join("content")).unwrap());
    let pipe = |content: &'static [u8]| {
        let (reader, mut writer) = std::io::pipe().unwrap();
        std::io::Write::write_all(&mut writer, content).unwrap();
        Stdio::from(reader)
    };
    let socket = || {
        let (reader, mut writer) = std::os::unix::net::UnixStream::pair().unwrap();
        std::io::Write::write_all(&mut writer, b"from a socket").unwrap();
        Stdio::from(std::os::fd::OwnedFd::from(reader))
    };
    for (what, stdin) in [
        ("pipe", pipe(b"from a pipe")),
        ("empty pipe", pipe(b"")),
        ("device", null()),
        ("file", file()),
        ("socket", socket()),
    ] {
        let archive = temp.path().join(format!("{what}.zip"));
        let made = Command::new("zip").arg("-q").arg(&archive).arg("-").stdin(stdin).status().unwrap();
        assert!(made.success(), "{what}");
        let (place, ..) = unpack_whole(Unpacker::new(), Input::File(archive.clone()));
        let modes = Compare { modes: true, times: false, hard_links: false };
        unzipped(&archive).assert_same(&Tree::read(place.root()).unwrap(), modes);
        assert_eq!(place.files(), ["-"], "{what}");
    }
}

#[test]
fn an_entry_with_content_is_a_file_whatever_it_was_read_from() {
    skip_unless!(Need::Program("unzip"));
    let mut zip = Zip::default();
    for (name, mode) in
        [("fifo", FIFO), ("character device", CHARACTER_DEVICE), ("block device", BLOCK_DEVICE), ("socket", SOCKET)]
    {
        zip = zip.with(name, b"content", 3, mode << 16);
    }
    let (_temp, path) = file_of(&zip.end());
    let (place, ..) = unpack_whole(Unpacker::new(), Input::File(path.clone()));
    assert_eq!(place.files().len(), 4);
    unzipped(&path).assert_same(&Tree::read(place.root()).unwrap(), Compare::ALL_BUT_TIMES);
}

#[test]
fn without_content_it_is_what_it_says_and_made_only_if_asked_for() {
    for mode in [FIFO, CHARACTER_DEVICE, BLOCK_DEVICE, SOCKET] {
        let (_temp, path) = file_of(&Zip::default().with("a", b"", 3, mode << 16).end());
        let (_, report) = Place::new().unpack(Input::File(path));
        assert_eq!(report.failures.len(), 1, "{mode:o}");
    }
}

#[test]
fn a_time_of_zero_is_the_one_that_unzip_gives_and_never_the_present() {
    skip_unless!(Need::Program("unzip"));
    let mut zip = Zip::default();
    for (name, date, time) in [
        ("all zero", 0, 0),
        ("no day", 0x5020, 0),
        ("no month", 0x5001, 0x1000),
        ("hour 31", 0x5021, 31 << 11),
        ("second 62", 0x5021, 31),
        ("30 February", 2 << 5 | 30, 0),
    ] {
        zip.dos = Some((date, time));
        zip = zip.stored(name, b"x");
    }
    let (_temp, path) = file_of(&zip.end());
    let (place, ..) = unpack_whole(Unpacker::new(), Input::File(path.clone()));
    unzipped(&path).assert_same(&Tree::read(place.root()).unwrap(), Compare::ALL);
}

#[test]
fn who_selects_is_asked_once_for_each_entry() {
    let mut zip = Zip::default();
    for n in 0..100 {
        zip = zip.stored(n.to_string(), b"x");
    }
    let (_temp, path) = file_of(&zip.end());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let by = Arc::clone(&asked);
    let select = Arc::new(move |path: &Path| {
        by.lock().unwrap().push(path.to_string_lossy().into_owned());
        true
    });
    unpack_whole(Unpacker::options().threads(4).select(select).build(), Input::File(path));
    assert_eq!(*asked.lock().unwrap(), (0..100).map(|n| n.to_string()).collect::<Vec<_>>());
}

/// One entry of a random zip.
#[derive(Clone, Debug)]
struct Random {
    name: &'static str,
    kind: u32,
    len: usize,
}

fn random_entries() -> impl Strategy<Value = Vec<Random>> {
    // Which of a file and a folder of one name wins is up to the tree, and is tested there.
    let name = prop::sample::select(vec!["a", "./a", "b", "A", "c/a", "c//a", "c/b", "c/", "d"]);
    // Content that is decoded before its turn, and content that is written as it is decoded.
    let len = prop_oneof![6 => 0..2000usize, 2 => 200_000..400_000usize, 2 => 600_000..900_000usize];
    let kind = prop_oneof![6 => Just(0o100_644u32), 1 => Just(0o120_777)];
    let entry = (name, kind, len).prop_map(|(name, kind, len)| Random { name, kind, len });
    prop::collection::vec(entry, 2..60)
}

fn zip_of(entries: &[Random]) -> Vec<u8> {
    let mut zip = Zip::default();
    for (at, entry) in entries.iter().enumerate() {
        let content = match entry.kind {
            _ if entry.name.ends_with('/') => Vec::new(),
            0o120_777 => format!("../outside/{at}").into_bytes(),
            _ => vec![at as u8; entry.len],
        };
        let mut packed = Vec::new();
        let mut encoder = flate2::read::DeflateEncoder::new(&content[..], flate2::Compression::fast());
        std::io::Read::read_to_end(&mut encoder, &mut packed).unwrap();
        let (name, size) = (entry.name.as_bytes(), content.len() as u32);
        zip = zip.entry(name, 8, &packed, size, crc(&content), 3, entry.kind << 16, &[]);
    }
    zip.end()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60), ..ProptestConfig::default() })]

    /// Of several files and links of one name, what becomes of them depends on the order.
    #[test]
    fn many_threads_hand_entries_over_in_the_order_in_which_one_does(entries in random_entries()) {
        let (_temp, path) = file_of(&zip_of(&entries));
        for (policy, last_wins) in
            [(OnConflict::Overwrite, false), (OnConflict::Error, false), (OnConflict::Skip, true), (OnConflict::Error, true)]
        {
            let unpacked = |threads| {
                let place = Place::new();
                let options =
                    TreeWriter::options().on_conflict(policy.clone()).last_wins(last_wins).exact_permissions(true);
                let tree = options.open(place.root()).unwrap();
                Unpacker::options().threads(threads).build().unpack(Input::File(path.clone()), &tree).unwrap();
                let report = tree.finish().unwrap_or_else(|incomplete| incomplete.into_report());
                place.assert_nothing_outside();
                // Whether a long file is made under its name or beside it is a matter of time, and so what fails.
                let failure = |it: &manyfiles::Error| (it.path().unwrap().to_owned(), it.kind());
                let mut failures: Vec<_> = report.failures.iter().map(failure).collect();
                failures.sort_by_key(|it| format!("{it:?}"));
                (Tree::read(place.root()).unwrap(), failures)
            };
            let (expected, failures) = unpacked(1);
            for _ in 0..2 {
                let (tree, failed) = unpacked(8);
                expected.assert_same(&tree, Compare::ALL_BUT_TIMES);
                prop_assert_eq!(&failed, &failures);
            }
        }
    }
}
