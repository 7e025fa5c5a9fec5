//! An appender's lock, and the programs that its process starts.
#![cfg(all(unix, feature = "full"))]

use std::io::ErrorKind;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use manyfiles::appender::{Appender, OnDamage, Records, check};
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

/// Forks; the child does this with its copy and ends, when it is told to.
fn in_a_child<T>(copied: T, work: impl FnOnce(T)) -> (T, impl FnOnce()) {
    let (reader, writer) = std::io::pipe().unwrap();
    // SAFETY: the child touches nothing but its copy of what the test has, which has no thread, and ends.
    let child = match unsafe { libc::fork() } {
        0 => {
            drop(writer);
            let mut reader = reader;
            let told = std::io::Read::read(&mut reader, &mut [0]);
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(copied)));
            // SAFETY: ends the child, without what the test harness has registered.
            unsafe { libc::_exit(i32::from(told.is_err() || done.is_err())) }
        }
        child => child,
    };
    drop(reader);
    let end = move || {
        drop(writer);
        let mut status = 0;
        // SAFETY: `child` is this process's child, and `status` is there to be written to.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
    };
    (copied, end)
}

#[test]
fn a_forked_child_takes_nothing_from_its_parents_log() {
    for framed in [true, false] {
        for writes in [true, false] {
            let temp = tempfile::tempdir().unwrap();
            let path = temp.path().join("log");
            let appender = Appender::options().framed(framed).open(&path).unwrap();
            appender.append_durable(b"before").unwrap();
            appender.append(b"buffered").unwrap();
            // It knows the log as it is now, and ends it when the parent has gone on.
            let (appender, end) = in_a_child(appender, |copy| {
                if writes {
                    assert!(copy.append_durable(b"the child's").is_err());
                    assert!(copy.close().is_err());
                }
            });
            (0..100).for_each(|n| appender.append_durable(format!("record {n}").as_bytes()).unwrap());
            let names = || std::fs::read_dir(temp.path()).unwrap().count();
            let before = (names(), std::fs::read(&path).unwrap());
            end();
            assert!(before == (names(), std::fs::read(&path).unwrap()), "framed: {framed}, writes: {writes}");
            appender.append_durable(b"after").unwrap();
            appender.close().unwrap();
            if framed {
                assert!(check(&path).unwrap().is_sound());
                assert_eq!(Records::open(&path).unwrap().map(Result::unwrap).count(), 103);
            }
        }
    }
}
