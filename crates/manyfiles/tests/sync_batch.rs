//! SyncBatch: all files are there, atomically if asked, and no failure leaves a batch that says it is durable.
#![cfg(feature = "full")]

#[cfg(target_os = "linux")]
mod support;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use manyfiles::Operation;
use manyfiles::sync::{BatchMethod, SyncBatch};

const METHODS: [BatchMethod; 3] = [BatchMethod::Automatic, BatchMethod::FileSystem, BatchMethod::EachFile];

fn batches() -> Vec<(String, SyncBatch)> {
    let both = METHODS.into_iter().flat_map(|method| [false, true].map(|atomic| (method, atomic)));
    both.map(|(method, atomic)| {
        (format!("{method:?}, atomic {atomic}"), SyncBatch::options().method(method).atomic(atomic).build())
    })
    .collect()
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Thousands of syncs of a disk that others use would take minutes. The disks of their own below are real ones.
fn in_memory() -> tempfile::TempDir {
    #[cfg(target_os = "linux")]
    return manyfiles_testkit::scratch().unwrap();
    #[cfg(not(target_os = "linux"))]
    tempfile::tempdir().unwrap()
}

fn content(n: usize) -> Vec<u8> {
    vec![n as u8; n % 3000]
}

#[test]
fn every_file_of_a_batch_is_there_by_every_method() {
    for (name, batch) in batches() {
        let temp = in_memory();
        // More than wait with an open handle, in more folders than are synced one by one.
        const FILES: usize = 1200;
        for folder in 0..30 {
            fs::create_dir(temp.path().join(folder.to_string())).unwrap();
        }
        let path = |n: usize| temp.path().join((n % 30).to_string()).join(n.to_string());
        batch.add_folder(temp.path());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (batch, path) = (&batch, &path);
                scope.spawn(move || {
                    for n in (thread..FILES).step_by(4) {
                        batch.write(path(n), content(n)).unwrap();
                    }
                });
            }
        });
        let done = batch.finish().unwrap();
        let bytes: usize = (0..FILES).map(|n| content(n).len()).sum();
        assert_eq!((done.files, done.bytes), (FILES as u64, bytes as u64), "{name}");
        for n in 0..FILES {
            assert_eq!(fs::read(path(n)).unwrap(), content(n), "{name}: file {n}");
        }
        for folder in 0..30 {
            assert_eq!(names(&temp.path().join(folder.to_string())).len(), FILES / 30, "{name}: something is left");
        }
    }
}

#[test]
fn an_atomic_batch_changes_no_path_before_it_finishes_and_none_if_it_is_dropped() {
    for method in METHODS {
        let temp = in_memory();
        let old = temp.path().join("old");
        fs::write(&old, "as it was").unwrap();
        let fill = |batch: &SyncBatch| {
            batch.write(&old, "changed").unwrap();
            batch.write_with(temp.path().join("new"), |file| file.write_all(b"made")).unwrap();
            assert_eq!(fs::read(&old).unwrap(), b"as it was");
            assert!(!temp.path().join("new").exists());
        };
        let batch = SyncBatch::options().atomic(true).method(method).build();
        fill(&batch);
        drop(batch);
        assert_eq!(names(temp.path()), ["old".to_owned()].into());

        let batch = SyncBatch::options().atomic(true).method(method).build();
        fill(&batch);
        batch.finish().unwrap();
        assert_eq!(fs::read(&old).unwrap(), b"changed");
        assert_eq!(names(temp.path()), ["new".to_owned(), "old".to_owned()].into());
    }
}

