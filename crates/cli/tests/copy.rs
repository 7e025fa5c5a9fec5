//! `manyfiles copy`: the place of each copy, the attributes that it keeps, and the copies that are refused.
#![cfg(unix)] // permissions, links and devices; tests/windows.rs has what differs there

mod common;

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use common::{assert_same_tree, manyfiles, names, read, write};
use manyfiles_testkit::{Need, skip_unless};
use tempfile::{TempDir, tempdir};

/// A folder `src` with everything that a copy has to keep.
fn sources() -> TempDir {
    let temp = tempdir().unwrap();
    let src = temp.path().join("src");
    write(src.join("a.txt"), "a");
    write(src.join("deep/er/b.txt"), "b".repeat(300_000));
    write(src.join("run"), "#!/bin/sh\n");
    write(src.join("empty"), "");
    fs::set_permissions(src.join("run"), fs::Permissions::from_mode(0o751)).unwrap();
    fs::hard_link(src.join("a.txt"), src.join("deep/same")).unwrap();
    symlink("../a.txt", src.join("deep/link")).unwrap();
    symlink("/nowhere/at/all", src.join("dangling")).unwrap();
    symlink("deep", src.join("folder link")).unwrap();
    write(src.join("locked/in"), "in");
    fs::set_permissions(src.join("locked"), fs::Permissions::from_mode(0o555)).unwrap();
    let old = ["-d", "2001-02-03 04:05:06.789"];
    let touched = Command::new("touch").args(old).arg(src.join("a.txt")).arg(src.join("deep")).arg(&src).status();
    assert!(touched.unwrap().success());
    temp
}

#[test]
fn a_missing_destination_becomes_the_copy_with_all_that_the_source_is() {
    let temp = sources();
    manyfiles(temp.path(), &["copy", "src", "dst"]).code(0).says("copied");
    assert_same_tree(&temp.path().join("src"), &temp.path().join("dst"));
    let modified = |name: &str| fs::metadata(temp.path().join(name)).unwrap().modified().unwrap();
    assert_eq!(modified("src"), modified("dst"), "the folder itself keeps its time too");
}

#[test]
fn a_folder_that_is_there_gets_the_source_under_its_name() {
    let temp = sources();
    write(temp.path().join("dst/other"), "stays");
    manyfiles(temp.path(), &["copy", "src", "src/a.txt", "dst"]).code(0);
    assert_same_tree(&temp.path().join("src"), &temp.path().join("dst/src"));
    assert_eq!(read(temp.path().join("dst/a.txt")), "a");
    assert_eq!(read(temp.path().join("dst/other")), "stays");
}

#[test]
fn options_may_stand_anywhere_and_a_destination_must_be_given() {
    let temp = tempdir().unwrap();
    write(temp.path().join("a/f"), "f");
    write(temp.path().join("b/g"), "g");
    fs::create_dir(temp.path().join("dst")).unwrap();
    manyfiles(temp.path(), &["copy", "a", "-q", "new"]).code(0);
    assert_eq!(read(temp.path().join("new/f")), "f");
    manyfiles(temp.path(), &["copy", "a", "--on-conflict", "skip", "b", "-v", "dst", "--json"]).code(0);
    assert_eq!(names(&temp.path().join("dst")), ["a", "a/f", "b", "b/g"]);
    manyfiles(temp.path(), &["copy", "a"]).code(2).says("only a is given");
    manyfiles(temp.path(), &["copy"]).code(2).says("manyfiles copy [OPTIONS] <SRC>... <DST>");
}

#[test]
fn a_source_never_destroys_what_another_one_has_just_become() {
    let temp = tempdir().unwrap();
    write(temp.path().join("a/f"), "first");
    write(temp.path().join("b/f"), "second");
    write(temp.path().join("b/g"), "g");
    fs::create_dir(temp.path().join("dst")).unwrap();
    for how in ["error", "skip", "overwrite", "replace", "skip-identical", "newer"] {
        manyfiles(temp.path(), &["copy", "a/f", "b/f", "dst", "--on-conflict", how])
            .code(2)
            .says("a/f and b/f would both become dst/f; copy them to different folders");
        // Folders of one name become one.
        for args in [&["a/.", "b/."][..], &["a/.", "b/f"], &["a", "b", "--strip-components", "1"]] {
            let dry = [&["copy"], args, &["dst", "--on-conflict", how, "--dry-run"]].concat();
            manyfiles(temp.path(), &dry).code(1);
            let run = [&["copy"], args, &["dst", "--on-conflict", how]].concat();
            manyfiles(temp.path(), &run).code(1).says("cannot create f: another entry of this run has this path");
            assert_eq!(read(temp.path().join("dst/f")), "first", "{how} {args:?}");
            assert_eq!(temp.path().join("dst/g").exists(), args[1] != "b/f");
            fs::remove_dir_all(temp.path().join("dst")).unwrap();
            fs::create_dir(temp.path().join("dst")).unwrap();
        }
    }
    manyfiles(temp.path(), &["copy", "a/.", "b/.", "dst", "--on-conflict", "rename"]).code(0);
    assert_eq!(names(&temp.path().join("dst")), ["f", "f (1)", "g"]);
}

