//! What the operating system refuses is told once by each call that waits for it, stays, and is never followed by a
//! success.
#![cfg(all(target_os = "linux", feature = "full"))]

mod support;

use std::fs;
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use manyfiles::close::Closer;
use manyfiles::writer::{FileWriter, Options, SyncPolicy};
use manyfiles::{Error, Operation};
use manyfiles_testkit::{Call, Disk, Need, Preload, Rule, skip_unless};

const NUMBERS: [i32; 4] = [libc::EIO, libc::ENOSPC, libc::EDQUOT, libc::EINTR];

/// A block, for these tests.
const BLOCK: usize = 4096;

fn variants() -> Vec<(&'static str, Options)> {
    let options = || FileWriter::options().buffer_size(BLOCK);
    vec![
        ("buffered", options()),
        ("unbuffered", options().buffer_size(0)),
        ("second-thread", options().second_thread(true)),
        ("synced-often", options().sync(SyncPolicy::EveryBytes(3 * BLOCK as u64))),
        ("synced-always-by-second", options().second_thread(true).sync(SyncPolicy::Every(Duration::ZERO))),
    ]
}

fn opened(options: Options, append: bool, path: &Path) -> FileWriter {
    if append { options.append(path).unwrap() } else { options.create(path).unwrap() }
}

/// What a program does with a writer. The first error, and what had been written by then.
fn work(file: &mut FileWriter) -> Result<(), Error> {
    for n in 0..10 {
        file.write_all(&[n; BLOCK / 2])?;
    }
    file.flush()?;
    file.write_all(&[10; BLOCK / 2])?;
    file.sync()
}

fn expected() -> Vec<u8> {
    (0..=10).flat_map(|n| [n; BLOCK / 2]).collect()
}

fn name(variant: &str, append: bool, call: Call, number: i32, nth: u64) -> String {
    format!("{variant},{},{call:?},{number},{nth},", if append { "append" } else { "create" })
}

/// Every failure of these tests, each for one file of its own.
fn cases() -> Vec<(Options, bool, Call, i32, u64, String)> {
    let mut cases = Vec::new();
    for (variant, options) in variants() {
        for append in [false, true] {
            for call in [Call::Write, Call::Fsync] {
                for number in NUMBERS {
                    // The last sync of those that sync once; the last writes but one of those that make six.
                    for nth in if call == Call::Write { 1..=5 } else { 1..=1 } {
                        let name = name(variant, append, call, number, nth);
                        cases.push((options.clone(), append, call, number, nth, name));
                    }
                }
            }
        }
    }
    cases
}

#[test]
fn a_failed_write_or_sync_stays_failed_whatever_is_called() {
    skip_unless!(Need::Preload);
    const NAME: &str = "a_failed_write_or_sync_stays_failed_whatever_is_called";
    let preload = || {
        cases().iter().fold(Preload::new(), |preload, (_, _, call, number, nth, name)| {
            preload.rule(Rule::fail(*call, *number).path_contains(name).nth(*nth))
        })
    };
    if support::in_parent(NAME, |child| {
        preload().apply(child).unwrap();
    }) {
        return;
    }
    let temp = manyfiles_testkit::scratch().unwrap();
    for (options, append, call, number, _, name) in cases() {
        let path = temp.path().join(&name);
        let closer = Arc::new(Closer::new());
        let mut file = opened(options.closer(Arc::clone(&closer)), append, &path);
        let result = work(&mut file);
        if call == Call::Write && number == libc::EINTR {
            // Nothing had been taken, so nothing is lost: it was made again.
            result.unwrap();
            file.close().unwrap();
            assert!(fs::read(&path).unwrap() == expected(), "{name}");
            continue;
        }
        let operation = if call == Call::Write { Operation::Write } else { Operation::Sync };
        let is_it = |error: &Error| {
            assert_eq!((error.operation(), error.raw_os_error()), (operation, Some(number)), "{name}: {error}");
            assert_eq!(error.path(), Some(&*path), "{name}");
        };
        is_it(&result.unwrap_err());
        is_it(file.failure().unwrap());
        let before = fs::read(&path).unwrap();
        for again in 0..2 {
            is_it(&file.write_all(b"").unwrap_err());
            is_it(&file.write_all(b"more").unwrap_err());
            is_it(&file.write_all(&[again; 3 * BLOCK]).unwrap_err());
            is_it(&file.flush().unwrap_err());
            is_it(&file.sync().unwrap_err());
            if !append {
                is_it(&file.write_at(b"more", 0).unwrap_err());
                is_it(&file.write_at(b"", 0).unwrap_err());
                is_it(&file.seek(SeekFrom::Start(0)).unwrap_err());
                is_it(&file.seek(SeekFrom::End(0)).unwrap_err());
            }
            for error in [Write::write(&mut file, b"x").unwrap_err(), Write::flush(&mut file).unwrap_err()] {
                assert_ne!(error.kind(), ErrorKind::Interrupted, "{name}: callers would try again for ever");
                is_it(error.get_ref().unwrap().downcast_ref().unwrap());
            }
        }
        let durable = file.durable();
        is_it(&file.close().unwrap_err());
        closer.wait().expect("it has been told");
        let after = fs::read(&path).unwrap();
        assert!(after == before, "{name}: something was written after a failure");
        assert!(expected().starts_with(&after), "{name}: a gap");
        assert!(durable as usize <= after.len(), "{name}");
    }
}

