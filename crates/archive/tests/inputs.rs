//! What is given is a folder, missing, empty, no archive, a pipe; and how far the reading is.
#![cfg(unix)] // pipes with names, and files that others cut short while they are read

mod common;

use std::fs;
use std::io::Read;

use common::*;
use manyfiles_archive::{ErrorKind, Input, InputProgress, Unpacker};
use manyfiles_testkit::{Need, skip_unless};

#[track_caller]
fn error_of(input: Input) -> manyfiles_archive::Error {
    let place = Place::new();
    let (result, report) = place.unpack(input);
    assert!(place.files().is_empty());
    assert!(report.is_complete());
    let error = result.unwrap_err();
    println!("{error}");
    error
}

#[test]
fn what_is_no_archive_is_said_to_be_what_it_is() {
    let temp = manyfiles_testkit::scratch().unwrap();
    let missing = error_of(Input::File(temp.path().join("missing")));
    assert_eq!(missing.raw_os_error(), Some(2));
    assert!(matches!(missing.kind(), ErrorKind::Open(_)));
    assert!(missing.to_string().contains("missing: cannot open"));
    assert!(matches!(error_of(Input::File(temp.path().into())).kind(), ErrorKind::Folder));

    for (bytes, says) in [
        #[cfg(not(feature = "sevenz"))]
        (&b"7z\xbc\xaf\x27\x1c\0\x04 and so on"[..], "a 7z archive"),
        (&b"Rar!\x1a\x07\x01\0"[..], "a rar archive"),
        (b"<!doctype html><title>404", "a web page"),
        (b"some words", "text"),
        (b"\x5d\0\0\x80\0", "an lzma-compressed file"),
        (b"\x89LZO\0\r\n", "an lzop-compressed file; `lzop -d` makes a plain tar of a .tar.lzo"),
        (&[0; 5000][..1023], "not an archive of a kind that is known"),
        (&[1; 600], "not an archive of a kind that is known"),
    ] {
        let (_temp, path) = file_of(bytes);
        for input in [Input::File(path), stream_of(bytes)] {
            let error = error_of(input);
            assert!(matches!(error.kind(), ErrorKind::NotAnArchive { compression: None, .. }), "{error}");
            assert!(error.to_string().contains(says), "{error}");
            assert!(error.to_string().contains("supported are"), "{error}");
        }
    }
}

#[test]
fn an_empty_file_is_no_archive_but_an_empty_tar_is_one() {
    let (_temp, path) = file_of(b"");
    assert!(matches!(error_of(Input::File(path)).kind(), ErrorKind::Empty));
    assert!(matches!(error_of(stream_of(b"")).kind(), ErrorKind::Empty));
    // What `tar -b` makes of nothing: a record of two blocks, the usual one, and the largest that is no image.
    for len in [1024, 10240, 512 * 1000, 1 << 20] {
        let (_temp, path) = file_of(&vec![0; len]);
        assert_eq!(unpack_whole(Unpacker::new(), Input::File(path)).1.entries, 0);
        assert_eq!(unpack_whole(Unpacker::new(), stream_of(vec![0; len])).1.entries, 0);
    }
    let empty_zip = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let (_temp, path) = file_of(empty_zip);
    assert_eq!(unpack_whole(Unpacker::new(), Input::File(path)).1.entries, 0);
}

#[test]
fn zeros_are_an_empty_tar_only_if_a_tar_could_have_as_many_and_nothing_else() {
    let zeros = |count: usize| vec![0; count];
    let iso = [zeros(0x8000), b"\x01CD001\x01".to_vec(), noise(3000)].concat();
    let ext4 = [zeros(1024), noise(56), b"\x53\xef\x01\0".to_vec(), noise(5000)].concat();
    let disk = [zeros(446), noise(64), b"\x55\xaa".to_vec(), zeros(9000)].concat();
    let unfinished = [zeros(3 << 20), Tar::default().file("a", b"x").end()].concat();
    for (what, bytes, says) in [
        ("a little more than the largest record", zeros((1 << 20) + 512), "a file of zeros"),
        ("no whole block more", zeros((1 << 20) + 1), "a file of zeros"),
        ("a reserved download", zeros(40 << 20), "a file of zeros"),
        ("a download whose beginning has not come", unfinished, "a file of zeros"),
        ("an ISO image", iso, "an ISO image"),
        ("a file system", ext4, "an image of a disk or a file system"),
        ("a disk", disk, "an image of a disk"),
        ("one byte that is not zero", [zeros(10_239), vec![1]].concat(), "an image of a disk or a file system"),
    ] {
        let (_temp, path) = file_of(&bytes);
        let packed = zstd::encode_all(&bytes[..], 1).unwrap();
        // An image that is a file is read.
        let file = (what != "an ISO image").then_some(Input::File(path));
        for input in file.into_iter().chain([stream_of(&bytes[..]), stream_of(packed)]) {
            let error = error_of(input);
            assert!(matches!(error.kind(), ErrorKind::NotAnArchive { .. }), "{what}: {error}");
            assert!(error.to_string().contains(says), "{what}: {error}");
        }
    }
    // A terabyte of reserved space: reading all of it would take too long, so it is refused at once.
    let temp = manyfiles_testkit::scratch().unwrap();
    let path = temp.path().join("reserved.zip");
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    assert!(error_of(Input::File(path)).to_string().contains("a file of zeros"));
}

