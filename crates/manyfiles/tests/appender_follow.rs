//! Positions, reading from one, and following a log while others append.
#![cfg(feature = "full")]

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use manyfiles::appender::{Appender, Missing, Options, Position, Records};
use tempfile::TempDir;

/// No test waits that long unless something hangs.
const HANGS: Duration = Duration::from_secs(60);

fn place() -> (TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    (temp, path)
}

fn record(n: usize) -> Vec<u8> {
    format!("record {n} {}", "x".repeat(n * 13 % 90)).into_bytes()
}

fn rotated() -> Options {
    Appender::options().framed(true).rotate_bytes(700)
}

/// Ends without a close, as a kill does: the handle and its lock go with the process, so a copy of the log stands for
/// it.
fn copy_of_the_unclosed(path: &Path, to: &Path) -> PathBuf {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
    to.join(path.file_name().unwrap())
}

#[test]
fn a_log_is_read_from_every_receipt_and_from_wherever_a_reader_stopped() {
    for options in [Appender::options().framed(true), rotated(), rotated().capacity(0)] {
        let (_temp, path) = place();
        let mut positions = Vec::new();
        for life in 0..3 {
            let appender = options.clone().open(&path).unwrap();
            for n in 0..20 {
                let receipt = appender.append(&record(life * 20 + n)).unwrap();
                positions.push(receipt.position().unwrap());
                if n % 7 == 0 {
                    receipt.wait_durable().unwrap();
                }
            }
            appender.close().unwrap();
        }
        assert!(positions.windows(2).all(|pair| pair[0] < pair[1]));
        let mut all = Records::open(&path).unwrap();
        for (n, position) in positions.iter().enumerate() {
            let mut from = Records::open_at(&path, *position).unwrap();
            assert_eq!(from.next().unwrap().unwrap(), record(n));
            assert_eq!(from.record_position(), Some(*position));
            let resumed = Records::open_at(&path, all.position()).unwrap().next().unwrap().unwrap();
            assert_eq!(resumed, record(n));
            assert_eq!(all.next().unwrap().unwrap(), record(n));
            assert_eq!(all.record_position(), Some(*position));
        }
        let at_the_end = Records::open_at(&path, all.position()).unwrap();
        assert_eq!(at_the_end.count(), 0);
    }
}

#[test]
fn without_frames_there_are_no_positions() {
    let (_temp, path) = place();
    let appender = Appender::open(&path).unwrap();
    assert_eq!(appender.append(b"line\n").unwrap().position(), None);
}

#[test]
fn positions_stay_when_an_unclean_end_makes_a_new_file() {
    let (temp, path) = place();
    let appender = Appender::options().framed(true).open(&path).unwrap();
    let mut positions = Vec::new();
    for n in 0..30 {
        let receipt = appender.append(&record(n)).unwrap();
        if n % 5 == 4 && n < 20 {
            receipt.wait_durable().unwrap();
        } else {
            receipt.wait_written().unwrap();
        }
        positions.push(receipt.position().unwrap());
    }
    let path = copy_of_the_unclosed(&path, &temp.path().join("after"));
    let again = Appender::options().framed(true).open(&path).unwrap();
    assert_eq!(again.recovery().records, 30);
    positions.push(again.append(&record(30)).unwrap().position().unwrap());
    again.close().unwrap();
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 2);
    let all: Vec<Vec<u8>> = Records::open(&path).unwrap().map(|record| record.unwrap()).collect();
    assert_eq!(all, (0..31).map(record).collect::<Vec<_>>());
    for (n, position) in positions.iter().enumerate() {
        assert_eq!(Records::open_at(&path, *position).unwrap().next().unwrap().unwrap(), record(n), "{n}");
    }
}

