//! Threads that append while the power goes.

use std::sync::Arc;

use super::disk::{Disk, Random, Remains, base};
use crate::appender::{Appender, Records};

const SEED: u64 = 20_262_322;

/// What programs wrote from several threads when the power went.
#[test]
fn what_threads_were_told_is_durable_survives_too() {
    for round in 0..50 {
        let seed = SEED + round;
        let mut random = Random(seed);
        let disk = Disk::default();
        let options = Appender::options().framed(true).rotate_bytes(1_000 + random.below(30_000));
        let appender = Appender::new(&base(), options.clone(), Arc::new(disk.clone())).unwrap();
        let told = std::sync::Mutex::new(Vec::new());
        let remains: std::sync::Mutex<Option<(Vec<String>, Remains)>> = std::sync::Mutex::new(None);
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
        let disk = Disk::holding(&remains);
        let records = Records::open_in(Arc::new(disk), &base(), None).unwrap();
        let left: Vec<Vec<u8>> = records.collect::<crate::Result<_>>().unwrap();
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
