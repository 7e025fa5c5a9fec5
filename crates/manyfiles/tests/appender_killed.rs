//! The process is killed at random moments; what it had been told was written is read back.
#![cfg(all(unix, feature = "full"))]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use manyfiles::appender::{Appender, Options, Records};

const KILLS: u64 = 500;
/// Kills of one file before the next is begun.
const LIVES: u64 = 20;
const SEED: u64 = 20_261_122;
const THREADS: u64 = 3;
/// The child's orders: a path and what to do there.
const CHILD: &str = "APPENDER_CHILD";

/// Knuth's MMIX generator, upper bits.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// How one file is written, from its number.
#[derive(Clone, Copy)]
struct Way(u64);

impl Way {
    fn is_framed(self) -> bool {
        !self.0.is_multiple_of(4)
    }

    fn options(self) -> Options {
        let options = Appender::options().framed(self.is_framed()).capacity([256 << 10, 300, 0][(self.0 % 3) as usize]);
        if self.0.is_multiple_of(5) { options.rotate_bytes(8_000) } else { options }
    }

    /// The nth record of a thread in a life. Without frames, lines tell where it ends.
    fn record(self, life: u64, thread: u64, n: u64) -> Vec<u8> {
        format!("{life} {thread} {n} {}\n", "=".repeat((n * 31 % 150) as usize)).into_bytes()
    }
}

/// In the child: threads append, and say each number once it is written, or durable. Ends by being killed.
fn append_until_killed(order: &str) {
    let mut words = order.splitn(3, ' ');
    let way = Way(words.next().unwrap().parse().unwrap());
    let life: u64 = words.next().unwrap().parse().unwrap();
    let appender = way.options().open(words.next().unwrap()).unwrap();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let appender = &appender;
            scope.spawn(move || {
                for n in 0.. {
                    let receipt = appender.append(&way.record(life, thread, n)).unwrap();
                    match (n + thread) % 8 {
                        0..3 => continue,
                        3 => receipt.wait_durable().unwrap(),
                        _ => receipt.wait_written().unwrap(),
                    }
                    // One write of 16 bytes to a pipe is whole or not there.
                    let said = (thread << 56 | n).to_be_bytes();
                    let line = [*b"told", *b"you:"].concat();
                    let mut out = std::io::stderr().lock();
                    out.write_all(&[&line[..], &said].concat()).unwrap();
                }
            });
        }
    });
}

#[test]
fn what_was_acknowledged_as_written_survives_500_kills() {
    if let Ok(order) = std::env::var(CHILD) {
        return append_until_killed(&order);
    }
    let mut random = Random(SEED);
    let (mut acknowledged, mut read, mut torn, mut silent) = (0, 0, 0, 0);
    for file in 0..KILLS / LIVES {
        let way = Way(file);
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("records");
        // Of each life and thread: how many records were acknowledged.
        let mut told = BTreeMap::new();
        // Without frames a torn line is not repaired, so those files have one life.
        for life in 0..LIVES {
            let path = if way.is_framed() { path.clone() } else { temp.path().join(format!("records-{life}")) };
            let said = one_life(way, life, &path, &mut random);
            silent += u64::from(said.is_empty());
            for (thread, n) in said {
                let count = told.entry((life, thread)).or_insert(0);
                *count = n + 1;
            }
            let of_this_path: BTreeMap<_, _> =
                told.iter().filter(|((of, _), _)| way.is_framed() || *of == life).map(|(who, n)| (*who, *n)).collect();
            let (records, cut) = read_back(way, &path);
            torn += u64::from(cut > 0);
            check(way, &of_this_path, &records, file, life);
            if life + 1 == LIVES || !way.is_framed() {
                acknowledged += of_this_path.values().sum::<u64>();
                read += records.len();
            }
        }
    }
    println!(
        "{KILLS} kills, seed {SEED}: {acknowledged} records acknowledged, {read} read back; {torn} times a torn tail, {silent} times \
         killed before the first answer"
    );
    assert!(acknowledged > KILLS && silent < KILLS / 2, "the kills come too early to test anything");
}

