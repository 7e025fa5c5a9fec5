//! Locks of files that are closed in the background. Alone in its program: where another test starts a process, that has a copy of
//! every descriptor until it calls exec, and a lock lasts as long as any copy.
#![cfg(all(feature = "fs", target_os = "linux"))]

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
        // What somebody could have locked, and has not, is handed over.
        let lent: &std::fs::File = &files.create(&path).unwrap();
        lent.sync_data().unwrap();
    }
    assert_eq!(files.metrics().closed_inline, 100);
    files.finish().unwrap();
}