#[test]
fn a_file_that_could_not_be_filled_is_left_out_and_the_batch_goes_on() {
    for (name, batch) in batches() {
        let temp = in_memory();
        let atomic = format!("{batch:?}").contains("atomic: true");
        let path = temp.path().join("broken");
        let error = batch
            .write_with(&path, |file| {
                file.write_all(b"half")?;
                Err(ErrorKind::InvalidData.into())
            })
            .unwrap_err();
        assert_eq!((error.operation(), error.path()), (Operation::Write, Some(&*path)), "{name}");
        let folder = batch.write(temp.path(), "a folder is no file").unwrap_err();
        assert_eq!((folder.operation(), folder.path()), (Operation::Create, Some(temp.path())), "{name}");
        batch.write(temp.path().join("none/file"), "no such folder").unwrap_err();
        batch.write(temp.path().join("fine"), "fine").unwrap();
        assert_eq!(batch.finish().unwrap().files, 1, "{name}");
        let left: BTreeSet<String> =
            if atomic { ["fine"].iter() } else { ["broken", "fine"].iter() }.map(|&name| name.to_owned()).collect();
        assert_eq!(names(temp.path()), left, "{name}");
    }
}

#[test]
fn files_written_elsewhere_can_be_added() {
    for (name, batch) in batches() {
        let temp = in_memory();
        for n in 0..300 {
            let path = temp.path().join(n.to_string());
            let mut file = File::create(&path).unwrap();
            file.write_all(b"elsewhere").unwrap();
            batch.add(file, path);
        }
        assert_eq!(batch.finish().unwrap().files, 300, "{name}");
    }
}

#[test]
fn an_empty_batch_is_durable_at_once() {
    for (name, batch) in batches() {
        assert_eq!(batch.finish().unwrap().files, 0, "{name}");
    }
}

#[cfg(target_os = "linux")]
mod injected {
    use super::*;
    use crate::support;
    use manyfiles_testkit::{Call, Disk, Need, Preload, Rule, nofile_limit, skip_unless};

    /// Each rule with the method that meets it.
    fn failures() -> Vec<(BatchMethod, Call, i32, Operation)> {
        [libc::EIO, libc::ENOSPC, libc::EDQUOT, libc::EINTR]
            .into_iter()
            .flat_map(|number| {
                [
                    (BatchMethod::EachFile, Call::Fsync, number, Operation::Sync),
                    (BatchMethod::FileSystem, Call::Syncfs, number, Operation::Sync),
                    (BatchMethod::EachFile, Call::Close, number, Operation::Close),
                    (BatchMethod::FileSystem, Call::Close, number, Operation::Close),
                ]
            })
            .collect()
    }

    #[test]
    fn a_failed_sync_or_close_is_told_and_an_atomic_batch_changes_nothing() {
        skip_unless!(Need::Preload);
        let text = |(method, call, number, _): (BatchMethod, Call, i32, Operation), atomic: bool| {
            format!("fails-{method:?}-{call:?}-{number}-{atomic}-")
        };
        let preload = || {
            let both = failures().into_iter().flat_map(|failure| [(failure, false), (failure, true)]);
            both.fold(Preload::new(), |preload, (failure, atomic)| {
                // Of all that is done to that folder's files; of two or three syncs of all, the early one.
                let nth = if failure.1 == Call::Syncfs { 1 } else { 2 };
                preload.rule(Rule::fail(failure.1, failure.2).path_contains(&text(failure, atomic)).nth(nth))
            })
        };
        let name = "injected::a_failed_sync_or_close_is_told_and_an_atomic_batch_changes_nothing";
        if support::in_parent(name, |child| {
            preload().apply(child).unwrap();
        }) {
            return;
        }
        // On tmpfs and on what is below /tmp both methods work.
        let temp = manyfiles_testkit::scratch().unwrap();
        for failure in failures() {
            for atomic in [false, true] {
                let (method, call, number, operation) = failure;
                let folder = temp.path().join(text(failure, atomic));
                fs::create_dir(&folder).unwrap();
                fs::write(folder.join("0"), "old").unwrap();
                let batch = SyncBatch::options().method(method).atomic(atomic).build();
                // So many that one sync is made early.
                for n in 0..if call == Call::Syncfs { 1500 } else { 3 } {
                    batch.write(folder.join(n.to_string()), "new").unwrap();
                    if call == Call::Syncfs && n == 1000 {
                        // The early one has ended when the last one begins, or there is just one.
                        std::thread::sleep(std::time::Duration::from_millis(20));
                    }
                }
                let failed = batch.finish().unwrap_err();
                let errors = failed.errors();
                let case = format!("{method:?}, {call:?}, {number}, atomic {atomic}: {errors}");
                let error = errors.iter().next().unwrap();
                assert_eq!((error.operation(), error.raw_os_error()), (operation, Some(number)), "{case}");
                assert!(error.path().unwrap().starts_with(&folder), "{case}");
                assert_eq!(errors.len(), 1, "{case}");
                let now = fs::read_to_string(folder.join("0")).unwrap();
                assert_eq!(now, if atomic { "old" } else { "new" }, "{case}");
                if atomic {
                    assert_eq!(names(&folder).len(), 1, "{case}: temporary files are left");
                }
            }
        }
    }

