//! Signals in the middle of the work: the command stops, leaves no half-written file, and says how much is complete.
#![cfg(unix)] // signals; tests/windows.rs has Ctrl-C on Windows

mod common;

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{BINARY, Pty, Tar, names, shell, write};
use manyfiles_testkit::{Need, Op, SlowMount, skip_unless};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::{TempDir, tempdir};

/// An unpacking that has written a hundred small files and waits in the middle of a large one.
struct Paused {
    temp: TempDir,
    child: Child,
}

fn pause() -> Paused {
    common::with_default_hang_up();
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

/// Whether the program listens to Ctrl-C, which ends those that do not.
#[cfg(target_os = "linux")]
fn catches_ctrl_c(child: &Child) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught
        .is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask >> (libc::SIGINT - 1) & 1 == 1))
}

/// Waits for the end while standard input stays open.
fn end(mut child: Child) -> Output {
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    output
}

#[test]
fn ctrl_c_and_its_like_remove_the_half_written_file_and_say_what_is_complete() {
    let hung_up = (Signal::HUP, 129, "cut off (the terminal is gone)");
    for (signal, code, word) in [(Signal::INT, 130, "interrupted"), (Signal::TERM, 143, "terminated"), hung_up] {
        let Paused { temp, child } = pause();
        send(&child, signal);
        let output = end(child);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{err}");
        assert!(!err.contains("damaged") && !err.contains("stopped:"), "the archive is not to blame: {err}");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["status"], "stopped");
        assert_eq!(json["signal"], code - 128);
        // How many files were done by then depends on the machine. But all of them are whole, and the report counts
        // exactly these.
        let folder = temp.path().join("out/small");
        let small = if folder.exists() { names(&folder) } else { Vec::new() };
        assert!(small.iter().all(|name| common::read(temp.path().join("out/small").join(name)) == *name), "no halves");
        let all = names(&temp.path().join("out"));
        assert_eq!(all.len(), usize::from(folder.exists()) + small.len(), "the large file is gone: {all:?}");
        let (written, not_written) = (json["files"].as_u64().unwrap(), json["not_written"].as_u64().unwrap());
        assert_eq!((written, written + not_written), (small.len() as u64, 101), "{err}");
        assert!(err.contains(word) && err.contains(&format!(": {written} entr")), "{err}");
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
    // Its close takes longer than any test waits.
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
    // The two signals must not become one.
    thread::sleep(Duration::from_millis(300));
    send(&child, Signal::INT);
    let status = end(child).status;
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(2), "{status}");
}

#[test]
fn a_terminal_that_is_closed_leaves_no_half_file() {
    let temp = tempdir().unwrap();
    let mut tar = Tar::new();
    for n in 0..20 {
        tar = tar.file(&n.to_string(), n.to_string());
    }
    let bytes = tar.file("large", vec![1; 16 << 20]).bytes();
    shell(temp.path(), "mkfifo pipe").code(0);
    let terminal = Pty::run(temp.path(), "unpack pipe -C out -v");
    let mut pipe = std::fs::File::options().write(true).open(temp.path().join("pipe")).unwrap();
    // The pipe stays open: the unpacking waits in the middle of the large file.
    pipe.write_all(&bytes[..bytes.len() / 2]).unwrap();
    wait_until(|| temp.path().join("out/large").exists());
    assert_eq!(terminal.close(), 129);
    let out = temp.path().join("out");
    assert!(names(&out).iter().all(|name| common::read(out.join(name)) == *name), "no halves: {:?}", names(&out));
}

#[test]
fn a_second_sighup_does_not_keep_it_from_tidying_up() {
    // The shell tells of a closed terminal, and then the system does.
    let Paused { temp, child } = pause();
    for _ in 0..5 {
        send(&child, Signal::HUP);
    }
    let output = end(child);
    assert_eq!(output.status.code(), Some(129), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!temp.path().join("out/large").exists());
}

