//! [`check`] and [`repair`]: what is wrong with a log is told, and set aside, and nothing is thrown away.
#![cfg(feature = "full")]

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use manyfiles::appender::{Appender, Damage, FileEnd, OnDamage, Options, Records, check, repair};

/// In memory, where that is to be had: one test makes hundreds of logs.
fn folder() -> tempfile::TempDir {
    #[cfg(target_os = "linux")]
    return manyfiles_testkit::scratch().unwrap();
    #[cfg(not(target_os = "linux"))]
    tempfile::tempdir().unwrap()
}

fn options() -> Options {
    Appender::options().framed(true)
}

/// Files of some records each, closed in order.
fn make(path: &Path, options: Options) -> Vec<Vec<u8>> {
    let appender = options.open(path).unwrap();
    let records: Vec<Vec<u8>> = (0..40).map(|n| format!("{n} ").repeat(n % 9 + 1).into_bytes()).collect();
    for record in &records {
        appender.append_durable(record).unwrap();
    }
    appender.close().unwrap();
    records
}

fn read(path: &Path) -> (Vec<Vec<u8>>, usize, u64) {
    let mut records = Records::open(path).unwrap();
    let (mut whole, mut errors) = (Vec::new(), 0);
    for record in &mut records {
        match record {
            Ok(record) => whole.push(record),
            Err(_) => errors += 1,
        }
    }
    (whole, errors, records.set_aside_bytes())
}

#[test]
fn a_good_log_is_sound_and_its_files_follow_each_other() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    let records = make(&path, options().rotate_bytes(300));
    let report = check(&path).unwrap();
    assert!(report.is_sound());
    assert_eq!(report.records(), records.len() as u64);
    assert!(report.files.len() > 3);
    for pair in report.files.windows(2) {
        assert_eq!(pair[0].positions.end, pair[1].positions.start);
        assert_eq!((pair[0].end, pair[0].torn_bytes), (FileEnd::Continued, 0));
    }
    let last = report.files.last().unwrap();
    assert_eq!((last.end, last.torn_bytes, last.damage.len()), (FileEnd::Closed, 0, 0));
    assert_eq!(last.bytes, fs::metadata(&last.path).unwrap().len());
    assert!(repair(&path).unwrap().is_empty());
}

#[test]
fn a_log_that_is_open_is_checked_and_not_repaired() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    let appender = options().open(&path).unwrap();
    appender.append(b"one").unwrap().wait_written().unwrap();
    let report = check(&path).unwrap();
    assert_eq!((report.records(), report.is_sound(), report.files[0].end), (1, true, FileEnd::Open));
    assert_eq!(repair(&path).unwrap_err().kind(), ErrorKind::ResourceBusy);
    appender.close().unwrap();
    assert_eq!(check(&path).unwrap().files[0].end, FileEnd::Closed);
}

#[test]
fn what_is_no_log_is_an_error_and_what_is_no_file_of_records_is_reported() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    assert_eq!(check(&path).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(repair(&path).unwrap_err().kind(), ErrorKind::NotFound);
    fs::write(&path, "somebody's text").unwrap();
    let report = check(&path).unwrap();
    assert!(!report.is_sound());
    assert_eq!(report.files[0].errors[0].kind(), ErrorKind::InvalidData);
    assert_eq!(repair(&path).unwrap_err().kind(), ErrorKind::InvalidData);
    assert_eq!(fs::read(&path).unwrap(), b"somebody's text");
}

#[test]
fn a_missing_file_is_reported_and_no_repair_makes_it_up() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    make(&path, options().rotate_bytes(300));
    fs::remove_file(path.with_extension("000002")).unwrap();
    let report = check(&path).unwrap();
    assert_eq!(report.files[1].path, path.with_extension("000002"));
    assert_eq!(report.files[1].errors[0].kind(), ErrorKind::NotFound);
    assert!(repair(&path).unwrap().is_empty());
    assert!(!check(&path).unwrap().is_sound());
}