/// Starts a child, kills it, and returns what it had said.
fn one_life(way: Way, life: u64, path: &Path, random: &mut Random) -> Vec<(u64, u64)> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["what_was_acknowledged_as_written_survives_500_kills", "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, format!("{} {life} {}", way.0, path.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stderr.take().unwrap();
    let mut said = vec![0; 16];
    // Most are killed soon after the first answer, some whenever.
    let waits = random.below(5) > 0;
    let pause = Duration::from_micros(random.below(if waits { 4_000 } else { 15_000 }));
    let answers = thread::spawn(move || {
        let first = if waits { pipe.read_exact(&mut said).map(|()| 16) } else { pipe.read(&mut said) };
        said.truncate(first.unwrap_or(0));
        (said, pipe)
    });
    if waits {
        let (mut said, mut pipe) = answers.join().unwrap();
        // Read on meanwhile: a full pipe would stop the child.
        let rest = thread::spawn(move || pipe.read_to_end(&mut said).map(|_| said));
        thread::sleep(pause);
        child.kill().unwrap();
        child.wait().unwrap();
        return parse(&rest.join().unwrap().unwrap());
    }
    thread::sleep(pause);
    child.kill().unwrap();
    child.wait().unwrap();
    let (mut said, mut pipe) = answers.join().unwrap();
    pipe.read_to_end(&mut said).unwrap();
    parse(&said)
}

fn parse(said: &[u8]) -> Vec<(u64, u64)> {
    let text = String::from_utf8_lossy(said);
    assert!(said.len().is_multiple_of(16), "the child says something else: {text}");
    said.chunks(16)
        .map(|answer| {
            assert_eq!(&answer[..8], b"toldyou:", "the child says something else: {text}");
            let number = u64::from_be_bytes(answer[8..].try_into().unwrap());
            (number >> 56, number & ((1 << 56) - 1))
        })
        .collect()
}

/// All whole records, and how many bytes of a torn one follow.
fn read_back(way: Way, path: &Path) -> (Vec<Vec<u8>>, u64) {
    if way.is_framed() {
        // A child killed early enough has made no file.
        let Ok(mut records) = Records::open(path) else { return (Vec::new(), 0) };
        let all = records.by_ref().map(|record| record.expect("a kill damages nothing")).collect();
        return (all, records.torn_bytes());
    }
    let mut bytes = Vec::new();
    for n in 0.. {
        let numbered = path.with_file_name(format!("{}.{n:06}", path.file_name().unwrap().to_str().unwrap()));
        match fs::read(if n == 0 { path } else { &numbered }) {
            Ok(more) => bytes.extend(more),
            Err(_) if n > 0 => break,
            Err(_) => {}
        }
    }
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let records = bytes[..whole].split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    (records, (bytes.len() - whole) as u64)
}

/// Each thread's records are there from the first to the last that was acknowledged at least, in order, and whole.
fn check(way: Way, told: &BTreeMap<(u64, u64), u64>, records: &[Vec<u8>], file: u64, life: u64) {
    let mut next: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for record in records {
        let text = String::from_utf8_lossy(record);
        let numbers: Vec<u64> = text.split(' ').take(3).map(|number| number.parse().unwrap()).collect();
        let n = next.entry((numbers[0], numbers[1])).or_insert(0);
        assert_eq!(*record, way.record(numbers[0], numbers[1], *n), "seed {SEED}, file {file}, life {life}");
        *n += 1;
    }
    for (who, count) in told {
        let there = next.get(who).copied().unwrap_or(0);
        assert!(
            there >= *count,
            "seed {SEED}, file {file}, life {life}: {there} records of {who:?}, {count} acknowledged"
        );
    }
}
