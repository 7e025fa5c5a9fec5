//! Records that no thread waits for are written in time, by a thread that is there while there are any.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::disk::{Call, Disk, Fault};
use crate::appender::{Appender, Options, State};

/// No test waits that long unless something hangs.
const HANGS: Duration = Duration::from_secs(60);
/// What is waited for in these tests never comes by itself.
const EVERY: Duration = Duration::from_secs(600);

fn open(disk: &Disk, options: Options) -> Appender {
    let path: PathBuf = std::path::absolute("/disk/records").unwrap();
    Appender::new(&path, options, Arc::new(disk.clone())).unwrap()
}

fn until(what: impl Fn() -> bool, story: &str) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < HANGS, "{story}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn what_nobody_waits_for_is_written_in_time_and_the_thread_ends() {
    for framed in [false, true] {
        let disk = Disk::default();
        let appender = open(&disk, Appender::options().framed(framed).flush_every(Duration::from_millis(1)));
        for n in 0..3 {
            let receipt = appender.append(&[n; 10]).unwrap();
            assert!(appender.group.lock().has_flusher);
            assert_eq!(receipt.state(), State::Buffered, "the model's clock stands still");
            disk.advance(Duration::from_millis(1));
            until(|| receipt.state() == State::Written, "it is not written");
            until(|| !appender.group.lock().has_flusher, "the thread stays");
        }
        appender.close().unwrap();
    }
}

#[test]
fn the_time_is_that_of_the_oldest_record_and_what_was_written_meanwhile_does_not_count() {
    let disk = Disk::default();
    let appender = open(&disk, Appender::options().flush_every(EVERY));
    appender.append(b"one").unwrap();
    let planned = appender.group.lock().flush_at;
    disk.advance(EVERY / 2);
    appender.append(b"two").unwrap();
    assert_eq!(appender.group.lock().flush_at, planned);
    appender.flush().unwrap();
    assert_eq!(appender.group.lock().flush_at, None);
    appender.append(b"three").unwrap();
    assert_eq!(appender.group.lock().flush_at, Some(EVERY / 2 + EVERY));
    // A record that is written where it is leaves nothing to wait for.
    appender.append(&[0; 300 << 10]).unwrap();
    assert_eq!(appender.group.lock().flush_at, None);
}

#[test]
fn closing_or_dropping_ends_the_thread_at_once() {
    for closes in [true, false] {
        let appender = open(&Disk::default(), Appender::options().flush_every(EVERY));
        let group = Arc::clone(&appender.group);
        appender.append(b"one").unwrap();
        assert!(group.lock().has_flusher);
        if closes {
            appender.close().unwrap();
        } else {
            drop(appender);
        }
        until(|| !group.lock().has_flusher, "the thread stays");
        until(|| Arc::strong_count(&group) == 1, "the thread stays");
    }
}

#[test]
fn a_write_in_time_that_fails_is_told_to_who_comes_next_and_to_who_closes() {
    let disk = Disk::default();
    let appender = open(&disk, Appender::options().flush_every(Duration::from_millis(1)));
    disk.inject(Call::Write, 1, Fault::Fail { errno: 28, for_good: false });
    let receipt = appender.append(b"one").unwrap();
    disk.advance(Duration::from_millis(1));
    until(|| receipt.state() == State::Failed, "it is not written");
    assert!(!appender.group.is_told(), "no call has asked");
    assert_eq!(appender.append(b"two").unwrap_err().raw_os_error(), Some(28));
    assert_eq!(receipt.wait_written().unwrap_err().raw_os_error(), Some(28));
    assert_eq!(appender.close().unwrap_err().raw_os_error(), Some(28));
}
