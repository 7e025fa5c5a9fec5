//! [`Archive`]: what it reads is what unpacking writes, whatever the archive is.
#![cfg(unix)] // links are made

mod common;
#[path = "common/zip.rs"]
mod made;
#[path = "common/same.rs"]
mod same;

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use common::*;
use made::Zip;
use manyfiles::tree::Metadata;
use manyfiles::vfs::Vfs;
use manyfiles_archive::{Archive, ArchiveWriter, Archives, ErrorKind, InputProgress, Kind, Limits};
use manyfiles_testkit::{Need, Random, seeds, skip_unless};
use same::{shown, written};

/// The length of a file that is decoded in several parts.
const LARGE: usize = 3_000_000;
const NAMES: [&str; 7] = ["a.tar", "a.tar.gz", "a.tar.zst", "a.tar.xz", "a.tar.bz2", "a.tar.lz4", "a.zip"];

/// Without an index in the cache of whoever runs the tests.
fn open(path: impl AsRef<Path>) -> Archive {
    Archive::options().cache(None).open(path).unwrap()
}

fn with_time(mode: u32) -> Metadata {
    let mut metadata = Metadata::default();
    metadata.mode = Some(mode);
    metadata.modified = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000));
    metadata
}

/// An archive with some of everything, a file that is decoded in several parts among it.
fn packed(folder: &Path, name: &str) -> PathBuf {
    static MADE: [OnceLock<Vec<u8>>; NAMES.len()] = [const { OnceLock::new() }; NAMES.len()];
    let made = &MADE[NAMES.iter().position(|known| *known == name).unwrap()];
    let path = folder.join(name);
    fs::write(&path, made.get_or_init(|| pack(name))).unwrap();
    path
}

fn pack(name: &str) -> Vec<u8> {
    let temp = manyfiles_testkit::scratch().unwrap();
    let path = temp.path().join(name);
    let archive = ArchiveWriter::options().level(1).create(&path).unwrap();
    archive.folder("folder", with_time(0o750)).unwrap();
    archive.file("folder/one", b"1".to_vec(), with_time(0o640)).unwrap();
    archive.file("empty", Vec::new(), with_time(0o600)).unwrap();
    archive.file("large", noise(LARGE), with_time(0o644)).unwrap();
    for n in 0..500 {
        archive.file(format!("many/{n}"), noise(n * 7), with_time(0o644)).unwrap();
    }
    archive.symlink("link", "folder/one", Metadata::default()).unwrap();
    archive.symlink("folder/up", "../many", Metadata::default()).unwrap();
    if !name.ends_with("zip") {
        archive.hard_link("second", "folder/one", with_time(0o640)).unwrap();
    }
    archive.finish().unwrap();
    fs::read(path).unwrap()
}

#[test]
fn what_is_read_is_what_would_be_unpacked_from_every_format() {
    let temp = manyfiles_testkit::scratch().unwrap();
    for name in NAMES {
        let path = packed(temp.path(), name);
        let archive = open(&path);
        assert_eq!(shown(&archive), written(&path).unwrap(), "{name}");
        assert_eq!((archive.refused(), archive.format().to_string()), (0, name[2..].to_owned()));

        let one = archive.metadata("folder/one").unwrap();
        assert_eq!((one.size, one.mode, one.modified), (1, Some(0o640), with_time(0).modified));
        assert_eq!(archive.metadata("folder").unwrap().mode, Some(0o750));
        assert_eq!(archive.read("link").unwrap(), b"1", "through the link");
        assert_eq!(archive.symlink_metadata("link").unwrap().kind, Kind::Symlink(Path::new("folder/one")));
        assert_eq!(archive.read("folder/up/3").unwrap(), noise(21));
        assert_eq!(archive.read_dir("folder/up").unwrap().len(), 500);
        let names: Vec<_> = archive.read_dir("folder").unwrap().map(|entry| entry.path.to_path_buf()).collect();
        assert_eq!(names, [Path::new("one"), Path::new("up")]);
    }
}

