//! [`ArchiveWriter`]: what it writes is read back, by this crate; other programs read it in the command's tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use manyfiles::tree::{Metadata, TreeWriter};
use manyfiles_archive::{ArchiveWriter, Format, Input, NotWritten, SourceFile, Unpacker, Written};

const NAMES: [&str; 7] = ["a.tar", "a.tar.gz", "a.tar.zst", "a.tar.xz", "a.tar.bz2", "a.tar.lz4", "a.zip"];

fn with_mode(mode: u32) -> Metadata {
    let mut metadata = Metadata::default();
    metadata.mode = Some(mode);
    metadata.modified = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000));
    metadata
}

/// Bytes that compress by about a half.
fn noise(len: usize, seed: u32) -> Vec<u8> {
    let mut state = seed | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state as u8) & 0x1f
    };
    (0..len).map(next).collect()
}

/// Paths and content of the files that [`fill`] writes.
fn files() -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = vec![
        ("empty".into(), Vec::new()),
        ("folder/one".into(), b"1".to_vec()),
        ("folder/grüße 你好".into(), b"utf-8".to_vec()),
        (format!("long/{}/{}", "n".repeat(120), "m".repeat(200)), noise(513, 3)),
        ("block".into(), noise(512, 4)),
        ("large".into(), noise(2_500_000, 5)),
    ];
    files.extend((0..500).map(|n| (format!("many/{n}"), noise(n * 7, n as u32))));
    files
}

/// Writes all kinds of entries, with content from memory and from files below `scratch`.
fn fill(archive: &ArchiveWriter, scratch: &Path) {
    archive.folder("folder", with_mode(0o750)).unwrap();
    for (number, (path, content)) in files().into_iter().enumerate() {
        if number % 2 == 0 && number > 0 {
            archive.file(&path, content, with_mode(0o640)).unwrap();
        } else {
            let source = scratch.join(number.to_string());
            fs::write(&source, content).unwrap();
            archive.file_from(&path, SourceFile::at(&source).unwrap(), with_mode(0o640)).unwrap();
        }
    }
    #[cfg(unix)] // wine has no symbolic links
    archive.symlink("link", "folder/one", Metadata::default()).unwrap();
    if archive.format() != Format::Zip {
        archive.hard_link("second", "folder/one", with_mode(0o640)).unwrap();
    }
}

fn unpack(archive: &Path, folder: &Path) {
    let tree = TreeWriter::open(folder).unwrap();
    Unpacker::new().unpack(Input::File(archive.into()), &tree).unwrap();
    tree.finish().unwrap();
}

fn assert_is_sound(archive: &Path, written: &Written) {
    let mut findings = Vec::new();
    let tested = Unpacker::new().test(Input::File(archive.into()), &mut |found| findings.push(found.clone())).unwrap();
    assert_eq!(findings, []);
    let links = if written.format == Format::Zip { written.symlinks * "folder/one".len() as u64 } else { 0 };
    assert_eq!((tested.entries, tested.bytes), (written.entries(), written.bytes + links));
    assert_eq!(fs::metadata(archive).unwrap().len(), written.archive_bytes);
}

fn names_in(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into()).collect();
    names.sort();
    names
}

