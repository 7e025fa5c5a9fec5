//! Durable records from many threads through Appender, against a lock around each write and sync.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Instant;

use anyhow::{Result, ensure};
use manyfiles::appender::{Appender, Records};
use manyfiles_measure::{cpu_seconds, stats};

use crate::contest::{self, Check, Contest, Entrant, Goal, Plan, Sample};
use crate::place::Place;
use crate::report::Book;
use Goal::{AtMost, Faster, Shown, ShownTime};

pub const RECORD: [u8; 100] = [b'r'; 100];
pub const FILE: &str = "records";

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    // A run takes some tens of milliseconds.
    let plan = plan.times(3);
    for place in [Place::ext4(), Place::tmpfs()] {
        let Some(place) = book.place_or_skip("append", place) else { continue };
        // What is claimed is claimed where a sync does something.
        let claimed = |target| if place.name == "ext4" { target } else { Shown };
        for (threads, faster) in [(1, 0.95), (8, 6.0), (64, 40.0)] {
            throughput(threads, claimed(Faster(faster)), &place, plan, book);
            for (part, name) in [(0.5, "median"), (0.99, "99th percentile")] {
                let target = if part == 0.99 && place.name == "ext4" { AtMost(2.5) } else { ShownTime };
                waiting(threads, part, name, target, &place, plan, book);
            }
        }
    }
    Ok(())
}

pub fn named(threads: usize) -> String {
    if threads == 1 { "1 thread".into() } else { format!("{threads} threads") }
}

/// The time of one durable record.
fn throughput(threads: usize, target: Goal, place: &Place, plan: Plan, book: &mut Book) {
    // Enough groups for one appender's run to last as long as one of the others.
    let (each, each_alone) = (400_usize.div_ceil(threads).max(60), 400 / threads + 2);
    let (plain, framed) = (holds(threads * each, false), holds(threads * each, true));
    let alone = holds(threads * each_alone, false);
    let mean = |waits: Waits| waits.seconds;
    let entrants = vec![
        Entrant::new("Appender", Shown, &plain, Box::new(|folder| appender(folder, threads, each, false, mean))),
        Entrant::new(
            "lock, write_all, sync_data",
            target,
            &alone,
            Box::new(|folder| locked(folder, threads, each_alone, mean)),
        ),
        Entrant::new(
            "Appender, framed",
            ShownTime,
            &framed,
            Box::new(|folder| appender(folder, threads, each, true, mean)),
        ),
    ];
    let what = format!("durable records of 100 B, {}", named(threads));
    book.enter(contest::run(Contest { group: "append", what, place, entrants }, plan));
}

/// How long a thread waits for its record, against one write and sync of a file that nobody else writes.
fn waiting(threads: usize, part: f64, name: &str, target: Goal, place: &Place, plan: Plan, book: &mut Book) {
    // The first record of each thread, when no group has formed yet, must stay below one in a hundred.
    let each = 400_usize.div_ceil(threads).max(200);
    let (plain, single) = (holds(threads * each, false), holds(100, false));
    let of_all = move |waits: Waits| stats::quantile(&waits.each, part);
    let mut entrants = vec![
        Entrant::new("Appender", Shown, &plain, Box::new(|folder| appender(folder, threads, each, false, of_all))),
        Entrant::new(
            "one write and sync (median)",
            target,
            &single,
            Box::new(|folder| locked(folder, 1, 100, |waits| stats::median(&waits.each))),
        ),
    ];
    if part != 0.5 {
        // What the disk itself does to the slowest.
        let run = Box::new(|folder: &Path| locked(folder, 1, 100, of_all));
        entrants.push(Entrant::new(format!("one write and sync ({name})"), ShownTime, &single, run));
    }
    let what = format!("waiting for a durable record, {name}, {}", named(threads));
    book.enter(contest::run(Contest { group: "append", what, place, entrants }, plan));
}

/// What a run gives: the time that a record took on the average, and what each thread waited for each of its own.
pub struct Waits {
    pub seconds: f64,
    each: Vec<f64>,
}

pub fn appender(
    folder: &Path,
    threads: usize,
    each: usize,
    framed: bool,
    figure: impl Fn(Waits) -> f64,
) -> Result<Sample> {
    fs::create_dir(folder)?;
    let appender = Appender::options().framed(framed).open(folder.join(FILE))?;
    let sample = measure(threads, each, figure, || Ok(appender.append_durable(&RECORD)?))?;
    appender.close()?;
    Ok(sample)
}

pub fn locked(folder: &Path, threads: usize, each: usize, figure: impl Fn(Waits) -> f64) -> Result<Sample> {
    fs::create_dir(folder)?;
    let file = Mutex::new(File::create(folder.join(FILE))?);
    measure(threads, each, figure, || {
        let mut file = file.lock().expect("nobody panics");
        file.write_all(&RECORD)?;
        Ok(file.sync_data()?)
    })
}

/// Lets threads that begin together do it so often each.
pub fn measure(
    threads: usize,
    each: usize,
    figure: impl Fn(Waits) -> f64,
    durable: impl Fn() -> Result<()> + Sync,
) -> Result<Sample> {
    let barrier = Barrier::new(threads + 1);
    let (start, cpu_before, waits) = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| -> Result<Vec<f64>> {
                    let mut waits = Vec::with_capacity(each);
                    barrier.wait();
                    for _ in 0..each {
                        let start = Instant::now();
                        durable()?;
                        waits.push(start.elapsed().as_secs_f64());
                    }
                    Ok(waits)
                })
            })
            .collect();
        let before = (Instant::now(), cpu_seconds());
        barrier.wait();
        let waits: Result<Vec<Vec<f64>>> =
            threads.into_iter().map(|thread| thread.join().expect("it returns its errors")).collect();
        waits.map(|waits| (before.0, before.1, waits))
    })?;
    let records = (threads * each) as f64;
    let waits = Waits { seconds: start.elapsed().as_secs_f64() / records, each: waits.concat() };
    let cpu_seconds = (cpu_seconds() - cpu_before) / records;
    Ok(Sample { seconds: figure(waits), cpu_seconds, peak_memory: None, count: None })
}

/// Checks that the file holds so many records.
pub fn holds(records: usize, framed: bool) -> Check<'static> {
    Box::new(move |folder| {
        let path = folder.join(FILE);
        let content =
            if framed { Records::open(&path)?.collect::<Result<Vec<_>, _>>()?.concat() } else { fs::read(&path)? };
        ensure!(content == RECORD.repeat(records), "{} bytes, not {records} records", content.len());
        Ok(())
    })
}
