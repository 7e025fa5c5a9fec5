//! What the model of the disk takes for true, on real file systems: a device that runs full while a log is written and
//! is free again, and processes killed one after the other before the power is cut.
#![cfg(all(target_os = "linux", feature = "full"))]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use manyfiles::appender::{Appender, Options, Records};
use manyfiles_testkit::{Device, Need, Random, skip_unless};

fn record(n: usize, len: usize) -> Vec<u8> {
    format!("{n:06} ").bytes().cycle().take(len).collect()
}

/// All records that are left, none of them damaged.
fn framed(path: &Path) -> Vec<Vec<u8>> {
    Records::open(path).unwrap().map(|record| record.unwrap()).collect()
}

/// A sync fails because the device is full; there is room again; the log is opened again and appended to. The records
/// that were acknowledged before and after are there when the page cache is gone.
fn runs_full(kind: &str, megabytes: u64) {
    for is_framed in [true, false] {
        let story = format!("{kind}, framed: {is_framed}");
        let device = Device::new(kind, megabytes).unwrap();
        let path = device.path().join("log").join("records");
        fs::create_dir(path.parent().unwrap()).unwrap();
        let options = Appender::options().framed(is_framed);
        // The file system makes what it needs of its own before.
        let appender = options.clone().open(&path).unwrap();
        let mut acknowledged = vec![record(0, 5_000)];
        appender.append_durable(&acknowledged[0]).unwrap();
        appender.close().unwrap();
        device.take_free_blocks_away(1 << 20).unwrap();
        let appender = options.clone().open(&path).unwrap();
        device.fill().unwrap();
        let mut failed = Vec::new();
        for n in 1..2_000 {
            failed = record(n, 40_000);
            let receipt = match appender.append(&failed) {
                Ok(receipt) => receipt,
                Err(_) => break,
            };
            match receipt.wait_durable() {
                Ok(()) => acknowledged.push(std::mem::take(&mut failed)),
                Err(_) => break,
            }
        }
        let error = appender.close().expect_err("the device never ran full");
        println!("{story}: {} records, then {error}", acknowledged.len());
        device.make_room().unwrap();
        let appender =
            options.clone().open(&path).unwrap_or_else(|error| panic!("{story}: a good log is refused: {error}"));
        acknowledged.push(record(999_999, 5_000));
        appender.append_durable(acknowledged.last().unwrap()).unwrap();
        appender.close().unwrap();
        device.remount().unwrap();
        if is_framed {
            let mut left = framed(&path);
            left.retain(|record| *record != failed);
            assert!(left == acknowledged, "{story}: {} records, {} acknowledged", left.len(), acknowledged.len());
        } else {
            let mut left = fs::read(&path).unwrap();
            let (last, first) = acknowledged.split_last().unwrap();
            assert!(left.starts_with(&first.concat()) && left.ends_with(last), "{story}");
            left.truncate(left.len() - last.len());
            let between = &left[first.concat().len()..];
            assert!(failed.starts_with(between), "{story}: what was found at the opening stays");
        }
        options.clone().open(&path).unwrap().close().unwrap();
    }
}

#[test]
fn a_record_acknowledged_after_a_failed_sync_and_an_opening_is_on_ext4() {
    skip_unless!(Need::LoopDevices);
    runs_full("ext4", 64);
}

#[test]
fn a_record_acknowledged_after_a_failed_sync_and_an_opening_is_on_xfs() {
    skip_unless!(Need::LoopDevices, Need::Program("mkfs.xfs"));
    runs_full("xfs", 320);
}

#[test]
fn a_record_acknowledged_after_a_failed_sync_and_an_opening_is_on_btrfs() {
    skip_unless!(Need::LoopDevices, Need::Program("mkfs.btrfs"));
    runs_full("btrfs", 128);
}

/// The child's orders: a path, the number of its life, and whether there are frames and new files.
const CHILD: &str = "APPENDER_DEVICE_CHILD";

fn options(way: u64) -> Options {
    let options = Appender::options().framed(true);
    if way.is_multiple_of(2) { options } else { options.rotate_bytes(20_000) }
}

/// In the child: appends, and says each number that is durable. Ends by being killed.
fn append_until_killed(order: &str) {
    let words: Vec<&str> = order.splitn(3, ' ').collect();
    let (way, life): (u64, usize) = (words[0].parse().unwrap(), words[1].parse().unwrap());
    let appender = options(way).open(words[2]).unwrap();
    for n in 0.. {
        let receipt = appender.append(&record(life * 10_000 + n, 30 + n * 37 % 3_000)).unwrap();
        match n % 5 {
            1 => receipt.wait_written().unwrap(),
            4 => {
                receipt.wait_durable().unwrap();
                std::io::stderr().write_all(&(n as u32).to_be_bytes()).unwrap();
            }
            _ => {}
        }
    }
}

