//! What `--dry-run` says is what the run then does: every kind of entry, on everything that may be there, under every
//! policy.
//!
//! Each cell is planned and then done, by `unpack` and by `copy`, and then the disk is compared with the plan: files
//! that were to stay are as they were, and files that were to be written are there.
#![cfg(unix)] // links and FIFOs

mod common;

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

use common::{Tar, manyfiles, shell, write};
use serde_json::Value;
use tempfile::tempdir;

const POLICIES: [&str; 7] = ["error", "skip", "skip-identical", "overwrite", "replace", "newer", "rename"];

/// When the entries were modified, which is the time that `Tar` gives what is no file.
const TIME: u64 = 1_500_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Entry {
    File,
    Folder,
    Symlink,
    HardLink,
    Fifo,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum There {
    Nothing,
    /// A file with other content, of an age in seconds before (or, negative, after) the entry's.
    File(i64),
    /// A file with the content and the attributes of the entry.
    Identical,
    Folder(i64),
    Symlink(i64),
    IdenticalSymlink,
    SymlinkToFolder,
    Fifo,
    LinkToTheSame,
}

/// The end of an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Written,
    Skipped,
    Renamed,
    Failed,
}

const ENTRIES: [Entry; 5] = [Entry::File, Entry::Folder, Entry::Symlink, Entry::HardLink, Entry::Fifo];

const THERES: [There; 13] = [
    There::Nothing,
    There::File(0),
    There::File(1000),
    There::File(-1000),
    There::Identical,
    There::Folder(1000),
    There::Folder(-1000),
    There::Symlink(1000),
    There::Symlink(-1000),
    There::IdenticalSymlink,
    There::SymlinkToFolder,
    There::Fifo,
    There::LinkToTheSame,
];

fn set_time(path: &Path, seconds: u64) {
    let status = Command::new("touch").args(["-h", "-d", &format!("@{seconds}")]).arg(path).status().unwrap();
    assert!(status.success());
}

fn before(age: i64) -> u64 {
    (TIME as i64 - age) as u64
}

/// Makes the source of `entry`: an archive `a.tar`, and a folder `src`; a hard link's first name is `first`.
fn make_entry(temp: &Path, entry: Entry) {
    let tar = match entry {
        Entry::File => Tar::new().file("x", "entry"),
        Entry::Folder => Tar::new().folder("x/", 0o755),
        Entry::Symlink => Tar::new().symlink("x", "target"),
        Entry::HardLink => Tar::new().file("first", "entry").hard_link("x", "first"),
        Entry::Fifo => Tar::new().fifo("x"),
    };
    tar.save(temp.join("a.tar"));
    let x = temp.join("src/x");
    fs::create_dir(temp.join("src")).unwrap();
    match entry {
        Entry::File => write(&x, "entry"),
        Entry::Folder => fs::create_dir(&x).unwrap(),
        Entry::Symlink => symlink("target", &x).unwrap(),
        Entry::HardLink => {
            write(temp.join("src/first"), "entry");
            fs::hard_link(temp.join("src/first"), &x).unwrap();
        }
        Entry::Fifo => assert!(Command::new("mkfifo").arg(&x).status().unwrap().success()),
    }
    set_time(&x, TIME);
}

