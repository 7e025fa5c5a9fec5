//! Tars that try to leave the root, to fill the disk or the memory, or to confuse.
#![cfg(unix)] // links and odd names are made; tests/windows.rs has the attacks on Windows

mod common;

use std::path::Path;

use common::*;
use manyfiles::tree::Refusal;
use manyfiles_archive::{ErrorKind, Unpacker};
use manyfiles_testkit::Tree;

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
