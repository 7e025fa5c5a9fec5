//! [`Unpacker::salvage`]: of a damaged archive, everything is had that is not itself damaged, and the rest is named.

mod common;
#[path = "common/zip.rs"]
mod made;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use common::*;
use made::Zip;
use manyfiles::tree::{Metadata, Report, TreeWriter};
use manyfiles_archive::{ArchiveWriter, ErrorKind, Input, Limits, Unpacker};
#[cfg(unix)]
use manyfiles_testkit::{Need, skip_unless};
use manyfiles_testkit::{Random, seeds};

/// What could be had of an archive.
struct Had {
    files: BTreeMap<String, Vec<u8>>,
    /// What was told of damage.
    told: Vec<String>,
    /// What the tree's report names.
    failed: Vec<String>,
}

fn salvage_file(path: &Path) -> Had {
    let temp = manyfiles_testkit::scratch().unwrap();
    let root = temp.path().join("root");
    let tree = TreeWriter::options().last_wins(true).open(&root).unwrap();
    let mut told = Vec::new();
    let salvaged =
        Unpacker::new().salvage(Input::File(path.into()), &tree, &mut |finding| told.push(finding.to_string()));
    salvaged.unwrap_or_else(|error| panic!("{error}"));
    let report: Report = tree.finish().unwrap_or_else(|incomplete| incomplete.into_report());
    let failed = report.failures.iter().map(ToString::to_string).collect();
    Had { files: files_below(&root), told, failed }
}

fn salvage(archive: &[u8]) -> Had {
    let (_temp, path) = file_of(archive);
    salvage_file(&path)
}

fn files_below(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path: PathBuf = entry.path();
            match entry.file_type().unwrap() {
                is if is.is_dir() => folders.push(path),
                is if is.is_file() => {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                    files.insert(name, fs::read(path).unwrap());
                }
                _ => {}
            }
        }
    }
    files
}

fn content(n: usize) -> Vec<u8> {
    noise(700 + 331 * n)
}

fn tar() -> Vec<u8> {
    (0..20).fold(Tar::default(), |tar, n| tar.file(format!("folder/{n}"), &content(n))).end()
}

/// Where each entry's header begins.
fn headers() -> Vec<usize> {
    let mut at = 0;
    let header = |n| {
        let start = at;
        at += 512 + content(n).len().next_multiple_of(512);
        start
    };
    (0..20).map(header).collect()
}

#[test]
fn a_sound_archive_is_unpacked_and_nothing_is_told() {
    let temp = manyfiles_testkit::scratch().unwrap();
    for name in ["a.tar", "a.tar.gz", "a.tar.zst", "a.tar.xz", "a.zip"] {
        let path = temp.path().join(name);
        let archive = ArchiveWriter::create(&path).unwrap();
        for n in 0..20 {
            archive.file(format!("folder/{n}"), content(n), Metadata::default()).unwrap();
        }
        archive.file("large", noise(1_500_000), Metadata::default()).unwrap();
        archive.finish().unwrap();
        let had = salvage_file(&path);
        assert_eq!((had.told, had.failed, had.files.len()), (vec![], vec![], 21), "{name}");
        assert!(had.files["large"] == noise(1_500_000) && had.files["folder/7"] == content(7), "{name}");
    }
}

#[test]
fn behind_a_damaged_header_of_a_tar_everything_else_is_had() {
    let headers = headers();
    for broken in [1, 7, 19] {
        for damage in ["bit", "zeros", "noise"] {
            let mut bytes = tar();
            let header = &mut bytes[headers[broken]..][..512];
            match damage {
                "bit" => header[3] ^= 1,
                "zeros" => header.fill(0),
                _ => header.copy_from_slice(&noise(512)),
            }
            let had = salvage(&bytes);
            // One block of zeros is passed over, so its content is no entry, too.
            let expected: Vec<_> = (0..20).filter(|n| *n != broken).collect();
            let names: Vec<_> = expected.iter().map(|n| format!("folder/{n}")).collect();
            assert!(
                names.iter().all(|name| had.files.contains_key(name)),
                "{broken}, {damage}: {:?}",
                had.files.keys()
            );
            assert_eq!(had.files.len(), 19, "{broken}, {damage}");
            for n in expected {
                assert!(had.files[&format!("folder/{n}")] == content(n), "{broken}, {damage}: {n}");
            }
            assert!(!had.told.is_empty(), "{broken}, {damage}");
        }
    }
}