#[test]
fn a_failure_that_a_dropped_writer_meets_is_kept_once() {
    skip_unless!(Need::Preload);
    const NAME: &str = "a_failure_that_a_dropped_writer_meets_is_kept_once";
    let dropped = || {
        variants().into_iter().flat_map(|(variant, options)| {
            [(Call::Write, 1), (Call::Fsync, 1), (Call::Close, 1)].into_iter().flat_map(move |(call, nth)| {
                let options = options.clone();
                NUMBERS.map(|number| (options.clone(), call, number, nth, name(variant, false, call, number, nth)))
            })
        })
    };
    let preload = || {
        dropped().fold(Preload::new(), |preload, (_, call, number, nth, name)| {
            preload.rule(Rule::fail(call, number).path_contains(&name).nth(nth))
        })
    };
    if support::in_parent(NAME, |child| {
        preload().apply(child).unwrap();
    }) {
        return;
    }
    let temp = manyfiles_testkit::scratch().unwrap();
    for (options, call, number, _, name) in dropped() {
        let path = temp.path().join(&name);
        let closer = Arc::new(Closer::new());
        let options = options.buffer_size(2 * BLOCK).sync(SyncPolicy::OnClose).closer(Arc::clone(&closer));
        let mut file = options.create(&path).unwrap();
        file.write_all(&[1; BLOCK]).expect("it fits the buffer");
        drop(file);
        let told = closer.wait();
        if call == Call::Write && number == libc::EINTR {
            told.unwrap();
            assert_eq!(fs::read(&path).unwrap(), [1; BLOCK]);
            continue;
        }
        let errors = told.unwrap_err();
        assert_eq!(errors.len(), 1, "{name}: {errors}");
        let error = errors.iter().next().unwrap();
        let operation = match call {
            Call::Write => Operation::Write,
            Call::Fsync => Operation::Sync,
            _ => Operation::Close,
        };
        assert_eq!((error.operation(), error.raw_os_error()), (operation, Some(number)), "{name}");
        assert_eq!(error.path(), Some(&*path), "{name}");
        closer.wait().expect("told once");
    }
}

#[test]
fn a_failed_close_is_told_by_close() {
    skip_unless!(Need::Preload);
    const NAME: &str = "a_failed_close_is_told_by_close";
    let preload = || {
        NUMBERS.iter().fold(Preload::new(), |preload, &number| {
            preload.rule(Rule::fail(Call::Close, number).path_contains(&format!("close-{number}-")))
        })
    };
    if support::in_parent(NAME, |child| {
        preload().apply(child).unwrap();
    }) {
        return;
    }
    let temp = manyfiles_testkit::scratch().unwrap();
    for number in NUMBERS {
        for (variant, options) in variants() {
            let path = temp.path().join(format!("close-{number}-{variant}"));
            let closer = Arc::new(Closer::new());
            let mut file = options.closer(Arc::clone(&closer)).create(&path).unwrap();
            file.write_all(&[1; 3 * BLOCK]).unwrap();
            let error = file.close().unwrap_err();
            assert_eq!((error.operation(), error.raw_os_error()), (Operation::Close, Some(number)), "{variant}");
            assert_eq!(error.path(), Some(&*path));
            closer.wait().expect("told once");
        }
    }
}

