//! 7z archives of every method that 7-Zip writes: unpacked, listed, tested and read by entries; damaged and encrypted.
#![cfg(all(unix, feature = "sevenz"))] // the program that makes them keeps what Unix has

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::*;
use manyfiles_archive::{Archive, ErrorKind, Input, Kind, Limit, Limits, Password, Unpacker};
use manyfiles_testkit::{Compare, Need, Tree, skip_unless};

const COMPARE: Compare = Compare { modes: true, times: true, hard_links: false };

/// A folder with all kinds of entries, and machine code for the filters.
fn few() -> tempfile::TempDir {
    let temp = manyfiles_testkit::scratch().unwrap();
    let root = temp.path().join("sample");
    fs::create_dir_all(root.join("empty")).unwrap();
    fs::create_dir_all(root.join("folder/grüße")).unwrap();
    for len in [0, 1, 70_000, 600_000] {
        fs::write(root.join(format!("{len} bytes")), noise(len)).unwrap();
    }
    for n in 0..30 {
        fs::write(root.join(format!("folder/{n}")), noise(n * 10)).unwrap();
    }
    let program = fs::read("/bin/ls").unwrap();
    fs::write(root.join("program"), &program[..program.len().min(100_000)]).unwrap();
    std::os::unix::fs::symlink("70000 bytes", root.join("link")).unwrap();
    fs::write(root.join("folder/script"), "run").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o754);
    fs::set_permissions(root.join("folder/script"), mode).unwrap();
    // 7z has steps of 100 ns.
    let touch = ["sample", "-exec", "touch", "-h", "-d", "2026-01-02T03:04:05.1234567", "{}", "+"];
    run(Command::new("find").current_dir(temp.path()).args(touch), false);
    temp
}

fn make(sample: &Path, folder: &Path, args: &[&str]) -> PathBuf {
    let archive = folder.join("a.7z");
    drop(fs::remove_file(&archive));
    let mut command = Command::new("7zz");
    run(command.current_dir(sample).args(["a", "-snl", "-bso0"]).args(args).arg(&archive).arg("sample"), false);
    archive
}

#[track_caller]
fn assert_is(sample: &Path, archive: &Path, password: Option<&str>) {
    let unpacker = || match password {
        Some(password) => Unpacker::options().password(Password::new(password)).build(),
        None => Unpacker::new(),
    };
    let (place, summary, _) = unpack_whole(unpacker(), Input::File(archive.into()));
    Tree::read(sample).unwrap().assert_same(&Tree::read(place.root()).unwrap(), COMPARE);
    assert_eq!(summary.format.to_string(), "7z");
    let mut links = 0;
    let list = unpacker().list(Input::File(archive.into()), &mut |entry| {
        assert!(entry.refusal.is_none(), "{entry:?}");
        links += u64::from(entry.kind == Kind::Symlink(Path::new("70000 bytes")));
    });
    assert_eq!((list.unwrap(), links), (summary, 1));
    let tested = unpacker().test(Input::File(archive.into()), &mut |finding| panic!("{finding}")).unwrap();
    assert_eq!((tested.entries, tested.intact, tested.bytes), (summary.entries, summary.entries, summary.bytes));
    let options = Archive::options();
    let options = match password {
        Some(password) => options.password(Password::new(password)),
        None => options,
    };
    let opened = options.open(archive).unwrap();
    for name in ["600000 bytes", "0 bytes", "folder/29", "link", "program"] {
        let name = Path::new("sample").join(name);
        assert_eq!(opened.read(&name).unwrap(), fs::read(sample.join(&name)).unwrap(), "{name:?}");
    }
}

#[test]
fn every_method_and_filter_of_7_zip_is_read() {
    skip_unless!(Need::Program("7zz"));
    let (sample, temp) = (few(), manyfiles_testkit::scratch().unwrap());
    for args in [
        &[][..],
        &["-m0=LZMA"],
        &["-m0=LZMA:d=26:lc=2:lp=1:pb=1"],
        &["-m0=LZMA2", "-ms=off"],
        &["-m0=PPMd"],
        &["-m0=PPMd:o=32:mem=16m"],
        &["-m0=Deflate"],
        &["-m0=Deflate64"],
        &["-m0=BZip2"],
        &["-m0=Copy"],
        &["-mx=0"],
        &["-mx=9"],
        &["-mf=BCJ"],
        &["-m0=BCJ", "-m1=Deflate"],
        &["-m0=BCJ2", "-m1=LZMA", "-m2=LZMA", "-m3=LZMA", "-mb0:1", "-mb0s1:2", "-mb0s2:3"],
        &["-mf=ARM"],
        &["-mf=ARMT"],
        &["-mf=ARM64"],
        &["-mf=PPC"],
        &["-mf=SPARC"],
        &["-mf=IA64"],
        &["-mf=Delta:4"],
        &["-ms=20f"],
        &["-mhc=off"],
        &["-mtc=on", "-mta=on"],
    ] {
        println!("{args:?}");
        let archive = make(sample.path(), temp.path(), args);
        assert_is(sample.path(), &archive, None);
    }
}

