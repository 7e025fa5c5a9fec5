//! `--dry-run`: every entry is listed, no file is touched, and the list says what the run then does.

mod common;

#[cfg(unix)]
use common::names;
use common::{Tar, manyfiles, write};
use tempfile::tempdir;

#[cfg(unix)]
fn hostile() -> Tar {
    Tar::new()
        .folder("d/", 0o755)
        .file("d/new", "1")
        .file("taken", "2")
        .file("../out", "3")
        .file("/etc/absolute", "4")
        .symlink("way", "/tmp")
        .file("way/through", "5")
        .file("twice", "6")
        .file("twice", "7")
        .file("d/new/below a file", "8")
        .fifo("pipe")
}

#[test]
#[cfg(unix)] // It has a symbolic link.
fn each_entry_is_listed_with_what_would_become_of_it() {
    let temp = tempdir().unwrap();
    hostile().save(temp.path().join("a.tar"));
    write(temp.path().join("out/taken"), "there");
    let before = names(temp.path());
    let ran =
        manyfiles(temp.path(), &["unpack", "a.tar", "-C", "out", "--dry-run"]).code(1).says("nothing was touched");
    assert_eq!(names(temp.path()), before);
    for (action, path) in [
        ("create", "d/"),
        ("create", "d/new"),
        ("conflict", "taken"),
        ("refuse", "../out"),
        ("refuse", "/etc/absolute"),
        ("create", "way"),
        ("refuse", "way/through"),
        ("create", "twice"),
        ("replace", "twice"),
        ("fail", "d/new/below a file"),
        ("refuse", "pipe"),
    ] {
        let line = format!("{action:<10}{path}");
        assert!(
            ran.out.lines().any(|listed| listed == line || listed.starts_with(&format!("{line}  ("))),
            "{line}: {}",
            ran.out
        );
    }
}

#[test]
#[cfg(unix)] // It has a symbolic link.
fn what_is_planned_is_what_happens() {
    for how in ["error", "skip", "overwrite", "replace", "rename", "newer"] {
        let temp = tempdir().unwrap();
        hostile().save(temp.path().join("a.tar"));
        write(temp.path().join("out/taken"), "there");
        // Whether `d/new` becomes the file or the folder that two entries want depends on which entry comes first:
        // folders are written side by side.
        let args = ["unpack", "a.tar", "-C", "out", "--json", "--on-conflict", how, "--exclude", "below a file"];
        let planned = manyfiles(temp.path(), &[&args[..], &["--dry-run"]].concat());
        let done = manyfiles(temp.path(), &args).json();
        assert_eq!(planned.code, done["exit_code"].as_i64().unwrap() as i32);
        let planned = planned.json();
        let actions = |of: &[&str]| of.iter().map(|action| planned["actions"][action].as_u64().unwrap()).sum::<u64>();
        let count = |key: &str| done[key].as_u64().unwrap();
        let failures = done["failures"].as_array().unwrap().len() as u64;
        assert_eq!(actions(&["conflict", "refuse", "fail"]), failures, "{how}: {planned:#} {done:#}");
        assert_eq!(actions(&["skip"]), count("skipped"), "{how}: {planned:#} {done:#}");
        let written = ["files", "folders", "symlinks", "hard_links", "nodes"].map(count).iter().sum::<u64>();
        assert_eq!(
            actions(&["create", "overwrite", "replace", "rename", "keep"]),
            written,
            "{how}: {planned:#} {done:#}"
        );
        assert_eq!(actions(&["rename"]), done["renamed"].as_array().unwrap().len() as u64, "{how}");
    }
}

#[test]
fn a_planned_copy_makes_nothing() {
    let temp = tempdir().unwrap();
    write(temp.path().join("src/a/b"), "1");
    std::fs::hard_link(temp.path().join("src/a/b"), temp.path().join("src/c")).unwrap();
    let ran = manyfiles(temp.path(), &["copy", "src", "dst", "--dry-run", "--json"]).code(0);
    assert!(!temp.path().join("dst").exists());
    let json = ran.json();
    assert_eq!(json["status"], "dry_run");
    assert_eq!(json["actions"]["create"], 4);
    assert_eq!(json["bytes"], 1, "a second name takes no space");
}

#[test]
fn a_damaged_archive_is_listed_up_to_the_damage() {
    let temp = tempdir().unwrap();
    let bytes = Tar::new().file("a", "1").file("b", vec![0; 10_000]).bytes();
    std::fs::write(temp.path().join("cut.tar"), &bytes[..4000]).unwrap();
    let ran = manyfiles(temp.path(), &["unpack", "cut.tar", "--dry-run"]).code(2).says("cut.tar").says("damaged");
    assert!(ran.out.contains("create    a\n"), "{ran:#?}");
}

#[test]
fn an_entry_that_comes_twice_is_compared_again_where_the_first_one_is_left_alone() {
    let temp = tempdir().unwrap();
    Tar::new().folder("./d", 0o755).file("./a", "same").file("./a", "same").save(temp.path().join("a.tar"));
    write(temp.path().join("out/a"), "same");
    let args = ["unpack", "a.tar", "-C", "out", "--json", "--on-conflict", "skip-identical"];
    let planned = manyfiles(temp.path(), &[&args[..], &["--dry-run"]].concat()).json();
    let planned: Vec<_> =
        planned["entries"].as_array().unwrap().iter().map(|it| (&it["action"], &it["path"])).collect();
    let expected =
        [("create", "d"), ("compare", "a"), ("compare", "a")].map(|(action, path)| (action.into(), path.into()));
    assert_eq!(planned, expected.iter().map(|(action, path)| (action, path)).collect::<Vec<_>>());
    assert_eq!(manyfiles(temp.path(), &args).json()["skipped"], 2);
}