#[test]
fn every_format_gives_back_what_it_was_given() {
    let temp = tempfile::tempdir().unwrap();
    for name in NAMES {
        let (scratch, out) = (temp.path().join(format!("{name}-in")), temp.path().join(format!("{name}-out")));
        fs::create_dir(&scratch).unwrap();
        let path = temp.path().join(name);
        let archive = ArchiveWriter::options().verify(true).create(&path).unwrap();
        fill(&archive, &scratch);
        let written = archive.finish().unwrap();
        assert_eq!(written.format.to_string(), name["a.".len()..], "{name}");
        assert_is_sound(&path, &written);
        unpack(&path, &out);
        for (file, content) in files() {
            assert!(fs::read(out.join(&file)).unwrap() == content, "{name}: {file}");
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let is = |path: &str| fs::metadata(out.join(path)).unwrap();
            assert_eq!((is("folder").mode() & 0o7777, is("block").mode() & 0o7777), (0o750, 0o640), "{name}");
            assert_eq!(fs::read_link(out.join("link")).unwrap(), Path::new("folder/one"), "{name}");
            assert_eq!(is("block").mtime(), 1_600_000_000, "{name}");
            if name != "a.zip" {
                assert_eq!(is("second").ino(), is("folder/one").ino(), "{name}");
            }
        }
    }
}

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let temp = tempfile::tempdir().unwrap();
    for name in NAMES {
        let scratch = temp.path().join(format!("{name}-in"));
        fs::create_dir(&scratch).unwrap();
        let made = [1, 2, 7].map(|threads| {
            let path = temp.path().join(format!("{threads}-{name}"));
            let archive = ArchiveWriter::options().threads(threads).create(&path).unwrap();
            fill(&archive, &scratch);
            archive.finish().unwrap();
            fs::read(path).unwrap()
        });
        assert!(made[0] == made[1] && made[0] == made[2], "{name}");
    }
}

#[test]
fn an_archive_without_entries_is_one() {
    let temp = tempfile::tempdir().unwrap();
    for name in NAMES {
        let path = temp.path().join(name);
        let written = ArchiveWriter::create(&path).unwrap().finish().unwrap();
        assert_is_sound(&path, &written);
    }
}

#[test]
fn calls_from_many_threads_all_arrive() {
    let temp = tempfile::tempdir().unwrap();
    for name in ["a.tar.zst", "a.zip"] {
        let path = temp.path().join(name);
        let archive = ArchiveWriter::create(&path).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let archive = &archive;
                scope.spawn(move || {
                    for n in 0..200 {
                        archive.file(format!("{thread}/{n}"), noise(n * 20, n as u32), Metadata::default()).unwrap();
                    }
                });
            }
        });
        let written = archive.finish().unwrap();
        assert_eq!(written.files, 1600);
        assert_is_sound(&path, &written);
    }
}

#[test]
fn a_large_file_that_calls_of_other_threads_come_between_is_whole() {
    let temp = tempfile::tempdir().unwrap();
    let large = temp.path().join("large");
    fs::write(&large, noise(5 << 20, 1)).unwrap();
    for name in ["a.tar", "a.zip"] {
        let path = temp.path().join(name);
        let archive = ArchiveWriter::create(&path).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (archive, large) = (&archive, &large);
                scope.spawn(move || {
                    for n in 0..50 {
                        archive.file(format!("{thread}/{n}"), noise(3000, n), Metadata::default()).unwrap();
                    }
                    archive
                        .file_from(format!("{thread}/large"), SourceFile::at(large).unwrap(), Metadata::default())
                        .unwrap();
                });
            }
        });
        let written = archive.finish().unwrap();
        assert_is_sound(&path, &written);
        let out = temp.path().join(format!("{name}-out"));
        unpack(&path, &out);
        for thread in 0..4 {
            assert!(fs::read(out.join(format!("{thread}/large"))).unwrap() == fs::read(&large).unwrap(), "{name}");
        }
    }
}

#[test]
fn a_file_that_is_gone_is_named_and_the_archive_is_sound_without_it() {
    let temp = tempfile::tempdir().unwrap();
    for name in NAMES {
        let (path, gone) = (temp.path().join(name), temp.path().join("gone"));
        fs::write(&gone, "x").unwrap();
        let source = SourceFile::at(&gone).unwrap();
        fs::remove_file(&gone).unwrap();
        let archive = ArchiveWriter::create(&path).unwrap();
        archive.file("before", *b"1", Metadata::default()).unwrap();
        archive.file_from("gone", source, Metadata::default()).unwrap();
        archive.file("after", *b"2", Metadata::default()).unwrap();
        let NotWritten::Entries(written) = archive.finish().unwrap_err() else { panic!("no archive") };
        assert_eq!((written.files, written.failures.len()), (2, 1), "{name}");
        assert_eq!(written.failures[0].path(), Some(&*gone), "{name}");
        assert_is_sound(&path, &written);
    }
}