    #[test]
    fn a_rename_that_fails_is_told_and_leaves_no_temporary_file() {
        skip_unless!(Need::Preload);
        let rule = || Rule::fail(Call::Rename, libc::EIO).path_contains("refused");
        let name = "injected::a_rename_that_fails_is_told_and_leaves_no_temporary_file";
        if support::in_parent(name, |child| {
            Preload::new().rule(rule()).apply(child).unwrap();
        }) {
            return;
        }
        let temp = tempfile::tempdir().unwrap();
        let batch = SyncBatch::options().atomic(true).build();
        for name in ["a", "refused", "z"] {
            batch.write(temp.path().join(name), "x").unwrap();
        }
        let failed = batch.finish().unwrap_err();
        let errors = failed.errors();
        let error = errors.iter().next().unwrap();
        assert_eq!((error.operation(), error.raw_os_error()), (Operation::Rename, Some(libc::EIO)));
        assert_eq!(error.path(), Some(&*temp.path().join("refused")));
        assert_eq!((errors.len(), names(temp.path())), (1, ["a".to_owned(), "z".to_owned()].into()));
    }

    #[test]
    fn a_large_batch_needs_few_handles() {
        let name = "injected::a_large_batch_needs_few_handles";
        if support::in_parent(name, |child| {
            nofile_limit(child, 32);
        }) {
            return;
        }
        for (name, batch) in batches() {
            let temp = manyfiles_testkit::scratch().unwrap();
            for n in 0..500 {
                batch.write(temp.path().join(n.to_string()), "x").unwrap();
            }
            assert_eq!(batch.finish().unwrap().files, 500, "{name}");
        }
    }

    #[test]
    fn a_batch_on_several_disks_syncs_each_as_it_can() {
        skip_unless!(Need::Root, Need::LoopDevices);
        let disks = [Disk::ext4().megabytes(32).mount().unwrap(), Disk::tmpfs().megabytes(32).mount().unwrap()];
        for (name, batch) in batches() {
            for n in 0..200 {
                batch.write(disks[n % 2].path().join(n.to_string()), content(n)).unwrap();
            }
            let done = batch.finish().unwrap();
            let whole = match &*name {
                _ if name.starts_with("FileSystem") => 2..=2,
                _ if name.starts_with("EachFile") => 0..=0,
                _ => 0..=2,
            };
            assert!(done.files == 200 && whole.contains(&done.whole_file_systems), "{name}: {done:?}");
            for n in 0..200 {
                assert_eq!(fs::read(disks[n % 2].path().join(n.to_string())).unwrap(), content(n), "{name}");
            }
        }
    }

    #[test]
    fn a_full_disk_leaves_an_atomic_batch_s_paths_as_they_were() {
        skip_unless!(Need::Root);
        let disk = Disk::tmpfs().megabytes(1).mount().unwrap();
        let old = disk.path().join("old");
        fs::write(&old, "as it was").unwrap();
        let batch = SyncBatch::options().atomic(true).build();
        batch.write(&old, "new").unwrap();
        let error = batch.write(&old, vec![1; 2 << 20]).unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::StorageFull, Some(&*old)));
        drop(batch);
        assert_eq!(fs::read_to_string(&old).unwrap(), "as it was");
        assert_eq!(names(disk.path()), ["old".to_owned()].into());
    }
}
