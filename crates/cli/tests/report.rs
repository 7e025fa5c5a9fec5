//! The output of a run: the summary, the JSON object, names that are not text, and a reader that goes away.
#![cfg(unix)] // needs a shell; tests/windows.rs has what differs there

mod common;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use common::{Tar, manyfiles, shell, write};
use manyfiles_testkit::{Disk, Need, Op, SlowMount, Tree, skip_unless};
use tempfile::tempdir;

#[test]
fn the_json_object_counts_what_is_in_the_folder() {
    let temp = tempdir().unwrap();
    for n in 0..50 {
        write(temp.path().join(format!("src/{}/{n}", n % 7)), vec![b'x'; n]);
    }
    std::os::unix::fs::symlink("1", temp.path().join("src/link")).unwrap();
    fs::hard_link(temp.path().join("src/1/1"), temp.path().join("src/hard")).unwrap();
    let json = manyfiles(temp.path(), &["copy", "src", "dst", "--json", "-q"]).code(0).json();
    let (files, bytes) = Tree::read(temp.path().join("dst")).unwrap().files();
    assert_eq!(json["files"].as_u64().unwrap() + json["hard_links"].as_u64().unwrap(), files);
    assert_eq!(json["hard_links"], 1);
    assert_eq!(json["symlinks"], 1);
    assert_eq!(json["folders"], 8, "the destination itself is one");
    let linked_twice = 1;
    assert_eq!(json["bytes"].as_u64().unwrap(), bytes - linked_twice);
    assert_eq!(json["status"], "complete");
    assert_eq!(json["exit_code"], 0);
    assert_eq!(json["command"], "copy");
    assert_eq!(json["destination"], "dst");
    assert_eq!(json["sources"][0]["path"], "src");
    assert!(json["sources"][0]["error"].is_null());
    assert!(json["seconds"].as_f64().unwrap() > 0.0);
    assert!(json["seconds_by_operation"]["close"].is_number());
}

#[test]
fn failures_are_in_the_json_with_operation_path_and_error_number() {
    let temp = tempdir().unwrap();
    write(temp.path().join("src/f"), "new");
    write(temp.path().join("dst/f"), "old");
    let ran = manyfiles(temp.path(), &["copy", "src/.", "dst", "--json"]).code(1);
    let json = ran.json();
    assert_eq!(json["status"], "incomplete");
    assert_eq!(json["exit_code"], 1);
    let failure = &json["failures"][0];
    assert_eq!(failure["path"], "f");
    assert_eq!(failure["operation"], "create");
    assert_eq!(failure["os_error"], 17);
    assert!(failure["refusal"].is_null());
    let message = failure["error"].as_str().unwrap();
    assert!(ran.err.contains(&format!("manyfiles: {message}\n")), "{ran:#?}");
}

#[test]
fn a_name_that_is_not_utf8_loses_nothing_in_the_json() {
    let temp = tempdir().unwrap();
    let name = OsStr::from_bytes(b"caf\xe9");
    write(temp.path().join("src").join(name), "new");
    write(temp.path().join("dst").join(name), "old");
    let json = manyfiles(temp.path(), &["copy", "src/.", "dst", "--json"]).code(1).json();
    assert_eq!(json["failures"][0]["path"], "caf\u{fffd}");
    assert_eq!(json["failures"][0]["path_hex"], "636166e9");
}

#[test]
fn a_name_with_control_characters_stays_in_its_line() {
    let temp = tempdir().unwrap();
    write(temp.path().join("src/a\nmanyfiles: all is well\x1b[2J"), "new");
    write(temp.path().join("dst/a\nmanyfiles: all is well\x1b[2J"), "old");
    let ran = manyfiles(temp.path(), &["copy", "src/.", "dst"]).code(1).says("a\\nmanyfiles: all is well\\u{1b}[2J");
    assert!(!ran.err.contains('\x1b'));
}