#[test]
fn what_there_is_of_the_last_file_of_a_cut_tar_stays_and_is_named() {
    let headers = headers();
    let cut = headers[19] + 512 + 1000;
    for plain in [true, false] {
        let mut bytes = tar();
        bytes.truncate(cut);
        if !plain {
            let whole = {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(&tar()).unwrap();
                encoder.finish().unwrap()
            };
            bytes = whole[..whole.len() / 2].to_vec();
        }
        let had = salvage(&bytes);
        assert_eq!(had.failed.len(), 1, "{:?}", had.failed);
        assert!(had.failed[0].contains("it is kept up to byte"), "{:?}", had.failed);
        assert_eq!(had.told.len(), 1, "{:?}", had.told);
        assert!(had.told[0].contains("cut short"), "{:?}", had.told);
        let parts: Vec<_> =
            (0..20).filter(|n| had.files.get(&format!("folder/{n}")).is_some_and(|is| *is != content(*n))).collect();
        assert_eq!(parts.len(), 1);
        assert!(content(parts[0]).starts_with(&had.files[&format!("folder/{}", parts[0])]));
        if plain {
            assert_eq!((parts[0], had.files["folder/19"].len()), (19, 1000));
        }
    }
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Stored and deflated entries by turns, and where each one's content ends.
fn zip() -> (Vec<u8>, Vec<usize>) {
    let mut ends = Vec::new();
    let zip = (0..20).fold(Zip::default(), |zip, n| {
        let zip = match n % 2 {
            0 => zip.stored(format!("folder/{n}"), &content(n)),
            _ => zip.packed(format!("folder/{n}"), 8, &deflated(&content(n)), &content(n)),
        };
        ends.push(zip.bytes.len());
        zip
    });
    (zip.end(), ends)
}

#[test]
fn of_a_cut_zip_every_entry_before_the_cut_is_had_and_the_beginning_of_the_last() {
    let (whole, ends) = zip();
    for cut in [ends[19] + 10, ends[19], ends[12] + 500, ends[11] + 500, ends[3] + 29, ends[0]] {
        let had = salvage(&whole[..cut]);
        let complete = ends.iter().filter(|end| **end <= cut).count();
        for n in 0..complete {
            assert!(had.files[&format!("folder/{n}")] == content(n), "cut at {cut}: {n}");
        }
        assert!(had.told[0].contains("the directory at its end is missing"), "{:?}", had.told);
        assert!(had.files.len() <= complete + 1);
        if let Some(part) = had.files.get(&format!("folder/{complete}")) {
            assert!(content(complete).starts_with(part) && !part.is_empty(), "cut at {cut}");
            assert_eq!(had.failed.len(), 1, "{:?}", had.failed);
        }
    }
}

#[test]
fn a_zip_with_a_damaged_directory_is_read_by_its_entries() {
    let (mut bytes, ends) = zip();
    let directory = ends[19];
    // The third record is none any more.
    let second = bytes[directory + 4..].windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap() + directory + 4;
    bytes[second] = b'X';
    let had = salvage(&bytes);
    assert_eq!((had.files.len(), had.failed.len()), (20, 0));
    assert!(had.told[0].contains("directory is damaged"), "{:?}", had.told);
}

#[test]
fn damaged_content_in_a_zip_is_kept_and_named_and_the_rest_is_whole() {
    let (whole, ends) = zip();
    for broken in [4, 5] {
        let mut bytes = whole.clone();
        bytes[ends[broken] - 200] ^= 4;
        let had = salvage(&bytes);
        assert_eq!(had.failed.len(), 1, "{:?}", had.failed);
        assert!(had.failed[0].contains(&format!("folder/{broken}")), "{:?}", had.failed);
        let part = &had.files[&format!("folder/{broken}")];
        assert!(part[..300] == content(broken)[..300]);
        assert!((0..20).filter(|n| *n != broken).all(|n| had.files[&format!("folder/{n}")] == content(n)));
    }
}

/// Zips that are written to a pipe have their numbers behind the content.
#[cfg(unix)]
#[test]
fn zips_of_other_programs_without_their_directory_are_had() {
    skip_unless!(Need::Program("zip"), Need::Program("python3"));
    let temp = manyfiles_testkit::scratch().unwrap();
    let source = temp.path().join("folder");
    fs::create_dir(&source).unwrap();
    for n in 0..20 {
        fs::write(source.join(n.to_string()), content(n)).unwrap();
    }
    let python = "import sys, zipfile\n\
        class Pipe:\n\
        \x20   def write(self, bytes): return sys.stdout.buffer.write(bytes)\n\
        \x20   def flush(self): sys.stdout.buffer.flush()\n\
        with zipfile.ZipFile(Pipe(), 'w', zipfile.ZIP_DEFLATED) as out:\n\
        \x20   [out.write('folder/%d' % n) for n in range(20)]\n";
    let commands = [program("zip", &["-qr", "-", "folder"]), program("python3", &["-c", python])];
    for mut command in commands {
        let whole = run(command.current_dir(temp.path()), false);
        let directory = whole.windows(4).rposition(|bytes| bytes == b"PK\x01\x02").unwrap();
        let first = whole.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap().min(directory);
        let had = salvage(&whole[..first]);
        assert_eq!(had.failed, Vec::<String>::new(), "{command:?}");
        assert!((0..20).all(|n| had.files[&format!("folder/{n}")] == content(n)), "{command:?}");
        let had = salvage(&whole[..first / 2]);
        assert!(had.files.len() > 5 && had.failed.len() <= 1, "{command:?}: {:?}", had.failed);
    }
}

#[test]
fn what_is_no_archive_or_too_much_is_an_error() {
    let temp = manyfiles_testkit::scratch().unwrap();
    let salvaged = |bytes: &[u8], limits: Limits| {
        let path = temp.path().join("archive");
        fs::write(&path, bytes).unwrap();
        let tree = TreeWriter::open(temp.path().join("root")).unwrap();
        let unpacker = Unpacker::options().limits(limits).build();
        let salvaged = unpacker.salvage(Input::File(path), &tree, &mut |_| {});
        drop(tree.finish());
        salvaged.unwrap_err()
    };
    assert!(matches!(salvaged(b"hello\n", Limits::default()).kind(), ErrorKind::NotAnArchive { .. }));
    assert!(matches!(salvaged(b"", Limits::default()).kind(), ErrorKind::Empty));
    assert!(matches!(salvaged(&tar(), Limits::default().entries(5)).kind(), ErrorKind::Limit { .. }));
    let (whole, ends) = zip();
    assert!(matches!(salvaged(&whole[..ends[19]], Limits::default().bytes(5000)).kind(), ErrorKind::Limit { .. }));
}

/// Whatever is damaged, salvage ends, and gets at least the files that unpacking gets.
#[test]
fn salvage_gets_what_unpacking_gets() {
    let originals = [tar(), zip().0];
    for seed in seeds(1, 150) {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut bytes = originals[random.below(2)].clone();
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes.truncate(at.max(600)),
                1 => drop(bytes.drain(at..(at + random.below(3000)).min(bytes.len()))),
                2 => {
                    let end = (at + random.below(2000)).min(bytes.len());
                    bytes[at..end].fill(0);
                }
                _ => bytes[at] ^= 1 << random.below(8),
            }
        }
        let (_temp, path) = file_of(&bytes);
        let place = Place::new();
        let tree = TreeWriter::options().last_wins(true).open(place.root()).unwrap();
        let mut told = 0;
        let salvaged = Unpacker::new().salvage(Input::File(path.clone()), &tree, &mut |_| told += 1);
        let report = tree.finish().unwrap_or_else(|incomplete| incomplete.into_report());
        let had = files_below(&place.root());
        place.assert_nothing_outside();
        let plain = Place::new();
        let (unpacked, plain_report) = plain.unpack(Input::File(path));
        let expected = files_below(&plain.root());
        if unpacked.is_ok() && plain_report.is_complete() {
            assert_eq!((told, had == expected), (0, true), "seed {seed}");
        }
        if salvaged.is_ok() {
            let lost: Vec<_> = expected.keys().filter(|name| !had.contains_key(*name)).collect();
            assert!(lost.is_empty(), "seed {seed}: {lost:?}");
            // What is had and is not whole is named, where there are checksums.
            let is_zip = bytes.starts_with(b"PK");
            for (name, is) in had.iter().filter(|_| is_zip) {
                let number = name.strip_prefix("folder/").and_then(|number| number.parse().ok());
                let whole = number.filter(|number| *number < 20).is_some_and(|number| *is == content(number));
                let is_named = report.failures.iter().any(|failure| failure.to_string().contains(name.as_str()));
                assert!(whole || is_named || told > 0, "seed {seed}: {name}");
            }
        }
    }
}

