//! Real calls that fail, and real disks that are full.
#![cfg(all(target_os = "linux", feature = "full"))]

#[path = "support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use manyfiles::appender::{Appender, Records, State};
use manyfiles::{Error, Operation};
use manyfiles_testkit::{Call, Disk, Need, Preload, Rule, skip_unless};
use support::in_parent;

/// What one of these tests tells its child.
const STORY: &str = "APPENDER_STORY";

struct Story {
    name: &'static str,
    call: Call,
    errno: Option<i32>,
    /// Which call of the kind fails. Opening makes a sync of the file and one of its folder.
    nth: u64,
    expected: Option<Operation>,
}

const fn story(name: &'static str, call: Call, errno: i32, nth: u64, expected: Option<Operation>) -> Story {
    Story { name, call, errno: Some(errno), nth, expected }
}

const STORIES: [Story; 13] = [
    story("write EIO", Call::Write, libc::EIO, 2, Some(Operation::Write)),
    // The third is that of room for more, which may fail.
    story("write ENOSPC", Call::Write, libc::ENOSPC, 4, Some(Operation::Write)),
    story("write EDQUOT", Call::Write, libc::EDQUOT, 2, Some(Operation::Write)),
    // An interrupted write wrote nothing, and is made again.
    story("write EINTR", Call::Write, libc::EINTR, 2, None),
    Story { name: "write short", call: Call::Write, errno: None, nth: 2, expected: None },
    story("sync EIO", Call::Fsync, libc::EIO, 4, Some(Operation::Sync)),
    story("sync ENOSPC", Call::Fsync, libc::ENOSPC, 3, Some(Operation::Sync)),
    story("sync EDQUOT", Call::Fsync, libc::EDQUOT, 3, Some(Operation::Sync)),
    // An interrupted sync is not made again: what the first had learned of lost bytes, a second would not be told.
    story("sync EINTR", Call::Fsync, libc::EINTR, 3, Some(Operation::Sync)),
    story("close EIO", Call::Close, libc::EIO, 1, Some(Operation::Close)),
    story("close ENOSPC", Call::Close, libc::ENOSPC, 1, Some(Operation::Close)),
    story("close EDQUOT", Call::Close, libc::EDQUOT, 1, Some(Operation::Close)),
    story("close EINTR", Call::Close, libc::EINTR, 1, Some(Operation::Close)),
];

#[test]
fn a_failing_call_of_the_system_is_told_to_each_waiter_and_no_success_follows() {
    skip_unless!(Need::Preload);
    let test = "a_failing_call_of_the_system_is_told_to_each_waiter_and_no_success_follows";
    let Ok(name) = std::env::var(STORY) else {
        for story in &STORIES {
            let temp = tempfile::tempdir().unwrap();
            let path = temp.path().join("the-records");
            let rule = match story.errno {
                Some(errno) => Rule::fail(story.call, errno),
                None => Rule::short(story.call, 3),
            };
            // The folder is none of the file's calls, but for its sync.
            let rule = rule.path_contains("the-records").nth(story.nth - u64::from(story.call == Call::Fsync));
            let story_and_path = format!("{}|{}", story.name, path.display());
            assert!(in_parent(test, |command| {
                command.env(STORY, &story_and_path);
                Preload::new().rule(rule).apply(command).unwrap();
            }));
            every_acknowledged_record_is_there(story, &path);
        }
        return;
    };
    let (name, path) = name.split_once('|').unwrap();
    let story = STORIES.iter().find(|story| story.name == name).unwrap();
    tell(story, &PathBuf::from(path));
}

