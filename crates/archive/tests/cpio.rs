//! cpio archives of each kind, as GNU cpio and bsdtar write and read them.
#![cfg(unix)] // the tools that make them are Unix's

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::*;
use manyfiles_archive::{Archive, ErrorKind, Input, Trailing, Unpacker};
use manyfiles_testkit::{Compare, Need, Tree, scratch, skip_unless};

const KINDS: [&str; 6] = ["newc", "crc", "odc", "bin", "newc of bsdtar", "odc of bsdtar"];

/// A folder as a cpio archive of this kind. `None`: the program is not there, or does not know it.
fn pack(folder: &Path, kind: &str) -> Option<Vec<u8>> {
    let script = match kind {
        "newc of bsdtar" => "find . | LC_ALL=C sort | bsdtar -cnT - --format=newc -f -".into(),
        "odc of bsdtar" => "find . | LC_ALL=C sort | bsdtar -cnT - --format=cpio -f -".into(),
        kind => format!("find . | LC_ALL=C sort | cpio -o -H {kind}"),
    };
    let need = if kind.contains("bsdtar") { "bsdtar" } else { "cpio" };
    if let Err(why) = Need::Program(need).check() {
        manyfiles_testkit::skip(why);
        return None;
    }
    let output = Command::new("sh").args(["-c", &script]).current_dir(folder).stderr(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{kind}");
    Some(output.stdout)
}

/// Files, folders, links of both kinds, several names, and an empty file with two names.
fn tree() -> tempfile::TempDir {
    let temp = scratch().unwrap();
    let root = temp.path();
    fs::create_dir_all(root.join("folder/below")).unwrap();
    for len in [0, 1, 2, 3, 4, 5, 511, 70_000] {
        fs::write(root.join(format!("folder/{len} bytes")), noise(len)).unwrap();
    }
    fs::write(root.join("first"), noise(5001)).unwrap();
    for name in ["folder/second", "third", "zz"] {
        fs::hard_link(root.join("first"), root.join(name)).unwrap();
    }
    fs::write(root.join("none"), b"").unwrap();
    fs::hard_link(root.join("none"), root.join("folder/none")).unwrap();
    std::os::unix::fs::symlink("../first", root.join("folder/link")).unwrap();
    fs::write(root.join(format!("folder/{}", "long name ".repeat(20))), b"x").unwrap();
    // cpio's times have no parts of seconds.
    run(Command::new("sh").args(["-c", "find . -exec touch -h -d @1000000000 {} +"]).current_dir(root), false);
    temp
}

#[test]
fn each_kind_is_unpacked_as_it_was_packed() {
    let source = tree();
    let expected = Tree::read(source.path()).unwrap();
    for kind in KINDS {
        let Some(archive) = pack(source.path(), kind) else { continue };
        println!("{kind}");
        let packed = filter(&mut program("gzip", &["-c"]), &archive);
        for (bytes, ending) in [(&archive, "cpio"), (&packed, "cpio.gz")] {
            let (_temp, path) = file_of(bytes);
            for input in [Input::File(path.clone()), stream_of(&bytes[..])] {
                let (place, summary, report) = unpack_whole(Unpacker::new(), input);
                assert_eq!((summary.format.to_string(), summary.trailing), (ending.into(), None), "{kind}");
                assert_eq!(report.hard_links, 4, "{kind}");
                let written = Tree::read(place.root()).unwrap();
                expected.assert_same(&written, Compare::ALL);
            }
            let mut told = Vec::new();
            let tested = Unpacker::new().test(Input::File(path.clone()), &mut |found| told.push(found.to_string()));
            assert!(tested.unwrap().is_sound(), "{kind}: {told:?}");
            let archive = Archive::options().cache(None).open(&path).unwrap();
            assert_eq!(archive.format().to_string(), ending);
            for name in ["first", "zz", "folder/second", "folder/link", "./third"] {
                assert!(archive.read(name).unwrap() == noise(5001), "{kind} {name}");
            }
            assert!(archive.read("folder/none").unwrap().is_empty());
            assert!(archive.read("folder/70000 bytes").unwrap() == noise(70_000));
        }
    }
}

/// A "newc" or "crc" entry by hand.
fn entry(magic: &str, name: &[u8], mode: u32, ino: u32, names: u32, content: &[u8], sum: u32) -> Vec<u8> {
    let fields = [ino, mode, 0, 0, names, 7, content.len() as u32, 0, 0, 0, 0, name.len() as u32 + 1, sum];
    let mut bytes = magic.as_bytes().to_vec();
    fields.iter().for_each(|field| bytes.extend(format!("{field:08X}").bytes()));
    bytes.extend(name);
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn file(name: &str, content: &[u8]) -> Vec<u8> {
    entry("070701", name.as_bytes(), 0o100_644, 1, 1, content, 0)
}

fn trailer() -> Vec<u8> {
    entry("070701", b"TRAILER!!!", 0, 0, 1, b"", 0)
}

#[test]
fn a_sum_that_differs_fails_its_file_alone() {
    let sum: u32 = b"content".iter().map(|&byte| u32::from(byte)).sum();
    let whole = |of_b| {
        let middle = entry("070702", b"b", 0o100_644, 1, 1, b"content", of_b);
        let other = entry("070702", b"c", 0o100_644, 1, 1, b"content", sum);
        [entry("070702", b"a", 0o100_644, 1, 1, b"", 0), middle, other, trailer()].concat()
    };
    for input in [file_of(&whole(sum)), file_of(&whole(sum + 1))].iter().map(|(_, path)| path.clone()).enumerate() {
        let (number, path) = input;
        let place = Place::new();
        let (result, report) = place.unpack(Input::File(path.clone()));
        assert_eq!(result.unwrap().entries, 3);
        let mut told = Vec::new();
        assert_eq!(Archive::options().cache(None).open(&path).is_ok(), number == 0);
        let tested = Unpacker::new().test(Input::File(path), &mut |found| told.push(found.to_string())).unwrap();
        match number {
            0 => assert!(report.is_complete() && tested.is_sound(), "{told:?}"),
            _ => {
                assert_eq!(place.files(), ["a", "c"]);
                assert!(report.failures[0].to_string().contains("does not match its checksum"), "{report:?}");
                assert_eq!((tested.findings, tested.intact), (1, 2), "{told:?}");
                assert!(told[0].contains("b: its content does not match its checksum"), "{told:?}");
            }
        }
    }
}

#[test]
fn archives_that_follow_each_other_are_read_if_that_is_asked_for() {
    let two = [file("a", b"1"), trailer(), vec![0; 500], file("b", b"2"), trailer(), vec![0; 512]].concat();
    let (place, summary, _) = unpack_whole(Unpacker::new(), stream_of(&two[..]));
    assert_eq!((place.files(), summary.trailing), (vec!["a".into()], Some(Trailing::Cpio)));
    let both = Unpacker::options().ignore_zeros(true).build();
    let (place, summary, _) = unpack_whole(both, stream_of(&two[..]));
    assert_eq!((place.files(), summary.trailing), (vec!["a".into(), "b".into()], None));
    let initramfs = [file("a", b"1"), trailer(), vec![0; 500], b"\x28\xb5\x2f\xfd and so on".to_vec()].concat();
    for unpacker in [Unpacker::new(), Unpacker::options().ignore_zeros(true).build()] {
        assert_eq!(unpack_whole(unpacker, stream_of(&initramfs[..])).1.trailing, Some(Trailing::AfterCpio));
    }
    let padded = [file("a", b"1"), trailer(), vec![0; (1 << 20) + 1]].concat();
    assert_eq!(unpack_whole(Unpacker::new(), stream_of(&padded[..])).1.trailing, Some(Trailing::Zeros));
}

#[test]
fn what_leads_out_is_refused_and_what_cannot_be_is_damage() {
    let outside = [
        file("/etc/passwd", b"x"),
        file("../outside/file", b"x"),
        file("a/../../outside/file", b"x"),
        entry("070701", b"link", 0o120_777, 1, 1, b"../outside", 0),
        file("link/through", b"x"),
        entry("070701", b"socket", 0o140_777, 1, 1, b"", 0),
        entry("070701", b"device", 0o020_777, 1, 1, b"", 0),
        file("good", b"x"),
        trailer(),
    ];
    let (files, failures) = unpacked(&outside.concat());
    assert_eq!(files, ["good"]);
    let names: Vec<_> = failures.iter().map(|(name, _)| &**name).collect();
    let all = ["../outside/file", "/etc/passwd", "a/../../outside/file", "device", "link/through", "socket"];
    assert!(all.iter().all(|name| names.contains(name)), "{names:?}");

    let header = |fields: &str| [file("a", b"x"), format!("070701{fields}").into_bytes(), vec![b'n'; 300]].concat();
    let zeros = "00000000".repeat(11);
    for (what, bytes) in [
        (
            "a size beyond the end",
            [file("a", b"x"), {
                let mut file = file("b", b"xyz");
                file[54..62].copy_from_slice(b"FFFFFFFF");
                file
            }]
            .concat(),
        ),
        ("a name beyond the end", header(&format!("{zeros}FFFFFFFF00000000"))),
        ("a name of no bytes", header(&format!("{zeros}0000000000000000"))),
        ("a name without an end", header(&format!("{zeros}0000001000000000"))),
        ("a number that is none", header(&format!("+{}", &zeros[1..]))),
        ("no trailer", file("a", b"x")),
        ("no header", [file("a", b"x"), vec![0; 700]].concat()),
    ] {
        let (files, error) = damaged(&bytes);
        assert_eq!(files, ["a"], "{what}: {error}");
    }
}

#[test]
fn cut_at_each_length_it_is_damaged_and_what_came_before_stays() {
    let whole = [
        file("a", b"123"),
        entry("070701", b"b", 0o100_644, 5, 2, b"", 0),
        entry("070701", b"c", 0o100_644, 5, 2, b"content", 0),
        trailer(),
    ]
    .concat();
    for end in 1..whole.len() {
        let (_temp, path) = file_of(&whole[..end]);
        for input in [Input::File(path.clone()), stream_of(&whole[..end])] {
            let place = Place::new();
            let error = place.unpack(input).0.unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::Damaged { .. } | ErrorKind::NotAnArchive { .. }),
                "{end}: {error}"
            );
        }
        let tested = Unpacker::new().test(Input::File(path), &mut |_| {});
        assert!(tested.is_err() || !tested.unwrap().is_sound(), "{end}");
    }
}

