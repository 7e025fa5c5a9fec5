//! What one wrong byte costs: the record that it is in, wherever the next mark is.
#![cfg(feature = "full")]

use std::fs;
use std::path::Path;

use manyfiles::appender::{Appender, OnDamage, Position, Records, check, repair};

fn record(n: usize) -> Vec<u8> {
    // Of equal length: a wrong length may lead to the beginning of another record.
    format!("{n:08}").into_bytes()
}

/// So many records in two writes, each followed by a sync.
fn make(path: &Path, records: usize) -> Vec<Position> {
    let appender = Appender::options().framed(true).open(path).unwrap();
    let mut positions = Vec::new();
    for half in [0..records / 2, records / 2..records] {
        positions.extend(half.map(|n| appender.append(&record(n)).unwrap().position().unwrap()));
        appender.sync().unwrap();
    }
    appender.close().unwrap();
    positions
}

/// The records that can be read, the count of errors, and the bytes that are damaged.
fn read(path: &Path) -> (Vec<Vec<u8>>, usize, u64) {
    let (mut records, mut errors, mut bytes) = (Vec::new(), 0, 0);
    for record in Records::open(path).unwrap() {
        match record {
            Ok(record) => records.push(record),
            Err(error) => {
                errors += 1;
                bytes += error.damage().expect("it is damage").bytes;
            }
        }
    }
    (records, errors, bytes)
}

fn without(records: usize, lost: &[usize]) -> Vec<Vec<u8>> {
    (0..records).filter(|n| !lost.contains(n)).map(record).collect()
}

#[test]
fn a_wrong_byte_of_a_record_s_head_costs_that_record_and_a_repair_keeps_the_others() {
    const RECORDS: usize = 400;
    let temp = tempfile::tempdir().unwrap();
    let positions = make(&temp.path().join("good"), RECORDS);
    let good = fs::read(temp.path().join("good")).unwrap();
    for which in [0, 7, RECORDS / 2, RECORDS - 1] {
        // Each byte of its length and its check.
        for byte in 0..8 {
            for bit in [0x10, 0x80] {
                let temp = tempfile::tempdir().unwrap();
                let path = temp.path().join("log");
                let mut bytes = good.clone();
                bytes[96 + positions[which].0 as usize + byte] ^= bit;
                fs::write(&path, &bytes).unwrap();
                let story = format!("record {which}, byte {byte}, bit {bit}");
                assert_eq!(read(&path), (without(RECORDS, &[which]), 1, 16), "{story}");
                assert_eq!(repair(&path).unwrap()[0].damage.len(), 1);
                assert!(check(&path).unwrap().is_sound());
                assert_eq!(read(&path), (without(RECORDS, &[which]), 0, 0), "{story}");
                for n in [which.saturating_sub(1), which + 1].into_iter().filter(|&n| n != which && n < RECORDS) {
                    let mut from = Records::open_at(&path, positions[n]).unwrap();
                    assert_eq!(from.next().unwrap().unwrap(), record(n), "{story}");
                }
            }
        }
    }
}

#[test]
fn a_wrong_byte_of_a_mark_costs_no_record() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    let positions = make(&path, 200);
    let good = fs::read(&path).unwrap();
    // The marks that writes begin with are in front of records 0 and 100.
    for behind in [positions[0], positions[100]] {
        let mark = 96 + behind.0 as usize - 16;
        for at in mark..mark + 16 {
            let mut bytes = good.clone();
            bytes[at] ^= 4;
            fs::write(&path, &bytes).unwrap();
            assert_eq!(read(&path), (without(200, &[]), 1, 16), "byte {at}");
        }
    }
}

#[test]
fn many_wrong_bytes_cost_as_many_records_and_opening_can_set_them_aside() {
    const RECORDS: usize = 5_000;
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    let positions = make(&path, RECORDS);
    let mut bytes = fs::read(&path).unwrap();
    let lost: Vec<usize> = (0..RECORDS).step_by(3).collect();
    for &n in &lost {
        bytes[96 + positions[n].0 as usize + n % 16] ^= 0x40;
    }
    fs::write(&path, &bytes).unwrap();
    assert_eq!(read(&path), (without(RECORDS, &lost), lost.len(), 16 * lost.len() as u64));
    let appender = Appender::options().framed(true).on_damage(OnDamage::SetAside).open(&path).unwrap();
    assert_eq!(appender.recovery().records as usize, RECORDS - lost.len());
    appender.append_durable(b"and on").unwrap();
    appender.close().unwrap();
    let (records, errors, _) = read(&path);
    assert_eq!(errors, 0);
    assert_eq!(records, [without(RECORDS, &lost), vec![b"and on".to_vec()]].concat());
}

#[test]
fn records_of_every_size_are_found_behind_damage() {
    // Around what is read at once, and what is summed at once.
    for size in [0, 1, 15_999, 16_384, 16_385, 262_136, 262_144, 262_145, 700_001] {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("log");
        let big: Vec<u8> = (0..size).map(|n: usize| (n * n / 7) as u8).collect();
        let appender = Appender::options().framed(true).capacity(8 << 20).open(&path).unwrap();
        let first = appender.append(b"first").unwrap().position().unwrap();
        let records = [&big[..], b"between", &big[..], b"last"];
        for record in records {
            appender.append(record).unwrap();
        }
        appender.sync().unwrap();
        appender.close().unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[96 + first.0 as usize + 1] ^= 0x20;
        fs::write(&path, &bytes).unwrap();
        let (read, errors, damaged) = read(&path);
        assert!(read == records, "{size}: {} records", read.len());
        assert_eq!((errors, damaged), (1, 13), "{size}");
    }
}