#[test]
fn a_file_of_another_length_is_named_and_the_archive_is_sound() {
    let temp = tempfile::tempdir().unwrap();
    let changing = temp.path().join("changing");
    for (before, after) in [(1000, 10), (10, 1000), (3_000_000, 2_000_000), (2_000_000, 3_000_000), (3_000_000, 10)] {
        // The slow compressions have larger batches: for them all of these are small.
        for name in NAMES.into_iter().filter(|name| before < 1 << 20 || ["a.tar", "a.tar.gz", "a.zip"].contains(name)) {
            fs::write(&changing, noise(before, 1)).unwrap();
            let source = SourceFile::at(&changing).unwrap();
            fs::write(&changing, noise(after, 1)).unwrap();
            let path = temp.path().join(format!("{before}-{after}-{name}"));
            let archive = ArchiveWriter::options().threads(2).create(&path).unwrap();
            archive.file("before", noise(700, 2), Metadata::default()).unwrap();
            drop(archive.file_from("changing", source, Metadata::default()));
            archive.file("after", noise(900, 3), Metadata::default()).unwrap();
            let written = match archive.finish() {
                // It was opened after it changed, and has been whole since.
                Ok(written) if before > 1 << 20 => written,
                Err(NotWritten::Entries(written)) => {
                    assert_eq!(written.failures.len(), 1);
                    assert!(written.failures[0].to_string().contains("changed"), "{:?}", written.failures);
                    *written
                }
                other => panic!("{before} {after} {name}: {other:?}"),
            };
            assert_eq!(written.files, 3);
            assert_is_sound(&path, &written);
            let out = temp.path().join(format!("{before}-{after}-{name}-out"));
            unpack(&path, &out);
            assert!(fs::read(out.join("after")).unwrap() == noise(900, 3));
        }
    }
}

#[test]
#[cfg(unix)] // elsewhere files are not known by their identity
fn another_file_of_that_name_is_not_in_the_archive() {
    let temp = tempfile::tempdir().unwrap();
    let (file, other) = (temp.path().join("file"), temp.path().join("other"));
    for large in [10, 3_000_000] {
        fs::write(&file, noise(large, 1)).unwrap();
        let source = SourceFile::at(&file).unwrap();
        fs::write(&other, noise(large, 2)).unwrap();
        fs::rename(&other, &file).unwrap();
        let path = temp.path().join(format!("{large}.tar"));
        let archive = ArchiveWriter::create(&path).unwrap();
        drop(archive.file_from("file", source, Metadata::default()));
        let NotWritten::Entries(written) = archive.finish().unwrap_err() else { panic!("no archive") };
        assert_eq!((written.files, written.failures.len()), (0, 1));
    }
}

#[test]
#[cfg(unix)]
fn a_link_that_takes_the_place_of_a_file_is_not_followed() {
    let temp = tempfile::tempdir().unwrap();
    let (file, secret) = (temp.path().join("file"), temp.path().join("secret"));
    fs::write(&secret, "secret").unwrap();
    fs::write(&file, "public").unwrap();
    let source = SourceFile::at(&file).unwrap();
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&secret, &file).unwrap();
    let path = temp.path().join("a.tar");
    let archive = ArchiveWriter::create(&path).unwrap();
    archive.file_from("file", source, Metadata::default()).unwrap();
    assert!(matches!(archive.finish(), Err(NotWritten::Entries(_))));
    assert!(!fs::read(&path).unwrap().windows(6).any(|bytes| bytes == b"secret"));
}