/// Makes the old file of the cell, as `dst/x`.
fn make_there(temp: &Path, there: There) {
    let x = temp.join("dst/x");
    fs::create_dir(temp.join("dst")).unwrap();
    match there {
        There::Nothing => {}
        There::File(age) => {
            write(&x, "there");
            set_time(&x, before(age));
        }
        There::Identical => {
            write(&x, "entry");
            fs::set_permissions(&x, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
            set_time(&x, TIME);
        }
        There::Folder(age) => {
            write(x.join("inside"), "there");
            set_time(&x, before(age));
        }
        There::Symlink(age) => {
            symlink("elsewhere", &x).unwrap();
            set_time(&x, before(age));
        }
        There::IdenticalSymlink => {
            symlink("target", &x).unwrap();
            set_time(&x, TIME);
        }
        There::SymlinkToFolder => {
            fs::create_dir(temp.join("dst/folder")).unwrap();
            symlink("folder", &x).unwrap();
        }
        There::Fifo => assert!(Command::new("mkfifo").arg(&x).status().unwrap().success()),
        There::LinkToTheSame => {
            write(temp.join("dst/first"), "entry");
            fs::hard_link(temp.join("dst/first"), &x).unwrap();
            fs::set_permissions(&x, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
            set_time(&x, TIME);
        }
    }
}

/// The file of this name, to see whether it stayed.
fn look(x: &Path) -> Option<(u64, u32, String, i64)> {
    let of = fs::symlink_metadata(x).ok()?;
    let content = match of.file_type() {
        kind if kind.is_file() => common::read(x),
        kind if kind.is_symlink() => fs::read_link(x).unwrap().display().to_string(),
        _ => String::new(),
    };
    // A folder's time changes with its entries. The table does not compare it.
    let time = if of.is_dir() { 0 } else { of.mtime() };
    Some((of.ino(), of.mode() & !0o7777, content, time))
}

fn is_the_entry(dst: &Path, entry: Entry) -> bool {
    let x = dst.join("x");
    let Ok(of) = fs::symlink_metadata(&x) else { return false };
    match entry {
        Entry::File => of.is_file() && common::read(&x) == "entry",
        Entry::Folder => of.is_dir(),
        Entry::Symlink => fs::read_link(&x).is_ok_and(|target| target == Path::new("target")),
        Entry::HardLink => fs::metadata(dst.join("first")).is_ok_and(|first| first.ino() == of.ino()),
        Entry::Fifo => of.file_type().is_fifo(),
    }
}

/// The end that the plan foresees; `None` if the plan says that the content has to be compared.
fn planned(json: &Value) -> Option<Fate> {
    let entries = json["entries"].as_array().unwrap();
    let x = entries.iter().find(|line| line["path"] == "x").unwrap_or_else(|| panic!("{json:#}"));
    match x["action"].as_str().unwrap() {
        "create" | "keep" | "overwrite" | "replace" => Some(Fate::Written),
        "skip" => Some(Fate::Skipped),
        "rename" => Some(Fate::Renamed),
        "conflict" | "refuse" | "fail" => Some(Fate::Failed),
        "compare" => None,
        other => panic!("{other}: {json:#}"),
    }
}

/// The end that the report gives.
fn done(json: &Value) -> Fate {
    let list = |key: &str| json[key].as_array().unwrap().clone();
    let is_x = |path: &Value| path == "x" || path.as_str().is_some_and(|path| path.ends_with("src/x"));
    if list("failures").iter().any(|failure| is_x(&failure["path"])) {
        return Fate::Failed;
    }
    if list("renamed").iter().any(|renamed| renamed["from"] == "x") {
        return Fate::Renamed;
    }
    let written = ["files", "folders", "symlinks", "hard_links", "nodes"].map(|key| json[key].as_u64().unwrap());
    // A hard link's first name is written or skipped too.
    let skipped = json["skipped"].as_u64().unwrap();
    match (skipped, written.iter().sum::<u64>()) {
        (1.., 0) => Fate::Skipped,
        (0, 1..) => Fate::Written,
        (1, 1) if written[3] == 1 => Fate::Written, // the link, whose first name was skipped
        (1, 1) => Fate::Skipped,
        other => panic!("{other:?}: {json:#}"),
    }
}

/// Tries one cell of the table. Returns its problem, if it has one.
fn cell(entry: Entry, there: There, how: &str, command: &str) -> Result<(), String> {
    let temp = tempdir().unwrap();
    make_entry(temp.path(), entry);
    make_there(temp.path(), there);
    let x = temp.path().join("dst/x");
    let sources: &[&str] = match (command, entry) {
        ("unpack", _) => &["unpack", "a.tar", "-C", "dst"],
        (_, Entry::HardLink) => &["copy", "src/first", "src/x", "dst"],
        _ => &["copy", "src/x", "dst"],
    };
    let args = [sources, &["--on-conflict", how, "--special-files", "--json"]].concat();
    let before = (look(&x), common::names(&temp.path().join("dst")));
    let plan = manyfiles(temp.path(), &[&args[..], &["--dry-run"]].concat());
    if (look(&x), common::names(&temp.path().join("dst"))) != before {
        return Err("the dry run touched something".into());
    }
    let run = manyfiles(temp.path(), &args);
    let (planned, done) = (planned(&plan.json()), done(&run.json()));
    let told = || format!("\n  planned: {}\n  done: {}", plan.out.replace('\n', " "), run.out.replace('\n', " "));
    match planned {
        Some(planned) if planned != done => return Err(format!("planned {planned:?}, done {done:?}{}", told())),
        None if !matches!(done, Fate::Written | Fate::Skipped) => return Err(format!("compared: {done:?}{}", told())),
        _ => {}
    }
    if plan.code != run.code && planned.is_some() {
        return Err(format!("planned to exit with {}, exited with {}{}", plan.code, run.code, told()));
    }
    let stayed = look(&x) == before.0;
    match done {
        Fate::Written if !is_the_entry(&temp.path().join("dst"), entry) => Err(format!("it is not there{}", told())),
        Fate::Skipped | Fate::Failed | Fate::Renamed if !stayed => {
            Err(format!("{done:?}, and yet it changed: {:?}, now {:?}{}", before.0, look(&x), told()))
        }
        Fate::Renamed if fs::symlink_metadata(temp.path().join("dst/x (1)")).is_err() => {
            Err(format!("it has no other name{}", told()))
        }
        _ => Ok(()),
    }
}

fn table(command: &str) {
    let mut wrong = Vec::new();
    for entry in ENTRIES {
        for there in THERES {
            for how in POLICIES {
                if let Err(why) = cell(entry, there, how, command) {
                    wrong.push(format!("{entry:?} on {there:?}, {how}: {why}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{command}: {} cells differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn unpack_does_in_every_cell_what_its_dry_run_says() {
    table("unpack");
}

#[test]
fn copy_does_in_every_cell_what_its_dry_run_says() {
    table("copy");
}

#[test]
fn a_source_that_cannot_be_read_is_planned_to_fail() {
    manyfiles_testkit::skip_unless!(manyfiles_testkit::Need::Root, manyfiles_testkit::Need::Program("setpriv"));
    let temp = tempdir().unwrap();
    write(temp.path().join("src/locked"), "x");
    write(temp.path().join("src/open"), "x");
    shell(temp.path(), "chmod 777 .; chmod 755 src; chmod 644 src/open; chmod 600 src/locked").code(0);
    let copy = |more: &str| {
        shell(temp.path(), &format!("setpriv --reuid 65534 --regid 65534 --clear-groups $M copy src dst --json {more}"))
    };
    let plan = copy("--dry-run").code(1).json();
    let action = |path: &str| {
        let entries = plan["entries"].as_array().unwrap();
        entries.iter().find(|line| line["path"] == path).unwrap()["action"].clone()
    };
    assert_eq!((action("locked"), action("open")), ("fail".into(), "create".into()));
    assert_eq!(copy("").code(1).json()["failures"][0]["path"], "locked");
}