#[test]
fn a_zip_behind_zeros_is_a_zip() {
    let empty_zip = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let (_temp, path) = file_of(&[&[0; 4096][..], empty_zip].concat());
    let (_, summary, _) = unpack_whole(Unpacker::new(), Input::File(path));
    assert_eq!(summary.format.to_string(), "zip");
}

#[test]
fn pieces_of_a_file_that_was_cut_are_called_that_by_their_names() {
    let archive = zstd::encode_all(&Tar::default().file("a", &noise(100_000)).end()[..], 1).unwrap();
    let temp = manyfiles_testkit::scratch().unwrap();
    for (at, piece) in archive.chunks(20_000).enumerate().take(3) {
        let path = temp.path().join(format!("a.tar.zst.{:03}", at + 2));
        fs::write(&path, piece).unwrap();
        let (result, _) = Place::new().unpack(Input::File(path));
        let error = result.unwrap_err().to_string();
        assert!(error.contains("one part of an archive that was cut into several"), "{error}");
    }
}

#[test]
fn volumes_of_one_tar_are_called_that() {
    skip_unless!(Need::Program("tar"));
    for format in ["gnu", "pax"] {
        let temp = manyfiles_testkit::scratch().unwrap();
        fs::write(temp.path().join("content"), noise(150_000)).unwrap();
        let format = format!("--format={format}");
        let mut tar = program("tar", &[&format, "-cML", "100", "-f", "first", "-f", "second", "content"]);
        run(tar.current_dir(temp.path()), false);
        for (volume, says) in [("first", "first of several volumes"), ("second", "later volume")] {
            let path = temp.path().join(volume);
            for input in [Input::File(path.clone()), stream_of(fs::read(&path).unwrap())] {
                let place = Place::new();
                let (result, _) = place.unpack(input);
                let error = result.unwrap_err().to_string();
                assert!(error.contains(says) && error.contains("--multi-volume"), "{format} {volume}: {error}");
                assert!(place.files().is_empty(), "half a file was unpacked");
            }
        }
    }
}

#[test]
fn a_zip_in_a_stream_is_to_be_saved_first() {
    let error = error_of(stream_of(b"PK\x03\x04 and so on"));
    assert!(matches!(error.kind(), ErrorKind::ZipStream));
    assert!(error.to_string().starts_with("-: "));
    assert!(error.to_string().contains("save it to a file first"));
}

#[test]
fn a_pipe_that_has_a_path_is_a_stream() {
    let temp = manyfiles_testkit::scratch().unwrap();
    let pipe = temp.path().join("pipe");
    run(std::process::Command::new("mkfifo").arg(&pipe), false);
    let tar = Tar::default().file("a", b"x").end();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| fs::write(&pipe, tar));
        let (place, ..) = unpack_whole(Unpacker::new(), Input::File(pipe.clone()));
        assert_eq!(place.files(), ["a"]);
        writer.join().unwrap().unwrap();
    });
}

#[test]
fn a_stream_that_comes_in_drops_is_whole() {
    struct Drops(std::io::Cursor<Vec<u8>>);
    impl Read for Drops {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let len = into.len().min(7);
            self.0.read(&mut into[..len])
        }
    }
    let tar = Tar::default().file("a", &noise(10_000)).file("b", b"x").end();
    for bytes in [zstd::encode_all(&tar[..], 1).unwrap(), tar] {
        let (place, ..) = unpack_whole(Unpacker::new(), Input::Stream(Box::new(Drops(std::io::Cursor::new(bytes)))));
        assert_eq!(fs::read(place.root().join("a")).unwrap(), noise(10_000));
        assert_eq!(place.files(), ["a", "b"]);
    }
}

#[test]
fn progress_ends_at_the_total_and_adds_up() {
    let tar = Tar::default().file("a", &noise(100_000)).file("b", b"x").end();
    let packed = zstd::encode_all(&tar[..], 1).unwrap();
    let progress = InputProgress::new();
    assert_eq!((progress.read(), progress.total()), (0, Some(0)));
    let mut total = 0;
    for bytes in [&tar, &packed] {
        let (_temp, path) = file_of(bytes);
        unpack_whole(Unpacker::options().progress(progress.clone()).build(), Input::File(path));
        total += bytes.len() as u64;
        assert_eq!((progress.read(), progress.total()), (total, Some(total)));
    }
    unpack_whole(Unpacker::options().progress(progress.clone()).build(), stream_of(&tar[..]));
    assert_eq!((progress.read(), progress.total()), (total + tar.len() as u64, None));
}

#[test]
fn a_stream_that_never_sends_can_be_cancelled() {
    use std::sync::mpsc::{Receiver, Sender, channel};
    struct Silent {
        asked: Sender<()>,
        ends_with_the_test: Receiver<()>,
    }
    impl Read for Silent {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            self.asked.send(()).unwrap();
            Ok(self.ends_with_the_test.recv().map_or(0, |()| 0))
        }
    }
    let (_test, ends_with_the_test) = channel();
    let (asked, was_asked) = channel();
    let place = Place::new();
    let tree = place.writer();
    let canceller = tree.canceller();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            was_asked.recv().unwrap();
            canceller.cancel();
        });
        let error =
            Unpacker::new().unpack(Input::Stream(Box::new(Silent { asked, ends_with_the_test })), &tree).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Cancelled));
    });
    assert!(tree.finish().unwrap_err().report().cancelled);
}
