//! `Appender`: 64 threads, and files that come and go.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use manyfiles::appender::{Appender, Position, Records};
use manyfiles_testkit::Random;

use super::closes::on_threads;
use crate::long::work::{Place, Result, Size, Work};

const THREADS: u64 = 64;
/// Of each thread, one of so many records is waited for until it is durable.
const DURABLE: u64 = 16;
const FILE: u64 = 4 << 20;
/// Appending waits where the reader is so far behind: the disk has an end.
const BEHIND: u64 = 256 << 20;

/// Record `n` of a thread: both numbers, and bytes that follow from them.
fn record(thread: u64, n: u64) -> Vec<u8> {
    let mut random = Random::new(thread << 48 ^ n);
    let mut bytes = [thread.to_le_bytes(), n.to_le_bytes()].concat();
    (0..random.below(24)).for_each(|_| bytes.extend(random.next().to_le_bytes()));
    bytes
}

/// The records of each thread come in their order, each once, with the bytes that they had.
#[derive(Default)]
struct Order(BTreeMap<u64, u64>);

impl Order {
    /// `from_anywhere`: the first of a thread may be any, because those before it are gone.
    fn take(&mut self, bytes: &[u8], from_anywhere: bool) -> Result<()> {
        let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let (Some(thread), Some(n)) = (number(0), number(8)) else {
            return Err("a record is too short".into());
        };
        let next = self.0.entry(thread).or_insert(if from_anywhere { n } else { 0 });
        if n != *next {
            return Err(format!("thread {thread}: record {n} comes where {next} should").into());
        }
        if bytes != record(thread, n) {
            return Err(format!("thread {thread}: record {n} has other bytes").into());
        }
        *next += 1;
        Ok(())
    }

    fn to_text(&self) -> String {
        self.0.iter().map(|(thread, next)| format!("{thread} {next}\n")).collect()
    }

    fn parse(text: &str) -> Result<Order> {
        let line = |line: &str| -> Result<(u64, u64)> {
            let (thread, next) = line.split_once(' ').ok_or("two numbers")?;
            Ok((thread.parse()?, next.parse()?))
        };
        Ok(Order(text.lines().map(line).collect::<Result<_>>()?))
    }
}

/// Appends on all threads until the time is over, and returns how many records each thread appended. A thread goes on
/// only while `may_go_on` says so of the last record's position.
fn append(appender: &Appender, time: Duration, may_go_on: impl Fn(Position) -> bool + Sync) -> Result<Vec<u64>> {
    let end = Instant::now() + time;
    let counts: Vec<AtomicU64> = (0..THREADS).map(|_| AtomicU64::new(0)).collect();
    on_threads(THREADS, |thread| {
        for n in 0.. {
            if Instant::now() > end {
                break;
            }
            let receipt = appender.append(&record(thread, n))?;
            counts[thread as usize].store(n + 1, Ordering::Relaxed);
            if n % DURABLE == DURABLE - 1 {
                receipt.wait_durable()?;
                while Instant::now() < end && !receipt.position().is_none_or(&may_go_on) {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        }
        Ok(())
    })?;
    Ok(counts.into_iter().map(AtomicU64::into_inner).collect())
}

fn to_text(counts: &[u64]) -> String {
    counts.iter().enumerate().map(|(thread, count)| format!("{thread} {count}\n")).collect()
}

fn expect_all(found: &Order, folder: &Path) -> Result<()> {
    let appended = Order::parse(&fs::read_to_string(folder.join("appended"))?)?;
    for (thread, count) in appended.0.iter().filter(|(_, count)| **count > 0) {
        let read = found.0.get(thread).copied().unwrap_or(0);
        if read != *count {
            return Err(format!("thread {thread}: {count} records were appended, {read} are there").into());
        }
    }
    Ok(())
}

/// A log is files that are called `log` and a number, and nothing beside.
fn expect_no_other(folder: &Path, others: &[&str]) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix("log.").map(|rest| rest.strip_suffix(".zst").unwrap_or(rest));
        let is_log = number.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_log && !others.contains(&&*name) {
            return Err(format!("{name} is left").into());
        }
    }
    Ok(())
}