#[test]
fn a_folder_as_hard_as_gnu_tar_can_pack_it_is_read() {
    skip_unless!(Need::Program("tar"));
    let temp = sample();
    add_large_and_odd(temp.path());
    add_sparse_files(temp.path());
    for options in [&["-cf"][..], &["--format=pax", "-Scf"], &["--format=gnu", "-Scf"], &["--format=pax", "-czf"]] {
        let path = temp.path().join("packed");
        run(program("tar", options).arg(&path).arg("-C").arg(temp.path()).arg("sample"), false);
        assert_eq!(shown(&open(&path)), written(&path).unwrap(), "{options:?}");
    }
}

#[test]
fn every_range_of_a_file_is_what_the_file_has_there() {
    let temp = manyfiles_testkit::scratch().unwrap();
    let large = noise(LARGE);
    for name in NAMES {
        let archive = open(packed(temp.path(), name));
        let mut random = Random::new(7);
        // Forward, as a program that reads it, and anywhere.
        let mut at = 0;
        for step in 0..60 {
            let len = random.below(300_000);
            if step % 3 == 0 {
                at = random.below(large.len() + 1000);
            }
            let mut buffer = vec![0; len];
            let read = archive.read_at("large", at as u64, &mut buffer).unwrap();
            let expected = &large[at.min(large.len())..(at + len).min(large.len())];
            assert!(buffer[..read] == *expected, "{name}: {len} bytes at {at}");
            at += read;
        }
    }
}

#[test]
fn a_file_is_read_and_sought_in_by_many_threads() {
    let temp = manyfiles_testkit::scratch().unwrap();
    let large = noise(LARGE);
    for name in ["a.tar", "a.tar.gz", "a.tar.zst", "a.zip"] {
        let archive = open(packed(temp.path(), name));
        std::thread::scope(|scope| {
            for thread in 0..6_u64 {
                let (archive, large) = (archive.clone(), &large);
                scope.spawn(move || {
                    let mut file = archive.open_file("large").unwrap();
                    assert_eq!(file.size(), LARGE as u64);
                    file.seek(SeekFrom::End(-1000 * thread as i64 - 1000)).unwrap();
                    let mut rest = Vec::new();
                    file.read_to_end(&mut rest).unwrap();
                    assert!(rest == large[large.len() - rest.len()..]);
                    file.rewind().unwrap();
                    rest.clear();
                    file.read_to_end(&mut rest).unwrap();
                    assert!(rest == *large);
                    file.seek(SeekFrom::Current(-2)).unwrap();
                    assert!(file.seek(SeekFrom::Current(-(LARGE as i64))).is_err());
                    for n in 0..500 {
                        assert_eq!(archive.read(format!("many/{n}")).unwrap(), noise(n * 7));
                    }
                });
            }
        });
    }
}

#[test]
fn links_lead_nowhere_out_of_the_archive() {
    let tar = Tar::default()
        .file("a/file", b"inside")
        .entry(b'2', "a/up", "../a/file", b"")
        .entry(b'2', "out", "../../etc/passwd", b"")
        .entry(b'2', "a/out", "../..", b"")
        .entry(b'2', "root", "/etc/passwd", b"")
        .entry(b'2', "circle", "a/circle", b"")
        .entry(b'2', "a/circle", "../circle", b"")
        .entry(b'2', "nowhere", "a/nothing", b"")
        .entry(b'2', "folder", "a/", b"")
        .file("../escaped", b"x")
        .file("/absolute", b"x")
        .end();
    let (_temp, path) = file_of(&tar);
    let archive = open(&path);
    assert_eq!(archive.refused(), 2);
    assert_eq!(archive.read("a/up").unwrap(), b"inside");
    assert_eq!(archive.read("folder/file").unwrap(), b"inside");
    assert_eq!(archive.read("./a/../a//file").unwrap(), b"inside");
    for (path, says) in [
        ("out", "leads out"),
        ("a/out", "leads out"),
        ("root", "leads out"),
        ("/a/file", "leads out"),
        ("../x", "leads out"),
        ("circle", "too many symbolic links"),
        ("nowhere", "no such entry"),
        ("a/file/x", "no folder"),
        ("a/file/", "no folder"),
        ("a/file/..", "no folder"),
        ("", "is a folder"),
        ("a", "is a folder"),
    ] {
        let error = archive.read(path).unwrap_err();
        assert!(error.to_string().contains(says), "{path}: {error}");
        assert_eq!(error.path(), Some(&*archive.path().join(path)));
    }
    assert!(archive.read_dir("a/file").is_err());
    assert!(archive.contains("a/up") && !archive.contains("nowhere"));
}