#[test]
fn a_source_with_slash_dot_stands_for_its_content() {
    let temp = sources();
    fs::create_dir(temp.path().join("dst")).unwrap();
    manyfiles(temp.path(), &["copy", "src/.", "dst"]).code(0);
    assert_same_tree(&temp.path().join("src"), &temp.path().join("dst"));
    manyfiles(&temp.path().join("src"), &["copy", ".", "../third"]).code(0);
    assert_same_tree(&temp.path().join("src"), &temp.path().join("third"));
}

#[test]
fn one_file_gets_the_name_it_is_given() {
    let temp = sources();
    manyfiles(temp.path(), &["copy", "src/a.txt", "new.txt"]).code(0);
    assert_eq!(read(temp.path().join("new.txt")), "a");
    manyfiles(temp.path(), &["copy", "src/folder link", "link"]).code(0);
    assert_eq!(fs::read_link(temp.path().join("link")).unwrap(), Path::new("deep"), "a link is copied as a link");
    manyfiles(temp.path(), &["copy", "src/run", "new.txt"]).code(1).says("new.txt").says("--on-conflict");
    manyfiles(temp.path(), &["copy", "src/run", "new.txt", "--on-conflict", "overwrite"]).code(0);
    assert_eq!(read(temp.path().join("new.txt")), "#!/bin/sh\n");
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_is_written() {
    let temp = sources();
    let before = names(temp.path());
    for (args, why) in [
        (&["src", "src/inside"][..], "into itself"),
        (&["src", "src"], "into itself"),
        (&["src", "."], "same folder"),
        (&["src/a.txt", "src/a.txt"], "same file"),
        (&["src/a.txt", "src/deep/same"], "same file"),
        (&["src/a.txt", "src"], "same file"),
        (&["src/a.txt", "src/run", "missing"], "mkdir missing"),
        (&["src/a.txt", "src/run", "src/empty"], "only a folder"),
        (&["src", "src/empty"], "is not a folder"),
        (&["src/a.txt", "missing/"], "mkdir missing/"),
        (&["src", "not/mounted"], "mkdir -p not, or have it made: --make-parents"),
        (&["src/a.txt", "not/mounted/a.txt"], "mkdir -p not/mounted"),
        (&["src/a.txt", "src/dangling"], "leads nowhere"),
        (&["nothing", "nor this", "src"], "nor this"),
    ] {
        let ran = manyfiles(temp.path(), &[&["copy"], args].concat()).code(2).says(why);
        assert!(ran.err.lines().all(|line| line.starts_with("manyfiles: ")), "{ran:#?}");
    }
    assert_eq!(names(temp.path()), before);
}

#[test]
fn folders_above_the_destination_are_made_when_that_is_asked_for() {
    let temp = sources();
    manyfiles(temp.path(), &["copy", "src", "x/y/z", "--make-parents"]).code(0);
    assert_same_tree(&temp.path().join("src"), &temp.path().join("x/y/z"));
    manyfiles(temp.path(), &["cp", "src/a.txt", "v/w/b.txt", "--make-parents"]).code(0);
    assert_eq!(read(temp.path().join("v/w/b.txt")), "a");
    manyfiles(temp.path(), &["copy", "src", "q/y/z", "--dry-run"]).code(2).says("--make-parents");
}

#[test]
fn a_hard_link_never_leads_to_what_was_there_before() {
    for how in ["error", "skip", "newer", "rename", "overwrite", "replace"] {
        let temp = tempdir().unwrap();
        let at = |path: &str| temp.path().join(path);
        write(at("src/a"), "content");
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        fs::File::options().write(true).open(at("src/a")).unwrap().set_modified(old).unwrap();
        for name in ["b", "c"] {
            fs::hard_link(at("src/a"), at("src").join(name)).unwrap();
        }
        for name in ["a", "b", "c"] {
            write(at(name).join(name), "of another user");
            manyfiles(temp.path(), &["copy", "src/.", name, "--on-conflict", how]);
            let others = ["a", "b", "c"].into_iter().filter(|other| *other != name);
            assert!(others.clone().all(|other| read(at(name).join(other)) == "content"), "{how}: {name} was taken");
            let [one, other] =
                others.map(|other| fs::metadata(at(name).join(other)).unwrap().ino()).collect::<Vec<_>>()[..]
            else {
                panic!()
            };
            assert_eq!(one, other, "{how}: what could be one file is one");
        }
    }
}

#[test]
fn holes_stay_holes() {
    let temp = tempdir().unwrap();
    let file = fs::File::create(temp.path().join("sparse")).unwrap();
    file.set_len(1 << 30).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"in the middle", 500 << 20).unwrap();
    drop(file);
    manyfiles(temp.path(), &["copy", "sparse", "copy"]).code(0);
    let copy = fs::metadata(temp.path().join("copy")).unwrap();
    assert_eq!(copy.len(), 1 << 30);
    assert!(copy.blocks() * 512 < 10 << 20, "{} bytes on disk", copy.blocks() * 512);
    let mut middle = [0; 13];
    let copy = fs::File::open(temp.path().join("copy")).unwrap();
    std::os::unix::fs::FileExt::read_exact_at(&copy, &mut middle, 500 << 20).unwrap();
    assert_eq!(&middle, b"in the middle");
}