/// A zip of deflated entries whose numbers stand behind their content, as programs write it to a pipe.
fn streamed_zip(count: usize) -> Vec<u8> {
    let temp = manyfiles_testkit::scratch().unwrap();
    let path = temp.path().join("a.zip");
    let archive = ArchiveWriter::create(&path).unwrap();
    for n in 0..count {
        // Lines, which are compressed.
        let text: Vec<u8> = (0..200 + n).flat_map(|line| format!("{n} {line}\n").into_bytes()).collect();
        archive.file(n.to_string(), text, Metadata::default()).unwrap();
    }
    archive.finish().unwrap();
    let whole = fs::read(&path).unwrap();
    let mut bytes = Vec::new();
    let mut at = 0;
    while whole[at..].starts_with(b"PK\x03\x04") {
        let number = |at: usize, len: usize| {
            whole[at..at + len].iter().rev().fold(0_usize, |sum, &byte| sum << 8 | usize::from(byte))
        };
        let (packed, names) = (number(at + 18, 4), number(at + 26, 2) + number(at + 28, 2));
        let content = at + 30 + names;
        let mut header = whole[at..content].to_vec();
        assert_eq!(number(at + 8, 2), 8, "deflated");
        header[6] |= 8;
        let numbers = header[14..26].to_vec();
        header[14..26].fill(0);
        bytes.extend(header);
        bytes.extend(&whole[content..content + packed]);
        bytes.extend(b"PK\x07\x08");
        bytes.extend(numbers);
        at = content + packed;
    }
    bytes
}