#[test]
fn an_archive_in_several_volumes_is_read_by_its_first() {
    skip_unless!(Need::Program("7zz"));
    let (sample, temp) = (few(), manyfiles_testkit::scratch().unwrap());
    let archive = make(sample.path(), temp.path(), &["-v50k"]);
    assert_is(sample.path(), &archive.with_extension("7z.001"), None);
    fs::remove_file(archive.with_extension("7z.003")).unwrap();
    let error = Archive::open(archive.with_extension("7z.001")).unwrap_err().to_string();
    assert!(error.contains("a.7z.003 is missing"), "{error}");
}

#[test]
fn encrypted_archives_need_their_password_and_tell_a_wrong_one() {
    skip_unless!(Need::Program("7zz"));
    let (sample, temp) = (few(), manyfiles_testkit::scratch().unwrap());
    for args in [&["-pgrüße"][..], &["-pgrüße", "-mhe"], &["-pgrüße", "-mx=0"], &["-pgrüße", "-ms=off", "-m0=PPMd"]]
    {
        let archive = make(sample.path(), temp.path(), args);
        let input = || Input::File(archive.clone());
        assert_is(sample.path(), &archive, Some("grüße"));
        let hides_names = args.contains(&"-mhe");
        for password in [None, Some("wrong")] {
            let unpacker = match password {
                None => Unpacker::new(),
                Some(wrong) => Unpacker::options().password(Password::new(wrong)).build(),
            };
            let says = if password.is_none() { "no password was given" } else { "the password is wrong" };
            let place = Place::new();
            let (result, report) = place.unpack_as(unpacker.clone(), input());
            if hides_names {
                let error = result.unwrap_err().to_string();
                assert!(error.contains("not even its names") && error.contains(says), "{error}");
                continue;
            }
            assert!(report.failures.iter().all(|failure| failure.to_string().contains(says)), "{:?}", report.failures);
            assert!(report.failures.len() > 30);
            assert_eq!(place.files(), ["sample/0 bytes", "sample/folder/0"]);
            let mut encrypted = 0;
            unpacker.list(input(), &mut |entry| encrypted += usize::from(entry.is_encrypted)).unwrap();
            assert_eq!(encrypted, report.failures.len());
        }
        let mut asked = 0;
        let asking = Unpacker::options().ask_password(|_, wrong| Some(Password::new(["no", "grüße"][wrong as usize])));
        asking.build().list(input(), &mut |_| asked += 1).unwrap();
        assert!(asked > 30);
    }
}

#[test]
fn an_archive_that_is_cut_or_changed_anywhere_is_told_and_nothing_panics() {
    skip_unless!(Need::Program("7zz"));
    let temp = manyfiles_testkit::scratch().unwrap();
    fs::create_dir(temp.path().join("sample")).unwrap();
    fs::write(temp.path().join("sample/some"), "some words, some words").unwrap();
    fs::write(temp.path().join("sample/more"), noise(200)).unwrap();
    let limits = Limits::default().bytes(1 << 20);
    for args in [&["-mx=0"][..], &[], &["-mhc=off", "-ms=off"], &["-m0=PPMd:mem=1m", "-mhc=off"], &["-mf=BCJ2"]] {
        let archive = make(temp.path(), temp.path(), args);
        let bytes = fs::read(&archive).unwrap();
        let (_place, whole, _) = unpack_whole(Unpacker::new(), Input::File(archive.clone()));
        for len in 1..bytes.len() {
            let (_temp, path) = file_of(&bytes[..len]);
            let tested = Unpacker::new().test(Input::File(path), &mut |_| ());
            assert!(tested.is_err() || !tested.unwrap().is_sound(), "{args:?}: cut to {len}");
        }
        for at in 0..bytes.len() {
            for mask in [1, 0x80] {
                let mut changed = bytes.clone();
                changed[at] ^= mask;
                let (_temp, path) = file_of(&changed);
                let place = Place::new();
                let unpacker = Unpacker::options().limits(limits).build();
                let (result, report) = place.unpack_as(unpacker.clone(), Input::File(path.clone()));
                if result.is_ok() && report.is_complete() {
                    // The minor version means nothing, nor do the last bytes of some coders.
                    let is = |name: &str| fs::read(place.root().join("sample").join(name)).unwrap();
                    assert_eq!(is("some"), b"some words, some words", "{args:?}: {mask:x} at {at}");
                    assert_eq!(is("more"), noise(200), "{args:?}: {mask:x} at {at}");
                }
                drop(unpacker.test(Input::File(path), &mut |_| ()));
            }
        }
        assert_eq!(whole.entries, 3);
    }
}

