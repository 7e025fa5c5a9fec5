//! What is said of an entry that did not arrive: its path, whether the archive or the file system is to blame, and what
//! is wrong.
#![cfg(unix)] // links are made

mod common;
#[path = "common/zip.rs"]
mod made;

use std::path::Path;

use common::*;
use made::{Zip, crc};
use manyfiles::Operation;
use manyfiles_archive::{Input, Limits, Unpacker};

/// The one failure of an archive from a file, and of a tar from a stream.
#[track_caller]
fn failures(archive: &[u8], is_tar: bool) -> Vec<manyfiles::Error> {
    let (_temp, path) = file_of(archive);
    let mut inputs = vec![Input::File(path)];
    if is_tar {
        inputs.push(stream_of(archive));
    }
    let failure = |input| {
        let (_, report) = Place::new().unpack(input);
        let [failure] = &report.failures[..] else { panic!("{:?}", report.failures) };
        println!("{failure}");
        failure.clone()
    };
    inputs.into_iter().map(failure).collect()
}

#[test]
fn an_entry_that_goes_over_a_limit_is_not_called_damaged() {
    let zeros = vec![0; 100 << 20];
    let tar = zstd::encode_all(&Tar::default().file("bomb", &zeros).end()[..], 1).unwrap();
    let (result, report) =
        Place::new().unpack_as(Unpacker::options().limits(Limits::default().ratio(10)).build(), stream_of(tar));
    assert!(result.unwrap_err().to_string().contains("--max-ratio"));
    let [failure] = &report.failures[..] else { panic!("{:?}", report.failures) };
    let failure = failure.to_string();
    assert!(failure.contains("bomb") && failure.contains("limit of 10 for the ratio"), "{failure}");
    assert!(!failure.contains("damaged"), "{failure}");
}

#[test]
fn a_member_that_is_cut_short_is_named_and_the_archive_is_to_blame() {
    // Handed over whole, and written piece by piece.
    for len in [5000, 9_000_000] {
        let tar = Tar::default().file("good", b"x").file("bad", &noise(len)).0;
        for failure in failures(&tar[..tar.len() - 3000], true) {
            assert_eq!((failure.path(), failure.operation()), (Some(Path::new("bad")), Operation::Read));
            assert!(failure.to_string().contains("the archive is damaged here: it is cut short"), "{failure}");
        }
    }
}

#[test]
fn content_of_a_zip_that_is_cut_short_is_named_whatever_it_is_compressed_with() {
    use std::io::Read;
    for content in [noise(5000), noise(2_000_000)] {
        let mut deflated = Vec::new();
        let mut encoder = flate2::read::DeflateEncoder::new(&content[..], flate2::Compression::fast());
        encoder.read_to_end(&mut deflated).unwrap();
        let mut bzip2 = Vec::new();
        bzip2::read::BzEncoder::new(&content[..], bzip2::Compression::fast()).read_to_end(&mut bzip2).unwrap();
        let zstd = zstd::encode_all(&content[..], 1).unwrap();
        let xz = liblzma::encode_all(&content[..], 1).unwrap();
        for (method, packed) in [(0, content.clone()), (8, deflated), (12, bzip2), (93, zstd), (95, xz)] {
            let half = &packed[..packed.len() / 2];
            let zip = Zip::default().entry(b"bad", method, half, content.len() as u32, crc(&content), 3, 0, &[]);
            for failure in failures(&zip.stored("good", b"x").end(), false) {
                assert_eq!((failure.path(), failure.operation()), (Some(Path::new("bad")), Operation::Read));
                assert!(failure.to_string().contains("the archive is damaged here"), "method {method}: {failure}");
            }
        }
    }
}

#[test]
fn a_symbolic_link_that_says_nothing_is_said_to_say_nothing() {
    let tar = Tar::default().file("good", b"x").entry(b'2', "bad", "", b"").end();
    let zip = Zip::default().stored("good", b"x").with("bad", b"", 3, 0o120_777 << 16).end();
    for failure in [failures(&tar, true), failures(&zip, false)].concat() {
        assert_eq!((failure.path(), failure.operation()), (Some(Path::new("bad")), Operation::Symlink));
        assert!(failure.to_string().contains("does not say where it leads"), "{failure}");
    }
}

#[test]
fn a_socket_is_not_called_a_device() {
    for failure in failures(&Zip::default().with("socket", b"", 3, 0o140_777 << 16).end(), false) {
        assert!(!failure.to_string().contains("device"), "{failure}");
    }
}