#[test]
fn where_the_numbers_follow_the_content_their_checksum_counts() {
    let whole = streamed_zip(8);
    let sound = salvage(&whole);
    assert_eq!(sound.files.len(), 8);
    assert_eq!((sound.told.len(), sound.failed.len()), (1, 0), "{:?} {:?}", sound.told, sound.failed);
    // Not the first bytes, by which it is known.
    for at in (4..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 16;
        let had = salvage(&bytes);
        let (told, failed) = (had.told.join("\n"), had.failed.join("\n"));
        for (name, content) in &had.files {
            let is_named = || [&told, &failed].iter().any(|text| text.contains(&**name));
            // Nothing but the header says what the name was.
            assert!(
                sound.files.get(name).is_none_or(|sound| sound == content) || is_named(),
                "{at}: {name}\n{told}\n{failed}"
            );
        }
        let is_lost = |(name, content): &(&String, &Vec<u8>)| had.files.get(*name) != Some(*content);
        let lost: Vec<_> = sound.files.iter().filter(is_lost).map(|(name, _)| name).collect();
        assert!(lost.len() <= 1, "{at}: {lost:?} {told} {failed}");
    }
}

#[test]
fn a_size_that_reaches_past_the_end_hides_no_other_entry() {
    let mut bytes = (0..8).fold(Zip::default(), |zip, n| zip.stored(n.to_string(), &content(n))).end();
    let second = bytes.windows(4).enumerate().filter(|(_, bytes)| bytes == b"PK\x03\x04").nth(1).unwrap().0;
    bytes[second + 18..second + 26].fill(0x7f);
    let directory = bytes.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    bytes.truncate(directory);
    let had = salvage(&bytes);
    for n in (0..8).filter(|n| *n != 1) {
        assert!(had.files[&n.to_string()] == content(n), "{n}");
    }
}

