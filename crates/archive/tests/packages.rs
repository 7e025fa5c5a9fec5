//! ar archives, and packages of Debian and rpm, beside what their own programs make of them.
#![cfg(unix)] // the tools that make them are Unix's

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::*;
use manyfiles_archive::{Archive, ErrorKind, Format, Input, Limits, Unpacker};
use manyfiles_testkit::{Compare, Need, Tree, scratch, skip_unless};

fn shell(folder: &Path, script: &str) {
    run(Command::new("sh").args(["-ec", script]).current_dir(folder), false);
}

/// What our reading makes of a file: by file and by stream, the same.
fn ours(path: &Path, format: &str) -> Tree {
    let (place, summary, _) = unpack_whole(Unpacker::new(), Input::File(path.to_path_buf()));
    assert_eq!(summary.format.to_string(), format);
    let tree = Tree::read(place.root()).unwrap();
    let (place, from_stream, _) = unpack_whole(Unpacker::new(), stream_of(fs::read(path).unwrap()));
    assert_eq!(from_stream, summary);
    // Folders that have no entry have the time of now.
    tree.assert_same(&Tree::read(place.root()).unwrap(), Compare::ALL_BUT_TIMES);
    let mut told = Vec::new();
    let tested = Unpacker::new().test(Input::File(path.to_path_buf()), &mut |found| told.push(found.to_string()));
    assert!(tested.unwrap().is_sound(), "{told:?}");
    let archive = Archive::options().cache(None).open(path).unwrap();
    assert_eq!(archive.format().to_string(), format);
    for (path, entry) in &tree.entries {
        if let manyfiles_testkit::Kind::File { .. } = entry.kind {
            assert!(archive.read(path).unwrap() == fs::read(place.root().join(path)).unwrap(), "{path:?}");
        }
    }
    tree
}

#[test]
fn ar_archives_of_gnu_and_bsd_are_unpacked_as_bsdtar_does_it() {
    skip_unless!(Need::Program("ar"), Need::Program("bsdtar"));
    let temp = scratch().unwrap();
    let folder = temp.path();
    fs::write(folder.join("a"), "odd").unwrap();
    fs::write(folder.join("even"), noise(400)).unwrap();
    fs::write(folder.join("empty"), "").unwrap();
    fs::write(folder.join("a name of more than sixteen bytes"), noise(9)).unwrap();
    fs::write(folder.join("another long one with spaces in it"), noise(70_001)).unwrap();
    let members = "a even empty 'a name of more than sixteen bytes' 'another long one with spaces in it'";
    shell(
        folder,
        &format!("ar rcU gnu.a {members}; ar rcD zero.a {members}; bsdtar --format=arbsd -cf bsd.a {members}"),
    );
    // From before 1970: its time has a sign, for which bsdtar has 1970.
    shell(folder, "touch -d '1960-01-02 UTC' a; ar rcU old.a a even");
    let old = ours(&folder.join("old.a"), "ar");
    assert_eq!((old.entries.len(), old.entries[Path::new("a")].modified), (2, (-315_532_800, 0)));
    // A library with a table of symbols, as far as there is one in the machine's own format.
    shell(folder, "printf 'int f(void){return 1;}' > t.c; if cc -c t.c -o t.o; then ar rcs lib.a t.o even; fi");
    for name in ["gnu.a", "zero.a", "bsd.a", "lib.a"] {
        if !folder.join(name).exists() {
            continue;
        }
        let tree = ours(&folder.join(name), "ar");
        let theirs = scratch().unwrap();
        // It fails at the table of names, and unpacks the rest.
        run(Command::new("bsdtar").arg("-xf").arg(folder.join(name)).current_dir(theirs.path()), true);
        Tree::read(theirs.path()).unwrap().assert_same(&tree, Compare::ALL);
    }
}

