//! Where a reader begins: at the last records, or at a place that the caller names.
#![cfg(feature = "full")]

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use manyfiles::appender::{Appender, Damage, Options, Position, Records};
use tempfile::TempDir;

const RECORDS: usize = 60;

fn place() -> (TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    (temp, path)
}

fn record(n: usize) -> Vec<u8> {
    format!("record {n} {}", "x".repeat(n * 13 % 90)).into_bytes()
}

/// One file, and a file for each few records.
fn kinds() -> [Options; 2] {
    [Appender::options().framed(true), Appender::options().framed(true).rotate_bytes(700)]
}

/// A log of [`RECORDS`] records, and where each begins.
fn make(options: Options, path: &Path) -> Vec<Position> {
    let appender = options.open(path).unwrap();
    let mut positions = Vec::new();
    for n in 0..RECORDS {
        let receipt = appender.append(&record(n)).unwrap();
        positions.push(receipt.position().unwrap());
        if n % 7 == 0 {
            receipt.wait_durable().unwrap();
        }
    }
    appender.close().unwrap();
    positions
}

fn all(records: Records) -> Vec<Vec<u8>> {
    records.map(|record| record.unwrap()).collect()
}

#[test]
fn the_last_records_are_read_however_many_files_they_are_in() {
    for options in kinds() {
        let (_temp, path) = place();
        make(options, &path);
        for last in 0..=RECORDS {
            let expected: Vec<_> = (RECORDS - last..RECORDS).map(record).collect();
            assert_eq!(all(Records::open_last(&path, last).unwrap()), expected, "{last}");
        }
        for more in [RECORDS + 1, usize::MAX] {
            assert_eq!(all(Records::open_last(&path, more).unwrap()).len(), RECORDS, "{more}");
        }
    }
}

#[test]
fn who_follows_the_last_records_gets_those_that_come_and_none_twice() {
    for options in kinds() {
        let (_temp, path) = place();
        make(options.clone(), &path);
        let mut follow = Records::open_last(&path, 2).unwrap().follow();
        let mut nothing = Records::open_last(&path, 0).unwrap().follow();
        assert!(nothing.try_next().is_none());
        let appender = options.open(&path).unwrap();
        for n in RECORDS..RECORDS + 20 {
            appender.append(&record(n)).unwrap().wait_written().unwrap();
        }
        for n in RECORDS - 2..RECORDS + 20 {
            assert_eq!(follow.next().unwrap().unwrap(), record(n));
        }
        for n in RECORDS..RECORDS + 20 {
            assert_eq!(nothing.next().unwrap().unwrap(), record(n));
        }
        assert!(follow.try_next().is_none() && nothing.try_next().is_none());
    }
}

#[test]
fn a_file_that_crashed_before_its_first_record_has_the_last_ones_before_it() {
    let (_temp, path) = place();
    make(Appender::options().framed(true).rotate_bytes(700), &path);
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let next = path.with_extension(format!("{:06}", names.len() + 1));
    fs::write(next, b"").unwrap();
    assert_eq!(all(Records::open_last(&path, 3).unwrap()), (RECORDS - 3..RECORDS).map(record).collect::<Vec<_>>());
}

#[test]
fn the_last_records_of_no_log_are_an_error() {
    let (_temp, path) = place();
    assert_eq!(Records::open_last(&path, 1).unwrap_err().kind(), ErrorKind::NotFound);
    fs::write(&path, "a line\n").unwrap();
    assert_eq!(Records::open_last(&path, 1).unwrap_err().kind(), ErrorKind::InvalidData);
}

#[test]
fn damage_before_the_last_records_is_not_told_and_damage_among_them_is() {
    let (_temp, path) = place();
    let positions = make(Appender::options().framed(true), &path);
    let mut bytes = fs::read(&path).unwrap();
    bytes[96 + positions[50].0 as usize + 12] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(all(Records::open_last(&path, 9).unwrap()), (51..60).map(record).collect::<Vec<_>>());
    // The tenth record from the end is now the one before the damage.
    let read: Vec<_> = Records::open_last(&path, 10).unwrap().collect();
    assert_eq!(read[0].as_ref().unwrap(), &record(49));
    let damage = read[1].as_ref().unwrap_err();
    assert!(damage.io_error().get_ref().unwrap().is::<Damage>(), "{damage}");
    assert_eq!(read.len(), 11);
}

#[test]
fn a_place_inside_of_a_record_is_not_called_damage() {
    for options in kinds() {
        let (_temp, path) = place();
        let positions = make(options, &path);
        for at in 0..positions[RECORDS - 1].0 {
            let next = positions.iter().position(|position| position.0 >= at).unwrap();
            let mut records = Records::open_at(&path, Position(at)).unwrap();
            let mut first = records.next().unwrap();
            if let Err(error) = &first {
                assert_eq!(error.kind(), ErrorKind::InvalidInput, "{at}: {error}");
                assert!(error.to_string().contains(&format!("no record begins at position {at};")), "{error}");
                assert!(!positions.contains(&Position(at)), "{at}");
                first = records.next().unwrap();
            }
            assert_eq!(first.unwrap(), record(next), "{at}");
        }
    }
}

#[test]
fn damage_at_the_place_where_a_reader_begins_is_damage() {
    let (_temp, path) = place();
    let positions = make(Appender::options().framed(true), &path);
    let mut bytes = fs::read(&path).unwrap();
    bytes[96 + positions[20].0 as usize + 12] ^= 1;
    fs::write(&path, bytes).unwrap();
    let mut records = Records::open_at(&path, positions[20]).unwrap();
    let damage = records.next().unwrap().unwrap_err();
    assert!(damage.io_error().get_ref().unwrap().is::<Damage>(), "{damage}");
    assert_eq!(records.next().unwrap().unwrap(), record(21));
}