#[test]
fn a_hard_link_keeps_the_file_that_had_the_name() {
    let tar = Tar::default().file("a", b"old").entry(b'1', "b", "a", b"").file("a", b"new").end();
    let (_temp, path) = file_of(&tar);
    assert_eq!(shown(&open(&path)), written(&path).unwrap());
    assert_eq!(open(&path).read("b").unwrap(), b"old");
}

/// Tars of few names, so that entries of all kinds meet at one path.
#[test]
fn of_entries_that_exclude_each_other_the_same_are_there_as_in_a_folder() {
    const NAMES: [&str; 8] = ["a", "b", "a/b", "a/a", "b/a", "a/b/a", "./a", "a/"];
    let mut compared = 0;
    for seed in seeds(1, 300) {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let (mut tar, mut zip) = (Tar::default(), Zip::default());
        // A tree notes more of a link to what is not there than an index does: the folders that it made for it.
        tar = tar.file("f", b"f").file("g", b"g");
        for number in 0..2 + random.below(8) {
            let name = random.pick(&NAMES);
            let content = number.to_string();
            match random.below(5) {
                0 => {
                    println!("folder {name}");
                    tar = tar.entry(b'5', name, "", b"");
                    zip = zip.stored(format!("{name}/"), b"");
                }
                1 => {
                    println!("symbolic link {name}");
                    tar = tar.entry(b'2', name, random.pick(&NAMES), b"");
                    zip = zip.with(name.trim_end_matches('/'), b"b", 3, 0o120_777 << 16);
                }
                2 => {
                    println!("hard link {name}");
                    tar = tar.entry(b'1', name, random.pick(&["f", "g"]), b"");
                }
                _ => {
                    println!("file {name}");
                    // A slash behind it made a folder before there were folders.
                    tar = tar.file(name.trim_end_matches('/'), content.as_bytes());
                    zip = zip.stored(name, content.as_bytes());
                }
            }
        }
        for bytes in [tar.end(), zip.end()] {
            let (_temp, path) = file_of(&bytes);
            if let Some(written) = written(&path) {
                assert_eq!(shown(&open(&path)), written, "seed {seed}");
                compared += 1;
            }
        }
    }
    assert!(compared > 0);
}

/// One stream of many blocks, as `gzip` writes it.
fn one_gzip(tar: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
    encoder.write_all(tar).unwrap();
    encoder.finish().unwrap()
}

/// 12 MB in files that compress, and repeat each other across the places where decoding begins.
fn tar_of_text() -> Vec<u8> {
    let mut tar = Tar::default();
    for n in 0..300 {
        let line = format!("file {n} says that {} is the square of its number\n", n * n);
        tar = tar.file(format!("text/{n}"), line.repeat(40_000 / line.len()).as_bytes());
    }
    tar.end()
}

#[test]
fn a_gzip_is_read_from_the_middle_however_it_was_made() {
    let tar = tar_of_text();
    let members: Vec<u8> = tar.chunks(100_000).flat_map(|part| one_gzip(part, 6)).collect();
    let named = [b"\x1f\x8b\x08\x1c\0\0\0\0\0\xff\x02\0xyname\0comment\0", &one_gzip(&tar, 6)[10..]].concat();
    let padded = [one_gzip(&tar[..1_000_000], 1), vec![0; 700], one_gzip(&tar[1_000_000..], 9), vec![0; 99]].concat();
    for bytes in [one_gzip(&tar, 1), one_gzip(&tar, 9), one_gzip(&tar, 0), members, named, padded] {
        let (_temp, path) = file_of(&bytes);
        let archive = open(&path);
        assert_eq!(shown(&archive), written(&path).unwrap());
    }
}