#[test]
fn a_writer_that_is_dropped_leaves_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let archive = ArchiveWriter::create(temp.path().join("a.tar.gz")).unwrap();
    archive.file("a", noise(3_000_000, 1), Metadata::default()).unwrap();
    assert_eq!(names_in(temp.path()), [PathBuf::from(".a.tar.gz.partial")]);
    let canceller = archive.canceller();
    drop(archive);
    assert_eq!(names_in(temp.path()), [] as [PathBuf; 0]);
    canceller.cancel();
    let archive = ArchiveWriter::create(temp.path().join("a.tar.gz")).unwrap();
    archive.canceller().cancel();
    let error = archive.file("a", noise(3_000_000, 1), Metadata::default()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::Interrupted);
    let canceller = archive.canceller();
    assert!(matches!(archive.finish(), Err(NotWritten::Archive(_))));
    drop(canceller);
    assert_eq!(names_in(temp.path()), [] as [PathBuf; 0]);
}

#[test]
fn an_archive_that_is_there_stays_unless_it_may_be_replaced() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("a.tar");
    fs::write(&path, "old").unwrap();
    assert_eq!(ArchiveWriter::create(&path).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    let archive = ArchiveWriter::options().replace(true).create(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old", "not before it is whole");
    archive.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), [0; 1024]);
    assert_eq!(names_in(temp.path()), [PathBuf::from("a.tar")]);
}

#[test]
fn an_archive_that_comes_to_be_there_meanwhile_stays() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("a.tar");
    let archive = ArchiveWriter::create(&path).unwrap();
    fs::write(&path, "another's").unwrap();
    assert!(matches!(archive.finish(), Err(NotWritten::Archive(_))));
    assert_eq!(fs::read(&path).unwrap(), b"another's");
    assert_eq!(names_in(temp.path()), [PathBuf::from("a.tar")]);
}

/// What a killed run may leave.
const HALF: &[u8] = b"\x1f\x8b\x08\0half";

#[test]
fn a_file_of_the_name_that_no_run_can_have_left_stays_and_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let (path, left) = (temp.path().join("a.tar"), temp.path().join(".a.tar.partial"));
    for own in ["a user's own file", "\0 and text"] {
        fs::write(&left, own).unwrap();
        let error = ArchiveWriter::options().replace(true).create(&path).unwrap_err();
        assert_eq!((error.path(), error.kind()), (Some(&*left), std::io::ErrorKind::AlreadyExists));
        assert_eq!(fs::read_to_string(&left).unwrap(), own);
    }
    // Killed before the first byte; after a crash of the machine; each format.
    for left_by_a_run in [b"".as_slice(), &[0; 3000], HALF, b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"BZh9", b"\xfd7zXZ\0"]
    {
        fs::write(&left, left_by_a_run).unwrap();
        ArchiveWriter::options().replace(true).create(&path).unwrap().finish().unwrap();
        fs::copy(&path, &left).unwrap();
        ArchiveWriter::options().replace(true).create(&path).unwrap().finish().unwrap();
    }
}

#[test]
fn what_a_killed_run_has_left_is_removed_and_a_run_that_goes_on_is_told() {
    let temp = tempfile::tempdir().unwrap();
    let (path, left) = (temp.path().join("a.tar"), temp.path().join(".a.tar.partial"));
    fs::write(&left, HALF).unwrap();
    let first = ArchiveWriter::create(&path).unwrap();
    let second = ArchiveWriter::create(&path).unwrap_err();
    assert!(second.to_string().contains("another run"), "{second}");
    first.finish().unwrap();
    assert_eq!(names_in(temp.path()), [PathBuf::from("a.tar")]);
}

