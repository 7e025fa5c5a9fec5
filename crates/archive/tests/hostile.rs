//! Tars that try to leave the root, to fill the disk or the memory, or to confuse.
#![cfg(unix)] // links and odd names are made; tests/windows.rs has the attacks on Windows

mod common;

use std::fs;
use std::path::Path;

use common::*;
use manyfiles::tree::Refusal;
use manyfiles_archive::{ErrorKind, Input, Limit, Limits, Unpacker};
use manyfiles_testkit::{Compare, Tree};

/// Unpacks as a file and as a stream, which must be the same; returns the files, and what was refused or failed. Then
/// unpacks with many threads, where another entry may be the one that fails, but nothing may get out of the root.
#[track_caller]
fn unpacked(archive: &[u8]) -> (Vec<String>, Vec<(String, Option<Refusal>)>) {
    let (_temp, path) = file_of(archive);
    let mut outcomes = Vec::new();
    for input in [Input::File(path.clone()), stream_of(archive)] {
        let place = Place::new();
        let (result, report) = place.unpack_in_order(input);
        result.unwrap_or_else(|error| panic!("{error}"));
        place.assert_nothing_outside();
        let failures = report.failures.iter().map(|failure| {
            let path = failure.path().expect("every failure has a path");
            (path.to_string_lossy().into_owned(), failure.refusal())
        });
        let mut failures: Vec<_> = failures.collect();
        failures.sort_by(|a, b| a.0.cmp(&b.0));
        outcomes.push(((place.files(), failures), Tree::read(place.root()).unwrap()));
    }
    let (outcome, tree) = outcomes.pop().unwrap();
    assert_eq!(outcomes[0].0, outcome, "a file and a stream differ");
    outcomes[0].1.assert_same(&tree, Compare::ALL_BUT_TIMES);

    let place = Place::new();
    let (result, report) = place.unpack(Input::File(path));
    result.unwrap_or_else(|error| panic!("{error}"));
    place.assert_nothing_outside();
    assert_eq!(report.failures.is_empty(), outcome.1.is_empty());
    outcome
}

/// Unpacks a damaged archive; returns the files that are there all the same, and the error.
#[track_caller]
fn damaged(archive: &[u8]) -> (Vec<String>, String) {
    let (_temp, path) = file_of(archive);
    let mut outcomes = Vec::new();
    for input in [Input::File(path), stream_of(archive)] {
        let place = Place::new();
        let (result, _) = place.unpack(input);
        place.assert_nothing_outside();
        assert_damaged(&result);
        let error = result.unwrap_err().to_string();
        outcomes.push((place.files(), error.split_once(": ").unwrap().1.to_owned()));
    }
    assert_eq!(outcomes[0], outcomes[1], "a file and a stream differ");
    outcomes.pop().unwrap()
}

#[test]
fn paths_out_of_the_root_are_refused_by_name_and_the_others_unpacked() {
    let hostile: &[(&str, Refusal)] = &[
        ("../outside/file", Refusal::ParentFolder),
        ("a/../../outside/file", Refusal::ParentFolder),
        ("a/..", Refusal::ParentFolder),
        ("/etc/x", Refusal::Absolute),
        ("//etc/x", Refusal::Absolute),
        ("C:\\x", Refusal::Absolute),
        ("c:/x", Refusal::Absolute),
        ("\\\\server\\share\\x", Refusal::Absolute),
    ];
    let mut tar = Tar::default().file("good", b"x");
    for (path, _) in hostile {
        tar = tar.file(path, b"hostile");
    }
    let (files, failures) = unpacked(&tar.file("good too", b"x").end());
    assert_eq!(files, ["good", "good too"]);
    let mut expected: Vec<_> = hostile.iter().map(|(path, refusal)| (path.to_string(), Some(*refusal))).collect();
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(failures, expected);
}

#[test]
fn every_kind_of_entry_is_refused_outside_of_the_root() {
    for kind in [b'0', b'1', b'2', b'5', b'7', b'?'] {
        let (_, failures) =
            unpacked(&Tar::default().entry(kind, "../outside/new", "good", b"").file("good", b"x").end());
        assert_eq!(failures, [("../outside/new".into(), Some(Refusal::ParentFolder))], "kind {}", kind as char);
    }
}

