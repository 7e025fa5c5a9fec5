//! `bench`: tables, JSON, CSV, the picture, what it refuses, and what it leaves behind: nothing.
#![cfg(unix)] // signals, a pseudo-terminal, disks made for the test

mod common;

use std::fs;

use common::{Pty, manyfiles, shell};
use manyfiles_testkit::{Disk, Need, skip_unless};
use serde_json::Value;

/// Three rounds of the shortest work, and time enough for them on a busy machine.
const SHORT: [&str; 7] = ["bench", "--rounds", "3", "--seconds", "1000", "--only", "1,000 writes"];

fn with<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [first, more].concat()
}

#[test]
fn json_has_every_entrant_with_its_runs_and_nothing_else_is_printed() {
    let temp = tempfile::tempdir().unwrap();
    let ran = manyfiles(temp.path(), &with(&SHORT, &["--json"])).code(0);
    let json = ran.json();
    assert_eq!((json["command"].as_str(), json["status"].as_str()), (Some("bench"), Some("complete")));
    assert_eq!(json["tables"].as_array().unwrap().len(), 1);
    let entrants = json["tables"][0]["entrants"].as_array().unwrap();
    assert!(entrants.len() == 4 && entrants[0]["times_as_fast"].is_null(), "{json}");
    for entrant in entrants {
        assert_eq!(entrant["runs"].as_array().unwrap().len(), 3, "{json}");
        let [low, median, high] = ["low", "median", "high"].map(|key| entrant["seconds"][key].as_f64().unwrap());
        assert!(0.0 < low && low <= median && median <= high, "{json}");
    }
    assert!(entrants[1..].iter().all(|entrant| entrant["times_as_fast"]["median"].as_f64().unwrap() > 0.0));
    assert_eq!(ran.err, "");
    assert!(common::names(temp.path()).is_empty());
}

#[test]
fn text_csv_and_picture_tell_the_same_rows() {
    let temp = tempfile::tempdir().unwrap();
    let ran = manyfiles(temp.path(), &with(&SHORT, &["--csv", "runs.csv", "--svg", "out.svg"])).code(0);
    let csv = fs::read_to_string(temp.path().join("runs.csv")).unwrap();
    let svg = fs::read_to_string(temp.path().join("out.svg")).unwrap();
    let names = ["open, write, close each", "one File", "Vfs::write", "FileWriter"];
    for name in names {
        assert!(ran.out.contains(name) && svg.contains(name), "{name}: {ran:?}");
        assert_eq!(csv.lines().filter(|line| line.contains(name)).count(), 3, "{csv}");
    }
    assert_eq!(csv.lines().next(), Some("work,entrant,round,seconds,cpu_seconds"));
    assert_eq!(csv.lines().count(), 1 + 3 * names.len());
    assert!(csv.contains("\"1,000 writes of 4 KB to one path\",\"open, write, close each\",1,0."), "quoted: {csv}");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
    assert_eq!(common::names(temp.path()), ["out.svg", "runs.csv"]);
}

#[test]
fn a_simulated_close_is_waited_for_and_the_rest_is_named_as_left_out() {
    let temp = tempfile::tempdir().unwrap();
    let args = ["bench", "--rounds", "3", "--seconds", "1000", "--simulate-close-ms", "0.3", "--only", "one", "--json"];
    let json = manyfiles(temp.path(), &args).code(0).json();
    let entrants = json["tables"][0]["entrants"].as_array().unwrap();
    let median = |n: usize| entrants[n]["seconds"]["median"].as_f64().unwrap();
    assert_eq!(
        entrants.iter().map(|it| it["name"].as_str().unwrap()).collect::<Vec<_>>(),
        ["std loop", "rayon", "rayon, 64 threads", "FastClose loop"]
    );
    assert!(median(0) >= 2_300.0 * 0.3e-3, "each of 2,300 closes waits: {json}");
    let left_out: Vec<_> = json["left_out"].as_array().unwrap().iter().map(|it| it["what"].as_str().unwrap()).collect();
    assert!(
        left_out[0].ends_with("TreeWriter") && left_out.contains(&"1,000 writes of 4 KB to one path"),
        "{left_out:?}"
    );
}

#[test]
fn what_the_time_does_not_suffice_for_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let args = ["bench", "--seconds", "3", "--simulate-close-ms", "5", "--only", "files"];
    let ran = manyfiles(temp.path(), &args).code(0);
    for work in ["2,300 files of 1.5 KB in one folder", "10,000 files of 1.5 KB in 600 folders"] {
        assert!(ran.out.contains(&format!("Left out: {work}: too slow: 0 of 3 rounds")), "{ran:?}");
    }
    assert!(ran.out.contains("--seconds"), "{ran:?}");
    assert!(common::names(temp.path()).is_empty());
}