/// A member of an ar archive.
fn member(name: &str, content: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{name:<16}0           0     0     100644  {:<10}`\n", content.len()).into_bytes();
    bytes.extend(content);
    bytes.extend((content.len() % 2 == 1).then_some(b'\n'));
    bytes
}

fn ar(members: &[Vec<u8>]) -> Vec<u8> {
    [&b"!<arch>\n"[..], &members.concat()].concat()
}

#[test]
fn names_of_members_that_lie_are_refused_or_damage() {
    let (files, failures) = unpacked(&ar(&[
        member("../outside/", b"x"),
        member("#1/12", b"/etc/passwd\0content"),
        member("..", b"x"),
        member("good/", b"x"),
        member("same", b"1"),
    ]));
    assert_eq!(files, ["good", "same"]);
    assert_eq!(failures.len(), 3, "{failures:?}");
    for (what, member) in [
        ("a name longer than its member", member("#1/99", b"short")),
        ("a number of a name that is none", member("/99", b"x")),
        ("a size beyond the end", member("b/", b"x")[..60].to_vec()),
        ("no header", vec![b'x'; 60]),
        ("half a header", vec![b'x'; 30]),
        ("a table that is too long", b"//                                              9999999999`\n".to_vec()),
    ] {
        let (files, error) = damaged(&ar(&[self::member("a/", b"xx"), member]));
        assert_eq!(files, ["a"], "{what}: {error}");
    }
}

/// A tree that a package has in it.
fn package_tree(root: &Path) {
    fs::create_dir_all(root.join("usr/share/doc")).unwrap();
    fs::write(root.join("usr/share/doc/notes"), noise(70_000)).unwrap();
    fs::write(root.join("usr/share/doc/empty"), "").unwrap();
    std::os::unix::fs::symlink("notes", root.join("usr/share/doc/link")).unwrap();
    fs::hard_link(root.join("usr/share/doc/notes"), root.join("usr/share/doc/other")).unwrap();
}

fn deb(folder: &Path, compression: &str) -> PathBuf {
    let root = folder.join("root");
    if !root.exists() {
        package_tree(&root);
    }
    if !root.join("DEBIAN").exists() {
        fs::create_dir(root.join("DEBIAN")).unwrap();
        let control = "Package: a\nVersion: 1\nArchitecture: all\nMaintainer: m <m@m>\nDescription: d\n";
        fs::write(root.join("DEBIAN/control"), control).unwrap();
    }
    shell(folder, &format!("dpkg-deb --root-owner-group -Z{compression} -b root {compression}.deb"));
    folder.join(format!("{compression}.deb"))
}

#[test]
fn a_deb_is_unpacked_as_dpkg_deb_does_it() {
    skip_unless!(Need::Program("dpkg-deb"));
    let temp = scratch().unwrap();
    for compression in ["none", "gzip", "xz", "zstd"] {
        // Before version 1.21.18, Debian's own has no zstd.
        let known = Command::new("dpkg-deb").args([&format!("-Z{compression}"), "--help"]).output().unwrap();
        if !known.status.success() {
            continue;
        }
        let deb = deb(temp.path(), compression);
        let tree = ours(&deb, "deb");
        let theirs = scratch().unwrap();
        run(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(theirs.path()), false);
        Tree::read(theirs.path()).unwrap().assert_same(&tree, Compare::ALL);
        assert!(tree.entries.contains_key(Path::new("usr/share/doc/notes")));
    }
}