#[test]
fn of_runs_that_begin_at_once_one_writes_and_the_others_are_told() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("a.tar");
    for round in 0..200 {
        // Every other time a killed run has left something.
        if round % 2 == 0 {
            fs::write(temp.path().join(".a.tar.partial"), HALF).unwrap();
        }
        let barrier = std::sync::Barrier::new(4);
        let run = |number| {
            let barrier = &barrier;
            let path = &path;
            move || {
                barrier.wait();
                let archive = ArchiveWriter::options().threads(1).replace(true).create(path)?;
                archive.file("a", noise(700, 1), Metadata::default())?;
                // In every third round some give up.
                if round % 3 == 0 && number % 2 == 0 {
                    return Ok(false);
                }
                archive.finish().map(|_| true).map_err(|error| match error {
                    NotWritten::Archive(error) => error,
                    NotWritten::Entries(_) => panic!("an entry failed"),
                })
            }
        };
        let ended = std::thread::scope(|scope| {
            let threads = [0, 1, 2, 3].map(|number| scope.spawn(run(number)));
            threads.map(|thread| thread.join().unwrap())
        });
        let was_told = |error: &manyfiles::Error| error.to_string().contains("another run is writing this archive");
        assert!(ended.iter().all(|ended| ended.as_ref().err().is_none_or(was_told)), "{round}: {ended:?}");
        assert!(ended.iter().any(Result::is_ok), "{round}: {ended:?}");
        let is_written = ended.iter().any(|ended| matches!(ended, Ok(true)));
        assert_eq!(names_in(temp.path()), if is_written { vec![PathBuf::from("a.tar")] } else { vec![] }, "{round}");
        if is_written {
            assert_eq!(fs::read(&path).unwrap().len(), 512 + 1024 + 1024, "{round}: {ended:?}");
            fs::remove_file(&path).unwrap();
        }
    }
}

#[test]
fn a_stream_that_fails_fails_the_call_or_the_end() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for format in ["a.tar", "a.tar.zst", "a.zip"].map(|name| Format::of_name(name).unwrap()) {
        for room in [0, 100, 1 << 20, 3 << 20] {
            let stream = ArchiveWriter::options().format(format).stream(Box::new(Full(room)), "stream");
            let Ok(archive) = stream else { continue };
            for n in 0..200 {
                if archive.file(n.to_string(), noise(100_000, n), Metadata::default()).is_err() {
                    break;
                }
            }
            match archive.finish().unwrap_err() {
                NotWritten::Archive(error) => assert_eq!(error.kind(), std::io::ErrorKind::StorageFull),
                other => panic!("{other}"),
            }
        }
    }
}

#[test]
fn what_no_archive_can_have_is_refused_at_the_call_and_in_the_report() {
    let temp = tempfile::tempdir().unwrap();
    let archive = ArchiveWriter::create(temp.path().join("a.zip")).unwrap();
    for path in ["/a", "../a", "a/../b", "", ".", "a\0b"] {
        assert!(archive.file(path, *b"", Metadata::default()).is_err(), "{path:?}");
    }
    assert!(archive.hard_link("b", "a", Metadata::default()).is_err());
    let NotWritten::Entries(written) = archive.finish().unwrap_err() else { panic!("no archive") };
    assert_eq!((written.entries(), written.failures.len()), (0, 7));
}

#[test]
fn a_name_without_a_format_and_a_level_that_is_none_are_errors_that_say_what_to_give() {
    let temp = tempfile::tempdir().unwrap();
    let error = |path: &str, level| {
        let error = ArchiveWriter::options().level(level).create(temp.path().join(path)).unwrap_err();
        assert_eq!(names_in(temp.path()), [] as [PathBuf; 0]);
        error.to_string()
    };
    assert!(error("a.rar", 1).contains(".tar.zst"), "{}", error("a.rar", 1));
    assert!(error("a.tar.gz", 10).contains("0 to 9"), "{}", error("a.tar.gz", 10));
    assert!(error("a.tar.zst", 23).contains("-7 to 22"), "{}", error("a.tar.zst", 23));
}

