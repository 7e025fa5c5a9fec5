//! Logs of which files are compressed when they are not written to any more.
#![cfg(feature = "zstd")]

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use manyfiles::appender::{Appender, Options, Records, check, repair};
use tempfile::TempDir;

/// No test waits that long unless something hangs.
const HANGS: Duration = Duration::from_secs(60);

fn place() -> (TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    (temp, path)
}

fn options() -> Options {
    Appender::options().framed(true).rotate_bytes(20_000)
}

fn record(n: usize) -> Vec<u8> {
    format!("record {n} {}", "abc ".repeat(n % 50)).into_bytes()
}

/// The names in the log's folder, sorted.
fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn until(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < HANGS);
        thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until all files but the last one are compressed.
fn until_packed(path: &Path) {
    until(|| {
        let names = names(path);
        let (last, others) = names.split_last().unwrap();
        !last.ends_with(".zst") && others.iter().all(|name| name.ends_with(".zst"))
    });
}

#[test]
fn compressed_files_are_read_checked_and_followed_as_plain_ones_are() {
    let (_temp, path) = place();
    let appender = options().compress(true).open(&path).unwrap();
    let mut follow = None;
    let mut positions = Vec::new();
    for n in 0..1_000 {
        let receipt = appender.append(&record(n)).unwrap();
        positions.push(receipt.position().unwrap());
        // On Windows a file keeps its name as long as it is read, and its compressed one waits beside it.
        if n == 0 && cfg!(unix) {
            receipt.wait_written().unwrap();
            follow = Some(Records::open(&path).unwrap().follow());
        }
    }
    appender.sync().unwrap();
    until_packed(&path);
    assert!(names(&path).len() > 4);
    let all: Vec<Vec<u8>> = Records::open(&path).unwrap().map(Result::unwrap).collect();
    assert!(all.iter().enumerate().all(|(n, bytes)| *bytes == record(n)) && all.len() == 1_000);
    for n in (0..1_000).step_by(83) {
        assert_eq!(Records::open_at(&path, positions[n]).unwrap().next().unwrap().unwrap(), record(n));
    }
    // A reader that was in the first file when it was compressed reads on.
    let mut follow = follow.unwrap_or_else(|| Records::open(&path).unwrap().follow());
    for n in 0..1_000 {
        assert_eq!(follow.next_within(HANGS).unwrap().unwrap(), record(n));
    }
    let report = check(&path).unwrap();
    assert!(report.is_sound() && report.records() == 1_000, "{report:?}");
    assert!(report.files[0].path.to_string_lossy().ends_with("log.000001.zst"));
    appender.append(b"and on").unwrap().wait_written().unwrap();
    assert_eq!(follow.next_within(HANGS).unwrap().unwrap(), b"and on");
    assert!(appender.remove_before(positions[500]).unwrap() > 0);
    assert_eq!(Records::open_at(&path, positions[500]).unwrap().next().unwrap().unwrap(), record(500));
    assert_eq!(Records::open_at(&path, positions[0]).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(appender.take_upkeep_errors().is_empty());
    appender.close().unwrap();
}

#[test]
fn what_is_removed_is_not_brought_back_by_what_compresses_it() {
    let (_temp, path) = place();
    let appender = options().rotate_bytes(2_000).keep_files(3).compress(true).open(&path).unwrap();
    for n in 0..2_000 {
        appender.append(&record(n)).unwrap();
    }
    appender.sync().unwrap();
    until_packed(&path);
    assert!(appender.take_upkeep_errors().is_empty());
    appender.close().unwrap();
    assert_eq!(names(&path).len(), 3, "{:?}", names(&path));
    let left: Vec<Vec<u8>> = Records::open(&path).unwrap().map(Result::unwrap).collect();
    let first = 2_000 - left.len();
    assert!(left.iter().enumerate().all(|(n, bytes)| *bytes == record(first + n)));
}

#[test]
fn what_a_crash_left_is_read_from_the_plain_file_and_compressed_by_the_next_appender() {
    let (_temp, path) = place();
    let appender = options().open(&path).unwrap();
    for n in 0..500 {
        appender.append(&record(n)).unwrap();
    }
    appender.close().unwrap();
    // Both are there, and the compressed one is not whole.
    fs::write(path.with_extension("000001.zst"), [0x28, 0xB5, 0x2F, 0xFD, 0, 0]).unwrap();
    let all = |path: &Path| Records::open(path).unwrap().map(Result::unwrap).count();
    assert_eq!(all(&path), 500);
    let appender = options().compress(true).open(&path).unwrap();
    until_packed(&path);
    appender.close().unwrap();
    assert_eq!(all(&path), 500);
}

#[test]
fn a_wrong_byte_in_a_compressed_file_is_told_and_the_other_files_are_read() {
    let (_temp, path) = place();
    let appender = options().compress(true).open(&path).unwrap();
    for n in 0..1_000 {
        appender.append(&record(n)).unwrap();
    }
    appender.sync().unwrap();
    until_packed(&path);
    appender.close().unwrap();
    let second = path.with_extension("000002.zst");
    let whole = fs::read(&second).unwrap();
    for at in [0, 5, whole.len() / 2, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        fs::write(&second, &bytes).unwrap();
        let (mut last, mut errors) = (Vec::new(), Vec::new());
        for record in Records::open(&path).unwrap() {
            match record {
                Ok(record) => last = record,
                Err(error) => errors.push(error),
            }
        }
        assert!(!errors.is_empty() && last == record(999), "byte {at}: {errors:?}");
        assert!(errors.iter().any(|error| error.path() == Some(&*second)), "byte {at}: {errors:?}");
        assert!(!check(&path).unwrap().is_sound());
        assert!(repair(&path).unwrap().is_empty(), "what cannot be unpacked cannot be copied");
    }
}

#[test]
fn damage_that_was_compressed_is_set_aside_as_any_other() {
    let (_temp, path) = place();
    let appender = options().open(&path).unwrap();
    for n in 0..500 {
        appender.append(&record(n)).unwrap();
    }
    appender.close().unwrap();
    let first = path.with_extension("000001");
    let mut bytes = fs::read(&first).unwrap();
    bytes[5_000] ^= 1;
    fs::write(&first, &bytes).unwrap();
    let appender = options().compress(true).open(&path).unwrap();
    until_packed(&path);
    appender.close().unwrap();
    let packed = path.with_extension("000001.zst");
    let kept = fs::read(&packed).unwrap();
    let repaired = repair(&path).unwrap();
    assert_eq!((repaired[0].path.clone(), repaired.len()), (first.clone(), 1));
    assert!(fs::read(&repaired[0].kept).unwrap() == kept && !packed.exists() && first.exists());
    let report = check(&path).unwrap();
    assert!(report.is_sound() && report.records() >= 498, "{report:?}");
}

#[test]
fn without_frames_files_are_compressed_too() {
    let (_temp, path) = place();
    let appender = Appender::options().rotate_bytes(10_000).compress(true).open(&path).unwrap();
    for n in 0..500 {
        appender.append(&record(n)).unwrap();
    }
    appender.sync().unwrap();
    until_packed(&path);
    appender.close().unwrap();
    let mut all = Vec::new();
    for name in names(&path) {
        let bytes = fs::read(path.with_file_name(&name)).unwrap();
        all.extend(if name.ends_with(".zst") { zstd::decode_all(&*bytes).unwrap() } else { bytes });
    }
    assert!(all == (0..500).flat_map(record).collect::<Vec<u8>>());
    // The next appender begins behind them.
    let appender = Appender::options().rotate_bytes(10_000).open(&path).unwrap();
    appender.append_durable(b"and on").unwrap();
    appender.close().unwrap();
    assert_eq!(fs::read(path.with_file_name(names(&path).last().unwrap())).unwrap(), b"and on");
}

#[test]
fn the_first_compressed_file_is_no_more_to_the_others_than_another_one() {
    let (_temp, path) = place();
    let appender = options().compress(true).open(&path).unwrap();
    (0..2_000).for_each(|n| drop(appender.append(&record(n)).unwrap()));
    appender.flush().unwrap();
    until_packed(&path);
    appender.close().unwrap();
    let first = path.with_extension("000001.zst");
    let mut bytes = fs::read(&first).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    fs::write(&first, bytes).unwrap();
    let (records, errors): (Vec<_>, Vec<_>) = Records::open(&path).unwrap().partition(Result::is_ok);
    assert!(!errors.is_empty());
    assert!(errors.iter().all(|error| error.as_ref().unwrap_err().path() == Some(&first)), "{errors:?}");
    let records: Vec<Vec<u8>> = records.into_iter().map(Result::unwrap).collect();
    assert!(records.len() > 1_000, "{}", records.len());
    assert!(records.ends_with(&[record(1_998), record(1_999)]));
}

#[test]
fn somebody_else_s_file_of_a_compressed_one_s_name_is_left_alone() {
    let (_temp, path) = place();
    let log = options().open(&path).unwrap();
    (0..2_000).for_each(|n| drop(log.append(&record(n)).unwrap()));
    log.close().unwrap();
    let mine = path.with_extension("000001.zst");
    for notes in [&b"my own notes"[..], &zstd::encode_all(&b"my own notes"[..], 3).unwrap()] {
        fs::write(&mine, notes).unwrap();
        let log = options().compress(true).open(&path).unwrap();
        let mut told = Vec::new();
        let begun = Instant::now();
        while told.is_empty() {
            assert!(begun.elapsed() < HANGS);
            thread::sleep(Duration::from_millis(2));
            told = log.take_upkeep_errors();
        }
        assert_eq!(told[0].path(), Some(mine.as_path()), "{told:?}");
        log.close().unwrap();
        assert_eq!(fs::read(&mine).unwrap(), notes);
        assert!(path.with_extension("000001").exists());
        assert_eq!(Records::open(&path).unwrap().map(Result::unwrap).count(), 2_000);
    }
}
