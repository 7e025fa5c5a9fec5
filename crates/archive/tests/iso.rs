//! Images of CDs: with Rock Ridge, with Joliet, with neither; deep, linked, cut and changed.
#![cfg(unix)] // the programs that make them keep what Unix has

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::*;
use manyfiles_archive::{Archive, ErrorKind, Input, Unpacker};
use manyfiles_testkit::{Compare, Need, Tree, skip_unless};

const COMPARE: Compare = Compare { modes: true, times: false, hard_links: true };
const NAMES: Compare = Compare { modes: false, times: false, hard_links: false };

fn few(has_links: bool) -> tempfile::TempDir {
    let temp = manyfiles_testkit::scratch().unwrap();
    let root = temp.path().join("sample");
    fs::create_dir_all(root.join("empty")).unwrap();
    fs::create_dir_all(root.join("folder")).unwrap();
    for len in [0, 1, 2047, 2048, 2049, 600_000] {
        fs::write(root.join(format!("{len}.bytes")), noise(len)).unwrap();
    }
    for n in 0..200 {
        fs::write(root.join(format!("folder/{n}.file")), noise(n)).unwrap();
    }
    if has_links {
        let deep = root.join("1/2/3/4/5/6/7/8/9/10/11");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("file"), "far down").unwrap();
        fs::write(root.join("n".repeat(200)), "long name").unwrap();
        fs::write(root.join("folder/script"), "run").unwrap();
        fs::set_permissions(root.join("folder/script"), fs::Permissions::from_mode(0o754)).unwrap();
        symlink("folder/script", root.join("link")).unwrap();
        symlink(format!("/{}../x", "long/".repeat(20)), root.join("long link")).unwrap();
        fs::hard_link(root.join("folder/script"), root.join("folder/second name")).unwrap();
    }
    temp
}

fn image(sample: &Path, folder: &Path, program: &str, args: &[&str]) -> PathBuf {
    let image = folder.join("a.iso");
    drop(fs::remove_file(&image));
    let mut command = Command::new(program);
    if program == "xorriso" {
        command.args(["-as", "mkisofs"]);
    }
    run(command.arg("-quiet").args(args).arg("-o").arg(&image).arg(sample.join("sample")), false);
    image
}

/// The same as bsdtar makes of it.
fn with_bsdtar(image: &Path) -> tempfile::TempDir {
    let temp = manyfiles_testkit::scratch().unwrap();
    let mut command = Command::new("bsdtar");
    run(command.arg("-xpf").arg(image).arg("-C").arg(temp.path()), false);
    temp
}

#[test]
fn images_with_rock_ridge_are_what_was_put_into_them() {
    skip_unless!(Need::Program("genisoimage"), Need::Program("xorriso"), Need::Program("bsdtar"));
    let (sample, temp) = (few(true), manyfiles_testkit::scratch().unwrap());
    for (program, args) in [
        ("genisoimage", &["-R"][..]),
        ("genisoimage", &["-R", "-J", "-hide-rr-moved"]),
        ("genisoimage", &["-R", "-cache-inodes", "-D"]),
        ("xorriso", &["-R"]),
        ("xorriso", &["-R", "-J", "--hardlinks"]),
    ] {
        println!("{program} {args:?}");
        let image = image(sample.path(), temp.path(), program, args);
        let (place, summary, _) = unpack_whole(Unpacker::new(), Input::File(image.clone()));
        assert_eq!(summary.format.to_string(), "iso");
        let theirs = with_bsdtar(&image);
        // Nothing is left in the folder of folders that were moved up.
        for name in ["rr_moved", ".rr_moved"] {
            if place.root().join(name).exists() {
                fs::remove_dir(place.root().join(name)).unwrap();
                drop(fs::remove_dir_all(theirs.path().join(name)));
            }
        }
        let expected = Tree::read(sample.path().join("sample")).unwrap();
        expected.assert_same(&Tree::read(place.root()).unwrap(), NAMES);
        // Where a link goes on in a second field, bsdtar loses a slash.
        for root in [theirs.path(), &place.root()] {
            fs::remove_file(root.join("long link")).unwrap();
        }
        Tree::read(theirs.path()).unwrap().assert_same(&Tree::read(place.root()).unwrap(), COMPARE);
        let tested = Unpacker::new().test(Input::File(image.clone()), &mut |finding| panic!("{finding}")).unwrap();
        assert_eq!((tested.entries, tested.bytes), (summary.entries, summary.bytes));
        let mut listed = 0;
        let list = Unpacker::new().list(Input::File(image.clone()), &mut |_| listed += 1).unwrap();
        assert_eq!((list, listed), (summary, summary.entries));
        let archive = Archive::open(&image).unwrap();
        for name in ["600000.bytes", "0.bytes", "link", "1/2/3/4/5/6/7/8/9/10/11/file"] {
            assert_eq!(archive.read(name).unwrap(), fs::read(sample.path().join("sample").join(name)).unwrap());
        }
    }
}

