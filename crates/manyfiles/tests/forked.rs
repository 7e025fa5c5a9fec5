//! A process that forks while its threads use what this crate has open: the child's copies can do nothing, say so, and
//! hang in no lock that a thread of the parent held.
#![cfg(all(unix, feature = "full"))]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use std::{fs, ptr};

use manyfiles::appender::{Appender, Records, State};
use manyfiles::close::FastClose;
use manyfiles::sync::SyncBatch;
use manyfiles::tree::TreeWriter;
use manyfiles::vfs::Vfs;

const FORKS: usize = 60;
/// Then the child is taken for one that hangs.
const SECONDS: u32 = 20;

/// Forks again and again, with a child that does `work` and ends.
fn fork(name: &str, work: impl Fn()) {
    for round in 0..FORKS {
        // SAFETY: what the child may not use, because other threads may hold its locks, is what is tested here. The C
        // library's own locks are free in a child.
        match unsafe { libc::fork() } {
            0 => {
                // SAFETY: ends the child after that time.
                unsafe { libc::alarm(SECONDS) };
                let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(&work)).is_ok();
                // SAFETY: ends the child, without what the test harness has registered.
                unsafe { libc::_exit(i32::from(!worked)) }
            }
            child => {
                let mut status = 0;
                // SAFETY: waits for that child; the status outlives the call.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                assert_eq!(status, 0, "{name}, fork {round}: {status:#x} (a hang ends with 0xe, a panic with 0x100)");
            }
        }
        // What the threads are at then is another thing each time.
        thread::sleep(Duration::from_micros(100 * (round as u64 % 7)));
    }
}

/// Threads that do something again and again as long as `test` runs.
fn meanwhile(work: impl Fn(usize) + Sync, test: impl FnOnce()) {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for thread in 0..3 {
            let (work, is_done) = (&work, &is_done);
            scope.spawn(move || {
                let mut n = thread;
                while !is_done.load(Relaxed) {
                    work(n);
                    n += 3;
                }
            });
        }
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
        is_done.store(true, Relaxed);
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// As a child that goes on does at its end.
fn drop_copy<T>(of: &T) {
    // SAFETY: the child ends soon, and does not touch the other copy any more.
    drop(unsafe { ptr::read(of) });
}

fn assert_says_so<T, E: ToString>(result: Result<T, E>) {
    let error = result.err().expect("a copy can do nothing").to_string();
    assert!(error.contains("forked"), "{error}");
}

#[test]
fn an_appenders_copy_takes_no_record() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    let appender = Appender::options().framed(true).open(&path).unwrap();
    let receipt = appender.append(b"parent").unwrap();
    let append = |n: usize| drop(if n % 50 < 3 { appender.sync() } else { appender.append(b"parent").map(drop) });
    meanwhile(append, || {
        fork("calls", || {
            assert_says_so(appender.append(b"child"));
            assert_says_so(appender.append_durable(b"child"));
            assert_says_so(appender.flush());
            assert_says_so(appender.sync());
            assert_says_so(receipt.wait_written());
            assert_says_so(receipt.wait_durable());
            assert_eq!(receipt.state(), State::Failed);
            assert!(appender.take_upkeep_errors().is_empty());
        });
        fork("drop", || drop_copy(&appender));
    });
    appender.close().unwrap();
    let records: Vec<Vec<u8>> = Records::open(&path).unwrap().collect::<Result<_, _>>().unwrap();
    assert!(records.iter().all(|record| record == b"parent"));
}

#[test]
fn a_vfs_copy_writes_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path();
    let vfs = Vfs::new();
    let own = folder.join("own");
    vfs.write(&own, b"1").unwrap();
    vfs.write(&own, b"2").unwrap(); // this one is buffered
    let mut writer = vfs.create_writer(folder.join("writer")).unwrap();
    writer.write_all(b"buffered").unwrap();
    let write = |n: usize| vfs.write(folder.join(format!("{}", n % 40)), b"abc").unwrap();
    meanwhile(write, || {
        fork("calls", || {
            assert_says_so(vfs.write(folder.join("child"), b"x"));
            assert_says_so(vfs.append(folder.join("child"), b"x"));
            assert_says_so(vfs.read(folder.join("0")));
            assert_says_so(vfs.flush(folder.join("0")));
            assert_says_so(vfs.wait());
        });
        fork("drop", || drop_copy(&vfs));
        fork("drop of a writer", || drop_copy(&writer));
    });
    writer.close().unwrap();
    vfs.finish().unwrap();
    assert_eq!(fs::read(own).unwrap(), b"12");
    assert_eq!(fs::read(folder.join("writer")).unwrap(), b"buffered");
    assert!(!folder.join("child").exists());
}

#[test]
fn a_trees_copy_takes_no_entry() {
    let temp = tempfile::tempdir().unwrap();
    let tree = Arc::new(TreeWriter::open(temp.path().join("tree")).unwrap());
    let (observer, canceller) = (tree.observer(), tree.canceller());
    let add = |n: usize| {
        tree.file(format!("{}/{n}", n % 7), b"abc".to_vec()).unwrap();
        if n > 3000 {
            thread::sleep(Duration::from_millis(1));
        }
    };
    meanwhile(add, || {
        fork("calls", || {
            assert_says_so(tree.file("child", b"x".to_vec()));
            assert_says_so(tree.folder("child", Default::default()));
            assert_says_so(tree.create("child", Default::default()));
            assert_eq!((observer.progress().entries_done, observer.failures(0).len()), (0, 0));
            canceller.cancel();
            // SAFETY: the child ends soon, and does not touch the other copy any more.
            let copy = unsafe { ptr::read(&*tree) };
            let incomplete = copy.finish().expect_err("a copy can do nothing");
            assert!(incomplete.to_string().contains("forked"), "{incomplete}");
        });
        fork("drop", || drop_copy(&*tree));
    });
    let report = Arc::into_inner(tree).unwrap().finish().unwrap();
    assert!(report.files > 0 && !temp.path().join("tree/child").exists());
}

#[test]
fn a_batchs_copy_takes_no_file() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path();
    let batch = SyncBatch::new();
    let write = |n: usize| {
        batch.write(folder.join(format!("{}", n % 200)), b"abc").unwrap();
        if n > 200 {
            thread::sleep(Duration::from_millis(1));
        }
    };
    meanwhile(write, || {
        fork("calls", || {
            assert_says_so(batch.write(folder.join("child"), b"x"));
            batch.add_folder(folder);
        });
        fork("drop", || drop_copy(&batch));
    });
    batch.finish().unwrap();
    assert!(!folder.join("child").exists());
}

/// Nothing that starts a thread: std has a lock for that, which a thread of the parent may have held.
#[test]
fn a_child_closes_and_writes_by_what_it_makes_itself() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path();
    let create = |at: &Path, n: usize| drop(FastClose::new(fs::File::create(at.join(format!("{}", n % 40))).unwrap()));
    meanwhile(
        |n| create(folder, n),
        || {
            fork("what it makes", || {
                create(folder, 50);
                manyfiles::close::wait().unwrap();
                let vfs = Vfs::new();
                vfs.write(folder.join("51"), b"x").unwrap();
                vfs.finish().unwrap();
            });
        },
    );
}