/// In the child: three threads append until they are told of a failure, or have had enough. Keeps what was
/// acknowledged.
fn tell(story: &Story, path: &Path) {
    let appender = Appender::options().framed(true).open(path).unwrap();
    let acknowledged = std::sync::Mutex::new(Vec::new());
    let failures = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (appender, acknowledged, failures) = (&appender, &acknowledged, &failures);
            scope.spawn(move || {
                for n in 0..10 {
                    let record = format!("record {thread} {n}");
                    let receipt = match appender.append(record.as_bytes()) {
                        Ok(receipt) => receipt,
                        Err(error) => return failures.lock().unwrap().push(error),
                    };
                    match receipt.wait_durable() {
                        Ok(()) => acknowledged.lock().unwrap().push(record),
                        Err(error) => {
                            assert_ne!(receipt.state(), State::Durable);
                            receipt.wait_durable().expect_err("it has failed before");
                            return failures.lock().unwrap().push(error);
                        }
                    }
                }
            });
        }
    });
    let failures: Vec<Error> = failures.into_inner().unwrap();
    let closed = appender.close();
    let name = story.name;
    match story.expected {
        None => assert!(failures.is_empty() && closed.is_ok(), "{name}: {failures:?} {closed:?}"),
        Some(Operation::Close) => assert!(failures.is_empty(), "{name}: {failures:?}"),
        Some(_) => assert_eq!(failures.len(), 3, "{name}: each thread is told once"),
    }
    for error in failures.iter().chain(closed.as_ref().err()) {
        assert_eq!(error.raw_os_error(), story.errno, "{name}: {error}");
        assert_eq!(Some(error.operation()), story.expected, "{name}: {error}");
        assert_eq!(error.path(), Some(path), "{name}: {error}");
    }
    assert_eq!(closed.is_err(), story.expected.is_some(), "{name}");
    fs::write(path.with_extension("acknowledged"), acknowledged.into_inner().unwrap().join("\n")).unwrap();
}

fn every_acknowledged_record_is_there(story: &Story, path: &Path) {
    let acknowledged = fs::read_to_string(path.with_extension("acknowledged")).unwrap();
    let records: Vec<Vec<u8>> = Records::open(path).unwrap().collect::<Result<_, _>>().unwrap();
    for record in acknowledged.lines() {
        assert!(records.iter().any(|other| other == record.as_bytes()), "{}: {record} is gone", story.name);
    }
    if story.expected.is_none() {
        assert_eq!(acknowledged.lines().count(), 30);
    }
}

#[test]
fn a_disk_that_fills_up_leaves_whole_records_and_room_lets_a_new_appender_go_on() {
    skip_unless!(Need::Root);
    let disk = Disk::tmpfs().megabytes(1).mount().unwrap();
    for framed in [true, false] {
        let path = disk.path().join(if framed { "framed" } else { "plain" });
        let appender = Appender::options().framed(framed).capacity(64 << 10).open(&path).unwrap();
        let record = [b'x'; 999];
        let mut written = 0;
        let error = loop {
            let receipt = match appender.append(&record) {
                Ok(receipt) => receipt,
                Err(error) => break error,
            };
            if written % 7 == 0
                && let Err(error) = receipt.wait_written()
            {
                break error;
            }
            written += 1;
        };
        assert_eq!((error.raw_os_error(), error.operation()), (Some(libc::ENOSPC), Operation::Write));
        assert_eq!(appender.append_durable(b"late").unwrap_err().raw_os_error(), Some(libc::ENOSPC));
        let len = fs::metadata(&path).unwrap().len();
        assert!(len > 500_000, "{len}");
        appender.close().unwrap_err();
        if framed {
            let mut records = Records::open(&path).unwrap();
            assert!(records.by_ref().all(|other| other.unwrap() == record));
            assert_eq!(records.torn_bytes(), 0, "cut back to the last whole record");
        } else {
            assert_eq!(len % 999, 0, "cut back to the last whole record");
        }
        // Another program makes room.
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_len(if framed { len / 2 } else { 999 * 100 }).unwrap();
        drop(file);
        let appender = Appender::options().framed(framed).open(&path).unwrap();
        appender.append_durable(&record).unwrap();
        appender.close().unwrap();
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_file_that_may_not_be_written_is_an_error_of_opening() {
    skip_unless!(Need::Root);
    let disk = Disk::tmpfs().megabytes(1).mount().unwrap();
    let path = disk.path().join("records");
    Appender::open(&path).unwrap().append_durable(b"before").unwrap();
    disk.make_read_only().unwrap();
    assert_eq!(Appender::open(&path).unwrap_err().raw_os_error(), Some(libc::EROFS));
    let error = Appender::open(disk.path().join("new")).unwrap_err();
    assert_eq!((error.raw_os_error(), error.operation()), (Some(libc::EROFS), Operation::Create));
}