/// Sets the checksums of a 7z whose directory is not coded.
fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let crc = |bytes: &[u8]| {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        crc.sum().to_le_bytes()
    };
    let offset = u64::from_le_bytes(bytes[12..20].try_into().unwrap()) as usize + 32;
    let sum = crc(&bytes[offset..]);
    bytes[28..32].copy_from_slice(&sum);
    let sum = crc(&bytes[12..32]);
    bytes[8..12].copy_from_slice(&sum);
    bytes
}

#[test]
fn a_directory_that_lies_with_the_right_checksums_neither_panics_nor_takes_memory() {
    skip_unless!(Need::Program("7zz"));
    let temp = manyfiles_testkit::scratch().unwrap();
    fs::create_dir(temp.path().join("sample")).unwrap();
    fs::write(temp.path().join("sample/some"), "some words, some words").unwrap();
    fs::write(temp.path().join("sample/more"), noise(200)).unwrap();
    for args in
        [&["-mhc=off"][..], &["-mhc=off", "-m0=PPMd:mem=1m"], &["-mhc=off", "-mf=BCJ2"], &["-mhc=off", "-psecret"]]
    {
        let bytes = fs::read(make(temp.path(), temp.path(), args)).unwrap();
        let start = u64::from_le_bytes(bytes[12..20].try_into().unwrap()) as usize + 32;
        for at in start..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff, bytes[at] ^ 2, bytes[at].wrapping_add(1)] {
                let mut changed = bytes.clone();
                changed[at] = value;
                let (_temp, path) = file_of(&seal(changed));
                let limits = Limits::default().bytes(1 << 20);
                let unpacker = Unpacker::options().limits(limits).build();
                let place = Place::new();
                drop(place.unpack_as(unpacker.clone(), Input::File(path.clone())));
                place.assert_nothing_outside();
                drop(unpacker.test(Input::File(path), &mut |_| ()));
            }
        }
    }
}

/// Each block has packed streams without a byte, which begin where the next stream does.
#[test]
fn blocks_with_empty_streams_are_sound() {
    skip_unless!(Need::Program("7zz"));
    let temp = manyfiles_testkit::scratch().unwrap();
    fs::create_dir(temp.path().join("sample")).unwrap();
    for n in 0..4 {
        fs::write(temp.path().join(format!("sample/{n}")), format!("{n}: no machine code")).unwrap();
    }
    let coders = ["-m0=BCJ2", "-m1=Copy", "-m2=Copy", "-m3=Copy", "-mb0:1", "-mb0s1:2", "-mb0s2:3", "-ms=off"];
    let archive = make(temp.path(), temp.path(), &coders);
    let tested = Unpacker::new().test(Input::File(archive), &mut |finding| panic!("{finding}")).unwrap();
    assert_eq!(tested.intact, tested.entries);
}

/// 29 KB of such a directory took 5 GB, before there was a file to count.
#[test]
fn a_directory_that_is_a_bomb_is_refused_before_it_is_decoded() {
    let decoded = 512_u64 << 20;
    let size = [&[0xff][..], &decoded.to_le_bytes()].concat();
    // One packed byte, one block of one coder that copies, and how much comes of it.
    let parts = [&[0x17, 0x06, 0, 1, 0x09, 1, 0, 0x07, 0x0b, 1, 0, 1, 1, 0, 0x0c][..], &size, &[0, 0]].concat();
    let mut bytes = b"7z\xbc\xaf\x27\x1c\0\x04".to_vec();
    bytes.resize(32, 0);
    bytes[12..20].copy_from_slice(&1_u64.to_le_bytes());
    bytes[20..28].copy_from_slice(&(parts.len() as u64).to_le_bytes());
    bytes.push(0);
    bytes.extend(parts);
    let (_temp, path) = file_of(&seal(bytes));
    let error = Unpacker::new().list(Input::File(path), &mut |_| ()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit: Limit::Ratio, .. }), "{error}");
}

#[test]
fn limits_hold_and_a_stream_is_refused() {
    skip_unless!(Need::Program("7zz"));
    let temp = manyfiles_testkit::scratch().unwrap();
    fs::create_dir(temp.path().join("sample")).unwrap();
    fs::write(temp.path().join("sample/bomb"), vec![0; 100 << 20]).unwrap();
    let archive = make(temp.path(), temp.path(), &[]);
    let place = Place::new();
    let (result, _) = place.unpack(Input::File(archive.clone()));
    assert!(matches!(result.unwrap_err().kind(), ErrorKind::Limit { .. }));
    assert!(place.files().is_empty());
    assert!(matches!(Archive::open(&archive).unwrap_err().kind(), ErrorKind::Limit { .. }));
    let error = Place::new().unpack(stream_of(fs::read(&archive).unwrap())).0.unwrap_err().to_string();
    assert!(error.contains("7z archive cannot be read from a stream"), "{error}");
}
