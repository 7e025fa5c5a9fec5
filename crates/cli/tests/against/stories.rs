//! Cases that were wrong once, or are worth a name.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use manyfiles_testkit::{Compare, Need, Tree, make_fifo, set_link_time, skip_unless};
use tempfile::{TempDir, tempdir};

use super::archive::{self, Modes};
use super::case::{Entry, Is};
use super::compare::{changed, traces};
use super::world::{Content, What};
use crate::common::{Tar, manyfiles, read, shell, write};

const POLICIES: [&str; 7] = ["error", "skip", "skip-identical", "overwrite", "replace", "newer", "rename"];

fn inode(path: impl AsRef<Path>) -> u64 {
    fs::symlink_metadata(path).unwrap().ino()
}

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: impl AsRef<Path>, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn folder_with(archive: Tar) -> TempDir {
    let temp = tempdir().unwrap();
    archive.save(temp.path().join("a.tar"));
    temp
}

/// Unpacks into an empty folder under every policy, and compares with tar.
fn as_tar_does(archive: impl Fn() -> Tar, check: impl Fn(&Path)) {
    let temp = folder_with(archive());
    for policy in POLICIES {
        let out = temp.path().join(policy);
        manyfiles(temp.path(), &["unpack", "a.tar", "-C", policy, "--on-conflict", policy]).code(0);
        check(&out);
        if Need::Program("tar").check().is_ok() {
            let theirs = temp.path().join(format!("{policy}, tar"));
            fs::create_dir(&theirs).unwrap();
            shell(temp.path(), &format!("tar -xf a.tar --no-same-owner -C '{}'", theirs.display())).code(0);
            let (ours, theirs) = (Tree::read(&out).unwrap(), Tree::read(&theirs).unwrap());
            theirs.assert_same(&ours, Compare::ALL_BUT_TIMES);
        }
    }
}

#[test]
fn a_file_that_comes_after_a_link_of_its_name_takes_the_name_alone() {
    let archive = || Tar::new().file("a", "old").hard_link("b", "a").file("b", "new");
    as_tar_does(archive, |out| {
        assert_eq!((read(out.join("a")), read(out.join("b"))), ("old".into(), "new".into()), "{out:?}");
    });
}

#[test]
fn a_link_keeps_what_its_file_was_when_the_link_was_made() {
    let archive = || Tar::new().file("a", "old").hard_link("b", "a").file("a", "new");
    as_tar_does(archive, |out| {
        assert_eq!((read(out.join("a")), read(out.join("b"))), ("new".into(), "old".into()), "{out:?}");
    });
}

#[test]
fn a_chain_of_links_through_many_folders_is_one_file() {
    let archive = || {
        let first = Tar::new().file("0/f", "content");
        (1..20).fold(first, |tar, n| tar.hard_link(&format!("{n}/f"), &format!("{}/f", n - 1)))
    };
    as_tar_does(archive, |out| {
        assert!((1..20).all(|n| inode(out.join(format!("{n}/f"))) == inode(out.join("0/f"))), "{out:?}");
    });
}

#[test]
fn of_several_entries_of_one_path_the_last_one_stays_under_every_policy() {
    let temp = folder_with(Tar::new().file("a", "first").file("b", "b").symlink("a", "b").file("a", "last"));
    for policy in POLICIES {
        manyfiles(temp.path(), &["unpack", "a.tar", "-C", policy, "--on-conflict", policy]).code(0);
        assert_eq!(read(temp.path().join(policy).join("a")), "last", "{policy}");
        assert_eq!(Tree::read(temp.path().join(policy)).unwrap().entries.len(), 2, "{policy}");
    }
}

#[test]
fn a_link_to_the_root_fails_by_its_own_name_and_the_rest_arrives() {
    for target in ["./", ".", "d/"] {
        let archive = Tar::new().folder("d", 0o755).file("a", "a").hard_link("to folder", target).hard_link("z", "a");
        let temp = folder_with(archive);
        let ran = manyfiles(temp.path(), &["unpack", "a.tar", "-C", "out", "--json"]).code(1).says("to folder");
        assert_eq!(ran.json()["failures"].as_array().unwrap().len(), 1, "{target}");
        assert_eq!(inode(temp.path().join("out/z")), inode(temp.path().join("out/a")));
    }
}