#[test]
fn a_file_through_a_link_out_of_the_root_is_refused() {
    let tar = Tar::default().entry(b'2', "way", "../outside", b"").file("way/file", b"hostile").file("good", b"x");
    let (files, failures) = unpacked(&tar.end());
    assert_eq!(files, ["good"]);
    assert_eq!(failures, [("way/file".into(), Some(Refusal::ThroughSymlink))]);
}

#[test]
fn a_link_that_replaces_the_folder_of_a_later_file_is_not_followed() {
    let tar = Tar::default().file("a/b", b"x").entry(b'2', "a", "../outside", b"").file("a/file", b"hostile");
    let (files, failures) = unpacked(&tar.end());
    assert_eq!(files, ["a/b", "a/file"]);
    assert_eq!(failures, [("a".into(), None)]);
}

#[test]
fn a_hard_link_to_outside_is_refused() {
    let tar = Tar::default()
        .entry(b'1', "one", "../outside/file", b"")
        .entry(b'1', "two", "/etc/passwd", b"")
        .entry(b'2', "way", "../outside", b"")
        .entry(b'1', "three", "way/file", b"");
    let (files, failures) = unpacked(&tar.end());
    assert!(files.is_empty(), "{files:?}");
    assert_eq!(failures.len(), 3, "{failures:?}");
}

#[test]
fn a_hard_link_with_content_is_a_link_and_what_follows_is_found() {
    // Old tars give a link's size and no content; pax archives may have it.
    let old = Tar::default().file("a", b"text").block(&Tar::header(b'1', b"b", b"00000000004", b"a")).file("c", b"x");
    assert_eq!(unpacked(&old.end()).0, ["a", "b", "c"]);
    let pax = Tar::default().file("a", b"text").pax(&[("mtime", b"1")]).entry(b'1', "b", "a", b"text").file("c", b"x");
    assert_eq!(unpacked(&pax.end()).0, ["a", "b", "c"]);
}

#[test]
fn stripping_applies_to_hard_links_and_does_not_mend_hostile_paths() {
    let tar = Tar::default()
        .file("top/a", b"x")
        .entry(b'1', "top/b", "top/a", b"")
        .entry(b'1', "top/c", "../outside/file", b"")
        .file("../outside/file", b"hostile")
        .file("/top/d", b"hostile")
        .file("alone", b"x");
    let place = Place::new();
    let (result, report) = place.unpack_as(Unpacker::options().strip_components(1).build(), stream_of(tar.end()));
    place.assert_nothing_outside();
    assert_eq!(place.files(), ["a", "b"]);
    assert_eq!(report.failures.len(), 3, "{:?}", report.failures);
    assert_eq!(result.unwrap().left_out, 1);
}

#[test]
fn devices_and_fifos_are_refused_unless_asked_for() {
    let tar =
        Tar::default().entry(b'3', "null", "", b"").entry(b'4', "disk", "", b"").entry(b'6', "fifo", "", b"").end();
    let (_, failures) = unpacked(&tar);
    let refused = |path: &str| (path.to_owned(), Some(Refusal::UnwantedKind));
    assert_eq!(failures, [refused("disk"), refused("fifo"), refused("null")]);

    let fifo = Tar::default().entry(b'6', "fifo", "", b"").end();
    let (place, _, report) = unpack_whole(Unpacker::options().special_files(true).build(), stream_of(fifo));
    assert_eq!(report.nodes, 1);
    assert_eq!(Tree::read(place.root()).unwrap().entries[Path::new("fifo")].kind, manyfiles_testkit::Kind::Fifo);
}

#[test]
fn set_id_bits_and_owners_are_dropped_unless_asked_for() {
    let mut header = Tar::header(b'0', b"program", b"00000000000", b"");
    header[100..107].copy_from_slice(b"0006755");
    header[108..115].copy_from_slice(b"0001750");
    header[116..123].copy_from_slice(b"0001751");
    Tar::seal(&mut header);
    let tar = Tar::default().block(&header).end();
    let listed = |unpacker: Unpacker| {
        let mut seen = None;
        unpacker.list(stream_of(&tar[..]), &mut |entry| seen = Some((entry.mode, entry.owner))).unwrap();
        seen.unwrap()
    };
    assert_eq!(listed(Unpacker::new()), (Some(0o755), None));
    assert_eq!(listed(Unpacker::options().set_id(true).ownership(true).build()), (Some(0o6755), Some((1000, 1001))));
}