#[test]
fn usage_errors_are_json_too() {
    let temp = tempdir().unwrap();
    let wrong_option =
        manyfiles(temp.path(), &["copy", "a", "b", "--json", "--frobnicate"]).code(2).says("--frobnicate");
    assert!(wrong_option.json()["errors"][0].as_str().unwrap().contains("--frobnicate"));
    let missing = manyfiles(temp.path(), &["copy", "a", "b", "--json"]).code(2).says("cannot read a");
    assert_eq!(missing.json()["command"], "copy");
    assert_eq!(missing.json()["status"], "not_begun");
    assert!(missing.json()["errors"][0].as_str().unwrap().contains("cannot read a"));
    for args in [&["--max-bytes", "1X"][..], &["--on-conflict", "maybe"], &["--include", "[a"], &["--exclude", ""]] {
        manyfiles(temp.path(), &[&["copy", "a", "b"], args].concat()).code(2).says(args[0]);
    }
}

#[test]
fn quiet_says_only_what_went_wrong_and_verbose_says_more() {
    let temp = tempdir().unwrap();
    write(temp.path().join("src/f"), "x");
    assert_eq!(manyfiles(temp.path(), &["copy", "src", "a", "-q"]).code(0).err, "");
    manyfiles(temp.path(), &["copy", "src/.", "a", "-q"]).code(1).says("cannot create f").does_not_say("copied");
    manyfiles(temp.path(), &["copy", "src", "b", "-v"])
        .code(0)
        .says("time in system calls")
        .says("; 1 file, 1 folder, 0 symbolic links, ");
    manyfiles(temp.path(), &["copy", "src", "c", "-vv"]).code(0).says("\nf\n");
    manyfiles(temp.path(), &["copy", "src", "d", "-q", "-v"]).code(2).says("cannot be used with");
}

#[test]
fn many_failures_of_one_cause_are_named_first_and_then_counted() {
    let temp = tempdir().unwrap();
    for n in 0..2000 {
        write(temp.path().join(format!("src/{n}")), "new");
        write(temp.path().join(format!("dst/{n}")), "old");
    }
    // Another cause is named, however many there are of the first.
    write(temp.path().join("src/folder/below"), "new");
    write(temp.path().join("dst/folder"), "old");
    let ran = manyfiles(temp.path(), &["copy", "src/.", "dst", "--json"])
        .code(1)
        .says("cannot create 1,995 more: File exists (os error 17) (-v names each)")
        .says("failed or refused, the first of each cause named above")
        .says(" folder: ");
    assert!(ran.err.lines().count() < 15, "{ran:#?}");
    let failures = ran.json()["failures"].as_array().unwrap().len();
    assert!((2001..=2002).contains(&failures), "JSON has all: {failures}");

    let ran =
        manyfiles(temp.path(), &["copy", "src/.", "dst", "-v"]).code(1).says("failed or refused, each named above");
    for n in 0..2000 {
        assert_eq!(ran.err.matches(&format!("cannot create {n}:")).count(), 1, "{n}");
    }
}

#[test]
fn help_that_cannot_be_printed_is_a_failure() {
    skip_unless!(Need::Root);
    let temp = tempdir().unwrap();
    for args in ["help", "help copy", "--version", "man", "completions bash"] {
        shell(temp.path(), &format!("$M {args} >/dev/full")).code(1).says("cannot write to standard output: No space");
    }
}

