//! Where names that differ in case only are one name: one file has one handle and one order, however a program spells
//! it. On Windows and macOS that is the usual file system, on Linux a FUSE mount.
#![cfg(all(any(unix, windows), feature = "full"))]

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use manyfiles::vfs::{CreateOptions, Vfs};
use manyfiles::writer::SyncPolicy;

/// A folder that folds case.
struct Folding {
    root: PathBuf,
    #[cfg(target_os = "linux")]
    _mount: manyfiles_testkit::SlowMount,
    _temp: tempfile::TempDir,
}

impl Folding {
    #[cfg(target_os = "linux")]
    fn new() -> Folding {
        let temp = tempfile::tempdir().unwrap();
        let mount = manyfiles_testkit::SlowMount::options().fold_case().mount().unwrap();
        Folding { root: mount.path().to_owned(), _mount: mount, _temp: temp }
    }

    #[cfg(not(target_os = "linux"))]
    fn new() -> Folding {
        let temp = tempfile::tempdir().unwrap();
        Folding { root: temp.path().to_owned(), _temp: temp }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

/// Whether names fold there; a test that finds they don't has nothing to look at.
fn folds(root: &Path) -> bool {
    fs::write(root.join("Probe"), "").unwrap();
    let folds = root.join("pROBE").exists();
    fs::remove_file(root.join("Probe")).unwrap();
    folds
}

macro_rules! folding {
    () => {{
        #[cfg(target_os = "linux")]
        manyfiles_testkit::skip_unless!(manyfiles_testkit::Need::Fuse);
        let folding = Folding::new();
        if !folds(&folding.root) {
            return manyfiles_testkit::skip("names that differ in case are two names here");
        }
        folding
    }};
}

#[test]
fn what_is_written_by_two_spellings_is_in_one_file_in_the_order_of_the_calls() {
    let folding = folding!();
    let vfs = Vfs::new();
    let mut expected = Vec::new();
    for n in 0..60_u8 {
        let name = ["Notes", "notes", "NOTES", "nOtEs"][usize::from(n) % 4];
        let bytes = vec![b'A' + n; usize::from(n) * 7 + 1];
        match n % 5 {
            0 => vfs.append(folding.path(name), &bytes).unwrap(),
            _ => vfs.write(folding.path(name), &bytes).unwrap(),
        }
        expected.extend(bytes);
        if n % 7 == 0 {
            assert_eq!(vfs.size(folding.path("NoTeS")).unwrap(), expected.len() as u64);
        }
        if n % 11 == 0 {
            assert!(vfs.read(folding.path("noteS")).unwrap() == expected, "after {n} writes");
        }
    }
    let listed = vfs.list(&folding.root).unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0].metadata.size, expected.len() as u64);
    vfs.sync(folding.path("notES")).unwrap();
    assert!(fs::read(folding.path("Notes")).unwrap() == expected);
    vfs.finish().unwrap();
}

#[test]
fn another_spelling_is_put_copied_renamed_and_removed_as_the_file_that_it_is() {
    let folding = folding!();
    let vfs = Vfs::new();
    vfs.write(folding.path("Tile"), b"one ").unwrap();
    vfs.write(folding.path("Tile"), b"two ").unwrap();
    let error = vfs.copy(folding.path("tile"), folding.path("TILE")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    assert_eq!(vfs.read(folding.path("TILE")).unwrap(), b"one two ");

    vfs.write(folding.path("tile"), b"lost with what is replaced").unwrap();
    vfs.put(folding.path("TILE"), b"anew ").unwrap();
    vfs.write(folding.path("Tile"), b"and more ").unwrap();
    vfs.write(folding.path("tile"), b"and more").unwrap();
    assert_eq!(vfs.read(folding.path("tILE")).unwrap(), b"anew and more and more");

    // What is buffered by one spelling moves with the file, whatever it is called then.
    vfs.write(folding.path("Tile"), b" before").unwrap();
    vfs.rename(folding.path("TILE"), folding.path("Moved")).unwrap();
    vfs.write(folding.path("MOVED"), b" behind").unwrap();
    assert_eq!(vfs.read(folding.path("moved")).unwrap(), b"anew and more and more before behind");
    assert!(!vfs.exists(folding.path("tile")).unwrap());
    vfs.write(folding.path("tile"), b"another").unwrap();
    assert_eq!(vfs.read(folding.path("Tile")).unwrap(), b"another");

    vfs.write(folding.path("moved"), b"nobody's").unwrap();
    vfs.remove(folding.path("mOVED")).unwrap();
    vfs.write(folding.path("Moved"), b"new").unwrap();
    assert_eq!(vfs.read(folding.path("moved")).unwrap(), b"new");
    let mut writer =
        vfs.create_writer_with(folding.path("MOVED"), &CreateOptions::new().sync(SyncPolicy::OnClose)).unwrap();
    writer.write_all(b"cut").unwrap();
    writer.close().unwrap();
    assert_eq!(vfs.read(folding.path("moved")).unwrap(), b"cut");
    vfs.finish().unwrap();
}

#[test]
fn a_folder_is_the_same_by_another_spelling() {
    let folding = folding!();
    let vfs = Vfs::new();
    vfs.create_folder(folding.path("Array/Fragment")).unwrap();
    vfs.write(folding.path("array/fragment/tile"), b"one ").unwrap();
    vfs.write(folding.path("Array/FRAGMENT/Tile"), b"two").unwrap();
    assert_eq!(vfs.list(folding.path("ARRAY/Fragment")).unwrap()[0].metadata.size, 7);
    vfs.rename(folding.path("ARRAY"), folding.path("Other")).unwrap();
    assert_eq!(vfs.read(folding.path("other/fragment/TILE")).unwrap(), b"one two");
    vfs.write(folding.path("other/Fragment/tile"), b" three").unwrap();
    vfs.remove_all(folding.path("OTHER")).unwrap();
    assert!(!vfs.exists(folding.path("Other")).unwrap());
    vfs.finish().unwrap();
}