#[test]
fn a_link_to_itself_changes_nothing_and_links_to_each_other_end() {
    as_tar_does(
        || Tar::new().file("a", "a").hard_link("a", "a").file("b", "b").hard_link("b", "a").hard_link("a", "b"),
        |out| assert_eq!(inode(out.join("a")), inode(out.join("b"))),
    );
    // The second waits for a name that the first holds, twice.
    let temp = folder_with(Tar::new().hard_link("b", "a").hard_link("a", "a"));
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", "out"]).code(1).says("link a").says("link b");
    let temp = folder_with(Tar::new().hard_link("x", "x").hard_link("y", "z").hard_link("z", "y").file("f", "f"));
    let ran = manyfiles(temp.path(), &["unpack", "a.tar", "-C", "out", "--json"]).code(1);
    assert_eq!(ran.json()["failures"].as_array().unwrap().len(), 3, "{ran:#?}");
    assert_eq!(read(temp.path().join("out/f")), "f");
}

#[test]
fn a_link_that_fails_does_not_make_a_failure_of_the_file_that_is_there() {
    let temp = folder_with(Tar::new().file("f", "f").hard_link("f", "missing").hard_link("g", "f"));
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", "out"]).code(1).says("f: ");
    assert_eq!(read(temp.path().join("out/g")), "f");
}

#[test]
fn what_came_first_keeps_a_name_that_cannot_be_a_file_and_a_folder() {
    let file = |path: &str| Entry {
        path: path.into(),
        is: Is::New(What::File(Content { len: 1, number: 1, pieces: None })),
        mode: 0o644,
        time: (1_500_000_000, 0),
    };
    for (entries, is_folder) in [([file("a"), file("a/a")], false), ([file("a/a"), file("a")], true)] {
        let temp = tempdir().unwrap();
        fs::write(temp.path().join("a.tar"), archive::tar(&entries)).unwrap();
        fs::write(temp.path().join("a.zip"), archive::zip(&entries, Modes::Said)).unwrap();
        for archive in ["a.tar", "a.zip"] {
            // Often, because it was a matter of which thread came first.
            for round in 0..20 {
                let out = format!("{archive}, {round}");
                manyfiles(temp.path(), &["unpack", archive, "-C", &out]).code(1);
                assert_eq!(temp.path().join(out).join("a").is_dir(), is_folder, "{archive}");
            }
        }
    }
}

#[test]
fn a_fifo_has_the_mode_of_its_entry_whatever_the_umask() {
    let temp = tempdir().unwrap();
    fs::create_dir(temp.path().join("src")).unwrap();
    make_fifo(temp.path().join("src/fifo")).unwrap();
    set_mode(temp.path().join("src/fifo"), 0o666);
    shell(temp.path(), "umask 077; $M copy src dst --special-files").code(0);
    assert_eq!(mode(temp.path().join("dst/fifo")), 0o666);
}

#[test]
fn a_link_that_was_skipped_leaves_the_file_that_was_there_to_the_policy() {
    let temp = folder_with(Tar::new().hard_link("a", "b").file("a", "archive"));
    write(temp.path().join("out/a"), "mine");
    write(temp.path().join("out/b"), "b");
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", "out", "--on-conflict", "skip"]).code(0);
    assert_eq!(read(temp.path().join("out/a")), "mine");
}

#[test]
fn a_large_file_of_a_zip_arrives_whatever_others_are_skipped() {
    let file = |path: &str, len| Entry {
        path: path.into(),
        is: Is::New(What::File(Content { len, number: 1, pieces: None })),
        mode: 0o644,
        time: (1_500_000_000, 0),
    };
    let temp = tempdir().unwrap();
    let entries = [file("d/a", 5_000), file("d/a", 5_000), file("b", 300_000)];
    fs::write(temp.path().join("a.zip"), archive::zip(&entries, Modes::Said)).unwrap();
    for round in 0..20 {
        let out = round.to_string();
        manyfiles(temp.path(), &["unpack", "a.zip", "-C", &out, "--on-conflict", "skip"]).code(0);
        assert_eq!(fs::metadata(temp.path().join(out).join("b")).unwrap().len(), 300_000);
    }
}

#[test]
fn the_last_entry_of_a_folder_says_its_mode_whenever_it_was_made() {
    let late = Tar::new().file("d/a", "x".repeat(5_000)).folder("d", 0o700);
    let twice = Tar::new().folder("d", 0o1777).file("d/a", "x").folder("d", 0o755);
    for (archive, expected) in [(late, 0o700), (twice, 0o755)] {
        let temp = folder_with(archive);
        // Often, because it was a matter of which thread came first.
        for round in 0..40 {
            let out = round.to_string();
            manyfiles(temp.path(), &["unpack", "a.tar", "-C", &out, "--no-preserve-permissions"]).code(0);
            assert_eq!(mode(temp.path().join(out).join("d")), expected);
        }
    }
}