#[test]
#[cfg(target_os = "linux")]
fn holes_stay_holes() {
    use std::os::unix::fs::{FileExt, MetadataExt};
    let temp = tempfile::tempdir().unwrap();
    let sparse = temp.path().join("sparse");
    let file = fs::File::create(&sparse).unwrap();
    file.set_len(50 << 20).unwrap();
    file.write_all_at(&noise(100_000, 1), 1 << 20).unwrap();
    file.write_all_at(&noise(2_500_000, 2), 20 << 20).unwrap();
    for name in ["a.tar", "a.tar.zst", "a.zip"] {
        let (path, out) = (temp.path().join(name), temp.path().join(format!("{name}-out")));
        let archive = ArchiveWriter::options().verify(true).create(&path).unwrap();
        archive.file_from("sparse", SourceFile::at(&sparse).unwrap(), Metadata::default()).unwrap();
        archive.file("after", *b"1", Metadata::default()).unwrap();
        let written = archive.finish().unwrap();
        assert_eq!(written.bytes, (50 << 20) + 1);
        unpack(&path, &out);
        assert!(fs::read(out.join("sparse")).unwrap() == fs::read(&sparse).unwrap(), "{name}");
        assert_eq!(fs::read(out.join("after")).unwrap(), b"1");
        if name != "a.zip" {
            assert!(written.archive_bytes < 4 << 20, "{name}");
            assert!(fs::metadata(out.join("sparse")).unwrap().blocks() * 512 < 8 << 20, "{name}");
        }
    }
}

#[test]
fn archives_of_the_same_options_count_each_for_itself_and_their_progress_together() {
    let temp = tempfile::tempdir().unwrap();
    let progress = manyfiles_archive::WriterProgress::new();
    let options = ArchiveWriter::options().verify(true).progress(progress.clone());
    let mut sizes = 0;
    for name in ["1.tar", "2.tar", "3.zip"] {
        let archive = options.clone().create(temp.path().join(name)).unwrap();
        archive.file("file", *b"12345", Metadata::default()).unwrap();
        let written = archive.finish().unwrap();
        assert_eq!((written.files, written.bytes), (1, 5), "{name}");
        assert_eq!(written.archive_bytes, fs::metadata(temp.path().join(name)).unwrap().len());
        sizes += written.archive_bytes;
    }
    assert_eq!((progress.entries(), progress.bytes(), progress.archive_bytes()), (3, 15, sizes));
}

#[test]
fn bytes_of_the_caller_that_are_more_than_a_batch_are_written_in_pieces() {
    // As one piece, those of a file of more than 4 GiB would be too many for a zip's fields and for its compressor.
    let temp = tempfile::tempdir().unwrap();
    for name in ["a.tar", "a.tar.zst", "a.zip"] {
        let path = temp.path().join(name);
        let archive = ArchiveWriter::options().verify(true).create(&path).unwrap();
        archive.file("large", noise(5_000_001, 3), Metadata::default()).unwrap();
        archive.file("after", *b"1", Metadata::default()).unwrap();
        let written = archive.finish().unwrap();
        assert_eq!(written.bytes, 5_000_002);
        assert_is_sound(&path, &written);
        let out = temp.path().join(format!("{name}-out"));
        unpack(&path, &out);
        assert!(fs::read(out.join("large")).unwrap() == noise(5_000_001, 3), "{name}");
    }
    let zip = fs::read(temp.path().join("a.zip")).unwrap();
    assert_eq!(zip[6] & 1 << 3, 1 << 3, "its numbers stand behind it");
}

#[test]
#[cfg(unix)]
fn an_open_pipe_is_no_file_and_a_number_without_room_is_no_devices() {
    use manyfiles::tree::Node;
    let temp = tempfile::tempdir().unwrap();
    let (reader, _writer) = std::io::pipe().unwrap();
    let pipe = fs::File::from(std::os::fd::OwnedFd::from(reader));
    assert!(SourceFile::opened(pipe, "pipe").unwrap_err().to_string().contains("no file"));
    let archive = ArchiveWriter::create(temp.path().join("a.tar")).unwrap();
    archive.node("device", Node::CharDevice(1 << 21, 0), Metadata::default()).unwrap();
    let write_only = fs::File::create(temp.path().join("empty")).unwrap();
    drop(archive.file_from("empty", SourceFile::opened(write_only, "empty").unwrap(), Metadata::default()));
    let NotWritten::Entries(written) = archive.finish().unwrap_err() else { panic!("no archive") };
    assert_eq!((written.nodes, written.failures.len()), (0, 2), "{:?}", written.failures);
}
