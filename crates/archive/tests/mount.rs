//! [`Archive::mount`]: the folder is what unpacking would write.
#![cfg(all(feature = "mount", target_os = "linux"))]

mod common;

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::process::Command;

use common::*;
use manyfiles::tree::TreeWriter;
use manyfiles_archive::{Archive, Input, Mount, Unpacker};
use manyfiles_testkit::{Compare, Kind, Need, Tree, skip_unless};

/// The mounted archive, and its folder, which has to outlive the mount.
fn mount(archive: &Path) -> (Mount, tempfile::TempDir) {
    let folder = manyfiles_testkit::scratch().unwrap();
    let archive = Archive::options().cache(None).open(archive).unwrap();
    (archive.mount(folder.path()).unwrap(), folder)
}

fn unpacked(archive: &Path) -> tempfile::TempDir {
    let folder = manyfiles_testkit::scratch().unwrap();
    let tree = TreeWriter::options().exact_permissions(true).last_wins(true).open(folder.path()).unwrap();
    Unpacker::new().unpack(Input::File(archive.into()), &tree).unwrap();
    tree.finish().unwrap();
    folder
}

#[test]
fn a_mounted_archive_is_as_it_is_unpacked() {
    skip_unless!(Need::Fuse, Need::Program("tar"), Need::Program("zip"));
    let temp = sample();
    add_large_and_odd(temp.path());
    add_sparse_files(temp.path());
    let path = temp.path().join("packed");
    let sparse = |options: &[&str]| {
        run(program("tar", options).arg(&path).arg("-C").arg(temp.path()).arg("sample"), false);
    };
    let tars = [&["--format=pax", "-Scf"][..], &["--format=gnu", "-Scf"], &["--format=pax", "-czf"], &["-cJf"]];
    for options in tars {
        sparse(options);
        let (mount, folder) = mount(&path);
        let expected = Tree::read(unpacked(&path).path()).unwrap();
        expected.assert_same(&Tree::read(folder.path()).unwrap(), Compare::ALL);
        mount.unmount().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "unmounted");
    }
    let zip = temp.path().join("packed.zip");
    run(program("zip", &["-qry"]).arg(&zip).arg("sample").current_dir(temp.path()), false);
    let (mount, folder) = mount(&zip);
    Tree::read(unpacked(&zip).path()).unwrap().assert_same(&Tree::read(folder.path()).unwrap(), Compare::ALL_BUT_TIMES);
    mount.unmount().unwrap();
}

#[test]
fn names_that_no_call_can_have_do_not_hide_the_others() {
    skip_unless!(Need::Fuse);
    let long = "n".repeat(1500);
    let mut tar = Tar::default().file("before", b"1").pax(&[("path", long.as_bytes())]).file("x", b"2");
    tar = tar.file("zz", b"3").entry(b'6', "fifo", "", b"").entry(b'2', "link", "zz", b"");
    let (_temp, path) = file_of(&tar.end());
    let (mount, folder) = mount(&path);
    let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["before", "fifo", "link", "zz"]);
    assert!(fs::symlink_metadata(folder.path().join("fifo")).unwrap().file_type().is_fifo());
    assert_eq!(fs::read(folder.path().join("link")).unwrap(), b"3");
    assert!(fs::read(folder.path().join("nothing")).is_err());
    let written = fs::write(folder.path().join("zz"), "x").unwrap_err();
    assert_eq!(written.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    assert!(fs::remove_file(folder.path().join("zz")).is_err());
    mount.unmount().unwrap();
}

#[test]
fn a_folder_of_many_names_is_listed_whole_and_read_by_many_threads() {
    skip_unless!(Need::Fuse);
    let mut tar = Tar::default();
    for n in 0..20_000 {
        tar = tar.file(format!("many/{n}"), format!("content {n}").as_bytes());
    }
    let (_temp, path) = file_of(&tar.file("large", &noise(5_000_000)).end());
    let (mount, folder) = mount(&path);
    assert_eq!(fs::read_dir(folder.path().join("many")).unwrap().count(), 20_000);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let folder = folder.path();
            scope.spawn(move || {
                for n in (thread..20_000).step_by(37) {
                    let content = fs::read_to_string(folder.join(format!("many/{n}"))).unwrap();
                    assert_eq!(content, format!("content {n}"));
                }
                let mut file = fs::File::open(folder.join("large")).unwrap();
                file.seek(SeekFrom::Start(4_000_000)).unwrap();
                let mut rest = Vec::new();
                file.read_to_end(&mut rest).unwrap();
                assert!(rest == noise(5_000_000)[4_000_000..]);
            });
        }
    });
    assert_eq!(fs::metadata(folder.path().join("large")).unwrap().size(), 5_000_000);
    mount.unmount().unwrap();
}

#[test]
fn an_archive_that_is_cut_short_under_the_mount_gives_errors_and_no_wrong_bytes() {
    skip_unless!(Need::Fuse);
    let (_temp, path) = file_of(&Tar::default().file("a", &noise(700_000)).file("b", &noise(800_000)).end());
    let (mount, folder) = mount(&path);
    assert!(fs::read(folder.path().join("a")).unwrap() == noise(700_000));
    fs::File::options().write(true).open(&path).unwrap().set_len(1000).unwrap();
    let error = fs::read(folder.path().join("b")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(5), "EIO: {error}");
    mount.unmount().unwrap();
}

#[test]
fn a_mount_ends_when_somebody_unmounts_it() {
    skip_unless!(Need::Fuse, Need::Root);
    let (_temp, path) = file_of(&Tar::default().file("a", b"1").end());
    let (mount, folder) = mount(&path);
    assert!(!mount.is_over());
    assert!(Command::new("umount").arg(folder.path()).status().unwrap().success());
    mount.wait().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    // What is mounted there afterwards is not this one's.
    let (other, other_folder) = self::mount(&path);
    drop(folder);
    assert!(matches!(Tree::read(other_folder.path()).unwrap().entries[Path::new("a")].kind, Kind::File { len: 1, .. }));
    drop(other);
}