#[test]
fn what_a_checkpoint_made_needless_goes_and_nothing_else() {
    let (temp, path) = place();
    let appender = rotated().open(&path).unwrap();
    let mut positions = Vec::new();
    for n in 0..60 {
        positions.push(appender.append(&record(n)).unwrap().position().unwrap());
    }
    appender.sync().unwrap();
    let files = || fs::read_dir(temp.path()).unwrap().count() as u64;
    for (n, position) in positions.iter().enumerate() {
        let before = files();
        assert_eq!(appender.remove_before(*position).unwrap(), before - files());
        assert_eq!(Records::open_at(&path, *position).unwrap().next().unwrap().unwrap(), record(n));
        let left: Vec<Vec<u8>> = Records::open(&path).unwrap().map(|record| record.unwrap()).collect();
        assert!(left.len() >= 60 - n && left.len() < 60 - n + 12, "{n}: {} are left", left.len());
        assert_eq!(left.last().unwrap(), &record(59));
    }
    appender.remove_before(Position(u64::MAX)).unwrap();
    assert_eq!(files(), 1, "the file that is written to stays");
    appender.append_durable(&record(60)).unwrap();
    appender.close().unwrap();
    let again = rotated().open(&path).unwrap();
    assert_eq!(again.append(&record(61)).unwrap().position().unwrap().cmp(&positions[59]), std::cmp::Ordering::Greater);
    let plain = Appender::open(temp.path().join("plain")).unwrap();
    assert_eq!(plain.remove_before(Position(1)).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_position_behind_the_end_is_an_error_and_the_end_is_none() {
    for rotated in [false, true] {
        let (_temp, path) = place();
        let options = Appender::options().framed(true);
        let options = if rotated { options.rotate_bytes(1_000) } else { options };
        let log = options.clone().open(&path).unwrap();
        let mut ends = Vec::new();
        for n in 0..40 {
            log.append(&record(n)).unwrap();
            log.flush().unwrap();
            // Whatever was written last, a record, or a mark behind it: reading goes on there.
            let mut records = Records::open(&path).unwrap();
            assert_eq!(records.by_ref().map(Result::unwrap).count(), n + 1);
            ends.push(records.position());
            assert!(Records::open_at(&path, records.position()).unwrap().next().is_none());
        }
        let Position(end) = ends[39];
        let behind = |at: u64| Records::open_at(&path, Position(at)).err().map(|error| error.kind());
        for more in [1, 8, 500, 100_000, 1 << 40] {
            assert_eq!(behind(end + more), Some(std::io::ErrorKind::InvalidInput), "{more}");
        }
        log.close().unwrap();
        assert!(Records::open_at(&path, Position(end)).unwrap().next().is_none());
        assert_eq!(behind(end + 500), Some(std::io::ErrorKind::InvalidInput));
        let log = options.open(&path).unwrap();
        log.append_durable(b"one more").unwrap();
        assert_eq!(
            Records::open_at(&path, Position(end)).unwrap().map(Result::unwrap).collect::<Vec<_>>(),
            [b"one more"]
        );
    }
}

#[test]
fn a_position_whose_file_is_gone_is_an_error() {
    let (temp, path) = place();
    let appender = rotated().open(&path).unwrap();
    let first = appender.append(&record(0)).unwrap().position().unwrap();
    for n in 1..30 {
        appender.append(&record(n)).unwrap();
    }
    appender.close().unwrap();
    fs::remove_file(temp.path().join("log.000001")).unwrap();
    assert_eq!(Records::open_at(&path, first).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(Records::open(&path).unwrap().position() > Position(0));
}

#[test]
fn who_follows_sees_each_record_once_and_whole_while_threads_append_across_new_files() {
    for options in [Appender::options().framed(true), rotated(), rotated().capacity(0)] {
        const THREADS: usize = 3;
        const EACH: usize = 400;
        let (_temp, path) = place();
        let appender = options.open(&path).unwrap();
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let appender = &appender;
                scope.spawn(move || {
                    for n in 0..EACH {
                        let receipt = appender.append(format!("{thread} {n} {}", "y".repeat(n % 200)).as_bytes());
                        match n % 10 {
                            3 => receipt.unwrap().wait_durable().unwrap(),
                            _ => receipt.unwrap().wait_written().unwrap(),
                        }
                    }
                });
            }
            let mut follow = Records::open(&path).unwrap().follow();
            let mut next = [0; THREADS];
            for _ in 0..THREADS * EACH {
                let record = follow.next_within(HANGS).expect("it comes").unwrap();
                let text = String::from_utf8(record).unwrap();
                let words: Vec<&str> = text.splitn(3, ' ').collect();
                let (thread, n): (usize, usize) = (words[0].parse().unwrap(), words[1].parse().unwrap());
                assert_eq!((n, words[2].len()), (next[thread], n % 200));
                next[thread] += 1;
            }
            assert!(follow.try_next().is_none());
        });
    }
}

