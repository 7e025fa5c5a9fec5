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
    pty.wait_for("[q]uit? ").send("o\n");
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
fn nobody_is_asked_when_the_answer_is_given_or_nobody_is_there() {
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
    let mut pty = Pty::run(temp.path(), &format!("copy src/. {}", slow.path().display()));
    pty.wait_for("entries").wait_for("cannot close 7/f: ").wait_for("1 failed");
    let (code, rest) = pty.end();
    assert_eq!(code, 1, "{rest}");
    let last = rest.rsplit(['\r', '\n']).find(|line| !line.trim().is_empty()).unwrap();
    assert!(!last.contains("closing"), "{rest}");
    // Quick work needs no bar.
    let (_, quick) = Pty::run(temp.path(), "copy src dst").end();
    assert!(!quick.contains("B/s"), "{quick}");
    let (_, never) = Pty::run(temp.path(), &format!("copy src {}/again --progress never", slow.path().display())).end();
    assert!(!never.contains("B/s"), "{never}");
}