#[test]
fn newer_asks_a_link_how_old_its_file_is() {
    let temp = folder_with(Tar::new().file_with("h1", "archive", 0o644, 1_262_304_000).hard_link("h2", "h1"));
    let at = |path: &str| temp.path().join(path);
    write(at("out/h2"), "mine");
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", "out", "--on-conflict", "newer"]).code(0);
    assert_eq!((read(at("out/h1")), read(at("out/h2"))), ("archive".into(), "mine".into()));

    write(at("src/h1"), "source");
    fs::hard_link(at("src/h1"), at("src/h2")).unwrap();
    set_link_time(at("src/h1"), (1_262_304_000, 0)).unwrap();
    write(at("dst/h2"), "mine");
    manyfiles(temp.path(), &["copy", "src/.", "dst", "--on-conflict", "newer"]).code(0);
    assert_eq!((read(at("dst/h1")), read(at("dst/h2"))), ("source".into(), "mine".into()));
}

#[test]
fn newer_keeps_the_names_of_a_file_together_where_all_are_replaced() {
    let temp = tempdir().unwrap();
    let at = |path: &str| temp.path().join(path);
    write(at("src/a"), "new");
    fs::hard_link(at("src/a"), at("src/b")).unwrap();
    for name in ["dst/a", "dst/b"] {
        write(at(name), "old");
        set_link_time(at(name), (1_262_304_000, 0)).unwrap();
    }
    manyfiles(temp.path(), &["copy", "src/.", "dst", "--on-conflict", "newer"]).code(0);
    assert_eq!(read(at("dst/a")), "new");
    assert_eq!(inode(at("dst/a")), inode(at("dst/b")));
}

#[test]
fn the_time_of_a_folder_says_nothing_about_a_file() {
    let temp = folder_with(Tar::new().file("d", "file"));
    let ran = [1_000_000_000, 1_900_000_000].map(|time| {
        let folder = temp.path().join(time.to_string());
        fs::create_dir_all(folder.join("d")).unwrap();
        set_link_time(folder.join("d"), (time, 0)).unwrap();
        let ran = manyfiles(&folder, &["unpack", "../a.tar", "--on-conflict", "newer"]);
        assert!(folder.join("d").is_dir());
        ran.code
    });
    assert_eq!(ran[0], ran[1]);
}

#[test]
fn a_file_of_two_names_arrives_under_the_one_that_is_free() {
    for (taken, free) in [("n1", "n2"), ("n2", "n1")] {
        for policy in ["overwrite", "replace", "skip-identical", "newer"] {
            let temp = tempdir().unwrap();
            let at = |path: &str| temp.path().join(path);
            write(at("src/n1"), "data");
            fs::hard_link(at("src/n1"), at("src/n2")).unwrap();
            fs::create_dir_all(at("dst").join(taken)).unwrap();
            manyfiles(temp.path(), &["copy", "src/.", "dst", "--on-conflict", policy]);
            assert_eq!(read(at("dst").join(free)), "data", "{policy}");
            assert!(at("dst").join(taken).is_dir(), "{policy}");
        }
    }
}

#[test]
fn a_fifo_that_is_there_is_replaced_by_policies_that_replace_and_written_into_by_none() {
    for (policy, replaced) in [("overwrite", false), ("skip-identical", false), ("replace", true), ("newer", true)] {
        let temp = folder_with(Tar::new().file("f", "file"));
        let fifo = temp.path().join("f");
        make_fifo(&fifo).unwrap();
        set_link_time(&fifo, (1_000_000_000, 0)).unwrap();
        let ran = manyfiles(temp.path(), &["unpack", "a.tar", "--on-conflict", policy]);
        assert_eq!(!fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo(), replaced, "{policy}: {ran:#?}");
        assert_eq!(ran.code, i32::from(!replaced), "{policy}: {ran:#?}");
    }
}

#[test]
fn a_zip_that_says_no_modes_gets_those_that_the_umask_leaves() {
    let entry = |path: &str, what| Entry { path: path.into(), is: Is::New(what), mode: 0, time: (1_500_000_000, 0) };
    let file = || What::File(Content { len: 100, number: 1, pieces: None });
    let entries = [entry("d", What::Folder), entry("d/f", file()), entry("implied/f", file())];
    let temp = tempdir().unwrap();
    fs::write(temp.path().join("a.zip"), archive::zip(&entries, Modes::NotSaid)).unwrap();
    for (umask, file, folder) in [("022", 0o644, 0o755), ("077", 0o600, 0o700), ("002", 0o664, 0o775)] {
        for how in ["", "--preserve-permissions", "--no-preserve-permissions"] {
            let out = format!("{umask}{how}");
            shell(temp.path(), &format!("umask {umask}; $M unpack a.zip -C {out} {how}")).code(0);
            let modes = ["d/f", "implied/f", "d", "implied"].map(|path| mode(temp.path().join(&out).join(path)));
            assert_eq!(modes, [file, file, folder, folder], "{out}");
        }
    }
    // What is there has a mode already.
    shell(temp.path(), "mkdir out; mkdir -m 700 out/d; : >out/d/f; chmod 640 out/d/f").code(0);
    for policy in ["overwrite", "replace"] {
        manyfiles(temp.path(), &["unpack", "a.zip", "-C", "out", "--on-conflict", policy]).code(0);
        assert_eq!((mode(temp.path().join("out/d")), mode(temp.path().join("out/d/f"))), (0o700, 0o640), "{policy}");
    }
}

