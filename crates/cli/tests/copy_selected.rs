//! `copy` with `--include` and `--exclude`: which entries match, which folders are made on the way, and which patterns
//! match nothing.
#![cfg(unix)] // permissions

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use common::{Tar, manyfiles, names, shell, write};
use manyfiles_testkit::{Need, skip_unless};
use tempfile::{TempDir, tempdir};

/// A folder `src` with a file three folders down, each of another mode, all of an old time.
fn sources() -> TempDir {
    let temp = tempdir().unwrap();
    let src = temp.path().join("src");
    write(src.join("a/b/f"), "f");
    write(src.join("a/b/other"), "other");
    write(src.join("side/f.txt"), "side");
    for (folder, mode) in [("a/b", 0o750), ("a", 0o711), ("", 0o2755)] {
        fs::set_permissions(src.join(folder), fs::Permissions::from_mode(mode)).unwrap();
        let old = ["-d", "2001-02-03 04:05:06"];
        assert!(Command::new("touch").args(old).arg(src.join(folder)).status().unwrap().success());
    }
    temp
}

fn mode_and_time(path: &Path) -> (u32, i64) {
    let of = fs::metadata(path).unwrap();
    (of.mode() & 0o777, of.mtime())
}

#[test]
fn folders_made_on_the_way_are_as_in_the_source_and_those_that_are_there_stay_as_they_are() {
    let temp = sources();
    let at = |path: &str| mode_and_time(&temp.path().join(path));
    for args in [&["--include", "f"][..], &["--include", "/a/b/f"], &["--include", "f", "-j", "1"]] {
        shell(temp.path(), "rm -rf new").code(0);
        shell(temp.path(), &format!("umask 027; $M copy src new {}", args.join(" "))).code(0);
        assert_eq!(names(&temp.path().join("new")), ["a", "a/b", "a/b/f"]);
        for folder in ["", "a", "a/b"] {
            assert_eq!(at(&format!("new/{folder}")), at(&format!("src/{folder}")), "{folder:?}, {args:?}");
        }
    }
    fs::create_dir_all(temp.path().join("there/src/a")).unwrap();
    fs::set_permissions(temp.path().join("there/src/a"), fs::Permissions::from_mode(0o700)).unwrap();
    manyfiles(temp.path(), &["copy", "src", "there", "--include", "f"]).code(0);
    assert_eq!(at("there/src/a").0, 0o700, "not made, so not changed");
    assert_eq!(at("there/src/a/b"), at("src/a/b"));
    // Stripped folders are not made, and the entries below them begin at the root.
    manyfiles(temp.path(), &["copy", "src", "stripped", "--include", "f", "--strip-components", "1"]).code(0);
    assert_eq!(names(&temp.path().join("stripped")), ["b", "b/f"]);
    assert_eq!(at("stripped/b"), at("src/a/b"));
}

