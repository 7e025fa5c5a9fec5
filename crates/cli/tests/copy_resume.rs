//! `copy --resume`: stopped or killed at any moment, and run again.
#![cfg(unix)] // nothing is resumed elsewhere

mod common;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{BINARY, names};
use manyfiles_testkit::{Need, Op, SlowMount, skip_unless};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::tempdir;

const MIB: usize = 1 << 20;

fn bytes(len: usize) -> Vec<u8> {
    (0..len as u32 / 4).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn copy(at: &Path, args: &[&str]) -> Output {
    Command::new(BINARY).arg("copy").args(args).current_dir(at).output().unwrap()
}

/// Runs it under strace, which kills it when it makes the nth call of this name. False: it made fewer.
fn killed_at(at: &Path, args: &[&str], call: &str, nth: u32) -> bool {
    let status = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e"])
        .arg(format!("inject={call}:signal=KILL:when={nth}"))
        .args(["--", BINARY, "copy"])
        .args(args)
        .current_dir(at)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success() || status.signal() == Some(9) || status.code() == Some(137), "{status}");
    !status.success()
}

#[test]
fn killed_at_any_call_and_run_again_it_is_equal_and_nothing_is_left() {
    skip_unless!(Need::Program("strace"));
    let temp = tempdir().unwrap();
    let source = bytes(9 * MIB);
    fs::create_dir(temp.path().join("src")).unwrap();
    fs::write(temp.path().join("src/large"), &source).unwrap();
    // One thread writes, so that the calls come in one order.
    let runs: [&[&str]; 2] = [
        &["--resume", "-j1", "--on-conflict", "replace", "src/.", "dst"],
        &["--resume", "-j1", "--mirror", "src", "dst"],
    ];
    let (mut kills, mut went_on) = (0, 0);
    for args in runs {
        for call in ["copy_file_range", "write", "renameat2", "renameat", "ftruncate", "fchmod", "utimensat", "flock"] {
            for nth in 1.. {
                drop(fs::remove_dir_all(temp.path().join("dst")));
                if !killed_at(temp.path(), args, call, nth) {
                    break;
                }
                kills += 1;
                let output = copy(temp.path(), &[args, &["--json"]].concat());
                assert!(output.status.success(), "{call} {nth}: {}", text(&output));
                let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
                went_on += u32::from(json["resumed_bytes"].as_u64().unwrap() >= MIB as u64);
                assert!(fs::read(temp.path().join("dst/large")).unwrap() == source, "{call} {nth}");
                let left = names(&temp.path().join("dst"));
                assert_eq!(left, ["large"], "killed at call {nth} of {call}");
            }
        }
    }
    assert!(kills >= 20 && went_on >= 4, "{kills} kills, of which {went_on} were gone on with");
}

#[test]
fn ctrl_c_leaves_what_has_arrived_and_says_how_to_go_on() {
    skip_unless!(Need::Fuse);
    let temp = tempdir().unwrap();
    let source = bytes(12 * MIB);
    fs::write(temp.path().join("large"), &source).unwrap();
    let slow = SlowMount::options().delay(Op::Write, Duration::from_millis(30)).mount().unwrap();
    let to = slow.path().to_str().unwrap();
    let child = Command::new(BINARY)
        .args(["copy", "--resume", "large", to])
        .current_dir(temp.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let has_some = || {
        // Names alone: what has one may have another one a moment later.
        let mut names = fs::read_dir(slow.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let left = names.find(|name| name.to_string_lossy().starts_with(".manyfiles-resume-"));
        left.is_some_and(|left| fs::metadata(slow.path().join(left)).is_ok_and(|is| is.blocks() * 512 > 4 << 20))
    };
    while !has_some() {
        assert!(Instant::now() < deadline, "nothing arrived");
        thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output).contains("1 file is there in part; the same command with --resume"), "{}", text(&output));
    let output = copy(temp.path(), &["--resume", "large", to]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("1 file was gone on with: "), "{}", text(&output));
    assert!(fs::read(slow.path().join("large")).unwrap() == source);
    assert_eq!(names(slow.path()), ["large"]);
}

#[test]
fn an_entry_that_is_named_as_what_a_run_leaves_is_an_entry() {
    let temp = tempdir().unwrap();
    let name = ".manyfiles-resume-0123456789abcdef0123456789abcdef";
    fs::create_dir(temp.path().join("src")).unwrap();
    fs::write(temp.path().join("src").join(name), bytes(9 * MIB)).unwrap();
    for args in [&["--resume", "src/.", "dst"][..], &["--resume", "--mirror", "src", "dst"]] {
        let output = copy(temp.path(), args);
        assert!(output.status.success(), "{}", text(&output));
        assert_eq!(names(&temp.path().join("dst")), [name]);
    }
}