#[test]
fn short_writes_are_gone_on_with() {
    skip_unless!(Need::Preload);
    const NAME: &str = "short_writes_are_gone_on_with";
    let rule = || Rule::short(Call::Write, 1000).path_contains("short-");
    if support::in_parent(NAME, |child| {
        Preload::new().rule(rule()).apply(child).unwrap();
    }) {
        return;
    }
    let temp = manyfiles_testkit::scratch().unwrap();
    for (variant, options) in variants() {
        for append in [false, true] {
            let path = temp.path().join(format!("short-{variant}-{append}"));
            let mut file = opened(options.clone(), append, &path);
            work(&mut file).unwrap();
            assert_eq!(file.close().unwrap().bytes, expected().len() as u64);
            assert!(fs::read(&path).unwrap() == expected(), "{variant}");
        }
    }
}

#[test]
fn a_name_that_cannot_be_made_durable_fails_the_sync() {
    skip_unless!(Need::Preload);
    const NAME: &str = "a_name_that_cannot_be_made_durable_fails_the_sync";
    // The file's own sync is the first of that folder.
    let rule = || Rule::fail(Call::Fsync, libc::EIO).path_contains("/new-names").nth(2);
    if support::in_parent(NAME, |child| {
        Preload::new().rule(rule()).apply(child).unwrap();
    }) {
        return;
    }
    let temp = manyfiles_testkit::scratch().unwrap();
    let folder = temp.path().join("new-names");
    fs::create_dir(&folder).unwrap();
    let mut file = FileWriter::create(folder.join("file")).unwrap();
    let error = file.sync().unwrap_err();
    assert_eq!((error.operation(), error.path()), (Operation::Sync, Some(&*folder)));
    assert_eq!((error.raw_os_error(), file.durable()), (Some(libc::EIO), 0));
    assert_eq!(file.close().unwrap_err().raw_os_error(), Some(libc::EIO));
}

#[test]
fn a_full_disk_is_told_and_what_was_written_before_is_whole() {
    skip_unless!(Need::Root);
    let disk = match Disk::tmpfs().megabytes(1).mount() {
        Ok(disk) => disk,
        Err(error) => return manyfiles_testkit::skip(error),
    };
    for (variant, options) in variants() {
        let path = disk.path().join(variant);
        let mut file = options.create(&path).unwrap();
        let mut taken = 0;
        let error = loop {
            match file.write_all(&[taken as u8; 1000]) {
                Ok(()) => taken += 1,
                Err(error) => break error,
            }
            assert!(taken < 10_000, "the disk is never full");
        };
        assert_eq!((error.kind(), error.path()), (ErrorKind::StorageFull, Some(&*path)), "{variant}");
        assert_eq!(file.write_all(b"x").unwrap_err().kind(), ErrorKind::StorageFull);
        let written = file.written();
        assert_eq!(file.close().unwrap_err().kind(), ErrorKind::StorageFull);
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes.len() as u64, written, "{variant}");
        assert!(bytes.iter().enumerate().all(|(n, &byte)| byte == (n / 1000) as u8), "{variant}");
        fs::remove_file(&path).unwrap();
    }
    let error = FileWriter::options().preallocate(2 << 20).create(disk.path().join("reserved")).unwrap_err();
    assert_eq!((error.kind(), error.operation()), (ErrorKind::StorageFull, Operation::Preallocate));
}

#[test]
fn a_seek_by_the_standard_trait_tells_the_failure_too() {
    let Ok(mut full) = FileWriter::options().buffer_size(10).open_at("/dev/full", 0) else {
        return manyfiles_testkit::skip("no /dev/full");
    };
    full.write_all(&[0; 20]).unwrap_err();
    assert_eq!(full.failure().unwrap().raw_os_error(), Some(libc::ENOSPC));
    assert_eq!(Seek::seek(&mut full, SeekFrom::Start(0)).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(full.close().unwrap_err().raw_os_error(), Some(libc::ENOSPC));
}