/// Starts a child, kills it, and returns how many records it had said to be durable.
fn one_life(test: &str, way: u64, life: usize, path: &Path, random: &mut Random) -> usize {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, format!("{way} {life} {}", path.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stderr.take().unwrap();
    let (sender, first_answer) = channel();
    let answers = thread::spawn(move || {
        let mut said = vec![0; 4];
        let first = pipe.read_exact(&mut said);
        drop(sender);
        if first.is_err() {
            return Vec::new();
        }
        pipe.read_to_end(&mut said).map(|_| said).unwrap()
    });
    // Most are killed soon after the first answer, some whenever.
    if random.percent(75) {
        // It hangs up when there is one.
        let hung_up: Result<(), _> = first_answer.recv_timeout(Duration::from_secs(60));
        assert_eq!(hung_up, Err(RecvTimeoutError::Disconnected));
    }
    thread::sleep(Duration::from_micros(random.below(30_000) as u64));
    child.kill().unwrap();
    child.wait().unwrap();
    let said = answers.join().unwrap();
    assert!(said.len().is_multiple_of(4), "the child says something else: {}", String::from_utf8_lossy(&said));
    said.last_chunk().map_or(0, |last| u32::from_be_bytes(*last) as usize + 1)
}

/// The system writes out part of a file, the last pages first perhaps, and another program's sync the journal.
fn write_back_some(folder: &Path, random: &mut Random) {
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    for path in files {
        let file = File::open(path).unwrap();
        let from = random.below(file.metadata().unwrap().len() as usize + 1) / 4096 * 4096;
        if random.percent(50) {
            // SAFETY: plain numbers; the descriptor is open.
            unsafe { libc::sync_file_range(file.as_raw_fd(), from as i64, 0, 7) };
        }
    }
    if random.percent(50) {
        let mut other = File::create(folder.parent().unwrap().join("other")).unwrap();
        other.write_all(b"x").unwrap();
        other.sync_all().unwrap();
    }
}

fn power_cuts(test: &str, kind: &str, megabytes: u64, cuts: usize) {
    const SEED: u64 = 20_261_122;
    for way in 0..2 {
        let mut random = Random::new(SEED + way);
        let device = Device::new(kind, megabytes).unwrap();
        let folder = device.path().join("log");
        fs::create_dir(&folder).unwrap();
        File::open(device.path()).unwrap().sync_all().unwrap();
        let path = folder.join("records");
        // Of each life, how many records were acknowledged, or found by a later one.
        let mut told: Vec<usize> = Vec::new();
        for cut in 0..cuts {
            // Up to three processes are killed before the power goes.
            for _ in 0..1 + random.below(3) {
                told.push(one_life(test, way, told.len(), &path, &mut random));
            }
            write_back_some(&folder, &mut random);
            device.cut_power().unwrap();
            let story = format!("{kind}, way {way}, cut {cut}, seed {SEED}");
            if fs::read_dir(&folder).unwrap().count() == 0 {
                assert!(told.iter().all(|count| *count == 0), "{story}: the log is gone");
                continue;
            }
            let mut left = vec![0; told.len()];
            for found in Records::open(&path).unwrap_or_else(|error| panic!("{story}: {error}")) {
                let bytes = found.unwrap_or_else(|error| panic!("{story}: {error}"));
                let number: usize = String::from_utf8_lossy(&bytes[..6]).parse().unwrap();
                let (life, n) = (number / 10_000, number % 10_000);
                assert_eq!(left[life], n, "{story}: a record of life {life} is missing, or twice there");
                assert!(bytes == record(life * 10_000 + n, 30 + n * 37 % 3_000), "{story}");
                left[life] += 1;
            }
            for (life, (left, told)) in left.iter().zip(&told).enumerate() {
                assert!(left >= told, "{story}: {left} records of life {life}, {told} were acknowledged");
            }
            told = left;
        }
        println!("{kind}: {cuts} power cuts, {} lives, {} records", told.len(), told.iter().sum::<usize>());
        assert!(told.iter().sum::<usize>() > cuts, "the kills come too early to test anything");
    }
}

#[test]
fn killed_opened_again_killed_and_the_power_cut_on_ext4() {
    if let Ok(order) = std::env::var(CHILD) {
        return append_until_killed(&order);
    }
    skip_unless!(Need::LoopDevices);
    power_cuts("killed_opened_again_killed_and_the_power_cut_on_ext4", "ext4", 64, 12);
}

#[test]
fn killed_opened_again_killed_and_the_power_cut_on_xfs() {
    if let Ok(order) = std::env::var(CHILD) {
        return append_until_killed(&order);
    }
    skip_unless!(Need::LoopDevices, Need::Program("mkfs.xfs"));
    power_cuts("killed_opened_again_killed_and_the_power_cut_on_xfs", "xfs", 320, 5);
}

#[test]
fn killed_opened_again_killed_and_the_power_cut_on_btrfs() {
    if let Ok(order) = std::env::var(CHILD) {
        return append_until_killed(&order);
    }
    skip_unless!(Need::LoopDevices, Need::Program("mkfs.btrfs"));
    power_cuts("killed_opened_again_killed_and_the_power_cut_on_btrfs", "btrfs", 128, 5);
}
