//! Signals in the middle of the work: it stops, leaves nothing half-written, and says what is complete.
#![cfg(unix)] // signals; tests/windows.rs has Ctrl-C on Windows

mod common;

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{BINARY, Tar, names, write};
use manyfiles_testkit::{Need, Op, SlowMount, skip_unless};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::{TempDir, tempdir};

/// An unpacking that has written a hundred small files and waits in the middle of a large one.
struct Paused {
    temp: TempDir,
    child: Child,
}

fn pause() -> Paused {
    let temp = tempdir().unwrap();
    let mut tar = Tar::new();
    for n in 0..100 {
        tar = tar.file(&format!("small/{n}"), n.to_string());
    }
    let bytes = tar.file("large", vec![1; 16 << 20]).bytes();
    let mut child = Command::new(BINARY)
        .args(["unpack", "-", "-C", "out", "--json"])
        .current_dir(temp.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(&bytes[..bytes.len() / 2]).unwrap();
    wait_until(|| temp.path().join("out/large").exists());
    Paused { temp, child }
}

fn wait_until(true_at_last: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !true_at_last() {
        assert!(Instant::now() < deadline, "what was waited for never came");
        thread::sleep(Duration::from_millis(5));
    }
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Waits for the end while standard input stays open.
fn end(mut child: Child) -> Output {
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    output
}

#[test]
fn ctrl_c_removes_the_half_written_file_and_says_what_is_complete() {
    for (signal, code, word) in [(Signal::INT, 130, "interrupted"), (Signal::TERM, 143, "terminated")] {
        let Paused { temp, child } = pause();
        send(&child, signal);
        let output = end(child);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{err}");
        assert!(!err.contains("damaged") && !err.contains("stopped:"), "the archive is not to blame: {err}");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["status"], "stopped");
        assert_eq!(json["signal"], code - 128);
        // How many were done by then depends on the machine; that they are whole, and that this was all, does not.
        let folder = temp.path().join("out/small");
        let small = if folder.exists() { names(&folder) } else { Vec::new() };
        assert!(small.iter().all(|name| common::read(temp.path().join("out/small").join(name)) == *name), "no halves");
        let all = names(&temp.path().join("out"));
        assert_eq!(all.len(), usize::from(folder.exists()) + small.len(), "the large file is gone: {all:?}");
        let (written, not_written) = (json["files"].as_u64().unwrap(), json["not_written"].as_u64().unwrap());
        assert_eq!((written, written + not_written), (small.len() as u64, 101), "{err}");
        assert!(err.contains(word) && err.contains(&format!("{written} entries, ")), "{err}");
        assert!(err.contains(" are complete in out"), "{err}");
    }
}

#[test]
fn a_copy_stops_too() {
    skip_unless!(Need::Fuse);
    let temp = tempdir().unwrap();
    for n in 0..400 {
        write(temp.path().join(format!("src/{n}")), "x".repeat(1000));
    }
    let slow = SlowMount::options().delay(Op::Create, Duration::from_millis(20)).mount().unwrap();
    let child = Command::new(BINARY)
        .args(["copy", "src/."])
        .arg(slow.path())
        .current_dir(temp.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(|| names(slow.path()).len() > 5);
    send(&child, Signal::INT);
    let output = end(child);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("are complete in"), "{err}");
    let written = names(slow.path());
    assert!(written.len() < 400, "it stopped");
    assert!(written.iter().all(|name| whole(&slow.path().join(name))), "no halves");
}

fn whole(path: &Path) -> bool {
    std::fs::metadata(path).unwrap().len() == 1000
}

#[test]
fn the_second_signal_ends_it_at_once() {
    skip_unless!(Need::Fuse);
    let temp = tempdir().unwrap();
    write(temp.path().join("src/f"), "x");
    // Its close takes longer than anybody waits.
    let slow = SlowMount::options().delay(Op::Close, Duration::from_secs(5)).mount().unwrap();
    let child = Command::new(BINARY)
        .args(["copy", "src/."])
        .arg(slow.path())
        .current_dir(temp.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(|| slow.backing().join("f").exists());
    send(&child, Signal::INT);
    // The two must not melt into one.
    thread::sleep(Duration::from_millis(300));
    send(&child, Signal::INT);
    let status = end(child).status;
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(2), "{status}");
}