#[test]
fn folders_that_an_archive_does_not_name_are_made_as_mkdir_makes_them() {
    let temp = folder_with(Tar::new().file("p/q/f", "1"));
    for (umask, folder) in [("022", 0o755), ("077", 0o700)] {
        for how in ["", "--preserve-permissions"] {
            let out = format!("{umask}{how}");
            shell(temp.path(), &format!("umask {umask}; $M unpack a.tar -C {out} {how}")).code(0);
            let modes = ["p", "p/q"].map(|path| mode(temp.path().join(&out).join(path)));
            assert_eq!(modes, [folder, folder], "{out}");
        }
    }
}

#[test]
fn folders_between_files_that_are_chosen_have_the_modes_of_the_source() {
    let temp = tempdir().unwrap();
    write(temp.path().join("src/d/e/f"), "1");
    set_mode(temp.path().join("src/d"), 0o750);
    set_mode(temp.path().join("src/d/e"), 0o711);
    shell(temp.path(), "umask 022; $M copy src dst --include f").code(0);
    assert_eq!((mode(temp.path().join("dst/d")), mode(temp.path().join("dst/d/e"))), (0o750, 0o711));
}

#[test]
fn a_second_run_that_skips_what_is_identical_changes_nothing() {
    let temp = tempdir().unwrap();
    let src = temp.path().join("src");
    write(src.join("d/plain"), "plain");
    write(src.join("d/large"), "large".repeat(100_000));
    write(src.join("read only"), "read only");
    set_mode(src.join("read only"), 0o444);
    fs::hard_link(src.join("d/plain"), src.join("linked")).unwrap();
    symlink("d/plain", src.join("symlink")).unwrap();
    make_fifo(src.join("fifo")).unwrap();
    shell(&src, "truncate -s 3M sparse && printf end | dd of=sparse bs=1M seek=2 conv=notrunc status=none").code(0);
    for name in ["d/plain", "d/large", "read only", "symlink", "fifo", "sparse", "d"] {
        set_link_time(src.join(name), (1_400_000_000, 123_456_789)).unwrap();
    }
    shell(temp.path(), "tar -S --format=pax -cf a.tar -C src .").code(0);
    let out = temp.path().join("out");
    for command in ["copy src/. out", "unpack a.tar -C out"] {
        let run = || {
            shell(temp.path(), &format!("mkdir -p out; $M {command} --special-files --on-conflict skip-identical"))
                .code(0)
        };
        run();
        let before = traces(&out);
        run();
        assert_eq!(changed(&before, &traces(&out)), [""; 0], "{command}");
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn a_sticky_bit_is_kept_and_never_taken() {
    skip_unless!(Need::Root);
    let temp = folder_with(Tar::new().folder("new", 0o1777).folder("there", 0o755).folder("both", 0o1777));
    for name in ["there", "both"] {
        fs::create_dir_all(temp.path().join("out").join(name)).unwrap();
        set_mode(temp.path().join("out").join(name), 0o1777);
    }
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", "out"]).code(0);
    let modes = ["new", "there", "both"].map(|name| mode(temp.path().join("out").join(name)));
    assert_eq!(modes, [0o1777, 0o1755, 0o1777]);
}

#[test]
fn with_set_id_a_folder_keeps_its_set_group_id_bit() {
    let temp = folder_with(Tar::new().folder("d", 0o2755).folder("there", 0o2775));
    fs::create_dir_all(temp.path().join("out/there")).unwrap();
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", "out", "--set-id", "-p"]).code(0);
    assert_eq!((mode(temp.path().join("out/d")), mode(temp.path().join("out/there"))), (0o2755, 0o2775));
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", "without", "-p"]).code(0);
    assert_eq!(mode(temp.path().join("without/d")), 0o755);

    manyfiles(temp.path(), &["copy", "out/.", "copy", "--set-id"]).code(0);
    assert_eq!(mode(temp.path().join("copy/d")), 0o2755);
}

#[test]
fn a_set_group_id_bit_is_not_taken_from_a_folder_that_was_there() {
    let temp = folder_with(Tar::new().folder("d", 0o755).file("d/f", "1"));
    fs::create_dir_all(temp.path().join("out/d")).unwrap();
    set_mode(temp.path().join("out/d"), 0o2775);
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", "out", "-p"]).code(0);
    assert_eq!(mode(temp.path().join("out/d")), 0o2755);
}