#[test]
fn a_deb_that_was_changed_or_cut_is_never_called_sound_where_dpkg_deb_says_it_is_damaged() {
    skip_unless!(Need::Program("dpkg-deb"));
    let temp = scratch().unwrap();
    let root = temp.path().join("root");
    fs::create_dir_all(&root).unwrap();
    fs::write(root.join("a"), "content").unwrap();
    for compression in ["none", "gzip", "xz"] {
        let whole = fs::read(deb(temp.path(), compression).as_path()).unwrap();
        let path = temp.path().join("changed.deb");
        let mut wrong = Vec::new();
        let step = if compression == "none" { 97 } else { 3 };
        for at in (0..whole.len()).step_by(step) {
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            for (what, bytes) in [("changed", &changed[..]), ("cut", &whole[..at])] {
                fs::write(&path, bytes).unwrap();
                let tested = Unpacker::new().test(Input::File(path.clone()), &mut |_| {});
                // With another name of its first member, it is no package, but an archive that is sound.
                if tested.is_ok_and(|tested| tested.is_sound() && tested.format == Format::Deb) {
                    let to = scratch().unwrap();
                    let theirs = Command::new("dpkg-deb").arg("-x").arg(&path).arg(to.path()).output().unwrap();
                    if !theirs.status.success() {
                        wrong.push(format!("{what} at {at}: {}", String::from_utf8_lossy(&theirs.stderr)));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{compression}, {} bytes: {wrong:#?}", whole.len());
    }
}

#[test]
fn what_is_wrong_in_a_deb_is_told() {
    let gzip = |bytes: &[u8]| {
        let mut packed = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzEncoder::new(bytes, flate2::Compression::fast()), &mut packed)
            .unwrap();
        packed
    };
    let tar = Tar::default().file("a", &noise(3000)).end();
    let version = member("debian-binary", b"2.0\n");
    let mut bad_control = gzip(&tar);
    let middle = bad_control.len() / 2;
    bad_control[middle] ^= 1;
    let whole = [version.clone(), member("control.tar.gz", &gzip(&tar)), member("data.tar.gz", &gzip(&tar))];
    let (_temp, path) = file_of(&ar(&whole));
    assert_eq!(unpack_whole(Unpacker::new(), Input::File(path)).0.files(), ["a"]);

    let control = [version.clone(), member("control.tar.gz", &bad_control), member("data.tar.gz", &gzip(&tar))];
    let (_temp, path) = file_of(&ar(&control));
    assert_eq!(unpack_whole(Unpacker::new(), Input::File(path.clone())).0.files(), ["a"]);
    let mut told = Vec::new();
    Unpacker::new().test(Input::File(path), &mut |found| told.push(found.to_string())).unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("(debian-binary, control.tar) is damaged"), "{told:?}");

    for (what, members) in [
        ("no data", vec![version.clone(), member("control.tar.gz", &gzip(&tar))]),
        ("data that is no tar", vec![version.clone(), member("data.tar.gz", &gzip(b"only words"))]),
        ("data that is no tar, plain", vec![version.clone(), member("data.tar", b"only words")]),
        ("data cut short", vec![version.clone(), member("data.tar", &tar)[..1500].to_vec()]),
        ("data cut between its entries", vec![version.clone(), member("data.tar", &tar)[..60 + 3584].to_vec()]),
        ("data.tar.gz cut short", vec![version.clone(), member("data.tar.gz", &gzip(&tar))[..1500].to_vec()]),
    ] {
        let (_temp, path) = file_of(&ar(&members));
        for input in [Input::File(path.clone()), stream_of(ar(&members))] {
            let error = Place::new().unpack(input).0.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Damaged { .. }), "{what}: {error}");
        }
        assert!(Archive::options().cache(None).open(&path).is_err(), "{what}");
        assert!(!Unpacker::new().test(Input::File(path), &mut |_| {}).unwrap().is_sound(), "{what}");
    }
    let bomb = Tar::default().file("zeros", &vec![0; 80 << 20]).end();
    let (_temp, path) = file_of(&ar(&[version, member("data.tar.gz", &gzip(&bomb))]));
    let unpacker = Unpacker::options().limits(Limits::default().ratio(100)).build();
    let error = Place::new().unpack_as(unpacker, Input::File(path)).0.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
}

/// An rpm by rpmbuild, with its files compressed so.
fn rpm(folder: &Path, compression: &str) -> PathBuf {
    let root = folder.join("root");
    if !root.exists() {
        package_tree(&root);
    }
    let spec = format!(
        "Name: a\nVersion: 1\nRelease: 1\nSummary: s\nLicense: MIT\nBuildArch: noarch\n\
         %define _binary_payload {compression}\n%define __os_install_post %{{nil}}\n%description\nd\n\
         %install\nmkdir -p %{{buildroot}}\ncp -a {}/. %{{buildroot}}/\n\
         %files\n%defattr(-,root,root)\n/usr/share/doc\n",
        root.display()
    );
    fs::write(folder.join("a.spec"), spec).unwrap();
    shell(folder, "rm -rf out; rpmbuild --quiet -bb --define \"_topdir $PWD/out\" a.spec >log 2>&1");
    let made = folder.join("out/RPMS/noarch/a-1-1.noarch.rpm");
    let path = folder.join(format!("{compression}.rpm"));
    fs::rename(made, &path).unwrap();
    path
}

#[test]
fn an_rpm_is_unpacked_as_rpm2cpio_and_cpio_do_it() {
    skip_unless!(Need::Program("rpmbuild"), Need::Program("rpm2cpio"), Need::Program("cpio"));
    let temp = scratch().unwrap();
    for compression in ["w.ufdio", "w9.gzdio", "w6.xzdio", "w3.zstdio", "w9.bzdio", "w6.lzdio"] {
        let rpm = rpm(temp.path(), compression);
        println!("{compression}");
        let tree = ours(&rpm, "rpm");
        let theirs = scratch().unwrap();
        let script = "rpm2cpio \"$0\" | cpio -idm --quiet";
        run(Command::new("sh").args(["-c", script]).arg(&rpm).current_dir(theirs.path()), false);
        // cpio makes folders that have no entry.
        Tree::read(theirs.path()).unwrap().assert_same(&tree, Compare::ALL_BUT_TIMES);
        assert!(tree.entries.contains_key(Path::new("usr/share/doc/link")));
    }
}

/// A header of an rpm without anything.
fn rpm_header(entries: u32, len: u32) -> Vec<u8> {
    [&[0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0][..], &entries.to_be_bytes(), &len.to_be_bytes()].concat()
}

#[test]
fn an_rpm_whose_lengths_lie_is_damaged_and_one_without_a_cpio_archive_is_told() {
    let lead = [&b"\xed\xab\xee\xdb\x03"[..], &[0; 91]].concat();
    let empty = rpm_header(0, 0);
    // Names of 11 and 2 bytes with their zeros.
    let entry = |name: &str, mode: &str, content: &str| {
        let mut bytes = format!(
            "07070100000001{mode}{}{:08X}{}{:08X}00000000{name}\0",
            "00000000".repeat(2) + "0000000100000000",
            content.len(),
            "00000000".repeat(4),
            name.len() + 1
        )
        .into_bytes();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(content.bytes());
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    let cpio = [entry("a", "000081A4", "x"), entry("TRAILER!!!", "00000000", "")].concat();
    let whole = [&lead[..], &empty, &empty, &cpio].concat();
    assert_eq!(unpacked(&whole).0, ["a"]);
    let filled = [&lead[..], &rpm_header(1, 5), &[1; 21], &[0; 3], &rpm_header(0, 9), &[2; 9], &cpio].concat();
    assert_eq!(unpacked(&filled).0, ["a"]);
    for (what, bytes) in [
        ("no header", [&lead[..], &[0; 400]].concat()),
        ("a header beyond the end", [&lead[..], &empty, &rpm_header(9, 1000), &cpio].concat()),
        ("more entries than there can be", [&lead[..], &rpm_header(u32::MAX, 0), &empty, &cpio].concat()),
        ("more bytes than there can be", [&lead[..], &rpm_header(0, u32::MAX), &empty, &cpio].concat()),
        ("no cpio archive", [&lead[..], &empty, &empty, b"only words and nothing else"].concat()),
    ] {
        let (_temp, path) = file_of(&bytes);
        for input in [Input::File(path.clone()), stream_of(&bytes[..])] {
            let error = Place::new().unpack(input).0.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Damaged { .. }), "{what}: {error}");
        }
    }
    let large = [&lead[..], &empty, &empty, b"07070X00000000"].concat();
    let error = Place::new().unpack(stream_of(large)).0.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)) && error.to_string().contains("rpm2archive"), "{error}");
    for end in 1..whole.len() {
        let (_temp, path) = file_of(&whole[..end]);
        assert!(Place::new().unpack(Input::File(path.clone())).0.is_err(), "{end}");
        let tested = Unpacker::new().test(Input::File(path), &mut |_| {});
        assert!(tested.is_err() || !tested.unwrap().is_sound(), "{end}");
    }
}
