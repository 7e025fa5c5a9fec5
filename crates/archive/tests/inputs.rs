//! What is given is a folder, missing, empty, no archive, a pipe; and how far the reading is.
#![cfg(unix)] // pipes with names, and files that others cut short while they are read

mod common;

use std::fs;
use std::io::Read;

use common::*;
use manyfiles_archive::{ErrorKind, Input, InputProgress, Unpacker};

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
        (&b"7z\xbc\xaf\x27\x1c\0\x04 and so on"[..], "a 7z archive"),
        (b"Rar!\x1a\x07\x01\0", "a rar archive"),
        (b"<!doctype html><title>404", "a web page"),
        (b"some words", "text"),
        (b"\x5d\0\0\x80\0", "an lzma-compressed file"),
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
    for len in [1024, 10240] {
        let (_temp, path) = file_of(&vec![0; len]);
        assert_eq!(unpack_whole(Unpacker::new(), Input::File(path)).1.entries, 0);
        assert_eq!(unpack_whole(Unpacker::new(), stream_of(vec![0; len])).1.entries, 0);
    }
    let empty_zip = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let (_temp, path) = file_of(empty_zip);
    assert_eq!(unpack_whole(Unpacker::new(), Input::File(path)).1.entries, 0);
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
        unpack_whole(Unpacker::new().progress(progress.clone()), Input::File(path));
        total += bytes.len() as u64;
        assert_eq!((progress.read(), progress.total()), (total, Some(total)));
    }
    unpack_whole(Unpacker::new().progress(progress.clone()), stream_of(&tar[..]));
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