#[test]
fn who_follows_goes_on_through_an_unclean_end_and_the_next_appender() {
    let (temp, path) = place();
    let first = Appender::options().framed(true).open(&path).unwrap();
    first.append_durable(&record(0)).unwrap();
    first.append_durable(&record(1)).unwrap();
    first.append(&record(2)).unwrap().wait_written().unwrap();
    let path = copy_of_the_unclosed(&path, &temp.path().join("after"));
    let mut follow = Records::open(&path).unwrap().follow();
    for n in 0..3 {
        assert_eq!(follow.next_within(HANGS).unwrap().unwrap(), record(n));
    }
    assert!(follow.try_next().is_none());
    for life in 1..4 {
        let appender = Appender::options().framed(true).open(&path).unwrap();
        let receipt = appender.append(&record(life * 10)).unwrap();
        receipt.wait_written().unwrap();
        assert_eq!(follow.next_within(HANGS).unwrap().unwrap(), record(life * 10), "each once");
        assert_eq!(follow.record_position(), receipt.position());
        appender.close().unwrap();
        assert!(follow.try_next().is_none());
    }
}

#[test]
fn who_follows_too_slowly_is_told_of_the_files_that_are_gone_and_reads_on() {
    let (temp, path) = place();
    let appender = rotated().open(&path).unwrap();
    appender.append_durable(&record(0)).unwrap();
    let mut follow = Records::open(&path).unwrap().follow();
    assert_eq!(follow.next().unwrap().unwrap(), record(0));
    for n in 1..60 {
        appender.append(&record(n)).unwrap();
    }
    appender.sync().unwrap();
    for number in [2, 3] {
        fs::remove_file(temp.path().join(format!("log.{number:06}"))).unwrap();
    }
    let mut errors = 0;
    let mut last = Vec::new();
    while last != record(59) {
        match follow.next_within(HANGS).expect("it comes") {
            Ok(record) => last = record,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
                errors += 1;
            }
        }
    }
    assert_eq!(errors, 1);
}

#[test]
fn a_reader_whose_files_are_removed_is_told_which_positions_are_missing() {
    let (_temp, path) = place();
    let appender = rotated().keep_files(2).open(&path).unwrap();
    let first = appender.append(&record(0)).unwrap().position().unwrap();
    appender.sync().unwrap();
    let mut follow = Records::open(&path).unwrap().follow();
    for n in 1..60 {
        appender.append(&record(n)).unwrap();
    }
    appender.sync().unwrap();
    // The file that it has open is read to its end, though it has no name any more.
    let (mut seen, mut behind) = (0, follow.position());
    let error = loop {
        // It lists names only now and then while it waits.
        match follow.next_within(HANGS).expect("it comes") {
            Ok(bytes) => assert_eq!(bytes, record(seen)),
            Err(error) => break error,
        }
        (seen, behind) = (seen + 1, follow.position());
    };
    assert!(seen > 1);
    let missing: Missing = error.missing().unwrap();
    assert_eq!((error.kind(), missing.from), (ErrorKind::NotFound, behind));
    let to = missing.to.unwrap();
    let rest: Vec<Vec<u8>> = follow.by_ref().take(1).map(Result::unwrap).collect();
    assert_eq!(Records::open_at(&path, to).unwrap().next().unwrap().unwrap(), rest[0]);
    // A position whose file is gone names where the log begins now.
    let error = Records::open_at(&path, first).unwrap_err();
    let missing: Missing = error.missing().unwrap();
    assert_eq!((missing.from, missing.to), (first, Some(to)));
}
