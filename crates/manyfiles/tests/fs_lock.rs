//! Locks of files that are closed in the background. In a program in which no test starts a process: that has a copy of
//! every descriptor until it calls exec, and a lock lasts as long as any copy.
#![cfg(target_os = "linux")]

use manyfiles::close::{Closer, Policy};

#[test]
fn a_lock_ends_with_its_file() {
    // A local file system: FUSE itself gives up a lock some time after the close has returned.
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("lock");
    let files = Closer::options().policy(Policy::Always).build();
    for _ in 0..100 {
        let file = files.create(&path).unwrap();
        file.lock().unwrap();
        drop(file);
        // Not by way of `fs`, which would wait for the close.
        std::fs::File::open(&path).unwrap().try_lock().expect("the lock has outlived its file");
        // A file that other code could have locked, and has not, is handed over.
        let lent: &std::fs::File = &files.create(&path).unwrap();
        lent.sync_data().unwrap();
    }
    assert_eq!(files.metrics().closed_inline, 100);
    files.finish().unwrap();
}

/// A clone shares the lock: whichever took it, and whichever is dropped last.
#[test]
fn a_lock_that_a_clone_took_ends_with_both() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("lock");
    let files = Closer::options().policy(Policy::Always).build();
    for round in 0..100 {
        let one = files.create(&path).unwrap();
        let other = one.try_clone().unwrap();
        if round % 2 == 0 { &one } else { &other }.lock().unwrap();
        if round % 4 < 2 {
            drop((one, other))
        } else {
            drop((other, one))
        }
        std::fs::File::open(&path).unwrap().try_lock().expect("the lock has outlived its files");
    }
    files.finish().unwrap();
}

/// A reader whose close is pending would still be there for the next writer, and read nothing.
#[test]
fn a_fifo_is_closed_on_the_spot_and_opened_once() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let files = Closer::options().policy(Policy::Always).build();
    for n in 0..200 {
        std::thread::scope(|scope| {
            scope.spawn(|| std::fs::write(&path, n.to_string()).unwrap());
            assert_eq!(files.read_to_string(&path).unwrap(), n.to_string());
        });
    }
    files.finish().unwrap();
}
