//! Tars that are damaged, that lie about sizes, that would fill the disk or the memory, and reading that is ended early.
#![cfg(unix)] // links and odd names are made; tests/windows.rs has the attacks on Windows

mod common;

use std::fs;
use std::path::Path;

use common::*;
use manyfiles_archive::{ErrorKind, Input, Limit, Limits, Unpacker};

#[test]
fn sizes_that_lie_are_damage_and_leave_no_file_behind() {
    let sizes: &[&[u8]] = &[
        b"77777777777",
        b"\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"9999",
        b"-1",
        b"00004000000", // 1 MiB: more than is handed over whole.
        b"00000001000",
    ];
    for size in sizes {
        let tar = Tar::default().file("good", b"x").block(&Tar::header(b'0', b"bad", size, b"")).0;
        let (files, error) = damaged(&tar);
        assert_eq!(files, ["good"], "{size:?}: {error}");
        assert!(error.contains("after"), "{error}");
    }
    for size in ["18446744073709551615", "18446744073709551616", "x", "1000", "100000000"] {
        let tar = Tar::default().file("good", b"x").pax(&[("size", size.as_bytes())]);
        let (files, _) = damaged(&tar.block(&Tar::header(b'0', b"bad", b"0", b"")).0);
        assert_eq!(files, ["good"], "pax size {size}");
    }
}

#[test]
fn sizes_of_more_than_any_disk_go_over_the_limit_and_without_one_are_damage() {
    let tar = Tar::default().file("good", b"x").pax(&[("size", b"9223372036854775807")]);
    let tar = tar.block(&Tar::header(b'0', b"bad", b"0", b"")).0;
    let (_temp, path) = file_of(&tar);
    for input in [Input::File(path.clone()), stream_of(&tar[..])] {
        let (result, _) = Place::new().unpack(input);
        assert!(matches!(result.unwrap_err().kind(), ErrorKind::Limit { limit: Limit::Bytes, .. }));
    }
    for input in [Input::File(path), stream_of(tar)] {
        let place = Place::new();
        let (result, report) = place.unpack_as(Unpacker::options().limits(Limits::NONE).build(), input);
        assert_damaged(&result);
        assert_eq!(place.files(), ["good"]);
        assert_eq!(report.failures.len(), 1, "the entry that is cut short is named");
    }
}

#[test]
fn a_wrong_checksum_is_damage_at_its_byte() {
    let mut tar = Tar::default().file("a", b"x").file("b", b"x").file("c", b"x").end();
    tar[1024] ^= 1;
    let (files, error) = damaged(&tar);
    assert_eq!(files, ["a"]);
    assert!(error.contains("byte 1024, after 1 entry:"), "{error}");
    tar[0] ^= 1;
    assert!(damaged(&tar).1.contains("byte 0, after 0 entries:"));
}

#[test]
fn a_tar_without_an_end_is_whole_at_a_block_and_cut_short_elsewhere() {
    let tar = Tar::default().file("a", &[1; 700]).file("b", b"x").0;
    assert_eq!(unpacked(&tar).0, ["a", "b"]);
    assert_eq!(unpacked(&[&tar[..], &[0; 512]].concat()).0, ["a", "b"], "a lone block of zeros");
    assert_eq!(unpacked(&tar[..1536]).0, ["a"], "an end between two entries cannot be noticed");
    for (end, files) in [
        (513, &[][..]),
        (1100, &[]),
        (1535, &["a"]),
        (1600, &["a"]),
        (2047, &["a"]),
        (2048, &["a"]),
        (2500, &["a", "b"]),
    ] {
        assert_eq!(damaged(&tar[..end]).0, files, "cut at {end}");
    }
}

#[test]
fn headers_that_extend_nothing_are_damage() {
    let (files, _) = damaged(&Tar::default().file("a", b"x").pax(&[("path", b"b")]).0);
    assert_eq!(files, ["a"]);
    damaged(&Tar::default().file("a", b"x").entry(b'L', "long", "", b"name\0").end());
    damaged(&Tar::default().file("a", b"x").entry(b'x', "pax", "", b"99 path=b\n").file("b", b"x").end());
}

#[test]
fn extensions_that_would_fill_memory_are_damage() {
    for kind in [b'x', b'g', b'L', b'K'] {
        let header = Tar::header(kind, b"x", b"77777777777", b"");
        let (files, error) = damaged(&Tar::default().file("a", b"x").block(&header).end());
        assert_eq!(files, ["a"]);
        assert!(error.contains("16 MiB"), "{error}");
    }
}