#[test]
fn fifos_are_refused_by_name_sockets_are_skipped_with_a_word_and_the_rest_is_copied() {
    let temp = sources();
    let src = temp.path().join("src");
    let _sockets = ["one", "two", "three", "four"].map(|name| UnixListener::bind(src.join(name)).unwrap());
    let json = manyfiles(temp.path(), &["copy", "src", "sockets", "--json"])
        .code(0)
        .says("4 sockets skipped (")
        .says(", and 1 more)")
        .says("a copy of it nowhere")
        .json();
    assert_eq!((json["sockets"].as_array().unwrap().len(), &json["status"]), (4, &"complete".into()));
    assert!(names(&temp.path().join("sockets")).iter().all(|name| !["one", "two", "three", "four"].contains(&&**name)));

    assert!(Command::new("mkfifo").arg(src.join("fifo")).status().unwrap().success());
    let planned = manyfiles(temp.path(), &["copy", "src", "dst", "--dry-run"]).code(1);
    assert!(planned.out.lines().any(|line| line.starts_with("skip      one  (a socket")), "{planned:#?}");
    manyfiles(temp.path(), &["copy", "src", "dst"])
        .code(1)
        .says("src/fifo: refused")
        .says("--special-files")
        .says("1 failed or refused");
    assert_eq!(read(temp.path().join("dst/a.txt")), "a");
    assert!(!temp.path().join("dst/fifo").exists());

    manyfiles(temp.path(), &["copy", "src", "again", "--special-files"]).code(0).says("4 sockets skipped");
    assert!(fs::metadata(temp.path().join("again/fifo")).unwrap().file_type().is_fifo());
}

#[test]
fn devices_are_copied_when_root_asks() {
    skip_unless!(Need::Root);
    let temp = tempdir().unwrap();
    fs::create_dir(temp.path().join("src")).unwrap();
    assert!(Command::new("mknod").arg(temp.path().join("src/null")).args(["c", "1", "3"]).status().unwrap().success());
    manyfiles(temp.path(), &["copy", "src", "dst", "--special-files"]).code(0);
    let device = fs::metadata(temp.path().join("dst/null")).unwrap();
    assert!(device.file_type().is_char_device());
    assert_eq!(device.rdev(), fs::metadata("/dev/null").unwrap().rdev());
}

#[test]
fn owners_and_set_id_bits_are_dropped_unless_asked_for() {
    skip_unless!(Need::Root);
    let temp = tempdir().unwrap();
    write(temp.path().join("src/tool"), "x");
    std::os::unix::fs::chown(temp.path().join("src/tool"), Some(1234), Some(5678)).unwrap();
    fs::set_permissions(temp.path().join("src/tool"), fs::Permissions::from_mode(0o6755)).unwrap();
    manyfiles(temp.path(), &["copy", "src", "plain"]).code(0);
    let plain = fs::metadata(temp.path().join("plain/tool")).unwrap();
    assert_eq!((plain.uid(), plain.gid(), plain.mode() & 0o7777), (0, 0, 0o755));
    let json = manyfiles(temp.path(), &["copy", "src", "told", "--json"])
        .code(0)
        .says("1 entry had other owners, and is yours now; --same-owner keeps owners")
        .json();
    assert_eq!(json["other_owners"], 1);
    manyfiles(temp.path(), &["copy", "src", "same", "--same-owner", "--set-id"]).code(0).does_not_say("other owners");
    let same = fs::metadata(temp.path().join("same/tool")).unwrap();
    assert_eq!((same.uid(), same.gid(), same.mode() & 0o7777), (1234, 5678, 0o6755));
}

