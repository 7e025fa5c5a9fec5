//! kill -9 at random moments: what a writer has said is written, is.
#![cfg(all(target_os = "linux", feature = "full"))]

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use manyfiles::writer::{FileWriter, Options, SyncPolicy};

const ROUNDS: usize = 500;
const NAME: &str = "every_record_that_a_killed_program_had_flushed_is_there_whole_and_in_order";
const CHILD: &str = "MANYFILES_TEST_CRASH";

fn variant(round: usize) -> Options {
    let options =
        FileWriter::options().buffer_size([0, 100, 4096, 256 << 10][round % 4]).second_thread(round.is_multiple_of(3));
    if round.is_multiple_of(5) { options.sync(SyncPolicy::EveryBytes(10_000)) } else { options }
}

/// Numbers that follow from a seed: the record lengths, and when to flush.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

fn record(number: u32, numbers: &mut Numbers) -> Vec<u8> {
    let most = if numbers.next(20) == 0 { 5_000 } else { 60 };
    let len = numbers.next(most) as usize;
    let mut record = number.to_le_bytes().to_vec();
    record.extend((len as u32).to_le_bytes());
    record.extend(std::iter::repeat_n(number as u8, len));
    record
}

/// Writes until it is killed. After each flush it says how many records have been flushed: a byte for each.
fn child(argument: &str) -> ! {
    let (round, path) = argument.split_once(' ').unwrap();
    let round: usize = round.parse().unwrap();
    let mut numbers = Numbers(round as u64);
    let append = round.is_multiple_of(2);
    let mut file = if append { variant(round).append(path) } else { variant(round).create(path) }.unwrap();
    let mut said = 0;
    for number in 0.. {
        file.write_all(&record(number, &mut numbers)).unwrap();
        if numbers.next(16) == 0 {
            file.flush().unwrap();
            io::stderr().write_all(&vec![b'.'; (number + 1 - said) as usize]).unwrap();
            said = number + 1;
        }
    }
    unreachable!("killed, or at the end of all numbers")
}

/// How many whole records the file begins with. Behind them may be the beginning of one more, and nothing else.
fn whole_records(path: &Path, round: usize) -> u32 {
    let mut numbers = Numbers(round as u64);
    let bytes = fs::read(path).unwrap_or_default();
    let mut rest = &bytes[..];
    for number in 0.. {
        let expected = record(number, &mut numbers);
        numbers.next(16); // whether the child flushes here
        match rest.strip_prefix(&expected[..]) {
            Some(behind) => rest = behind,
            None => {
                assert!(expected.starts_with(rest), "round {round}: other bytes behind record {number}");
                return number;
            }
        }
    }
    unreachable!("a file is not that long")
}

#[test]
fn every_record_that_a_killed_program_had_flushed_is_there_whole_and_in_order() {
    if let Ok(argument) = std::env::var(CHILD) {
        child(&argument);
    }
    let seed = RandomSeed::new();
    let temp = manyfiles_testkit::scratch().unwrap();
    let (next, flushed, left) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let rounds = || {
        loop {
            let round = next.fetch_add(1, Ordering::Relaxed);
            if round >= ROUNDS {
                return;
            }
            let path = temp.path().join(round.to_string());
            let mut numbers = Numbers(seed.0 ^ round as u64);
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args([NAME, "--exact", "--nocapture"])
                .env(CHILD, format!("{round} {}", path.display()))
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut acknowledged = child.stderr.take().unwrap();
            let mut first = [0; 1];
            acknowledged.read_exact(&mut first).expect("the child says something before it is killed");
            std::thread::sleep(Duration::from_micros(numbers.next(3_000)));
            child.kill().unwrap();
            child.wait().unwrap();
            let mut more = Vec::new();
            acknowledged.read_to_end(&mut more).unwrap();
            assert!(first == *b"." && more.iter().all(|&byte| byte == b'.'), "{}", String::from_utf8_lossy(&more));
            let (said, there) = (1 + more.len() as u32, whole_records(&path, round));
            assert!(there >= said, "seed {:#x}, round {round}: {said} were flushed, {there} are there", seed.0);
            flushed.fetch_add(said as usize, Ordering::Relaxed);
            left.fetch_add(there as usize, Ordering::Relaxed);
            fs::remove_file(&path).unwrap();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(rounds);
        }
    });
    let (flushed, left) = (flushed.into_inner(), left.into_inner());
    println!("{ROUNDS} kills, seed {:#x}: {flushed} records had been flushed, {left} were there", seed.0);
    assert!(flushed > ROUNDS, "killed too early to see anything");
}

/// Printed, and taken from the environment if it is there, to see the same kills again as far as time allows that.
struct RandomSeed(u64);

impl RandomSeed {
    fn new() -> RandomSeed {
        use std::hash::{BuildHasher, RandomState};
        let given = std::env::var("MANYFILES_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(0));
        println!("MANYFILES_SEED={seed}");
        RandomSeed(seed)
    }
}
