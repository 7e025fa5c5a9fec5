//! Whole files and whole folders by name, files that stay open to be read, and syncs of files that nobody has open.
#![cfg(all(target_os = "linux", feature = "full"))]

#[path = "support/kept.rs"]
mod kept;
mod support;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;

use kept::handles_in;
use manyfiles::vfs::Vfs;
use manyfiles_testkit::{Call, Need, Preload, Rule, skip_unless};

#[test]
fn whole_files_are_put_touched_and_copied() {
    let temp = tempfile::tempdir().unwrap();
    let vfs = Vfs::new();
    for base in [temp.path().to_str().unwrap(), "mem://base"] {
        vfs.create_folder(base).unwrap();
        let uri = |name: &str| format!("{base}/{name}");
        vfs.put(uri("a"), b"first").unwrap();
        vfs.write(uri("a"), b" and").unwrap();
        vfs.write(uri("a"), b" more").unwrap();
        assert_eq!(vfs.copy(uri("a"), uri("b")).unwrap(), 14);
        vfs.put(uri("a"), b"second").unwrap();
        vfs.write(uri("a"), b"!").unwrap();
        vfs.touch(uri("a")).unwrap();
        vfs.touch(uri("empty")).unwrap();
        let read = |name: &str| String::from_utf8(vfs.read(uri(name)).unwrap()).unwrap();
        assert_eq!((&*read("a"), &*read("b"), &*read("empty")), ("second!", "first and more", ""));
        assert_eq!(vfs.copy(uri("a"), uri("a")).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(vfs.copy(uri("missing"), uri("a")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(vfs.put(uri("missing/a"), b"").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(vfs.put(base, b"").unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(vfs.list(base).unwrap().len(), 3, "{base}: nothing else is left");
    }
    let across = temp.path().join("across");
    assert_eq!(vfs.copy("mem://base/b", &across).unwrap(), 14);
    assert_eq!(fs::read(&across).unwrap(), b"first and more");
    vfs.finish().unwrap();
}

#[test]
fn whole_folders_are_listed_and_removed_and_links_are_not_gone_through() {
    let temp = tempfile::tempdir().unwrap();
    let outside = temp.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "kept").unwrap();
    let vfs = Vfs::new();
    for base in [temp.path().join("folder").to_str().unwrap(), "mem://folder"] {
        let uri = |name: &str| format!("{base}/{name}");
        vfs.create_folder(uri("b/c")).unwrap();
        for name in ["a", "b/x", "b/c/y", "b-z"] {
            vfs.write(uri(name), b"1").unwrap();
            vfs.write(uri(name), b"2").unwrap();
        }
        let mut expected = vec!["a", "b", "b-z", "b/c", "b/c/y", "b/x"];
        if !base.starts_with("mem:") {
            symlink(&outside, uri("link")).unwrap();
            symlink(".", uri("b/round")).unwrap();
            expected = vec!["a", "b", "b-z", "b/c", "b/c/y", "b/round", "b/x", "link"];
        }
        let listed = vfs.list_all(base).unwrap();
        let names: Vec<_> = listed.iter().map(|entry| entry.uri.to_str().unwrap()).collect();
        assert_eq!(names, expected.iter().map(|name| uri(name)).collect::<Vec<_>>());
        let bytes: u64 = listed.iter().map(|entry| entry.metadata.size).sum();
        assert_eq!(bytes, 8, "{base}: what is buffered counts");
        vfs.remove_all(base).unwrap();
        assert!(!vfs.exists(base).unwrap(), "{base}");
        assert_eq!(vfs.remove_all(base).unwrap_err().kind(), ErrorKind::NotFound);
    }
    assert_eq!(fs::read(outside.join("kept")).unwrap(), b"kept");
    vfs.finish().unwrap();
}

#[test]
fn a_file_that_is_read_in_pieces_stays_open_and_is_the_one_that_has_the_name() {
    let temp = tempfile::tempdir().unwrap();
    let (path, other) = (temp.path().join("file"), temp.path().join("other"));
    fs::write(&path, "0123456789").unwrap();
    fs::write(&other, "abcdefghij").unwrap();
    let vfs = Vfs::options().handles(2).build();
    let read = |path: &Path, offset| {
        let mut bytes = [0; 4];
        let read = vfs.read_at(path, offset, &mut bytes).unwrap();
        String::from_utf8(bytes[..read].to_vec()).unwrap()
    };
    assert_eq!((&*read(&path, 2), &*read(&path, 8), &*read(&path, 20)), ("2345", "89", ""));
    assert_eq!(handles_in(temp.path()), 1);
    // What this Vfs writes, and what others do, is seen at once.
    vfs.write(&path, b"X").unwrap();
    vfs.write(&path, b"Y").unwrap();
    assert_eq!(read(&path, 9), "9XY");
    fs::rename(&other, &path).unwrap();
    assert_eq!(read(&path, 0), "abcd");
    fs::write(&path, "new").unwrap();
    assert_eq!(read(&path, 0), "new");
    fs::remove_file(&path).unwrap();
    assert_eq!(vfs.read_at(&path, 0, &mut [0]).unwrap_err().kind(), ErrorKind::NotFound);
    // Handles that are only read make room for those that are written, and all are bounded.
    for n in 0..5 {
        let path = temp.path().join(n.to_string());
        vfs.write(&path, b"x").unwrap();
        assert_eq!(read(&path, 0), "x");
        assert!(handles_in(temp.path()) <= 2);
    }
    vfs.wait().unwrap();
    assert_eq!(handles_in(temp.path()), 0);
}

#[test]
fn a_failed_sync_of_a_file_that_nobody_has_open_stays_with_the_file() {
    skip_unless!(Need::Preload);
    if support::in_parent("a_failed_sync_of_a_file_that_nobody_has_open_stays_with_the_file", |child| {
        let rule = Rule::fail(Call::Fsync, libc::EIO).path_contains("unlucky").nth(1);
        Preload::new().rule(rule).apply(child).unwrap();
    }) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("unlucky");
    fs::write(&path, "x").unwrap();
    let vfs = Vfs::new();
    assert_eq!(vfs.sync(temp.path().join("missing")).unwrap_err().kind(), ErrorKind::NotFound);
    vfs.flush(temp.path().join("missing")).expect("what is not there is not incomplete");
    for told in [
        vfs.sync(&path),
        vfs.sync(&path),
        vfs.read(&path).map(drop),
        vfs.append(&path, b"y"),
        vfs.rename(&path, temp.path().join("new")),
        vfs.flush(&path),
    ] {
        assert_eq!(told.unwrap_err().raw_os_error(), Some(libc::EIO));
    }
    vfs.append(&path, b"y").unwrap();
    assert_eq!(vfs.sync(&path).unwrap_err().raw_os_error(), Some(libc::EIO), "not durable before it is another file");
    assert_eq!(vfs.wait().unwrap_err().len(), 1);
    vfs.put(&path, b"whole").unwrap();
    vfs.sync(&path).unwrap();
}
