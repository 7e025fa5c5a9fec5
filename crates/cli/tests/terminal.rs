//! On a terminal: the question, the progress bar, Ctrl-C.
#![cfg(unix)] // needs a pseudo-terminal

mod common;

use std::path::Path;
use std::time::Duration;

use common::{Pty, Tar, names, read, write};
use manyfiles_testkit::{Need, Op, SlowMount, skip_unless};
use tempfile::{TempDir, tempdir};

/// An archive with files `0` to `n`, all of which are there already.
fn taken(n: usize) -> TempDir {
    let temp = tempdir().unwrap();
    let mut tar = Tar::new();
    for n in 0..n {
        tar = tar.file(&n.to_string(), "new");
        write(temp.path().join("out").join(n.to_string()), "old");
    }
    tar.save(temp.path().join("a.tar"));
    temp
}

fn contents(folder: &Path) -> Vec<String> {
    names(folder).iter().map(|name| read(folder.join(name))).collect()
}

#[test]
fn each_conflict_is_asked_about_and_each_answer_is_obeyed() {
    let temp = taken(3);
    let mut pty = Pty::run(temp.path(), "unpack a.tar -C out -j 1");
    pty.wait_for("0 is there already").wait_for("[q]uit? ").send("what?\n");
    pty.wait_for("none of these").wait_for("[q]uit? ").send("?\n");
    pty.wait_for("the new one takes its place").wait_for("gets a number").wait_for("[q]uit? ").send("o\n");
    pty.wait_for("1 is there already").wait_for("[q]uit? ").send("s\n");
    pty.wait_for("2 is there already").wait_for("[q]uit? ").send("r\n");
    let (code, rest) = pty.end();
    assert_eq!(code, 0, "{rest}");
    assert!(rest.contains("1 entry skipped"), "{rest}");
    let out = temp.path().join("out");
    assert_eq!(names(&out), ["0", "1", "2", "2 (1)"]);
    assert_eq!(contents(&out), ["new", "old", "old", "new"]);
}

#[test]
fn the_question_shows_size_and_date_of_both() {
    let temp = tempdir().unwrap();
    write(temp.path().join("src/f"), "x".repeat(2500));
    write(temp.path().join("dst/f"), "old");
    let set = |path: &str, seconds| {
        let time = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        std::fs::File::options().write(true).open(temp.path().join(path)).unwrap().set_modified(time).unwrap();
    };
    set("src/f", 1_500_000_000);
    set("dst/f", 1_600_000_000);
    for args in ["src/. dst", "src/f dst", "src/f dst/f"] {
        let mut pty = Pty::shell(temp.path(), &format!("TZ=UTC exec $0 copy {args}"));
        pty.wait_for("f is there already").wait_for("there: 3 B, 2020-09-13 12:26:40");
        pty.wait_for("new  : 2.50 kB, 2017-07-14 02:40:00, older").wait_for("[q]uit? ").send("s\n");
        assert_eq!(pty.end().0, 0);
    }
}

#[test]
fn waiting_for_an_answer_is_no_part_of_the_time_that_the_speed_is_told_by() {
    let temp = taken(1);
    let mut pty = Pty::run(temp.path(), "unpack a.tar -C out --json");
    pty.wait_for("[q]uit? ");
    std::thread::sleep(Duration::from_millis(700));
    pty.send("o\n");
    let (code, shown) = pty.end();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("waiting for answers took "), "{shown}");
    let json: serde_json::Value = serde_json::from_str(&shown[shown.find('{').unwrap()..]).unwrap();
    let (all, asking) = (json["seconds"].as_f64().unwrap(), json["seconds_asking"].as_f64().unwrap());
    assert!(asking >= 0.7 && all >= asking, "{json:#}");
}

#[test]
fn an_answer_in_capitals_is_for_all_that_follow() {
    for (answer, content) in [("O\n", "new"), ("S\n", "old")] {
        let temp = taken(20);
        let mut pty = Pty::run(temp.path(), "unpack a.tar -C out");
        pty.wait_for("[q]uit? ").send(answer);
        let (code, rest) = pty.end();
        assert_eq!(code, 0, "{rest}");
        assert!(!rest.contains("is there already"), "{rest}");
        assert!(contents(&temp.path().join("out")).iter().all(|found| found == content), "{answer}");
    }
}

#[test]
fn to_quit_at_the_question_is_to_stop() {
    // By its answer, by the end of the input, by Ctrl-C.
    for answer in ["q\n", "\x04", "\x03"] {
        let temp = taken(5);
        let mut pty = Pty::run(temp.path(), "unpack a.tar -C out");
        pty.wait_for("[q]uit? ").send(answer);
        let (code, rest) = pty.end();
        assert_eq!(code, 130, "{answer:?}: {rest}");
        assert!(rest.contains("interrupted"), "{rest}");
        assert!(contents(&temp.path().join("out")).iter().all(|content| content == "old"));
    }
}

#[test]
fn no_question_is_asked_when_the_answer_is_given_or_no_user_is_there() {
    let temp = taken(3);
    let (code, rest) = Pty::run(temp.path(), "unpack a.tar -C out --on-conflict error").end();
    assert_eq!(code, 1, "{rest}");
    assert!(!rest.contains("[q]uit"), "{rest}");
    let (code, rest) = Pty::run(temp.path(), "unpack a.tar -C out < /dev/null").end();
    assert_eq!(code, 1, "{rest}");
    assert!(!rest.contains("[q]uit"), "{rest}");
}

#[test]
fn a_dry_run_on_a_terminal_says_that_it_would_ask() {
    let temp = taken(1);
    let (code, rest) = Pty::run(temp.path(), "unpack a.tar -C out --dry-run").end();
    assert_eq!(code, 0, "{rest}");
    assert!(rest.contains("ask       0"), "{rest}");
}

#[test]
fn the_progress_bar_makes_way_for_messages_and_goes_at_the_end() {
    skip_unless!(Need::Fuse);
    let temp = tempdir().unwrap();
    for n in 0..10 {
        write(temp.path().join(format!("src/{n}/f")), "x");
    }
    let slow =
        SlowMount::options().delay(Op::Close, Duration::from_millis(300)).fail(Op::Close, 122, "/7/").mount().unwrap();
    let (code, rest) = Pty::run(temp.path(), &format!("copy src/. {}", slow.path().display())).end();
    assert_eq!(code, 1, "{rest}");
    // Which of the two comes first depends on which end is closed first.
    for shown in [" B/s, closing: ", "cannot close 7/f: ", "1 failed"] {
        assert!(rest.contains(shown), "{shown:?}: {rest}");
    }
    let last = rest.rsplit(['\r', '\n']).find(|line| !line.trim().is_empty()).unwrap();
    assert!(!last.contains("closing"), "{rest}");
    // Quick work needs no bar: if there was one, the work took half a second.
    let (_, quick) = Pty::run(temp.path(), "copy src dst --json").end();
    let json: serde_json::Value = serde_json::from_str(&quick[quick.rfind("\n{").unwrap()..]).unwrap();
    assert!(!quick.contains("B/s, ") || json["seconds"].as_f64() > Some(0.5), "{quick}");
    let (_, never) = Pty::run(temp.path(), &format!("copy src {}/again --progress never", slow.path().display())).end();
    assert!(!never.contains("B/s"), "{never}");
}
