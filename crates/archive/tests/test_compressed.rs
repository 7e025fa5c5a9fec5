//! `Unpacker::test` of compressed tars: checksums that are missing or of an unknown kind, frames to be skipped, and
//! what is whole but needs more than the decoder gives.

mod common;

use std::io::Write;

use common::*;
use manyfiles_archive::{ErrorKind, Finding, Input, Tested, Unpacker};

fn tar() -> Vec<u8> {
    Tar::default().file("a", &noise(3000)).file("b", b"abc").end()
}

/// What a test finds, and whether `unpack` reads to the end.
#[track_caller]
fn told(archive: &[u8]) -> Result<(Tested, Vec<String>), ErrorKind> {
    let (_temp, path) = file_of(archive);
    let mut findings = Vec::new();
    let mut tell = |finding: &Finding| findings.push(finding.to_string());
    match Unpacker::new().test(Input::File(path), &mut tell) {
        Ok(tested) => Ok((tested, findings)),
        Err(error) => match error.kind() {
            ErrorKind::Unsupported(why) => Err(ErrorKind::Unsupported(why.clone())),
            other => panic!("{other:?}"),
        },
    }
}

#[track_caller]
fn assert_sound(archive: &[u8], unproven: bool) {
    let (tested, findings) = told(archive).unwrap();
    assert_eq!((tested.is_sound(), tested.entries, tested.unproven), (true, 2, unproven), "{findings:?}");
    let (_temp, path) = file_of(archive);
    let (place, ..) = unpack_whole(Unpacker::new(), Input::File(path));
    assert_eq!(place.files(), ["a", "b"]);
}

#[track_caller]
fn assert_unsupported(archive: &[u8], why: &str) {
    match told(archive) {
        Err(ErrorKind::Unsupported(said)) => assert!(said.contains(why), "{said}"),
        other => panic!("{other:?}"),
    }
    let (_temp, path) = file_of(archive);
    let (unpacked, _) = Place::new().unpack(Input::File(path));
    assert!(matches!(unpacked.unwrap_err().kind(), ErrorKind::Unsupported(_)));
}

fn zstd(checksum: bool, window_log: Option<u32>) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(checksum).unwrap();
    if let Some(log) = window_log {
        encoder.window_log(log).unwrap();
    }
    encoder.write_all(&tar()).unwrap();
    encoder.finish().unwrap()
}

fn xz(check: liblzma::stream::Check) -> Vec<u8> {
    let stream = liblzma::stream::Stream::new_easy_encoder(0, check).unwrap();
    let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
    encoder.write_all(&tar()).unwrap();
    encoder.finish().unwrap()
}

fn lz4(block: bool, content: bool) -> Vec<u8> {
    let info = lz4_flex::frame::FrameInfo::new().block_checksums(block).content_checksum(content);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(&tar()).unwrap();
    encoder.finish().unwrap()
}

/// The same xz, which says that its checks are of another kind of the same length.
fn with_check_of_kind(mut xz: Vec<u8>, kind: u8) -> Vec<u8> {
    let crc = |bytes: &[u8]| {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        crc.sum().to_le_bytes()
    };
    let len = xz.len();
    xz[7] = kind;
    let sum = crc(&xz[6..8]);
    xz[8..12].copy_from_slice(&sum);
    xz[len - 3] = kind;
    let sum = crc(&xz[len - 8..len - 2]);
    xz[len - 12..len - 8].copy_from_slice(&sum);
    xz
}

#[test]
fn an_xz_whose_checks_are_of_an_unknown_kind_is_not_sound() {
    let known = xz(liblzma::stream::Check::Crc64);
    assert_sound(&known, false);
    for kind in [5, 6] {
        let (tested, findings) = told(&with_check_of_kind(known.clone(), kind)).unwrap();
        assert_eq!((findings.len(), tested.intact, tested.unproven), (1, 2, true), "{findings:?}");
        assert!(findings[0].contains("of a kind that is not known"), "{findings:?}");
    }
    // In the second of two streams, too.
    let two = [xz(liblzma::stream::Check::Crc64), with_check_of_kind(known, 5)].concat();
    assert!(told(&two).unwrap().1.iter().any(|finding| finding.contains("of a kind that is not known")));
}

#[test]
fn what_was_made_without_checksums_is_sound_but_nothing_proves_it() {
    assert_sound(&zstd(true, None), false);
    assert_sound(&zstd(false, None), true);
    assert_sound(&xz(liblzma::stream::Check::None), true);
    assert_sound(&lz4(false, true), false);
    assert_sound(&lz4(true, false), false);
    assert_sound(&lz4(false, false), true);
    assert_sound(&tar(), false);
}

#[test]
fn frames_to_be_skipped_may_stand_before_between_and_behind_those_of_lz4_and_zstd() {
    let skipped = b"\x50\x2a\x4d\x18\x05\0\0\0abcde";
    for frame in [zstd(true, None), lz4(false, true)] {
        assert_sound(&[skipped, &frame[..]].concat(), false);
        assert_sound(&[skipped, skipped, &frame[..]].concat(), false);
        assert_sound(&[&frame[..], skipped].concat(), false);
        assert_sound(&[skipped, &frame[..], skipped, skipped].concat(), false);
        let (_, findings) = told(&[&frame[..], &skipped[..12]].concat()).unwrap();
        assert!(findings[0].ends_with("it is cut short"), "{findings:?}");
        let (_, findings) = told(&[&frame[..], skipped, b"garbage"].concat()).unwrap();
        assert!(findings[0].contains("bytes that are no compressed data"), "{findings:?}");
    }
}

#[test]
fn what_needs_more_memory_than_is_given_or_a_dictionary_is_not_called_damaged() {
    assert_sound(&zstd(true, Some(27)), false);
    let mut far = zstd(true, Some(27));
    // The byte behind magic and flags is the size of the window. 128 MiB are given, and no more.
    far[5] = 17 << 3;
    assert_sound(&far, false);
    for window in [(17 << 3) + 1, 18 << 3, 21 << 3] {
        far[5] = window;
        assert_unsupported(&far, "more than 128 MiB of memory");
    }
    let plain = zstd(true, None);
    assert_eq!(plain[4] & 3, 0, "a head without the number of a dictionary");
    let with_number = [&plain[..4], &[plain[4] | 1, plain[5], 7], &plain[6..]].concat();
    assert_unsupported(&with_number, "compressed with a dictionary");
}
