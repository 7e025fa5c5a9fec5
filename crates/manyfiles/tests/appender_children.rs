//! An appender's lock, and the programs that its process starts.
#![cfg(all(unix, feature = "full"))]

use std::io::ErrorKind;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use manyfiles::appender::{Appender, OnDamage};
use manyfiles_testkit::{Need, skip_unless};

/// Says so when it is dropped.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_log_that_was_closed_can_be_opened_while_programs_are_started() {
    skip_unless!(Need::Program("true"));
    let temp = tempfile::tempdir().unwrap();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        // Each has a copy of every open handle until it runs.
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                Command::new("true").status().unwrap();
            }
        });
        // Also when the test fails: else it would wait for ever.
        let _done = Done(&is_done);
        for framed in [true, false] {
            let path = temp.path().join(format!("log-{framed}"));
            for round in 0..100 {
                let open = || Appender::options().framed(framed).on_damage(OnDamage::GoOn).open(&path);
                let appender = open().unwrap_or_else(|error| panic!("round {round}: {error}"));
                appender.append_durable(b"record").unwrap();
                // Closed in order, or only dropped.
                if round % 2 == 0 {
                    appender.close().unwrap();
                }
            }
        }
    });
}

#[test]
fn a_forked_child_that_ends_takes_no_lock_with_it() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    let appender = Appender::options().framed(true).open(&path).unwrap();
    appender.append_durable(b"record").unwrap();
    // SAFETY: the child touches nothing but its copy of the appender, which has no thread, and ends.
    match unsafe { libc::fork() } {
        0 => {
            drop(appender);
            // SAFETY: ends the child, without what the test harness has registered.
            unsafe { libc::_exit(0) }
        }
        child => {
            let mut status = 0;
            // SAFETY: `child` is this process's child, and `status` is there to be written to.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0);
        }
    }
    let other = Appender::options().framed(true).open(&path).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::ResourceBusy, "{other}");
    appender.append_durable(b"another").unwrap();
}
