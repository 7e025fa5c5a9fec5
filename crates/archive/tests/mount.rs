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

#[test]
fn extended_attributes_are_those_of_the_tar() {
    skip_unless!(Need::Fuse);
    let records: [(&str, &[u8]); 3] = [
        ("SCHILY.xattr.user.comment", b"a\0b\n=c"),
        ("SCHILY.xattr.user.is%3Dempty", b""),
        ("LIBARCHIVE.xattr.user.comment", b"YQBiCj1j"),
    ];
    let mut tar = Tar::default().pax(&records).file("with", b"1").file("without", b"2");
    tar = tar.pax(&records[..1]).entry(b'5', "folder", "", b"").entry(b'1', "second", "with", b"");
    // So many that the index is kept.
    for number in 0..1000 {
        tar = tar.file(format!("more/{number}"), b"");
    }
    let (_temp, path) = file_of(&tar.end());
    let (mount, folder) = mount(&path);
    let names = |name: &str| {
        let mut buffer = [0; 256];
        let len = rustix::fs::listxattr(folder.path().join(name), &mut buffer).unwrap();
        buffer[..len].to_vec()
    };
    let value = |name: &str, attribute: &str, place: usize| {
        let mut buffer = vec![0; place];
        let len = rustix::fs::getxattr(folder.path().join(name), attribute, &mut buffer)?;
        buffer.truncate(len);
        Ok::<_, rustix::io::Errno>((len, buffer))
    };
    for name in ["with", "second"] {
        assert_eq!(names(name), b"user.comment\0user.is=empty\0", "{name}");
        assert_eq!(value(name, "user.comment", 256), Ok((6, b"a\0b\n=c".to_vec())));
        assert_eq!(value(name, "user.is=empty", 256), Ok((0, Vec::new())));
        // As many bytes as there are, and how many that is.
        assert_eq!(value(name, "user.comment", 6).map(|(len, _)| len), Ok(6));
        assert_eq!(rustix::fs::getxattr_query(folder.path().join(name), "user.comment"), Ok(6));
        assert_eq!(value(name, "user.comment", 5), Err(rustix::io::Errno::RANGE));
    }
    assert_eq!(names("folder"), b"user.comment\0");
    assert_eq!(names("without"), b"");
    assert_eq!(value("without", "user.comment", 256), Err(rustix::io::Errno::NODATA));
    mount.unmount().unwrap();

    let cache = manyfiles_testkit::scratch().unwrap();
    let open = || Archive::options().cache(Some(cache.path().into())).open(&path).unwrap();
    let (first, kept) = (open(), open());
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
    for (name, count) in [("with", 2), ("second", 2), ("folder", 1), ("without", 0)] {
        let (first, kept) = (first.metadata(name).unwrap(), kept.metadata(name).unwrap());
        assert_eq!(first.attributes, kept.attributes);
        assert_eq!(first.attributes.len(), count);
    }
}