#[test]
fn names_no_system_can_hold_fail_and_the_others_are_unpacked() {
    let long = "x".repeat(256);
    let tar = Tar::default()
        .pax(&[("path", b"nul\0byte")])
        .file("a", b"x")
        .pax(&[("path", long.as_bytes())])
        .file("b", b"x")
        .file(b"not\xffutf-8".as_slice(), b"x")
        .file("x".repeat(100), b"x")
        .file("good", b"x");
    let (files, failures) = unpacked(&tar.end());
    assert_eq!(files.len(), 3, "{files:?}");
    assert_eq!(failures[0], ("nul\0byte".into(), Some(Refusal::Nul)));
    assert_eq!(failures[1], (long, None));
}

#[test]
fn a_name_that_ends_with_a_slash_is_a_folder_in_old_tars() {
    let (place, ..) =
        unpack_whole(Unpacker::new(), stream_of(Tar::default().file("folder/", b"").file("folder/a", b"x").end()));
    assert!(place.root().join("folder").is_dir());
    assert_eq!(place.files(), ["folder/a"]);
}

#[test]
fn unknown_kinds_are_files_and_labels_are_nothing() {
    let tar = Tar::default().entry(b'V', "label", "", b"").entry(b'7', "a", "", b"x").entry(b'Z', "b", "", b"x");
    assert_eq!(unpacked(&tar.end()).0, ["a", "b"]);
    let place = Place::new();
    let (result, _) = place.unpack(stream_of(Tar::default().entry(b'M', "a", "", b"x").end()));
    assert!(matches!(result.unwrap_err().kind(), ErrorKind::Unsupported(_)));
}

#[test]
fn times_that_are_none_and_times_beyond_all_clocks_are_no_damage() {
    let mut tar = Tar::default();
    for (at, time) in
        ["-1.5", "nan", "1e400", "9223372036854775807", "-9223372036854775808", "99999999999999999999", ""]
            .iter()
            .enumerate()
    {
        tar = tar.pax(&[("mtime", time.as_bytes())]).file(format!("{at}"), b"x");
    }
    let mut header = Tar::header(b'0', b"base 256", b"00000000000", b"");
    header[136..148].copy_from_slice(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
    Tar::seal(&mut header);
    tar = tar.block(&header);
    let mut times = Vec::new();
    Unpacker::new().list(stream_of(tar.end()), &mut |entry| times.push(entry.modified)).unwrap();
    let before_1970 = std::time::UNIX_EPOCH - std::time::Duration::from_millis(1500);
    assert_eq!(times[0], Some(before_1970));
    assert_eq!(times[1], Some(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1)), "the header's own");
    assert_eq!(times[7], Some(std::time::UNIX_EPOCH - std::time::Duration::from_secs(1)));
}

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
fn two_entries_with_one_name_are_handed_over_in_order() {
    let (files, failures) = unpacked(&Tar::default().file("a", b"first").file("./a", b"second").end());
    assert_eq!(files, ["a"]);
    assert_eq!(failures.len(), 1);
}

#[test]
fn a_file_where_a_folder_is_needed_and_the_reverse_is_an_error_of_the_entry() {
    let (files, failures) = unpacked(&Tar::default().file("a", b"x").file("a/b", b"x").file("c", b"x").end());
    assert_eq!((files, failures), (vec!["a".into(), "c".into()], vec![("a/b".into(), None)]));
    let (files, failures) = unpacked(&Tar::default().file("a/b", b"x").file("a", b"x").file("c", b"x").end());
    assert_eq!((files, failures), (vec!["a/b".into(), "c".into()], vec![("a".into(), None)]));
}

#[test]
fn joined_tars_and_global_headers_are_read() {
    let global = b"17 comment=abcde\n13 mtime=555\n";
    let tar = Tar::default().entry(b'g', "pax_global_header", "", global).file("a", b"x");
    let tar = Tar(tar.block(&[0; 512]).0).file("b", b"x").end();
    let mut times = Vec::new();
    Unpacker::new().list(stream_of(&tar[..]), &mut |entry| times.push(entry.modified)).unwrap();
    assert_eq!(times, [Some(std::time::UNIX_EPOCH + std::time::Duration::from_secs(555)); 2]);
    assert_eq!(unpacked(&tar).0, ["a", "b"]);
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