#[test]
fn a_zstd_is_read_whether_or_not_its_frames_say_their_size() {
    let tar = tar_of_text();
    let frames: Vec<u8> = tar.chunks(100_000).flat_map(|part| zstd::bulk::compress(part, 3).unwrap()).collect();
    let without_size = zstd::encode_all(&tar[..], 3).unwrap();
    let with_skipped = [b"\x50\x2a\x4d\x18\x03\0\0\0abc", &frames[..], b"\x5e\x2a\x4d\x18\0\0\0\0"].concat();
    for bytes in [frames, without_size, with_skipped] {
        let (_temp, path) = file_of(&bytes);
        assert_eq!(shown(&open(&path)), written(&path).unwrap());
    }
}

#[test]
fn an_index_is_kept_and_counts_only_for_the_archive_it_was_made_of() {
    let temp = manyfiles_testkit::scratch().unwrap();
    let cache = temp.path().join("cache/manyfiles");
    let open = |path: &Path| Archive::options().cache(Some(cache.clone())).open(path).unwrap();
    for (name, bytes) in [("t.tar.gz", one_gzip(&tar_of_text(), 6)), ("t.tar", tar_of_text())] {
        let path = temp.path().join(name);
        fs::write(&path, &bytes).unwrap();
        let first = shown(&open(&path));
        let kept: Vec<_> = fs::read_dir(&cache).map(|names| names.flatten().collect()).unwrap_or_default();
        // A plain tar of few entries is gone through faster.
        assert_eq!(kept.len(), 1, "{kept:?}");
        assert_eq!(shown(&open(&path)), first, "with the kept index");

        // Damage at any byte of the kept index is no damage of the archive.
        for kept in &kept {
            let whole = fs::read(kept.path()).unwrap();
            let mut random = Random::new(3);
            for _ in 0..40 {
                let mut bytes = whole.clone();
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
                if random.percent(20) {
                    bytes.truncate(at);
                }
                fs::write(kept.path(), bytes).unwrap();
                assert_eq!(open(&path).read("text/299").unwrap().len(), written_len(&first, "text/299"));
            }
        }

        // Another archive at this path.
        let other = Tar::default().file("other", &noise(300_000)).end();
        let other = if name.ends_with("gz") { one_gzip(&other, 6) } else { other };
        fs::write(&path, other).unwrap();
        assert_eq!(open(&path).read("other").unwrap(), noise(300_000));
        assert!(!open(&path).contains("text/1"));
    }
    let modes = |path: &Path| std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions());
    assert_eq!(modes(&cache) & 0o777, 0o700, "nobody else reads the names of files");
}

fn written_len(shown: &std::collections::BTreeMap<PathBuf, String>, path: &str) -> usize {
    let what = &shown[Path::new(path)];
    what.split(['(', ',']).nth(2).and_then(|len| len.trim().parse().ok()).unwrap_or_else(|| panic!("{what}"))
}

#[test]
fn a_cache_that_cannot_be_written_to_is_as_none() {
    let temp = manyfiles_testkit::scratch().unwrap();
    let path = packed(temp.path(), "a.tar.gz");
    for cache in [Path::new("/proc/nothing"), Path::new("/dev/null"), &path] {
        let archive = Archive::options().cache(Some(cache.into())).open(&path).unwrap();
        assert_eq!(archive.read("folder/one").unwrap(), b"1");
    }
}

#[test]
fn an_archive_that_changed_is_an_error_and_one_that_was_replaced_is_read_on() {
    let temp = manyfiles_testkit::scratch().unwrap();
    for name in ["a.tar", "a.tar.gz", "a.tar.zst", "a.zip"] {
        let path = packed(temp.path(), name);
        let replaced = open(&path);
        fs::rename(&path, temp.path().join("moved")).unwrap();
        fs::write(&path, b"something else").unwrap();
        assert_eq!(replaced.read("many/3").unwrap(), noise(21), "{name}");

        let path = temp.path().join("moved");
        let cut = open(&path);
        fs::File::options().write(true).open(&path).unwrap().set_len(3000).unwrap();
        for path in ["many/499", "large", "folder/one"] {
            let error = cut.read(path).unwrap_err();
            assert!(error.path().is_some_and(|at| at.ends_with(path)), "{name}: {error}");
        }
        let error = cut.read("folder/one").unwrap_err().to_string();
        assert!(error.contains("changed or cut short"), "{name}: {error}");
    }
}

