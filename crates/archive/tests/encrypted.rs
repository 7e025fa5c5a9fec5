//! Encrypted zips: those of several tools, wrong passwords, and damage.
#![cfg(unix)] // the tools that make them are Unix's

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use common::*;
use manyfiles::tree::Report;
use manyfiles_archive::{Archive, Entry, Input, Kind, Password, Unpacker};
use manyfiles_testkit::{Compare, Need, Tree, skip_unless};

const COMPARE: Compare = Compare { modes: true, times: false, hard_links: false };

fn with(password: &str) -> Unpacker {
    Unpacker::options().password(Password::new(password)).build()
}

/// A folder with few files: each costs a thousand rounds of a hash.
fn few() -> tempfile::TempDir {
    let temp = manyfiles_testkit::scratch().unwrap();
    let root = temp.path().join("sample");
    fs::create_dir_all(root.join("empty")).unwrap();
    for len in [0, 1, 70_000, 600_000] {
        fs::write(root.join(len.to_string()), noise(len)).unwrap();
    }
    std::os::unix::fs::symlink("70000", root.join("link")).unwrap();
    temp
}

/// What makes an encrypted zip of `sample`, with the password `secret`: a name for it, a program and its arguments.
const MAKERS: &[(&str, &str, &[&str])] = &[
    ("old.zip", "zip", &["-qry", "-P", "secret"]),
    ("old0.zip", "zip", &["-qry0", "-P", "secret"]),
    ("old7.zip", "7zz", &["a", "-tzip", "-snl", "-bso0", "-psecret", "-mem=ZipCrypto"]),
    ("128.zip", "7zz", &["a", "-tzip", "-snl", "-bso0", "-psecret", "-mem=AES128"]),
    ("192.zip", "7zz", &["a", "-tzip", "-snl", "-bso0", "-psecret", "-mem=AES192"]),
    ("256.zip", "7zz", &["a", "-tzip", "-snl", "-bso0", "-psecret", "-mem=AES256"]),
    ("stored.zip", "7zz", &["a", "-tzip", "-snl", "-bso0", "-psecret", "-mem=AES256", "-mx=0"]),
    ("lzma.zip", "7zz", &["a", "-tzip", "-snl", "-bso0", "-psecret", "-mem=AES256", "-mm=LZMA"]),
    ("bzip2.zip", "7zz", &["a", "-tzip", "-snl", "-bso0", "-psecret", "-mem=AES256", "-mm=BZip2"]),
    ("split.zip", "zip", &["-qry", "-P", "secret", "-s", "64k"]),
];

fn make(sample: &Path, folder: &Path, maker: &(&str, &str, &[&str])) -> std::path::PathBuf {
    let (name, program, args) = maker;
    let archive = folder.join(name);
    run(Command::new(program).current_dir(sample).args(*args).arg(&archive).arg("sample"), false);
    archive
}

fn failures(report: &Report) -> Vec<String> {
    report.failures.iter().map(ToString::to_string).collect()
}

#[test]
fn encrypted_zips_of_several_tools_are_read_in_every_way() {
    skip_unless!(Need::Program("zip"), Need::Program("7zz"));
    let sample = few();
    let temp = manyfiles_testkit::scratch().unwrap();
    for maker in MAKERS {
        let archive = make(sample.path(), temp.path(), maker);
        let input = || Input::File(archive.clone());
        let (place, summary, _) = unpack_whole(with("secret"), input());
        Tree::read(sample.path()).unwrap().assert_same(&Tree::read(place.root()).unwrap(), COMPARE);
        let tested = with("secret").test(input(), &mut |finding| panic!("{maker:?}: {finding}")).unwrap();
        assert_eq!((tested.entries, tested.intact), (summary.entries, summary.entries));
        let opened = Archive::options().password(Password::new("secret")).open(&archive).unwrap();
        assert_eq!(opened.refused(), 0);
        for name in ["sample/70000", "sample/600000", "sample/0", "sample/link"] {
            let content = fs::read(sample.path().join(name)).unwrap();
            assert_eq!(opened.read(name).unwrap(), content, "{maker:?}: {name}");
            let mut part = vec![0; content.len() / 3];
            opened.read_at(name, content.len() as u64 / 2, &mut part).unwrap();
            assert_eq!(part, content[content.len() / 2..][..part.len()], "{maker:?}: {name}");
        }
        let place = Place::new();
        let tree = place.writer();
        with("secret").salvage(input(), &tree, &mut |finding| panic!("{maker:?}: {finding}")).unwrap();
        tree.finish().unwrap();
        Tree::read(sample.path()).unwrap().assert_same(&Tree::read(place.root()).unwrap(), COMPARE);
    }
}

