//! Old files are removed from the oldest on, whatever stops that or fails, and never one that is written to.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::disk::{Call, Disk, Fault, Random, Stop, base};
use crate::appender::{Appender, Options, Records};

fn open(disk: &Disk, options: Options) -> crate::Result<Appender> {
    Appender::new(&base(), options, Arc::new(disk.clone()))
}

/// The numbers of the log's files.
fn numbers(disk: &Disk) -> Vec<u64> {
    let number = |path: PathBuf| path.extension()?.to_str()?.parse().ok();
    disk.names().into_iter().filter_map(number).collect()
}

#[test]
fn each_new_file_takes_the_oldest_away() {
    for framed in [false, true] {
        let disk = Disk::default();
        let options = Appender::options().framed(framed).rotate_bytes(400).keep_files(3);
        let appender = open(&disk, options).unwrap();
        for n in 0..30_u8 {
            appender.append_durable(&[n; 100]).unwrap();
            let numbers = numbers(&disk);
            assert!(numbers.len() <= 3 && numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
            assert_eq!(disk.names().len(), disk.durable_names().len());
        }
        assert!(numbers(&disk)[0] > 5);
        assert!(appender.take_upkeep_errors().is_empty());
        appender.close().unwrap();
    }
}

#[test]
fn files_go_when_they_are_old_and_when_a_log_is_opened() {
    let disk = Disk::default();
    let options = Appender::options().framed(true).rotate_bytes(400);
    let appender = open(&disk, options.clone()).unwrap();
    for n in 0..9_u8 {
        appender.append_durable(&[n; 100]).unwrap();
        disk.advance(Duration::from_secs(10));
    }
    appender.close().unwrap();
    assert_eq!(numbers(&disk), [1, 2, 3, 4, 5]);
    // They were written to 80, 60, 40, 20 and 0 seconds ago; the last one is being written.
    drop(open(&disk, options.clone().keep_age(Duration::from_secs(60))).unwrap());
    assert_eq!(numbers(&disk), [3, 4, 5]);
    disk.advance(Duration::from_secs(1_000));
    drop(open(&disk, options.keep_age(Duration::from_secs(60))).unwrap());
    assert_eq!(numbers(&disk), [5]);
}

#[test]
fn a_file_that_cannot_be_removed_stays_with_those_behind_it_and_the_log_goes_on() {
    let disk = Disk::default();
    let appender = open(&disk, Appender::options().framed(true).rotate_bytes(400).keep_files(2)).unwrap();
    disk.inject(Call::Remove, 1, Fault::Fail { errno: 13, for_good: true });
    for n in 0..20_u8 {
        appender.append_durable(&[n; 100]).unwrap();
    }
    let left = numbers(&disk);
    assert_eq!(left[0], 1);
    assert!(left.len() > 5);
    let errors = appender.take_upkeep_errors();
    assert_eq!(errors.len(), left.len() - 2);
    assert_eq!(errors[0].raw_os_error(), Some(13));
    assert!(errors[0].path().unwrap().to_string_lossy().contains("records.000001"));
    assert!(appender.take_upkeep_errors().is_empty(), "each is told once");
    // What hindered is gone: the next new file takes all of them away.
    disk.next_process();
    while numbers(&disk) == left {
        appender.append_durable(&[99; 100]).unwrap();
    }
    assert_eq!(numbers(&disk).len(), 2);
    appender.close().unwrap();
}

#[test]
fn a_crash_at_any_step_leaves_no_gap_and_the_next_opening_mends_the_rest() {
    let options = Appender::options().framed(true).rotate_bytes(400).keep_files(2);
    for step in 1..120 {
        for stop in [Stop::Kill, Stop::Cut] {
            let story = format!("{stop:?} at {step}");
            let mut disk = Disk::default();
            disk.seed(Random(step));
            // Many are to go at once.
            let appender = open(&disk, Appender::options().framed(true).rotate_bytes(400)).unwrap();
            for n in 0..12_u8 {
                appender.append_durable(&[n; 100]).unwrap();
            }
            appender.close().unwrap();
            disk.stop_at(step, stop);
            let mut durable = 11;
            if let Ok(appender) = open(&disk, options.clone()) {
                for n in 12..20_u8 {
                    if appender.append_durable(&[n; 100]).is_ok() && !disk.is_over() {
                        durable = n;
                    }
                }
                std::mem::forget(appender);
            }
            if let Some(remains) = disk.remains() {
                disk = Disk::holding(&remains);
            }
            disk.next_process();
            let left = numbers(&disk);
            assert!(left.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{story}: {left:?}");
            let read = |disk: &Disk| -> Vec<u8> {
                let records = Records::open_in(Arc::new(disk.clone()), &base(), None).unwrap();
                records.map(|record| record.unwrap_or_else(|error| panic!("{story}: {error}"))[0]).collect()
            };
            let records = read(&disk);
            assert!(records.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{story}: {records:?}");
            assert!(*records.last().unwrap() >= durable, "{story}: {records:?}");
            drop(open(&disk, options.clone()).unwrap_or_else(|error| panic!("{story}: {error}")));
            assert!(numbers(&disk).len() <= 2, "{story}");
            assert!(records.ends_with(&read(&disk)), "{story}");
        }
    }
}