#[test]
fn bytes_that_are_missing_or_too_many_cost_the_entries_around_them_only() {
    let whole = (0..20).fold(Zip::default(), |zip, n| zip.stored(n.to_string(), &content(n))).end();
    let sound = salvage(&whole);
    assert_eq!((sound.files.len(), sound.told.len()), (20, 0), "{:?}", sound.told);
    // Not before the first bytes, by which it is known.
    for at in (4..whole.len()).step_by(1 + whole.len() / 60) {
        for change in [-100_isize, -1, 1, 1000] {
            let mut bytes = whole.clone();
            if change > 0 {
                bytes.splice(at..at, noise(change as usize));
            } else {
                bytes.drain(at..bytes.len().min(at + change.unsigned_abs()));
            }
            let had = salvage(&bytes);
            let kept = sound.files.iter().filter(|(name, content)| had.files.get(*name) == Some(content)).count();
            assert!(kept >= 18, "{at} {change}: {kept}: {:?} {:?}", had.told, had.failed);
            assert!(!had.told.is_empty() || !had.failed.is_empty() || kept == 20, "{at} {change}");
        }
    }
}

/// A compressed tar of small files that is damaged in its middle: every file is had that a decoder which returns a few
/// bytes at a time gets to the end of.
#[test]
fn of_compressed_data_everything_before_the_damage_is_had() {
    const FILES: usize = 900;
    let text = |n: usize| (0..20 + n % 90).map(|line| format!("line {line} of {}\n", n * 7919)).collect::<String>();
    let tar = (0..FILES).fold(Tar::default(), |tar, n| tar.file(format!("{n}"), text(n).as_bytes())).end();
    // What is decoded before the error.
    fn decoded(mut decoder: impl Read) -> Vec<u8> {
        let (mut bytes, mut step) = (Vec::new(), [0; 512]);
        while let Ok(len @ 1..) = decoder.read(&mut step) {
            bytes.extend_from_slice(&step[..len]);
        }
        bytes
    }
    let gzip = |bytes: &[u8]| read_all(flate2::read::GzEncoder::new(bytes, flate2::Compression::default()));
    let xz = |bytes: &[u8]| read_all(liblzma::read::XzEncoder::new(bytes, 6));
    let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 3).unwrap();
    type Decoded = fn(&[u8]) -> Vec<u8>;
    let formats: [(&str, Vec<u8>, Decoded); 3] = [
        ("gz", gzip(&tar), |bytes| decoded(flate2::read::GzDecoder::new(bytes))),
        ("xz", xz(&tar), |bytes| decoded(liblzma::read::XzDecoder::new(bytes))),
        ("zst", zstd(&tar), |bytes| decoded(zstd::Decoder::new(bytes).unwrap())),
    ];
    for (name, mut archive, decoded) in formats {
        let at = archive.len() * 2 / 3;
        archive[at..at + 64].fill(0xa5);
        // What gzip decodes behind the damage may be anything.
        let decoded = decoded(&archive).iter().zip(&tar).take_while(|(one, other)| one == other).count();
        assert!((1..tar.len()).contains(&decoded), "{name}: {decoded}");
        let had = salvage(&archive);
        let is_whole = |n: &usize| had.files.get(&n.to_string()).is_some_and(|bytes| *bytes == text(*n).into_bytes());
        let whole = (0..FILES).take_while(is_whole).count();
        let end = |count: usize| (0..count).map(|n| 512 + text(n).len().next_multiple_of(512)).sum::<usize>();
        assert!(end(whole + 1) + 512 > decoded, "{name}: {whole} files of the {decoded} bytes that were right");
    }
}

fn read_all(mut reader: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    bytes
}