#[test]
fn images_without_rock_ridge_have_the_names_and_modes_that_bsdtar_gives_them() {
    skip_unless!(Need::Program("genisoimage"), Need::Program("bsdtar"));
    let (sample, temp) = (few(false), manyfiles_testkit::scratch().unwrap());
    for args in [&["-J"][..], &["-J", "-joliet-long"], &[], &["-l"], &["-iso-level", "1"]] {
        println!("{args:?}");
        let image = image(sample.path(), temp.path(), "genisoimage", args);
        let (place, _, _) = unpack_whole(Unpacker::new(), Input::File(image.clone()));
        let theirs = with_bsdtar(&image);
        Tree::read(theirs.path()).unwrap().assert_same(&Tree::read(place.root()).unwrap(), COMPARE);
    }
}

#[test]
fn devices_need_to_be_asked_for_and_an_image_of_udf_alone_is_called_that() {
    skip_unless!(Need::Root, Need::Program("genisoimage"), Need::Program("mknod"));
    let (sample, temp) = (few(false), manyfiles_testkit::scratch().unwrap());
    run(Command::new("mknod").arg(sample.path().join("sample/null")).args(["c", "1", "3"]), false);
    let image = image(sample.path(), temp.path(), "genisoimage", &["-R"]);
    let (result, report) = Place::new().unpack(Input::File(image.clone()));
    result.unwrap();
    assert_eq!(report.failures.len(), 1);
    let (place, _, _) = unpack_whole(Unpacker::options().special_files(true).build(), Input::File(image));
    let made = fs::metadata(place.root().join("null")).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::rdev(&made), 0x103);

    let mut udf = vec![0; 0x10000];
    for (number, id) in ["BEA01", "NSR02", "TEA01"].into_iter().enumerate() {
        udf[0x8001 + number * 2048..][..5].copy_from_slice(id.as_bytes());
    }
    let (_temp, path) = file_of(&udf);
    let error = Place::new().unpack(Input::File(path)).0.unwrap_err().to_string();
    assert!(error.contains("by UDF alone"), "{error}");
}

#[test]
fn an_image_that_is_cut_is_told_and_its_other_files_are_had() {
    skip_unless!(Need::Program("genisoimage"));
    let (sample, temp) = (few(true), manyfiles_testkit::scratch().unwrap());
    let image = image(sample.path(), temp.path(), "genisoimage", &["-R", "-J"]);
    let bytes = fs::read(&image).unwrap();
    let mut had_some = false;
    for len in (32_800..bytes.len() - 400_000).step_by(10_007) {
        let (_temp, path) = file_of(&bytes[..len]);
        let place = Place::new();
        let (result, report) = place.unpack(Input::File(path.clone()));
        had_some |= result.is_ok() && !place.files().is_empty();
        assert!(result.is_err() || !report.is_complete(), "cut to {len}");
        let tested = Unpacker::new().test(Input::File(path), &mut |_| ());
        assert!(tested.is_err() || !tested.unwrap().is_sound(), "cut to {len}");
    }
    assert!(had_some);
}

#[test]
fn records_that_lie_neither_panic_nor_lead_out_nor_round_in_circles() {
    skip_unless!(Need::Program("genisoimage"));
    let temp = manyfiles_testkit::scratch().unwrap();
    let sample = manyfiles_testkit::scratch().unwrap();
    fs::create_dir_all(sample.path().join("sample/1/2/3/4/5/6/7/8/9")).unwrap();
    fs::write(sample.path().join("sample/file"), "words").unwrap();
    symlink("../1/2", sample.path().join("sample/1/link")).unwrap();
    let bytes = fs::read(image(sample.path(), temp.path(), "genisoimage", &["-R", "-no-pad"])).unwrap();
    let is_used = |at: &usize| *at >= 0x8000 && bytes[*at] != 0;
    for at in (0..bytes.len()).filter(is_used) {
        for value in [0, 0xff, bytes[at] ^ 1, bytes[at].wrapping_add(16)] {
            let mut changed = bytes.clone();
            changed[at] = value;
            let (_temp, path) = file_of(&changed);
            let place = Place::new();
            drop(place.unpack(Input::File(path)));
            place.assert_nothing_outside();
        }
    }
}

#[test]
fn an_image_is_read_from_a_file_only() {
    skip_unless!(Need::Program("genisoimage"));
    let (sample, temp) = (few(false), manyfiles_testkit::scratch().unwrap());
    let image = image(sample.path(), temp.path(), "genisoimage", &["-R"]);
    let error = Place::new().unpack(stream_of(fs::read(image).unwrap())).0.unwrap_err();
    println!("{error}");
    assert!(matches!(error.kind(), ErrorKind::NotAnArchive { .. } | ErrorKind::Damaged { .. }), "{error}");
}
