//! The power fails at every kind of moment. Sectors that were not synced are on the disk in any of their versions, or not at all.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::disk::{Disk, Random};
use crate::appender::{Appender, Options, Receipt, Records};

const CUTS: u64 = 1_000;
/// Cuts of one file.
const LIVES: u64 = 4;
const SEED: u64 = 20_261_122;

fn base() -> PathBuf {
    std::path::absolute("/disk/records").unwrap()
}

fn options(random: &mut Random) -> Options {
    let options = Appender::options().framed(true).capacity([0, 600, 4_096, 256 << 10][random.below(4) as usize]);
    if random.one_in(2) { options.rotate_bytes(3_000 + random.below(20_000)) } else { options }
}

/// The nth record of a file. Its length stays when it is appended again in another life, its content does not: so what was cut off
/// and comes back fits, and is found out. Some are empty, some hold zeros.
fn record(n: u64, life: u64, seed: u64) -> Vec<u8> {
    let mut random = Random(seed ^ n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let len = match random.below(12) {
        0 => 0,
        1 => random.below(3_000),
        _ => random.below(200),
    };
    match random.below(8) {
        0 => vec![0; len as usize],
        1 => vec![0xFF; len as usize],
        _ => format!("{life}/{n}:").bytes().cycle().take(len as usize).collect(),
    }
}

/// Puts what was left into a folder; in memory, where that is to be had.
fn unpack(remains: &BTreeMap<PathBuf, Vec<u8>>) -> tempfile::TempDir {
    #[cfg(target_os = "linux")]
    let temp = manyfiles_testkit::scratch().unwrap();
    #[cfg(not(target_os = "linux"))]
    let temp = tempfile::tempdir().unwrap();
    for (path, bytes) in remains {
        std::fs::write(temp.path().join(path.file_name().unwrap()), bytes).unwrap();
    }
    temp
}

fn read(remains: &BTreeMap<PathBuf, Vec<u8>>, story: &str) -> Vec<Vec<u8>> {
    if remains.is_empty() {
        return Vec::new();
    }
    let temp = unpack(remains);
    let records = Records::open(temp.path().join("records")).unwrap_or_else(|error| panic!("{story}: {error}"));
    records.map(|record| record.unwrap_or_else(|error| panic!("{story}: {error}"))).collect()
}

/// Appends, waits for this and that, until the power is cut. Adds to `appended`, and returns how many of all were acknowledged.
fn live(
    disk: &Disk,
    options: &Options,
    appended: &mut Vec<Vec<u8>>,
    life: u64,
    seed: u64,
    random: &mut Random,
) -> usize {
    // What was there when the life began was on the disk.
    let mut acknowledged = appended.len();
    let appender = Appender::new(&base(), options.clone(), Arc::new(disk.clone())).unwrap();
    let mut receipts: Vec<(usize, Receipt)> = Vec::new();
    while disk.remains().is_none() {
        let record = record(appended.len() as u64, life, seed);
        let receipt = appender.append(&record).unwrap();
        appended.push(record);
        receipts.push((appended.len(), receipt));
        let mut told = acknowledged;
        match random.below(10) {
            0 | 1 => {
                let (number, receipt) = receipts.swap_remove(random.below(receipts.len() as u64) as usize);
                receipt.wait_durable().unwrap();
                told = told.max(number);
            }
            2 => receipts[receipts.len() - 1].1.wait_written().unwrap(),
            3 => {
                appender.sync().unwrap();
                told = appended.len();
            }
            _ => {}
        }
        // Unless the cut came before the answer.
        if disk.remains().is_none() {
            acknowledged = told;
        }
    }
    acknowledged
}

#[test]
fn every_record_acknowledged_as_durable_survives_a_thousand_power_cuts() {
    let (mut cuts, mut survived, mut gone) = (0, 0, 0);
    for round in 0..CUTS / LIVES {
        let seed = SEED + round;
        let mut random = Random(seed);
        let options = options(&mut random);
        let mut remains = BTreeMap::new();
        let mut appended: Vec<Vec<u8>> = Vec::new();
        for life in 0..LIVES {
            let story = format!("seed {seed}, life {life}");
            let disk = Disk::holding(&remains);
            // Some cuts come while the file is made, or repaired.
            let steps = if random.one_in(8) { 10 } else { 150 };
            disk.cut_at(1 + random.below(steps), random.clone());
            let acknowledged = live(&disk, &options, &mut appended, life, seed, &mut random);
            remains = disk.remains().unwrap();
            let left = read(&remains, &story);
            let count = left.len();
            assert!(count >= acknowledged, "{story}: {count} records are left, {acknowledged} were acknowledged");
            assert!(appended.starts_with(&left), "{story}: the records that are left are not those that were appended");
            (cuts, survived, gone) = (cuts + 1, survived + count, gone + appended.len() - count);
            appended = left;
        }
        // And a life that ends well.
        let disk = Disk::holding(&remains);
        let appender = Appender::new(&base(), options, Arc::new(disk.clone())).unwrap();
        appended.push(b"the last one".to_vec());
        appender.append(b"the last one").unwrap();
        appender.close().unwrap();
        assert!(read(&disk.cut(random), &format!("seed {seed}, the end")) == appended, "seed {seed}");
    }
    println!(
        "{cuts} power cuts from seed {SEED}: {survived} records were left, {gone} gone, none of them acknowledged"
    );
    // The model would be none if nothing were ever lost.
    assert!(cuts == CUTS && survived > 0 && gone > 0);
}

#[test]
fn what_threads_were_told_is_durable_survives_too() {
    for round in 0..50 {
        let seed = SEED + CUTS + round;
        let mut random = Random(seed);
        let disk = Disk::default();
        let options = Appender::options().framed(true).rotate_bytes(1_000 + random.below(30_000));
        let appender = Appender::new(&base(), options.clone(), Arc::new(disk.clone())).unwrap();
        let told = Mutex::new(Vec::new());
        let remains = Mutex::new(None);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (appender, told, remains) = (&appender, &told, &remains);
                scope.spawn(move || {
                    for n in 0_u32.. {
                        let record = format!("{thread} {n}");
                        appender.append_durable(record.as_bytes()).unwrap();
                        told.lock().unwrap().push(record);
                        if remains.lock().unwrap().is_some() {
                            break;
                        }
                    }
                });
            }
            while told.lock().unwrap().len() < random.below(100) as usize {
                std::thread::yield_now();
            }
            let mut remains = remains.lock().unwrap();
            let told_before = told.lock().unwrap().clone();
            *remains = Some((told_before, disk.cut(random)));
        });
        let (told, remains) = remains.into_inner().unwrap().unwrap();
        let temp = unpack(&remains);
        let left: Vec<Vec<u8>> =
            Records::open(temp.path().join("records")).unwrap().collect::<crate::Result<_>>().unwrap();
        for record in told {
            assert!(left.iter().any(|left| *left == record.as_bytes()), "seed {seed}: {record:?} is gone");
        }
        for thread in 0..4 {
            let mine: Vec<String> = left
                .iter()
                .filter_map(|record| {
                    Some(String::from_utf8_lossy(record).strip_prefix(&format!("{thread} "))?.to_owned())
                })
                .collect();
            let in_order: Vec<String> = (0..mine.len()).map(|n| n.to_string()).collect();
            assert_eq!(mine, in_order, "seed {seed}");
        }
    }
}
