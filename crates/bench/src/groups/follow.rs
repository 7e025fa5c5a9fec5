//! What it costs those who append that others follow the log.

use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use manyfiles::appender::{Appender, Records};
use manyfiles_measure::cpu_seconds;

use super::append::{FILE, RECORD, holds, named};
use crate::contest::{self, Contest, Entrant, Goal, Plan, Sample};
use crate::place::Place;
use crate::report::Book;
use Goal::ShownTime;

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    for place in [Place::ext4(), Place::tmpfs()] {
        let Some(place) = book.place_or_skip("follow", place) else { continue };
        for threads in [1, 8] {
            contest(threads, true, 1_600 / threads, &place, plan, book);
            contest(threads, false, 400_000 / threads, &place, plan, book);
        }
    }
    Ok(())
}

/// The time of one record, with as many followers as each entrant says.
fn contest(threads: usize, durable: bool, each: usize, place: &Place, plan: Plan, book: &mut Book) {
    let check = holds(threads * each, true);
    let entrant = |followers: usize, name: &str| {
        let run = Box::new(move |folder: &Path| appending(folder, threads, each, durable, followers));
        Entrant::new(name.to_owned(), ShownTime, &check, run)
    };
    let entrants = vec![entrant(0, "nobody follows"), entrant(1, "1 follower"), entrant(4, "4 followers")];
    let kind = if durable { "durable records" } else { "buffered records" };
    let what = format!("{kind} of 100 B while others follow, {}", named(threads));
    book.enter(contest::run(Contest { group: "follow", what, place, entrants }, plan));
}

/// Times the threads that append. Followers are threads of this process: what they take of the processors is part of
/// what they cost.
fn appending(folder: &Path, threads: usize, each: usize, durable: bool, followers: usize) -> Result<Sample> {
    fs::create_dir(folder)?;
    let path = folder.join(FILE);
    let appender = Appender::options().framed(true).open(&path)?;
    let done = AtomicBool::new(false);
    let all_begin = Barrier::new(threads + followers + 1);
    let records = threads * each;
    let sample = thread::scope(|scope| -> Result<Sample> {
        let following: Vec<_> =
            (0..followers).map(|_| scope.spawn(|| follow(&path, &all_begin, &done, records))).collect();
        let writing: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| -> Result<Instant> {
                    all_begin.wait();
                    let start = Instant::now();
                    for _ in 0..each {
                        if durable {
                            appender.append_durable(&RECORD)?;
                        } else {
                            appender.append(&RECORD)?;
                        }
                    }
                    Ok(start)
                })
            })
            .collect();
        let cpu_before = cpu_seconds();
        all_begin.wait();
        // Of whoever began first: this thread may be the last that gets a processor.
        let starts: Result<Vec<Instant>> =
            writing.into_iter().map(|thread| thread.join().expect("it returns its errors")).collect();
        let flushed = appender.flush();
        let end = Instant::now();
        let cpu_seconds = (cpu_seconds() - cpu_before) / records as f64;
        done.store(true, Ordering::Release);
        let followed: Result<()> =
            following.into_iter().try_for_each(|thread| thread.join().expect("it returns its errors"));
        let start = starts?.into_iter().min().unwrap_or(end);
        let seconds = (end - start).as_secs_f64() / records as f64;
        flushed?;
        followed?;
        Ok(Sample { seconds, cpu_seconds, peak_memory: None, count: None })
    })?;
    appender.close()?;
    Ok(sample)
}

/// Reads all records as they come, as a program that ships a log does.
fn follow(path: &Path, all_begin: &Barrier, done: &AtomicBool, records: usize) -> Result<()> {
    let opened = Records::open(path);
    all_begin.wait();
    let mut follow = opened?.follow();
    let mut seen = 0;
    while seen < records {
        match follow.next_within(Duration::from_millis(100)) {
            Some(record) => {
                ensure!(record? == RECORD, "another record");
                seen += 1;
            }
            None => ensure!(!done.load(Ordering::Acquire), "{seen} of {records} records"),
        }
    }
    Ok(())
}