#[test]
fn without_a_password_names_are_listed_and_each_encrypted_file_is_a_failure() {
    skip_unless!(Need::Program("zip"), Need::Program("7zz"));
    let sample = few();
    let temp = manyfiles_testkit::scratch().unwrap();
    for maker in MAKERS {
        let archive = make(sample.path(), temp.path(), maker);
        let (mut files, mut refused) = (0, 0);
        let list = Unpacker::new().list(Input::File(archive.clone()), &mut |entry| {
            files += u64::from(entry.is_encrypted);
            refused += u64::from(entry.refusal.is_some());
            assert_eq!(entry.is_encrypted, entry.refusal.is_some() || entry.kind == Kind::Folder && entry.is_encrypted);
        });
        let place = Place::new();
        let (result, report) = place.unpack(Input::File(archive.clone()));
        assert_eq!(result.unwrap().entries, list.unwrap().entries);
        assert_eq!(report.failures.len() as u64, refused, "{maker:?}");
        assert!(refused >= 4 && files >= refused);
        for failure in failures(&report) {
            assert!(failure.contains("encrypted") && failure.contains("--password-file"), "{failure}");
        }
        assert!(place.files().iter().all(|name| name.ends_with("/0")));
        let mut findings = 0;
        Unpacker::new().test(Input::File(archive.clone()), &mut |_| findings += 1).unwrap();
        assert_eq!(findings, refused);
        assert_eq!(Archive::open(&archive).unwrap().refused(), refused);
    }
}

#[test]
fn a_wrong_password_is_told_as_such_and_leaves_no_file() {
    skip_unless!(Need::Program("zip"), Need::Program("7zz"));
    let sample = few();
    let temp = manyfiles_testkit::scratch().unwrap();
    for maker in MAKERS {
        let archive = make(sample.path(), temp.path(), maker);
        for wrong in ["", "Secret", "secret "] {
            let place = Place::new();
            let (result, report) = place.unpack_as(with(wrong), Input::File(archive.clone()));
            result.unwrap();
            assert!(report.failures.len() >= 4, "{maker:?}");
            for failure in failures(&report) {
                assert!(failure.contains("the password is wrong"), "{failure}");
            }
            let left = place.files();
            assert!(left.iter().all(|name| name.ends_with("/0")), "{left:?}");
        }
    }
}

#[test]
fn who_is_asked_may_be_wrong_and_is_asked_once_for_an_archive() {
    skip_unless!(Need::Program("7zz"));
    let sample = few();
    let temp = manyfiles_testkit::scratch().unwrap();
    let archive = make(sample.path(), temp.path(), &MAKERS[5]);
    let asked = Arc::new(AtomicU32::new(0));
    let asking = |right: u32| {
        let asked = Arc::clone(&asked);
        asked.store(0, Relaxed);
        let path = archive.clone();
        Unpacker::options().ask_password(move |archive, wrong| {
            assert_eq!((archive, wrong), (&*path, asked.fetch_add(1, Relaxed)));
            (wrong < 3).then(|| Password::new(if wrong == right { "secret" } else { "wrong" }))
        })
    };
    unpack_whole(asking(2).build(), Input::File(archive.clone()));
    assert_eq!(asked.load(Relaxed), 3);
    let (result, report) = Place::new().unpack_as(asking(9).build(), Input::File(archive.clone()));
    result.unwrap();
    assert_eq!(asked.load(Relaxed), 4);
    assert!(failures(&report).iter().all(|failure| failure.contains("the password is wrong")));
    // Neither for a list, nor for entries that are not encrypted or not wanted.
    let mut list = |entry: &Entry<'_>| {
        // Where a link leads is content.
        assert_eq!(entry.refusal.is_some(), matches!(entry.kind, Kind::Symlink(_)), "{entry:?}");
    };
    asking(0).build().list(Input::File(archive.clone()), &mut list).unwrap();
    let folder = asking(0).select(Arc::new(|path| path == Path::new("sample/empty"))).build();
    unpack_whole(folder, Input::File(archive));
    assert_eq!(asked.load(Relaxed), 0);
}