/// A collector: a follower reads every record and checks it, and what it has read is removed. What it has not read at
/// the end is read by another process.
pub struct Followed;

impl Work for Followed {
    fn name(&self) -> &'static str {
        "records-followed"
    }

    fn what(&self, size: Size) -> String {
        format!(
            "`Appender` and `Follow`, {} s: {THREADS} threads, files of 4 MiB, what was read is removed",
            size.time.as_secs()
        )
    }

    fn unit(&self) -> &'static str {
        "records"
    }

    fn place(&self) -> Place {
        Place::Ext4
    }

    fn run(&self, folder: &Path, size: Size) -> Result<u64> {
        let path = folder.join("log");
        let appender = Appender::options().framed(true).rotate_bytes(FILE).open(&path)?;
        let read = AtomicU64::new(0);
        let mut order = Order::default();
        let mut follow = Records::open(&path)?.follow();
        let counts = thread::scope(|scope| -> Result<Vec<u64>> {
            let appending = scope
                .spawn(|| append(&appender, size.time, |position| position.0 < read.load(Ordering::Relaxed) + BEHIND));
            let mut removed = 0;
            while !appending.is_finished() {
                let Some(record) = follow.next_within(Duration::from_millis(10)) else { continue };
                order.take(&record?, false)?;
                let position = follow.position();
                read.store(position.0, Ordering::Relaxed);
                if position.0 > removed + FILE {
                    appender.remove_before(position)?;
                    removed = position.0;
                }
            }
            appending.join().map_err(|_| "a panic")?
        })?;
        fs::write(folder.join("position"), follow.position().0.to_string())?;
        fs::write(folder.join("read"), order.to_text())?;
        fs::write(folder.join("appended"), to_text(&counts))?;
        appender.close()?;
        Ok(counts.iter().sum())
    }

    fn check(&self, folder: &Path, _size: Size, _done: u64) -> Result<()> {
        let position = Position(fs::read_to_string(folder.join("position"))?.parse()?);
        let mut order = Order::parse(&fs::read_to_string(folder.join("read"))?)?;
        for record in Records::open_at(folder.join("log"), position)? {
            order.take(&record?, false)?;
        }
        expect_all(&order, folder)?;
        expect_no_other(folder, &["position", "read", "appended", "lost+found"])
    }
}

/// The newest files are kept, and compressed when they are full.
pub struct Kept;

const FILES: u64 = 20;

impl Work for Kept {
    fn name(&self) -> &'static str {
        "records-kept"
    }

    fn what(&self, size: Size) -> String {
        format!(
            "`Appender`, {} s: {THREADS} threads, files of 4 MiB are compressed, the last {FILES} kept",
            size.time.as_secs()
        )
    }

    fn unit(&self) -> &'static str {
        "records"
    }

    fn place(&self) -> Place {
        Place::Ext4
    }

    fn run(&self, folder: &Path, size: Size) -> Result<u64> {
        let options = Appender::options().framed(true).rotate_bytes(FILE).keep_files(FILES).compress(true);
        let appender = options.open(folder.join("log"))?;
        let counts = append(&appender, size.time, |_| true)?;
        fs::write(folder.join("appended"), to_text(&counts))?;
        if let Some(error) = appender.take_upkeep_errors().into_iter().next() {
            return Err(error.into());
        }
        appender.close()?;
        Ok(counts.iter().sum())
    }

    fn check(&self, folder: &Path, _size: Size, _done: u64) -> Result<()> {
        let mut order = Order::default();
        let mut records = Records::open(folder.join("log"))?;
        for record in &mut records {
            order.take(&record?, true)?;
        }
        expect_all(&order, folder)?;
        expect_no_other(folder, &["appended", "lost+found"])?;
        let files = fs::read_dir(folder)?.count() as u64;
        // The log's, and the two others of `expect_no_other`.
        if files > FILES + 2 + 1 {
            return Err(format!("{files} files are kept").into());
        }
        Ok(())
    }
}