#[test]
fn the_umask_applies_to_a_copy_only_if_asked_for() {
    let temp = tempdir().unwrap();
    write(temp.path().join("src/f"), "x");
    fs::set_permissions(temp.path().join("src/f"), fs::Permissions::from_mode(0o666)).unwrap();
    let mode = |path: &str| fs::metadata(temp.path().join(path)).unwrap().mode() & 0o7777;
    common::shell(temp.path(), "umask 077; $M copy src exact && $M copy src masked --no-preserve-permissions").code(0);
    assert_eq!((mode("exact/f"), mode("masked/f")), (0o666, 0o600));
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_copied() {
    skip_unless!(Need::Root, Need::Program("setpriv"));
    let temp = sources();
    fs::set_permissions(temp.path().join("src/deep"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(temp.path().join("src/run"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(temp.path(), fs::Permissions::from_mode(0o777)).unwrap();
    common::shell(temp.path(), "setpriv --reuid 65534 --regid 65534 --clear-groups $M copy src dst")
        .code(1)
        .says("cannot read src/deep: Permission denied")
        .says("cannot create run: cannot open ")
        .says("src/run: Permission denied")
        .says("2 failed");
    assert_eq!(read(temp.path().join("dst/locked/in")), "in");
    assert!(!temp.path().join("dst/run").exists());
}

#[test]
fn stripping_looks_at_the_path_below_the_destination() {
    let temp = sources();
    fs::create_dir(temp.path().join("dst")).unwrap();
    manyfiles(temp.path(), &["copy", "src", "dst", "--include", "*.txt", "--strip-components", "1"]).code(0);
    assert_eq!(names(&temp.path().join("dst")), ["a.txt", "deep", "deep/er", "deep/er/b.txt"]);
}

#[test]
fn limits_stop_the_copy_and_say_which_option_raises_them() {
    let temp = sources();
    manyfiles(temp.path(), &["copy", "src", "few", "--max-entries", "3"])
        .code(2)
        .says("more than 3 entries (--max-entries)")
        .says("copied 3 entries");
    manyfiles(temp.path(), &["copy", "src", "small", "--max-bytes", "100K"]).code(2).says("--max-bytes");
    assert!(!temp.path().join("small/deep/er/b.txt").exists());
}

#[test]
fn every_way_to_settle_a_conflict() {
    let temp = tempdir().unwrap();
    let at = |path: &str| temp.path().join(path);
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    write(at("src/same"), "same");
    write(at("src/f"), "new");
    write(at("src/late"), "new");
    fs::File::options().write(true).open(at("src/f")).unwrap().set_modified(old).unwrap();
    for (how, code, f, late) in [
        ("error", 1, "what was there", "what was there"),
        ("skip", 0, "what was there", "what was there"),
        ("skip-identical", 0, "new", "new"),
        ("overwrite", 0, "new", "new"),
        ("replace", 0, "new", "new"),
        ("newer", 0, "what was there", "new"),
        ("rename", 0, "what was there", "what was there"),
    ] {
        let dst = at(how);
        write(dst.join("same"), "same");
        write(dst.join("f"), "what was there");
        write(dst.join("late"), "what was there");
        let an_hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        fs::File::options().write(true).open(dst.join("late")).unwrap().set_modified(an_hour_ago).unwrap();
        let ran = manyfiles(temp.path(), &["copy", "src/.", how, "--on-conflict", how, "--json"]).code(code);
        assert_eq!((read(dst.join("f")).as_str(), read(dst.join("late")).as_str()), (f, late), "{how}: {ran:#?}");
        let json = ran.json();
        let (skipped, renamed) = (json["skipped"].as_u64().unwrap(), json["renamed"].as_array().unwrap().len());
        match how {
            "skip" => assert_eq!(skipped, 3),
            "rename" => {
                assert_eq!(renamed, 3);
                assert_eq!(read(dst.join("f (1)")), "new");
            }
            _ => {}
        }
    }
}

#[test]
fn many_files_need_few_descriptors() {
    let temp = tempdir().unwrap();
    for n in 0..600 {
        write(temp.path().join(format!("src/{}/{n}", n % 150)), n.to_string());
    }
    common::shell(temp.path(), "ulimit -n 64; $M copy src dst").code(0);
    assert_same_tree(&temp.path().join("src"), &temp.path().join("dst"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_folder_that_no_handle_is_free_for_is_read_when_there_is_one() {
    use manyfiles_testkit::{Call, Preload, Rule};

    skip_unless!(Need::Preload);
    let temp = sources();
    // The first is refused three times.
    let refused = |nth: u64| Rule::fail(Call::Open, libc::EMFILE).path_contains("/src/deep").nth(nth);
    let preload = (1..=3).fold(Preload::new(), |preload, nth| preload.rule(refused(nth)));
    let mut command = Command::new(common::BINARY);
    command.current_dir(temp.path()).args(["copy", "src/deep", "copied"]);
    let output = preload.apply(&mut command).unwrap().output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(read(temp.path().join("copied/er/b.txt")).len(), 300_000);
}