/// A zip of one file of AES-256, with its name, and where its content is.
fn small(folder: &Path, content: &[u8], args: &[&str]) -> (Vec<u8>, std::ops::Range<usize>) {
    fs::write(folder.join("file"), content).unwrap();
    let archive = folder.join("small.zip");
    drop(fs::remove_file(&archive));
    let mut command = Command::new("7zz");
    run(
        command.current_dir(folder).args(["a", "-tzip", "-bso0", "-psecret"]).args(args).args(["small.zip", "file"]),
        false,
    );
    let bytes = fs::read(archive).unwrap();
    let at = |place: usize| usize::from(u16::from_le_bytes([bytes[place], bytes[place + 1]]));
    let start = 30 + at(26) + at(28);
    let packed = at(18) + (at(20) << 16);
    (bytes, start..start + packed)
}

#[test]
fn every_changed_byte_of_content_that_is_encrypted_with_aes_is_told() {
    skip_unless!(Need::Program("7zz"));
    let temp = manyfiles_testkit::scratch().unwrap();
    for args in [&["-mem=AES256", "-mx=0"][..], &["-mem=AES256"], &["-mem=AES128", "-mm=BZip2"]] {
        let (bytes, content) = small(temp.path(), b"some words that are not so few, and words", args);
        for at in content {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            let (_temp, path) = file_of(&changed);
            let place = Place::new();
            let (result, report) = place.unpack_as(with("secret"), Input::File(path.clone()));
            result.unwrap();
            assert_eq!(report.failures.len(), 1, "byte {at}");
            assert!(place.files().is_empty());
            let mut findings = 0;
            with("secret").test(Input::File(path), &mut |_| findings += 1).unwrap();
            assert_eq!(findings, 1, "byte {at}");
        }
    }
}

#[test]
fn a_long_file_with_a_wrong_authentication_code_does_not_stay() {
    skip_unless!(Need::Program("7zz"));
    let temp = manyfiles_testkit::scratch().unwrap();
    for args in [&["-mem=AES256", "-mx=0"][..], &["-mem=AES256"]] {
        let (bytes, content) = small(temp.path(), &noise(3_000_000), args);
        for at in [content.end - 1, content.end - 11, content.end - 1_000_000, content.start + 20] {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            let (_temp, path) = file_of(&changed);
            let place = Place::new();
            let (result, report) = place.unpack_as(with("secret"), Input::File(path.clone()));
            result.unwrap();
            assert_eq!(report.failures.len(), 1, "byte {at}: {:?}", failures(&report));
            assert!(place.files().is_empty());
            let opened = Archive::options().password(Password::new("secret")).open(&path).unwrap();
            opened.read("file").unwrap_err();
            let mut read = opened.open_file("file").unwrap();
            std::io::copy(&mut read, &mut std::io::sink()).unwrap_err();
        }
    }
}

#[test]
fn an_encrypted_zip_that_is_cut_or_changed_anywhere_neither_panics_nor_is_sound() {
    skip_unless!(Need::Program("7zz"));
    let temp = manyfiles_testkit::scratch().unwrap();
    for args in [&["-mem=AES192"][..], &["-mem=ZipCrypto"]] {
        let (bytes, content) = small(temp.path(), b"some words", args);
        for len in 1..bytes.len() {
            let (_temp, path) = file_of(&bytes[..len]);
            assert!(with("secret").test(Input::File(path), &mut |_| ()).is_ok_and(|it| !it.is_sound()) || len < 30);
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let (_temp, path) = file_of(&changed);
            let place = Place::new();
            let (result, report) = place.unpack_as(with("secret"), Input::File(path.clone()));
            if result.is_ok() && report.is_complete() {
                let is_right = place
                    .files()
                    .iter()
                    .all(|name| fs::read(place.root().join(name)).is_ok_and(|it| it == b"some words"));
                assert!(is_right, "{args:?}: byte {at} of {content:?}");
            }
            drop(with("secret").test(Input::File(path), &mut |_| ()));
        }
    }
}

#[test]
fn what_python_reads_and_writes_has_the_same_meaning_here() {
    skip_unless!(Need::Program("python3"), Need::Program("zip"));
    let temp = manyfiles_testkit::scratch().unwrap();
    fs::write(temp.path().join("file"), "words of an old cipher").unwrap();
    let mut zip = Command::new("zip");
    run(zip.current_dir(temp.path()).args(["-q", "-P", "grüße", "a.zip", "file"]), false);
    let script = "import zipfile,sys; sys.stdout.buffer.write(zipfile.ZipFile('a.zip').read('file', 'grüße'.encode()))";
    let read = run(Command::new("python3").current_dir(temp.path()).args(["-c", script]), false);
    let archive = Archive::options().password(Password::new("grüße")).open(temp.path().join("a.zip")).unwrap();
    assert_eq!(archive.read("file").unwrap(), read);
}