#[test]
fn every_entry_is_counted_once_whatever_becomes_of_it() {
    for how in ["error", "skip", "skip-identical", "overwrite", "replace", "newer", "rename"] {
        let temp = tempdir().unwrap();
        for n in 0..20 {
            write(temp.path().join(format!("src/{n}")), n.to_string());
            if n % 3 > 0 {
                write(temp.path().join(format!("dst/{n}")), if n % 3 == 1 { n.to_string() } else { "other".into() });
            }
        }
        write(temp.path().join("dst/folder is here/kept"), "");
        write(temp.path().join("src/folder is here"), "");
        write(temp.path().join("src/file is here/below"), "");
        write(temp.path().join("dst/file is here"), "");
        fs::hard_link(temp.path().join("src/0"), temp.path().join("src/linked")).unwrap();
        std::os::unix::fs::symlink("0", temp.path().join("src/link")).unwrap();
        std::os::unix::fs::symlink("1", temp.path().join("dst/link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(temp.path().join("src/socket")).unwrap();
        let json = manyfiles(temp.path(), &["copy", "src/.", "dst", "--on-conflict", how, "--json"]).json();
        let counts = ["files", "folders", "symlinks", "hard_links", "nodes", "skipped", "not_written"];
        let counted: u64 = counts.iter().map(|key| json[key].as_u64().unwrap()).sum();
        let listed: usize = ["failures", "sockets"].iter().map(|key| json[key].as_array().unwrap().len()).sum();
        // Twenty files, two that meet something else, one folder, two links, a socket, and the folder itself.
        assert_eq!(counted + listed as u64, 20 + 2 + 1 + 2 + 1 + 1, "{how}: {json:#}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let temp = tempdir().unwrap();
    for n in 0..3000 {
        write(temp.path().join(format!("src/{n}")), "x");
    }
    // The pipe is closed before the first line: no matter how much fits into it.
    for args in ["copy src dst --dry-run", "copy src dst1 --json", "help copy", "man", "completions bash"] {
        let script = format!("{{ sleep 0.2; $M {args}; echo \"status $?\" >&2; }} | true");
        shell(temp.path(), &script).code(0).says("status 0").does_not_say("panicked").does_not_say("Broken pipe");
    }
    shell(temp.path(), "$M copy src dst2 2>&-").code(0);
    shell(temp.path(), "$M copy src/. dst2 2>&-; test $? = 1").code(0);
    shell(temp.path(), "$M copy src dst3 --json >&- 2>&-; test $? = 0 -o $? = 1").code(0);
}

#[test]
fn a_report_that_cannot_be_written_is_a_failure() {
    skip_unless!(Need::Root);
    let temp = tempdir().unwrap();
    write(temp.path().join("src/f"), "x");
    for how in ["--json", "--dry-run", "--dry-run --json"] {
        shell(temp.path(), &format!("$M copy src dst {how} >/dev/full"))
            .code(1)
            .says("cannot write to standard output");
    }
}

#[test]
fn progress_is_lines_where_there_is_no_terminal_and_only_if_asked_for() {
    let temp = tempdir().unwrap();
    write(temp.path().join("src/f"), "x");
    manyfiles(temp.path(), &["copy", "src", "a"]).code(0).does_not_say("entries, 1 B, ");
    skip_unless!(Need::Fuse);
    let mut tar = Tar::new();
    for n in 0..100 {
        tar = tar.file(&format!("{n}/f"), "x");
    }
    tar.save(temp.path().join("a.tar"));
    let slow = SlowMount::options().delay(Op::Close, Duration::from_millis(600)).mount().unwrap();
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", slow.path().to_str().unwrap(), "--progress", "always"])
        .code(0)
        .says(" B/s, ")
        .says("closing: ")
        .says(" left, ");
}

#[test]
fn a_full_disk_names_what_did_not_fit_and_leaves_no_halves() {
    skip_unless!(Need::Root);
    let temp = tempdir().unwrap();
    for n in 0..8 {
        write(temp.path().join(format!("src/{n}")), vec![7; 400_000]);
    }
    let disk = Disk::tmpfs().megabytes(2).mount().unwrap();
    let dst = disk.path().join("dst");
    let ran = manyfiles(temp.path(), &["copy", "src", dst.to_str().unwrap(), "--json"])
        .code(1)
        .says("No space left on device")
        .says("--on-conflict skip-identical goes on");
    let whole = ran.json()["files"].as_u64().unwrap();
    let (files, bytes) = Tree::read(&dst).unwrap().files();
    assert_eq!((files, bytes), (whole, whole * 400_000), "only whole files are there");
    assert_eq!(ran.json()["failures"].as_array().unwrap().len() as u64, 8 - whole);
}

#[test]
fn a_read_only_file_system_is_said_in_plain_words() {
    skip_unless!(Need::Root);
    let temp = tempdir().unwrap();
    write(temp.path().join("src/f"), "x");
    let disk = Disk::tmpfs().megabytes(2).mount().unwrap();
    fs::create_dir(disk.path().join("there")).unwrap();
    disk.make_read_only().unwrap();
    let at = |name: &str| disk.path().join(name).to_str().unwrap().to_owned();
    manyfiles(temp.path(), &["copy", "src", &at("new")]).code(2).says("Read-only file system").says("another folder");
    manyfiles(temp.path(), &["copy", "src/.", &at("there")]).code(1).says("Read-only file system");
}
