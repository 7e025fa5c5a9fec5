//! `--fsync`: when the command has ended without an error, a power cut takes nothing, on a file system on which only
//! what was synced is safe: the bytes of a file by its own sync, its name by that of its folder.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::path::Path;

use common::{Tar, manyfiles, write};
use manyfiles_testkit::model::Random;
use manyfiles_testkit::{Compare, Need, Op, SlowMount, SlowOptions, Tree, skip_unless};
use tempfile::tempdir;

/// Runs the command twice, since the second run finds the folders of the first. Each time that it says all went well,
/// a power cut leaves the same tree as `expected`. Returns how often that was.
fn cut_after(options: SlowOptions, args: &[&str], folder: &Path, expected: &Path) -> usize {
    let mount = options.record().mount().unwrap();
    let out = mount.path().join("new/below/out");
    let mut went_well = 0;
    for _ in 0..2 {
        let all = [args, &[out.to_str().unwrap(), "--fsync", "--on-conflict", "overwrite"]].concat();
        let ran = manyfiles(folder, &all);
        if ran.code != 0 {
            assert_eq!(ran.code, 1, "{ran:#?}");
            continue;
        }
        went_well += 1;
        let record = mount.record().unwrap();
        for seed in 0..8 {
            let left = record.cut(record.len(), (seed > 0).then_some(Random(seed)));
            let temp = manyfiles_testkit::scratch().unwrap();
            left.make_in(temp.path()).unwrap();
            let as_left = temp.path().join("new/below/out");
            assert!(as_left.exists(), "run {went_well}, seed {seed}: the tree is gone");
            // The model has no permissions and times: names, bytes and links are compared.
            Tree::read(expected).unwrap().assert_same(&Tree::read(&as_left).unwrap(), Compare::default());
        }
    }
    went_well
}

fn source(folder: &Path) {
    for n in 0..40_usize {
        write(folder.join(format!("source/{}/{}/{n}", n % 3, n % 5)), n.to_string().repeat(n * 50));
    }
    fs::create_dir_all(folder.join("source/empty/below")).unwrap();
    std::os::unix::fs::symlink("0/0/0", folder.join("source/way")).unwrap();
    fs::hard_link(folder.join("source/1/1/1"), folder.join("source/other")).unwrap();
}

/// Without a fault both runs go well; else the first one fails, and the second one does not.
fn check(args: &[&str], folder: &Path) {
    let expected = folder.join("source");
    assert_eq!(cut_after(SlowMount::options(), args, folder, &expected), 2);
    let failing = SlowMount::options().fail_nth(Op::Fsync, libc::EIO, "", 9);
    assert_eq!(cut_after(failing, args, folder, &expected), 1);
}

#[test]
fn what_was_copied_with_fsync_is_there() {
    skip_unless!(Need::Fuse);
    let temp = tempdir().unwrap();
    source(temp.path());
    check(&["copy", "--make-parents", "source/."], temp.path());
}

#[test]
fn what_was_unpacked_with_fsync_is_there() {
    skip_unless!(Need::Fuse);
    let temp = tempdir().unwrap();
    source(temp.path());
    let mut tar = Tar::new();
    for n in 0..40_usize {
        tar = tar.file(&format!("{}/{}/{n}", n % 3, n % 5), n.to_string().repeat(n * 50));
    }
    let tar = tar.folder("empty/below", 0o755).symlink("way", "0/0/0").hard_link("other", "1/1/1");
    tar.save(temp.path().join("a.tar"));
    check(&["unpack", "a.tar", "-C"], temp.path());
}