#[test]
fn what_cannot_be_measured_is_named_and_exits_with_2() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path();
    fs::write(folder.join("file"), "").unwrap();
    manyfiles(folder, &["bench", "missing"]).code(2).says("cannot open missing").says("a folder that is there");
    manyfiles(folder, &["bench", "file"]).code(2).says("cannot open file");
    manyfiles(folder, &["bench", "--rounds", "2"]).code(2).says("--rounds");
    manyfiles(folder, &["bench", "--seconds", "0"]).code(2).says("0.1 to 86400 seconds");
    manyfiles(folder, &["bench", "--simulate-close-ms", "-1"]).code(2);
    manyfiles(folder, &["bench", "--only", "glaciers"]).code(2).says("'glaciers'").says("10,000 files");
    manyfiles(folder, &["bench", "--csv", "no/such.csv"]).code(2).says("cannot create no/such.csv");
    manyfiles(folder, &["bench", "--csv", "x.csv", "--svg", "no/such.svg"]).code(2).says("cannot create no/such.svg");
    let ran = manyfiles(folder, &["bench", "missing", "--json", "--csv", "x.csv", "--svg", "x.svg"]).code(2);
    assert_eq!(ran.json()["status"], "not_begun");
    fs::write(folder.join("kept.csv"), "").unwrap();
    manyfiles(folder, &["bench", "missing", "--csv", "kept.csv"]).code(2);
    assert_eq!(common::names(folder), ["file", "kept.csv"], "no files for nothing");
}

#[test]
fn a_small_a_full_and_a_read_only_disk_are_refused_clearly() {
    skip_unless!(Need::Root);
    let small = Disk::tmpfs().megabytes(64).mount().unwrap();
    let ran = manyfiles(small.path(), &SHORT).code(2);
    assert!(ran.err.contains("are free on the file system of") && ran.err.contains("needs 268 MB"), "{ran:?}");
    let disk = Disk::tmpfs().megabytes(512).mount().unwrap();
    let inner = disk.path().join("in");
    fs::create_dir(&inner).unwrap();
    let remount = |how: &str| shell(disk.path(), &format!("mount -o remount,{how} ."));
    remount("ro").code(0);
    let ran = manyfiles(disk.path(), &with(&SHORT, &["--json"])).code(2);
    assert_eq!(ran.json()["status"], "not_begun", "{ran:?}");
    assert!(ran.err.contains("mounted read-only"), "{ran:?}");
    remount("rw").code(0);
    assert_eq!(common::names(disk.path()), ["in"]);
}

#[test]
fn a_disk_that_fills_up_meanwhile_ends_it_and_is_tidied_up() {
    skip_unless!(Need::Root);
    // Room enough in bytes, and too few inodes for all files.
    let disk = Disk::tmpfs().megabytes(512).mount().unwrap();
    shell(disk.path(), "mount -o remount,nr_inodes=1000 .").code(0);
    let ran = manyfiles(disk.path(), &["bench", "--rounds", "3", "--only", "one folder"]).code(2);
    assert!(ran.err.contains("No space left on device") && ran.err.contains("the disk is full"), "{ran:?}");
    assert!(common::names(disk.path()).is_empty());
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let temp = tempfile::tempdir().unwrap();
    for (wait, signal, code) in [("", "TERM", 143), (" --simulate-close-ms 20", "TERM", 143), ("", "HUP", 129)] {
        // A shell without job control starts background commands with SIGINT ignored. So the test sends SIGTERM.
        let script = format!(
            r#""$M" bench --csv x.csv{wait} & until ls -A .manyfiles-bench-*/run-* >&- 2>&-; do :; done; kill -{signal} $!; wait $!"#
        );
        shell(temp.path(), &script).code(code).says("nothing is left behind");
        assert!(common::names(temp.path()).is_empty());
    }
}

#[test]
fn progress_names_the_work_and_the_round() {
    let temp = tempfile::tempdir().unwrap();
    let ran = manyfiles(temp.path(), &with(&SHORT, &["-q", "--progress", "always"])).code(2);
    assert!(ran.err.contains("cannot be used with"), "{ran:?}");
    let mut pty = Pty::run(temp.path(), "bench --rounds 3 --seconds 1000 --only 'one folder' --progress always");
    pty.wait_for("2,300 files of 1.5 KB in one folder: ");
    let (code, shown) = pty.end();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("std loop"), "{shown}");
    let quiet = manyfiles(temp.path(), &with(&SHORT, &["-q", "--json"])).code(0);
    let Value::Array(tables) = &quiet.json()["tables"] else { panic!("{quiet:?}") };
    assert_eq!((tables.len(), quiet.err.as_str()), (1, ""));
}