#[test]
fn any_user_gets_the_folders_of_the_source() {
    skip_unless!(Need::Root, Need::Program("setpriv"));
    let temp = sources();
    fs::set_permissions(temp.path(), fs::Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(temp.path().join("src/a/b"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(temp.path().join("src/a"), fs::Permissions::from_mode(0o775)).unwrap();
    shell(temp.path(), "setpriv --reuid 65534 --regid 65534 --clear-groups $M copy src new --include f").code(0);
    for folder in ["", "a", "a/b"] {
        let at = |root: &str| mode_and_time(&temp.path().join(root).join(folder));
        assert_eq!(at("new"), at("src"), "{folder:?}");
    }
}

#[test]
fn patterns_count_from_the_source_whether_the_destination_is_there_or_not() {
    for there in [false, true] {
        let temp = sources();
        let root = if there { "dst/src" } else { "dst" };
        let copy = |args: &[&str]| {
            shell(temp.path(), if there { "rm -rf dst; mkdir dst" } else { "rm -rf dst" }).code(0);
            manyfiles(temp.path(), &[&["copy", "src", "dst"], args].concat()).code(0);
            names(&temp.path().join(root))
        };
        assert_eq!(copy(&["--exclude", "a/b"]), ["a", "side", "side/f.txt"], "{there}");
        assert_eq!(copy(&["--exclude", "/a"]), ["side", "side/f.txt"], "{there}");
        assert_eq!(copy(&["--include", "a/b/f"]), ["a", "a/b", "a/b/f"], "{there}");
        assert_eq!(copy(&["--exclude", "src/a"]), ["a", "a/b", "a/b/f", "a/b/other", "side", "side/f.txt"], "{there}");
        // A source can be left out by its own name, too: `copy * dst --exclude src`.
        shell(temp.path(), "rm -rf dst; mkdir dst; $M copy src dst --exclude src").code(0);
        assert_eq!(names(&temp.path().join("dst")), Vec::<String>::new());
    }
}

#[test]
fn a_pattern_that_matches_nothing_is_named_and_the_status_is_1() {
    let temp = sources();
    let args = ["copy", "src", "dst", "--include", "f", "--include", "tpyo", "--json"];
    let json = manyfiles(temp.path(), &args).code(1).says("--include tpyo: nothing matches this pattern").json();
    assert_eq!((&json["status"], &json["unmatched"]), (&"incomplete".into(), &serde_json::json!(["tpyo"])));
    assert!(temp.path().join("dst/a/b/f").exists(), "what matches is copied");
    manyfiles(temp.path(), &["copy", "src", "new", "--include", "tpyo", "--dry-run"]).code(1).says("--include tpyo: ");

    Tar::new().file("a/x", "1").file("a/y", "2").save(temp.path().join("a.tar"));
    Tar::new().file("b", "3").save(temp.path().join("b.tar"));
    let unpack = |args: &str| shell(temp.path(), &format!("rm -rf out; $M unpack a.tar b.tar -C out {args}"));
    unpack("--include tpyo").code(1).says("--include tpyo: nothing");
    unpack("--include tpyo --dry-run").code(1).says("--include tpyo: nothing");
    unpack("--include a --include b").code(0).does_not_say("nothing matches");
    unpack("--include x --exclude a").code(0).does_not_say("nothing matches");
    // The lost part of the archive might have had a match. So only the damage is reported.
    let bytes = fs::read(temp.path().join("a.tar")).unwrap();
    fs::write(temp.path().join("a.tar"), &bytes[..700]).unwrap();
    unpack("--include y").code(2).does_not_say("nothing matches");
}

#[test]
fn behind_an_access_control_list_the_group_gets_what_it_had_and_not_the_mask() {
    skip_unless!(Need::Program("setfacl"));
    let temp = tempdir().unwrap();
    write(temp.path().join("src/f"), "secret");
    let prepared = shell(
        temp.path(),
        "chmod 640 src/f && chmod 750 src && setfacl -m u:1234:rw src/f && setfacl -m u:1234:rwx src && \
        test $(stat -c %a src/f) = 660",
    );
    if prepared.code != 0 {
        return manyfiles_testkit::skip(format_args!(
            "needs a file system with access control lists: {}",
            prepared.err
        ));
    }
    manyfiles(temp.path(), &["copy", "src", "dst"]).code(0);
    let mode = |path: &str| fs::metadata(temp.path().join(path)).unwrap().mode() & 0o777;
    assert_eq!((mode("dst/f"), mode("dst")), (0o640, 0o750));
}

#[test]
fn paths_longer_than_the_system_takes_are_copied_with_all_they_hold() {
    let temp = tempdir().unwrap();
    // Seventeen folders with names of 250 letters.
    let script = "name=$(printf %250s | tr ' ' n); mkdir src; cd src; n=0;
    while [ $n -lt 17 ]; do mkdir $name; cd $name; n=$((n + 1)); done;
    mkdir last; printf content > last/file; ln -s file last/link; chmod 640 last/file; touch -d @1000000000 last/file last;
    truncate -s 8M last/sparse; printf end >> last/sparse; mkdir empty";
    shell(temp.path(), script).code(0);
    manyfiles(temp.path(), &["copy", "src", "dst", "--json"]).code(0);
    let told = |root: &str| {
        let script = format!("cd {root}; name=$(printf %250s | tr ' ' n); n=0;
        while [ $n -lt 17 ]; do cd $name; n=$((n + 1)); done;
        ls -A .; cat last/file; stat -c '%n %a %s %Y %F' last/file last/link last; readlink last/link; cksum last/sparse;
        test $(stat -c %b last/sparse) -lt 4000 && echo holes");
        shell(temp.path(), &script).code(0).out
    };
    assert_eq!(told("dst"), told("src"));
    assert!(told("dst").ends_with("holes\n"), "{}", told("dst"));
    // Tools that take paths cannot remove it.
    shell(temp.path(), "for root in src dst; do find $root -depth -delete; done").code(0);
}