#[test]
fn sparse_maps_that_lie_are_damage() {
    for (records, content) in [
        (&[("GNU.sparse.map", "0,5,3,5"), ("GNU.sparse.size", "100")][..], &b"0123456789"[..]),
        (&[("GNU.sparse.map", "0,5"), ("GNU.sparse.size", "100")], b"0123456789"),
        (&[("GNU.sparse.map", "99,10"), ("GNU.sparse.size", "100")], b"0123456789"),
        (&[("GNU.sparse.map", "18446744073709551615,10"), ("GNU.sparse.size", "100")], b"0123456789"),
        (&[("GNU.sparse.map", "0,10")], b"0123456789"),
        (&[("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"), ("GNU.sparse.realsize", "100")], b"999999999999\n"),
        (&[("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"), ("GNU.sparse.realsize", "100")], b""),
        (&[("GNU.sparse.major", "2"), ("GNU.sparse.minor", "0")], b""),
    ] {
        let records: Vec<_> = records.iter().map(|(key, value)| (*key, value.as_bytes())).collect();
        let tar = Tar::default().file("a", b"x").pax(&records).file("b", content).end();
        assert_eq!(damaged(&tar).0, ["a"], "{records:?}");
    }
    let mut header = Tar::header(b'S', b"b", b"0", b"");
    header[257..265].copy_from_slice(b"ustar  \0");
    header[482] = 1;
    Tar::seal(&mut header);
    assert_eq!(
        damaged(&Tar::default().file("a", b"x").block(&header).0).0,
        ["a"],
        "the list goes on, the archive does not"
    );
}

#[test]
fn a_sparse_file_of_the_size_of_a_disk_goes_over_the_limit() {
    let tar = Tar::default()
        .file("a", b"x")
        .pax(&[("GNU.sparse.map", b"0,1"), ("GNU.sparse.size", b"9000000000000000000")])
        .file("b", b"x")
        .end();
    let place = Place::new();
    let (result, report) = place.unpack(stream_of(tar));
    let error = result.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit: Limit::Bytes, entries: 2, .. }), "{error}");
    assert!(error.to_string().contains("--max-bytes"), "{error}");
    assert_eq!(report.files, 1);
}

#[test]
fn limits_stop_before_what_goes_over_them() {
    let mut tar = Tar::default();
    for n in 0..10 {
        tar = tar.file(n.to_string(), &[1; 100]);
    }
    let tar = tar.end();
    for (limits, files) in [(Limits::default().entries(3), 3), (Limits::default().bytes(450), 4)] {
        let place = Place::new();
        let (result, report) = place.unpack_as(Unpacker::options().limits(limits).build(), stream_of(&tar[..]));
        let error = result.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
        assert_eq!((report.files, place.files().len()), (files, files as usize));
    }
    unpack_whole(Unpacker::options().limits(Limits::default().entries(10).bytes(1000)).build(), stream_of(tar));
}

#[test]
fn a_bomb_is_stopped_by_its_ratio_even_behind_the_end_of_the_tar() {
    let zeros = vec![0; 100 << 20];
    let inside = Tar::default().file("small", b"x").file("bomb", &zeros).end();
    let behind = [Tar::default().file("small", b"x").end(), zeros].concat();
    for tar in [inside, behind] {
        let archive = zstd::encode_all(&tar[..], 1).unwrap();
        let place = Place::new();
        let (result, report) = place.unpack(stream_of(&archive[..]));
        let error = result.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { limit: Limit::Ratio, value: 1000, .. }), "{error}");
        assert_eq!(place.files(), ["small"], "the bomb is not left behind");
        assert!(report.bytes < Limits::RATIO_FREE);
        unpack_whole(Unpacker::options().limits(Limits::default().ratio(u64::MAX)).build(), stream_of(archive));
    }
}

#[test]
fn an_archive_that_is_cut_short_meanwhile_is_an_error_and_no_signal() {
    let mut tar = Tar::default();
    for n in 0..200 {
        tar = tar.file(n.to_string(), &noise(50_000));
    }
    let (_temp, path) = file_of(&tar.end());
    let place = Place::new();
    let shortened = fs::File::options().write(true).open(&path).unwrap();
    let seen = std::sync::atomic::AtomicU64::new(0);
    let cut = std::sync::Arc::new(move |_: &Path| {
        if seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 100 {
            shortened.set_len(1_000_000).unwrap();
        }
        true
    });
    let (result, report) = place.unpack_as(Unpacker::options().select(cut).build(), Input::File(path));
    let error = result.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Changed(_)), "{error}");
    assert!(report.files < 200);
    place.assert_nothing_outside();
}

#[test]
fn a_cancelled_tree_ends_the_reading() {
    let mut tar = Tar::default();
    for n in 0..100 {
        tar = tar.file(n.to_string(), b"x");
    }
    let place = Place::new();
    let tree = place.writer();
    let canceller = tree.canceller();
    let seen = std::sync::atomic::AtomicU64::new(0);
    let select = std::sync::Arc::new(move |_: &Path| {
        if seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 10 {
            canceller.cancel();
        }
        true
    });
    let error = Unpacker::options().select(select).build().unpack(stream_of(tar.end()), &tree).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Cancelled));
    let report = tree.finish().unwrap_err().into_report();
    assert!(report.cancelled && report.files < 100);
}
