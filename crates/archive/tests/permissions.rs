//! Permissions: what an archive gives is kept, what it does not give is what any program makes, and rights are not
//! given away.
#![cfg(unix)] // modes are Unix's

mod common;
#[path = "common/zip.rs"]
mod made;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use common::*;
use made::Zip;
use manyfiles::tree::{OnConflict, TreeWriter};
use manyfiles_archive::{Input, Unpacker};
use manyfiles_testkit::{Need, skip_unless};

fn mode_of(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

/// The modes of all entries, as they are to be written.
fn modes(unpacker: &Unpacker, archive: &[u8]) -> Vec<Option<u32>> {
    let (_temp, path) = file_of(archive);
    let mut modes = Vec::new();
    unpacker.list(Input::File(path), &mut |entry| modes.push(entry.mode)).unwrap();
    modes
}

/// A tar of one entry with these bytes for its mode.
fn tar_with_mode(kind: u8, name: &str, mode: &[u8]) -> Vec<u8> {
    let mut header = Tar::header(kind, name.as_bytes(), b"00000000000", b"");
    header[100..108].fill(0);
    header[100..100 + mode.len()].copy_from_slice(mode);
    Tar::seal(&mut header);
    Tar::default().block(&header).end()
}

#[test]
fn a_mode_that_a_tar_does_not_give_is_none() {
    for (field, mode) in [
        (&b"0000644"[..], Some(0o644)),
        (b"0100755", Some(0o755)),
        (b"0000000", Some(0)),
        (b"", None),
        (b"        ", None),
        (b"garbage", None),
    ] {
        assert_eq!(modes(&Unpacker::new(), &tar_with_mode(b'0', "a", field)), [mode], "{field:?}");
    }
}

#[test]
fn a_mode_that_a_zip_does_not_give_is_none() {
    const DOS_READ_ONLY: u32 = 1;
    const DOS_FOLDER: u32 = 0x10;
    for (name, host, attributes, mode) in [
        ("unix", 3, 0o100_600 << 16, Some(0o600)),
        ("unix of no type", 3, 0o640 << 16, Some(0o640)),
        ("unix without rights", 3, 0o100_000 << 16, Some(0)),
        ("mac", 19, 0o100_640 << 16, Some(0o640)),
        ("unix that says nothing", 3, 0, None),
        ("folder/", 3, DOS_FOLDER, None),
        ("folder 2/", 3, 0o040_750 << 16 | DOS_FOLDER, Some(0o750)),
        ("dos", 0, 0, None),
        ("dos folder/", 0, DOS_FOLDER, None),
        // The archive gives no mode. Mode 0444 would let all users read a file that the umask keeps from them.
        ("dos read-only", 0, DOS_READ_ONLY, None),
        ("dos read-only folder/", 0, DOS_FOLDER | DOS_READ_ONLY, None),
        ("dos with what is no mode", 0, 0o107_777 << 16, None),
        ("ntfs", 10, 0x20, None),
    ] {
        let zip = Zip::default().with(name, if name.ends_with('/') { b"" } else { b"x" }, host, attributes);
        assert_eq!(modes(&Unpacker::new(), &zip.end()), [mode], "{name}");
    }
}

/// What any program makes here, with the umask that there is.
fn usual(place: &Place) -> (u32, u32) {
    let beside = place.root().with_extension("usual");
    fs::create_dir(&beside).unwrap();
    fs::write(beside.join("file"), "").unwrap();
    (mode_of(&beside.join("file")), mode_of(&beside))
}

#[test]
fn what_is_only_implied_or_has_no_mode_is_as_any_program_makes_it() {
    skip_unless!(Need::Program("git"), Need::Program("tar"));
    let source = manyfiles_testkit::scratch().unwrap();
    fs::create_dir_all(source.path().join("p/q")).unwrap();
    fs::write(source.path().join("p/q/f"), "x").unwrap();
    let in_source = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.current_dir(source.path()).args(["-c", "user.name=a", "-c", "user.email=a@b.c"]).args(args);
        run(&mut command, false)
    };
    in_source("git", &["init", "-q"]);
    in_source("git", &["add", "p"]);
    in_source("git", &["commit", "-qm", "x"]);
    let by_git = in_source("git", &["archive", "--format=zip", "HEAD"]);
    // Only the file is in this one: its folders are implied.
    let implied = run(Command::new("tar").current_dir(source.path()).args(["-cf", "-", "p/q/f"]), false);
    let nameless = tar_with_mode(b'0', "p/q/f", b"");
    let dos = Zip::default().with("p/q/f", b"x", 0, 0).end();
    for (what, archive, file_has_mode) in
        [("git", by_git, false), ("tar", implied, true), ("no mode", nameless, false), ("dos", dos, false)]
    {
        let (_temp, path) = file_of(&archive);
        for exact in [false, true] {
            let place = Place::new();
            let (file, folder) = usual(&place);
            let tree = TreeWriter::options().exact_permissions(exact).open(place.root()).unwrap();
            Unpacker::new().unpack(Input::File(path.clone()), &tree).unwrap();
            tree.finish().unwrap();
            let of = |path: &str| mode_of(&place.root().join(path));
            assert_eq!((of("p"), of("p/q")), (folder, folder), "{what}, exact {exact}");
            if !file_has_mode {
                assert_eq!(of("p/q/f"), file, "{what}, exact {exact}");
            }
        }
    }
}

