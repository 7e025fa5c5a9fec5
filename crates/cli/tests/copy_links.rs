//! Files of several names that are copied: the content arrives under every name that can have it.
#![cfg(unix)] // inode numbers

mod common;

use std::fs;
use std::os::unix::fs::MetadataExt;

use common::{manyfiles, names, read, write};
use tempfile::{TempDir, tempdir};

const POLICIES: [&str; 7] = ["error", "skip", "skip-identical", "overwrite", "replace", "newer", "rename"];

/// A folder `src` with one file of the names `n1` to `n4`.
fn four_names() -> TempDir {
    let temp = tempdir().unwrap();
    write(temp.path().join("src/n1"), "data");
    for name in ["n2", "n3", "n4"] {
        fs::hard_link(temp.path().join("src/n1"), temp.path().join("src").join(name)).unwrap();
    }
    temp
}

#[test]
fn a_folder_in_the_place_of_one_name_keeps_the_content_from_no_other() {
    for how in POLICIES {
        // Whichever name the walk finds first.
        for taken in [&["n1"][..], &["n2"], &["n3"], &["n4"], &["n1", "n2", "n3"], &["n2", "n3", "n4"]] {
            let temp = four_names();
            for name in taken {
                write(temp.path().join("dst").join(name).join("inside"), "kept");
            }
            let ran = manyfiles(temp.path(), &["copy", "src/.", "dst", "--on-conflict", how]);
            let dst = temp.path().join("dst");
            let free = ["n1", "n2", "n3", "n4"].into_iter().filter(|name| !taken.contains(name));
            let inodes: Vec<_> = free
                .map(|name| {
                    assert_eq!(read(dst.join(name)), "data", "{how}, {taken:?}: {ran:#?}");
                    fs::metadata(dst.join(name)).unwrap().ino()
                })
                .collect();
            assert!(
                inodes.windows(2).all(|pair| pair[0] == pair[1]),
                "{how}, {taken:?}: what could be one file is one"
            );
            assert!(taken.iter().all(|name| read(dst.join(name).join("inside")) == "kept"), "{how}, {taken:?}");
        }
    }
}

#[test]
fn a_name_that_cannot_be_written_hands_the_content_on_to_the_next() {
    // The walk takes what it is given in this order: the first name's folder is a file in the destination.
    let temp = tempdir().unwrap();
    write(temp.path().join("a/n"), "data");
    write(temp.path().join("b/n"), "");
    fs::remove_file(temp.path().join("b/n")).unwrap();
    for folder in ["b", "c", "d"] {
        fs::create_dir_all(temp.path().join(folder)).unwrap();
        fs::hard_link(temp.path().join("a/n"), temp.path().join(folder).join("n")).unwrap();
    }
    write(temp.path().join("dst/a"), "in the way");
    write(temp.path().join("dst/b"), "in the way");
    let ran =
        manyfiles(temp.path(), &["copy", "a", "b", "c", "d", "dst", "--on-conflict", "overwrite", "--json"]).code(1);
    let dst = temp.path().join("dst");
    assert_eq!(names(&dst), ["a", "b", "c", "c/n", "d", "d/n"], "{ran:#?}");
    assert_eq!(read(dst.join("c/n")), "data");
    let inode = |path: &str| fs::metadata(dst.join(path)).unwrap().ino();
    assert_eq!(inode("c/n"), inode("d/n"));
    let json = ran.json();
    assert_eq!((&json["files"], &json["hard_links"]), (&1.into(), &1.into()), "{json:#}");
}

#[test]
fn the_second_copy_under_skip_identical_writes_no_file() {
    let temp = four_names();
    write(temp.path().join("src/plain"), "x".repeat(100_000));
    manyfiles(temp.path(), &["copy", "src/.", "dst"]).code(0);
    let inodes = || {
        let dst = temp.path().join("dst");
        names(&dst).iter().map(|name| fs::metadata(dst.join(name)).unwrap().ino()).collect::<Vec<_>>()
    };
    let before = inodes();
    let args = ["copy", "src/.", "dst", "--on-conflict", "skip-identical", "--json"];
    let json = manyfiles(temp.path(), &args).code(0).json();
    assert_eq!((&json["files"], &json["bytes"]), (&0.into(), &0.into()), "{json:#}");
    assert_eq!(inodes(), before);
}