#[test]
fn damaged_content_is_an_error_where_there_is_a_checksum() {
    let temp = manyfiles_testkit::scratch().unwrap();
    for name in ["a.tar.zst", "a.zip"] {
        let path = packed(temp.path(), name);
        let archive = open(&path);
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        // In place, and with the old time: as a disk that rots.
        let mut file = fs::File::options().write(true).open(&path).unwrap();
        file.write_all(&bytes).unwrap();
        file.set_modified(time).unwrap();
        let error = archive.read("large").unwrap_err();
        assert!(error.to_string().contains("damaged here"), "{name}: {error}");
        let elsewhere = ["folder/one", "many/499"].iter().filter(|path| archive.read(path).is_ok()).count();
        assert!(elsewhere > 0, "{name}: what is elsewhere is read");
    }
}

#[test]
fn what_is_no_archive_or_damaged_or_too_much_is_not_opened() {
    let temp = manyfiles_testkit::scratch().unwrap();
    let opened = |bytes: &[u8], limits: Limits| {
        let path = temp.path().join("archive");
        fs::write(&path, bytes).unwrap();
        Archive::options().cache(None).limits(limits).open(&path).map_err(|error| error.to_string())
    };
    let says = |bytes: &[u8], limits: Limits, says: &str| {
        let error = opened(bytes, limits).unwrap_err();
        assert!(error.contains(says), "{error}");
    };
    let usual = Limits::default();
    says(b"", usual, "nothing in it");
    says(b"hello\n", usual, "looks like text");
    says(&one_gzip(b"hello\n", 6), usual, "gzip-compressed file, but not a tar inside: it looks like text");
    says(&one_gzip(&one_gzip(&tar_of_text(), 6), 6), usual, "not a tar inside");
    says(&one_gzip(&tar_of_text(), 6)[..100_000], usual, "cut short");
    let mut wrong = one_gzip(&tar_of_text(), 6);
    let end = wrong.len();
    wrong[end - 6] ^= 1;
    says(&wrong, usual, "another checksum");
    says(&tar_of_text()[..3_000_000], usual, "cut short");
    let zeros = Tar::default().file("zeros", &vec![0; 80 << 20]).end();
    says(&one_gzip(&zeros, 9), usual.ratio(10), "over the limit of 10");
    says(&zstd::bulk::compress(&zeros, 3).unwrap(), usual.ratio(10), "over the limit of 10");
    says(&tar_of_text(), usual.entries(299), "over the limit of 299");
    let deep = Tar::default().pax(&[("path", "d/".repeat(300).as_bytes())]).file("x", b"").end();
    says(&deep, usual.entries(250), "over the limit of 250");
    assert!(opened(&deep, usual.entries(300)).is_ok());
    let error = Archive::open(temp.path()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Folder));
    let error = Archive::open("/dev/null").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");
}

#[test]
fn a_vfs_reads_an_archive_by_uris() {
    let temp = manyfiles_testkit::scratch().unwrap();
    for name in NAMES {
        let vfs = Vfs::options().backend("archive", open(packed(temp.path(), name))).build();
        let mut buffer = [0; 100];
        assert_eq!(vfs.read_at("archive://many/30", 100, &mut buffer).unwrap(), 100);
        assert_eq!(buffer[..], noise(210)[100..200]);
        assert_eq!(vfs.read_at("archive:///link", 0, &mut buffer).unwrap(), 1);
        let mut names: Vec<_> = vfs.list("archive://folder").unwrap().into_iter().map(|entry| entry.uri).collect();
        names.sort();
        assert_eq!(names, ["archive://folder/one", "archive://folder/up"]);
        assert!(vfs.write("archive://new", b"x").and_then(|()| vfs.flush("archive://new")).is_err());
        assert!(vfs.remove("archive://empty").is_err());
        vfs.finish().unwrap();
    }
}