#[test]
fn nohup_keeps_it_going() {
    let temp = tempdir().unwrap();
    let bytes = Tar::new().file("first", "1").file("large", vec![1; 4 << 20]).bytes();
    let mut child = Command::new("nohup")
        .args([BINARY, "unpack", "-", "-C", "out"])
        .current_dir(temp.path())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(&bytes[..bytes.len() / 2]).unwrap();
    wait_until(|| temp.path().join("out/large").exists());
    send(&child, Signal::HUP);
    child.stdin.take().unwrap().write_all(&bytes[bytes.len() / 2..]).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::metadata(temp.path().join("out/large")).unwrap().len(), 4 << 20);
}

#[test]
fn messages_without_a_reader_stop_it_as_ctrl_c_does() {
    let temp = tempdir().unwrap();
    let mut tar = Tar::new();
    for n in 0..100 {
        tar = tar.file(&format!("small/{n}"), n.to_string());
    }
    let bytes = tar.file("large", vec![1; 16 << 20]).file("after", "1").bytes();
    let mut child = Command::new(BINARY)
        .args(["unpack", "-", "-C", "out", "-vv", "--json"])
        .current_dir(temp.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&bytes[..bytes.len() / 2]).unwrap();
    wait_until(|| temp.path().join("out/large").exists());
    // `| head` has ended. The next entry is named, and its name has no reader.
    drop(child.stderr.take());
    let _stopped_reading = stdin.write_all(&bytes[bytes.len() / 2..]);
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let out = temp.path().join("out");
    // Whole files may be there, half-written ones may not.
    for name in names(&out) {
        let len = std::fs::metadata(out.join(&name)).unwrap().len();
        assert!(
            name.starts_with("small") || name == "after" && len == 1 || name == "large" && len == 16 << 20,
            "{name}"
        );
    }
    match output.status.code() {
        Some(141) => assert_eq!((&json["status"], &json["signal"]), (&"stopped".into(), &13.into())),
        // All was handed over before the first message without a reader.
        code => assert_eq!((code, &json["status"]), (Some(0), &"complete".into())),
    }
}

#[test]
fn a_listing_without_a_reader_ends() {
    let temp = tempdir().unwrap();
    let mut tar = Tar::new();
    for n in 0..20_000 {
        tar = tar.file(&format!("{n:0>80}"), "");
    }
    tar.save(temp.path().join("a.tar"));
    let ran = shell(temp.path(), "{ $M unpack a.tar --dry-run; echo \"status $?\" >&2; } | head -n 1");
    assert_eq!(ran.err, "status 0\n", "without the summary, which comes when all is listed");
}

/// The open of a FIFO waits for a writer. The first Ctrl-C used to vanish in that wait.
#[cfg(target_os = "linux")]
#[test]
fn a_fifo_without_a_writer_is_no_reason_to_ignore_ctrl_c() {
    let temp = tempdir().unwrap();
    assert!(Command::new("mkfifo").arg(temp.path().join("pipe")).status().unwrap().success());
    for args in [&["unpack", "pipe", "-C", "out"][..], &["explain", "pipe"]] {
        let mut child = Command::new(BINARY)
            .args(args)
            .current_dir(temp.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_until(|| catches_ctrl_c(&child));
        send(&child, Signal::INT);
        let deadline = Instant::now() + Duration::from_secs(60);
        while child.try_wait().unwrap().is_none() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        // If the signal had no effect, the FIFO would never get a writer.
        let _ended_meanwhile = child.kill();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{args:?}: {output:?}");
    }
}

#[test]
fn a_fifo_is_read_when_somebody_writes_to_it_later() {
    let temp = tempdir().unwrap();
    assert!(Command::new("mkfifo").arg(temp.path().join("pipe")).status().unwrap().success());
    let child = Command::new(BINARY)
        .args(["unpack", "pipe", "-C", "out"])
        .current_dir(temp.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::fs::write(temp.path().join("pipe"), Tar::new().file("late", "1").bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read(temp.path().join("out/late")).unwrap(), b"1");
}
