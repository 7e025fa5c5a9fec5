//! Calls that a signal interrupts, and files that another process has a lease on: both are waited for, as a plain open
//! waits.
#![cfg(feature = "full")]
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, UNIX_EPOCH};

use manyfiles::tree::{Content, Metadata, Node, OnConflict, TreeWriter};
use manyfiles_testkit::{Call, Need, Preload, Rule, skip_unless};

mod support;
use support::in_parent;

/// Every kind of entry, over what is there and where nothing is, with all metadata.
fn write_everything(root: &std::path::Path) {
    let metadata = Metadata::default().mode(0o751).modified(UNIX_EPOCH + Duration::from_secs(5));
    let source = root.join("the source");
    std::fs::write(&source, vec![7; 200_000]).unwrap();
    std::fs::create_dir(root.join("out")).unwrap();
    for round in 0..2 {
        for policy in [OnConflict::Overwrite, OnConflict::Replace, OnConflict::SkipIdentical] {
            let tree = TreeWriter::options().on_conflict(policy.clone()).exact_permissions(true);
            let tree = tree.open(root.join("out")).unwrap();
            tree.folder("folder/deeper", Metadata::default().mode(0o700).modified(UNIX_EPOCH)).unwrap();
            tree.file_with("folder/file", format!("{round}{policy:?}"), metadata.clone()).unwrap();
            tree.file_with("folder/copy", Content::copy_of(&source), metadata.clone()).unwrap();
            let holes = Content::sparse(300_000, [(200_000, Content::from("piece"))]);
            tree.file_with("folder/holes", holes, metadata.clone()).unwrap();
            let mut stream = tree.create("folder/stream", metadata.clone()).unwrap();
            stream.write_all(&[1; 300 << 10]).unwrap();
            stream.skip(70_000).unwrap();
            stream.close().unwrap();
            tree.symlink("folder/symlink", "nowhere", metadata.clone()).unwrap();
            tree.hard_link("folder/link", "folder/file").unwrap();
            tree.node("folder/fifo", Node::Fifo, metadata.clone()).unwrap();
            let report = tree.finish().unwrap_or_else(|incomplete| incomplete.into_report());
            assert!(report.failures.is_empty(), "{policy:?} {round}: {:?}", report.failures);
            let mode = |name: &str| root.join("out/folder").join(name).metadata().unwrap().permissions().mode() & 0o777;
            for name in ["file", "copy", "holes", "stream", "fifo"] {
                assert_eq!(mode(name), 0o751, "{name}");
            }
        }
    }
}

#[test]
fn an_interrupted_call_is_made_again_whichever_it_is() {
    skip_unless!(Need::Preload);
    let name = "an_interrupted_call_is_made_again_whichever_it_is";
    let calls = [
        Call::Open,
        Call::Read,
        Call::Write,
        Call::Mkdir,
        Call::Rename,
        Call::Unlink,
        Call::Link,
        Call::Ftruncate,
        Call::Utimens,
        Call::Chmod,
        Call::Copy,
    ];
    // Each kind of call, the first of it, and some of those that come later.
    let rules = calls
        .iter()
        .flat_map(|&call| [1, 2, 3, 5, 8, 13].map(|nth| Rule::fail(call, libc::EINTR).path_contains("out/").nth(nth)));
    if in_parent(name, |command| {
        rules.fold(Preload::new(), Preload::rule).apply(command).unwrap();
    }) {
        return;
    }
    let temp = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    write_everything(temp.path());
}

/// `fcntl.h`: none of these is in the C library's binding.
const SET_LEASE: libc::c_int = 1024;
const SET_SIGNAL: libc::c_int = 10;

#[test]
fn a_file_that_somebody_has_a_lease_on_is_waited_for() {
    let temp = tempfile::tempdir().unwrap();
    let metadata = Metadata::default();
    for (way, lease) in [("in place", libc::F_RDLCK), ("a source", libc::F_WRLCK), ("compared", libc::F_WRLCK)] {
        let path = temp.path().join("f");
        std::fs::write(&path, "old").unwrap();
        let holder = if lease == libc::F_RDLCK { File::open(&path) } else { File::options().write(true).open(&path) };
        let holder = holder.unwrap();
        // SAFETY: numbers only, for a descriptor that is open. The signal that asks for the lease does nothing here.
        let leased = unsafe {
            libc::fcntl(holder.as_raw_fd(), SET_SIGNAL, libc::SIGURG) == 0
                && libc::fcntl(holder.as_raw_fd(), SET_LEASE, lease) == 0
        };
        if !leased {
            return manyfiles_testkit::skip("needs a file system with leases");
        }
        let policy = if way == "compared" { OnConflict::SkipIdentical } else { OnConflict::Overwrite };
        let tree = TreeWriter::options().on_conflict(policy).open(temp.path()).unwrap();
        match way {
            "in place" => tree.file_with("f", "new", metadata.clone()).unwrap(),
            "compared" => tree.file_with("f", "old", metadata.clone()).unwrap(),
            _ => tree.file_with("copy", Content::copy_of(&path), metadata.clone()).unwrap(),
        }
        // As Samba does, it writes back what it has and gives the lease up when it is asked: which shows here as a
        // lease that is of another kind already. SAFETY: as above.
        while unsafe { libc::fcntl(holder.as_raw_fd(), SET_LEASE + 1) } == lease {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(20));
        drop(holder);
        let report = tree.finish().unwrap_or_else(|incomplete| incomplete.into_report());
        assert!(report.failures.is_empty(), "{way}: {:?}", report.failures);
        assert_eq!((report.files, report.skipped), if way == "compared" { (0, 1) } else { (1, 0) }, "{way}");
    }
    assert_eq!(std::fs::read(temp.path().join("copy")).unwrap(), b"old");
}