#[test]
fn a_folder_whose_entry_comes_after_its_files_has_the_mode_that_it_gives() {
    let mut folder = Tar::header(b'5', b"private/", b"0", b"");
    folder[100..107].copy_from_slice(b"0000700");
    Tar::seal(&mut folder);
    // So many that the folder is there before its entry comes.
    let tar = (0..3000).fold(Tar::default(), |tar, n| tar.file(format!("private/{n}"), b"x"));
    let tar = tar.block(&folder).end();
    for exact in [false, true] {
        let place = Place::new();
        let tree = TreeWriter::options().exact_permissions(exact).open(place.root()).unwrap();
        Unpacker::new().unpack(stream_of(&tar[..]), &tree).unwrap();
        tree.finish().unwrap();
        assert_eq!(mode_of(&place.root().join("private")), 0o700, "exact {exact}");
    }
}

#[test]
fn the_sticky_bit_is_kept_and_set_id_bits_only_if_asked_for() {
    let (plain, asked) = (Unpacker::new(), Unpacker::options().set_id(true).build());
    for kind in [b'0', b'5'] {
        let name = if kind == b'5' { "a/" } else { "a" };
        for (field, usual, with_set_id) in [
            (b"0001777", 0o1777, 0o1777),
            (b"0006755", 0o755, 0o6755),
            (b"0002770", 0o770, 0o2770),
            (b"0007777", 0o1777, 0o7777),
        ] {
            let tar = tar_with_mode(kind, name, field);
            assert_eq!(modes(&plain, &tar), [Some(usual)]);
            assert_eq!(modes(&asked, &tar), [Some(with_set_id)]);
            let mode = u32::from_str_radix(std::str::from_utf8(field).unwrap(), 8).unwrap();
            let zip = Zip::default().with(name, b"", 3, mode << 16).end();
            assert_eq!(modes(&plain, &zip), [Some(usual)]);
            assert_eq!(modes(&asked, &zip), [Some(with_set_id)]);
        }
    }
}

#[test]
fn a_sticky_folder_stays_one_whether_it_was_there_or_not() {
    let tar = tar_with_mode(b'5', "tmp/", b"0001777");
    for was_there in [false, true] {
        let place = Place::new();
        if was_there {
            fs::create_dir_all(place.root().join("tmp")).unwrap();
            fs::set_permissions(place.root().join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
        }
        let options = TreeWriter::options().exact_permissions(true).on_conflict(OnConflict::Overwrite);
        let tree = options.open(place.root()).unwrap();
        Unpacker::new().unpack(stream_of(&tar[..]), &tree).unwrap();
        tree.finish().unwrap();
        assert_eq!(mode_of(&place.root().join("tmp")), 0o1777);
    }
}

#[test]
fn set_id_bits_that_are_asked_for_arrive_on_files_and_folders() {
    let mut folder = Tar::header(b'5', b"folder/", b"0", b"");
    folder[100..107].copy_from_slice(b"0002755");
    Tar::seal(&mut folder);
    let mut file = Tar::header(b'0', b"file", b"0", b"");
    file[100..107].copy_from_slice(b"0004755");
    Tar::seal(&mut file);
    let tar = Tar::default().block(&folder).block(&file).end();
    let (place, ..) = unpack_whole(Unpacker::options().set_id(true).build(), stream_of(&tar[..]));
    assert_eq!(mode_of(&place.root().join("folder")), 0o2755);
    assert_eq!(mode_of(&place.root().join("file")), 0o4755);
    let (place, ..) = unpack_whole(Unpacker::new(), stream_of(tar));
    assert_eq!(mode_of(&place.root().join("folder")), 0o755);
    assert_eq!(mode_of(&place.root().join("file")), 0o755);
}