/// The same stretch is found by reading, checking and repairing; then it is gone from all of their reports, and
/// every other record is where it was.
#[test]
fn every_wrong_byte_is_set_aside_and_nothing_else() {
    let temp = tempfile::tempdir().unwrap();
    let original = temp.path().join("original");
    let records = make(&original, options());
    let bytes = fs::read(&original).unwrap();
    let positions = |path: &Path| {
        let mut records = Records::open(path).unwrap();
        let mut all = Vec::new();
        while let Some(record) = records.next() {
            if let Ok(record) = record {
                all.push((records.record_position().unwrap(), record));
            }
        }
        all
    };
    // The mark at the end guards what is before it, and nothing guards that.
    for at in (0..bytes.len() - 16).step_by(if cfg!(windows) { 41 } else { 7 }) {
        let folder = folder();
        let path = folder.path().join("log");
        let mut wrong = bytes.clone();
        wrong[at] ^= 0x11;
        fs::write(&path, &wrong).unwrap();
        let before = positions(&path);
        let by_opening = at % 2 == 0;
        let report = check(&path).unwrap();
        let found: Vec<Damage> = report.files[0].damage.clone();
        assert_eq!(found.len(), 1, "byte {at}");
        assert!((found[0].offset..found[0].offset + found[0].bytes).contains(&(at as u64)), "byte {at}: {found:?}");
        assert_eq!(options().open(&path).unwrap_err().kind(), ErrorKind::InvalidData, "byte {at}");
        let repaired = if by_opening {
            let appender = options().on_damage(OnDamage::SetAside).open(&path).unwrap();
            let recovery = appender.recovery();
            assert_eq!(recovery.records, before.len() as u64, "byte {at}");
            appender.close().unwrap();
            recovery.set_aside[0].clone()
        } else {
            let mut repaired = repair(&path).unwrap();
            assert_eq!(repaired.len(), 1);
            repaired.remove(0)
        };
        assert_eq!(repaired.damage, found, "byte {at}");
        assert_eq!(repaired.kept, folder.path().join("log.damaged"));
        assert!(fs::read(&repaired.kept).unwrap() == wrong, "byte {at}: the damaged file is not kept");
        assert!(positions(&path) == before, "byte {at}");
        let (left, errors, aside) = read(&path);
        assert_eq!((left.len(), errors), (before.len(), 0), "byte {at}");
        // There are two copies of the header.
        assert_eq!(aside, if at < 96 { 0 } else { found[0].bytes }, "byte {at}");
        assert!(check(&path).unwrap().is_sound(), "byte {at}");
        let appender = options().open(&path).unwrap();
        appender.append_durable(b"and on").unwrap();
        appender.close().unwrap();
        assert_eq!(read(&path).0.len(), left.len() + 1, "byte {at}");
        assert!(records.len() - left.len() <= 1, "byte {at}");
    }
}

#[test]
fn damage_in_several_files_is_set_aside_each_beside_its_file_and_again_when_more_comes() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    let records = make(&path, options().rotate_bytes(300));
    let flip = |file: &str, at: usize| {
        let path = path.with_extension(file);
        let mut bytes = fs::read(&path).unwrap();
        bytes[at] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    for (file, at) in [("000001", 150), ("000003", 160)] {
        flip(file, at);
    }
    let repaired = repair(&path).unwrap();
    let kept: Vec<_> = repaired.iter().map(|repaired| repaired.kept.clone()).collect();
    assert_eq!(kept, [path.with_extension("000001.damaged"), path.with_extension("000003.damaged")]);
    let (left, errors, aside) = read(&path);
    assert!(errors == 0 && aside > 0 && left.len() + 2 >= records.len());
    // The same file again, elsewhere.
    flip("000003", 200);
    let repaired = repair(&path).unwrap();
    assert_eq!(repaired.len(), 1);
    assert_eq!(repaired[0].kept, path.with_extension("000003.damaged-2"));
    assert!(check(&path).unwrap().is_sound());
    assert!(path.with_extension("000003.damaged").exists());
}

/// On Windows a file that a reader has open may be one that cannot be replaced.
#[cfg(not(windows))]
#[test]
fn who_follows_goes_on_through_a_repair() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    make(&path, options());
    let mut bytes = fs::read(&path).unwrap();
    bytes[400] ^= 1;
    fs::write(&path, bytes).unwrap();
    let mut follow = Records::open(&path).unwrap().follow();
    let (mut seen, mut errors) = (Vec::new(), 0);
    let mut take = |follow: &mut manyfiles::appender::Follow, seen: &mut Vec<Vec<u8>>| {
        while let Some(record) = follow.try_next() {
            match record {
                Ok(record) => seen.push(record),
                Err(_) => errors += 1,
            }
        }
        errors
    };
    assert_eq!(take(&mut follow, &mut seen), 1);
    let before = seen.len();
    let appender = options().on_damage(OnDamage::SetAside).open(&path).unwrap();
    appender.append(b"behind").unwrap().wait_written().unwrap();
    assert_eq!(take(&mut follow, &mut seen), 1, "no error is new");
    assert_eq!(seen.len(), before + 1);
    assert_eq!(seen.last().unwrap(), b"behind");
}