#[test]
fn a_vfs_reads_all_archives_and_sees_that_one_was_replaced() {
    let temp = manyfiles_testkit::scratch().unwrap();
    let vfs = Vfs::options().backend("archive", Archives::new(Archive::options().cache(None))).build();
    for name in NAMES {
        let path = packed(temp.path(), name);
        let uri = |inner: &str| format!("archive://{}{inner}", path.display());
        assert_eq!(vfs.read(uri("/folder/up/30")).unwrap(), noise(210));
        let count = vfs.list(uri("/many")).unwrap().len();
        assert_eq!((count, vfs.size(uri("/large")).unwrap()), (500, LARGE as u64));
        assert!(vfs.list(uri("")).unwrap().len() >= 5, "the root");
        let error = vfs.read(uri("/nothing")).unwrap_err();
        assert!(error.to_string().contains("no such entry"), "{error}");
        let tar = temp.path().join("new");
        fs::write(&tar, Tar::default().file("folder/up/30", b"new").end()).unwrap();
        fs::rename(tar, &path).unwrap();
        vfs.flush(uri("/folder/up/30")).unwrap();
        assert_eq!(vfs.list(uri("/folder/up")).unwrap().len(), 1);
    }
    let folder = format!("archive://{}", temp.path().display());
    assert!(vfs.list(&folder).unwrap_err().to_string().contains("all are folders"));
    fs::write(temp.path().join("text"), "hello\n").unwrap();
    assert!(vfs.read(format!("{folder}/text/x")).unwrap_err().to_string().contains("looks like text"));
    assert!(vfs.read(format!("{folder}/nothing/x")).unwrap_err().to_string().contains("No such file"));
    vfs.finish().unwrap();
}

#[test]
fn an_archive_that_many_threads_want_at_once_is_indexed_once() {
    let temp = manyfiles_testkit::scratch().unwrap();
    let path = packed(temp.path(), "a.tar.gz");
    let progress = InputProgress::new();
    let options = Archive::options().cache(None).progress(progress.clone());
    let vfs = Vfs::options().backend("archive", Archives::new(options)).build();
    let begin = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                begin.wait();
                let uri = format!("archive://{}/many/30", path.display());
                assert_eq!(vfs.read(uri).unwrap(), noise(210));
            });
        }
    });
    assert_eq!(progress.read(), fs::metadata(&path).unwrap().len());
    vfs.finish().unwrap();
}

#[test]
fn the_index_of_an_archive_is_not_taken_for_another_one_of_its_length_and_time() {
    let temp = manyfiles_testkit::scratch().unwrap();
    let cache = temp.path().join("cache");
    let path = temp.path().join("a.tar");
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    // As builds that can be repeated make them: only names in the middle differ.
    let write = |name: &str| {
        let mut tar = (0..2000).fold(Tar::default(), |tar, n| tar.file(format!("{n:04}"), b"x"));
        tar = tar.file(name, name.as_bytes());
        let tar = (0..2000).fold(tar, |tar, n| tar.file(format!("z{n:04}"), b"x"));
        fs::write(&path, tar.end()).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    let open = || Archive::options().cache(Some(cache.clone())).open(&path).unwrap();
    write("first");
    assert_eq!(open().read("first").unwrap(), b"first");
    assert_eq!(open().read("first").unwrap(), b"first");
    write("other");
    assert_eq!(open().read("other").unwrap(), b"other");
    assert!(!open().contains("first"));
}

#[test]
fn a_fifo_is_refused_and_its_writer_is_not_waited_for() {
    let temp = manyfiles_testkit::scratch().unwrap();
    let path = temp.path().join("fifo");
    manyfiles_testkit::make_fifo(&path).unwrap();
    let error = Archive::options().cache(None).open(&path).unwrap_err();
    assert!(error.to_string().contains("not a pipe"), "{error}");
}