#[test]
fn salvage_goes_on_at_the_next_header_and_names_what_lost_its_content() {
    let mut bad = file("bad", b"x");
    bad[10] = b'?';
    let archive =
        [file("a", b"1"), entry("070701", b"one of two", 0o100_644, 5, 2, b"", 0), bad, file("b", b"2"), trailer()]
            .concat();
    let place = Place::new();
    let tree = place.writer();
    let mut told = Vec::new();
    Unpacker::new().salvage(stream_of(archive), &tree, &mut |found| told.push(found.to_string())).unwrap();
    tree.finish().unwrap();
    assert_eq!(place.files(), ["a", "b"]);
    assert!(
        told.iter().any(|told| told.contains("the content of one of two and its other names is missing")),
        "{told:?}"
    );
}

#[test]
fn gnu_cpio_and_bsdtar_unpack_the_same() {
    skip_unless!(Need::Program("cpio"), Need::Program("bsdtar"));
    let source = tree();
    for kind in KINDS {
        let archive = pack(source.path(), kind).unwrap();
        let (_temp, path) = file_of(&archive);
        let (place, ..) = unpack_whole(Unpacker::new(), Input::File(path.clone()));
        let ours = Tree::read(place.root()).unwrap();
        for script in ["cpio -idm --quiet < \"$0\"", "bsdtar -xf \"$0\""] {
            // libarchive 3.6 has no old binary format with several names.
            if kind == "bin" && script.starts_with("bsdtar") {
                continue;
            }
            let theirs = scratch().unwrap();
            let mut command = Command::new("sh");
            run(command.args(["-c", script]).arg(&path).current_dir(theirs.path()), false);
            println!("{kind}: {script}");
            Tree::read(theirs.path()).unwrap().assert_same(&ours, Compare::ALL_BUT_TIMES);
        }
    }
}
