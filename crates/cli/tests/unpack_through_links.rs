//! `unpack --keep-directory-symlink`, beside GNU tar's.
#![cfg(unix)] // no links are followed elsewhere

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use common::{Tar, manyfiles, shell, write};
use manyfiles_testkit::{Need, skip_unless};
use tempfile::tempdir;

/// A destination with links to folders, in it and beside it.
fn prepare(at: &Path) {
    fs::create_dir_all(at.join("dst/real")).unwrap();
    fs::create_dir_all(at.join("disk")).unwrap();
    fs::create_dir_all(at.join("secret")).unwrap();
    symlink("real", at.join("dst/way")).unwrap();
    symlink("../disk", at.join("dst/out")).unwrap();
    // What the clock of files says lags behind by a few milliseconds.
    thread::sleep(Duration::from_millis(20));
}

#[test]
fn folders_behind_links_get_what_gnu_tar_gives_them() {
    skip_unless!(Need::Program("tar"));
    let temp = tempdir().unwrap();
    let (ours, theirs) = (temp.path().join("ours"), temp.path().join("theirs"));
    for at in [&ours, &theirs] {
        prepare(at);
    }
    let src = temp.path().join("src");
    write(src.join("way/a"), "a");
    write(src.join("way/new/b"), "b");
    write(src.join("out/c"), "c");
    shell(temp.path(), "tar -cf links.tar -C src .");
    let mut tar = Command::new("tar");
    tar.args(["-xf", "../links.tar", "--keep-directory-symlink", "-C", "dst"]).current_dir(&theirs);
    assert!(tar.status().unwrap().success());
    let args = ["unpack", "../links.tar", "--keep-directory-symlink", "-C", "dst"];
    let plan = manyfiles(&ours, &[&args[..], &["--dry-run"]].concat()).code(0).out;
    assert!(plan.contains("way/a") && !plan.contains("refuse"), "{plan}");
    manyfiles(&ours, &args).code(0);
    let tree = |at: &Path| shell(at, "find . -printf '%P %y %l\\n' | sort").out;
    assert_eq!(tree(&ours), tree(&theirs));
    assert!(ours.join("disk/c").is_file() && ours.join("dst/real/new/b").is_file());
    // Without the option they are in the way.
    let refused = manyfiles(&ours, &["unpack", "../links.tar", "-C", "dst", "--on-conflict", "replace"]).code(1);
    assert!(refused.err.contains("a symbolic link stands in the way"), "{}", refused.err);
}

#[test]
fn a_hostile_archive_does_not_get_out_by_a_second_path_to_its_own_link() {
    for jobs in ["1", "0"] {
        let temp = tempdir().unwrap();
        prepare(temp.path());
        symlink("real/later", temp.path().join("dst/trap")).unwrap();
        thread::sleep(Duration::from_millis(20));
        let secret = temp.path().join("secret");
        let secret = secret.to_str().unwrap();
        let tar = Tar::new()
            .symlink("real/evil", secret)
            .file("way/evil/1", "by the path of an old link")
            .symlink("way/other", secret)
            .file("real/other/2", "the other way round")
            .symlink("real/later", secret)
            .file("trap/3", "through an old link that leads through a new one")
            .symlink("way", secret)
            .file("way/4", "in place of an old link");
        fs::write(temp.path().join("hostile.tar"), tar.bytes()).unwrap();
        let args = ["unpack", "hostile.tar", "--keep-directory-symlink", "-C", "dst", "-j", jobs];
        let args = [&args[..], &["--on-conflict", "replace"]].concat();
        let plan = manyfiles(temp.path(), &[&args[..], &["--dry-run"]].concat());
        for entry in ["way/evil/1", "real/other/2", "trap/3", "way/4"] {
            let foreseen = plan.out.lines().any(|line| line.starts_with("refuse") && line.contains(entry));
            assert!(foreseen, "{entry}: {}", plan.out);
        }
        manyfiles(temp.path(), &args).code(1);
        assert_eq!(fs::read_dir(secret).unwrap().count(), 0);
    }
}
