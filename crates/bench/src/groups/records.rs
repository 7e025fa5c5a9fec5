//! 100 MiB in small records through FileWriter, against File, BufWriter and bare write(2).

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Result, ensure};
use manyfiles::writer::FileWriter;

use crate::contest::{self, Check, Contest, Entrant, Plan, Sample, Target, timed};
use crate::place::Place;
use crate::report::Book;
use Target::{AtMost, Faster, Shown, ShownTime};

/// What is written in all.
const TOTAL: usize = 100 << 20;

/// What records are cut from, over and over, is no longer than this: it stays in the processor's cache.
const CACHED: usize = 64 << 10;

const BLOCK: usize = 256 << 10;

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    let tmpfs = Place::tmpfs()?;
    contests(&tmpfs, plan, book);
    drop(tmpfs);
    if let Some(ext4) = book.place_or_skip("records, ext4", Place::ext4_cleared()) {
        contests(&ext4, plan, book);
    }
    Ok(())
}

fn contests(place: &Place, plan: Plan, book: &mut Book) {
    // The claims over BufWriter's default are for ext4; on tmpfs they are shown.
    let claimed = |faster| if place.name == "tmpfs" { Shown } else { Faster(faster) };
    for (len, what, over_default, over_block) in [
        (1, "100 MiB, records of 1 B", claimed(2.0), ShownTime),
        (100, "100 MiB, records of 100 B", claimed(2.6), ShownTime),
        (1 << 10, "100 MiB, records of 1 KiB", claimed(2.0), AtMost(1.5)),
        (8 << 10, "100 MiB, records of 8 KiB", claimed(1.8), AtMost(1.5)),
    ] {
        contest(place, len, what, over_default, over_block, plan, book);
    }
}

fn contest(
    place: &Place,
    len: usize,
    what: &str,
    over_default: Target,
    over_block: Target,
    plan: Plan,
    book: &mut Book,
) {
    let source = &source(len);
    let check: Check<'_> = Box::new(|folder| holds_periods(&folder.join("file"), source));
    let buffered = |capacity: usize| {
        move |folder: &Path| {
            into_file(folder, |file| {
                let mut out = BufWriter::with_capacity(capacity, file);
                each_record(source, len, |record| Ok(out.write_all(record)?))?;
                out.flush()?;
                close(out.into_inner().map_err(|error| error.into_error())?)
            })
        }
    };
    let ours = |second_thread: bool| {
        move |folder: &Path| {
            fs::create_dir_all(folder)?;
            timed(|| {
                let mut out = FileWriter::options().second_thread(second_thread).create(folder.join("file"))?;
                each_record(source, len, |record| Ok(out.write_all(record)?))?;
                ensure!(out.close()?.bytes == TOTAL as u64);
                Ok(())
            })
        }
    };
    let bare = |folder: &Path| {
        into_file(folder, |mut file| {
            let (block, mut left) = (source.repeat(BLOCK / source.len()), TOTAL);
            while left > 0 {
                let next = block.len().min(left);
                file.write_all(black_box(&block[..next]))?;
                left -= next;
            }
            close(file)
        })
    };
    let unbuffered = |folder: &Path| {
        into_file(folder, |mut file| {
            each_record(source, len, |record| Ok(file.write_all(record)?))?;
            close(file)
        })
    };
    let mut entrants = vec![
        Entrant::new("FileWriter", Shown, &check, Box::new(ours(false))),
        Entrant::new("BufWriter, 8 KiB", over_default, &check, Box::new(buffered(8 << 10))),
        Entrant::new("BufWriter, 64 KiB", Faster(1.0), &check, Box::new(buffered(64 << 10))),
        Entrant::new("BufWriter, 256 KiB", Faster(1.0), &check, Box::new(buffered(256 << 10))),
        Entrant::new("BufWriter, 1 MiB", Faster(1.0), &check, Box::new(buffered(1 << 20))),
        Entrant::new("write(2) of 256 KiB", over_block, &check, Box::new(bare)),
        Entrant::new("FileWriter, second thread", Shown, &check, Box::new(ours(true))),
    ];
    // A hundred million system calls would take a minute a round.
    if len > 1 {
        entrants.push(Entrant { rounds_at_most: Some(3), ..Entrant::new("File", Shown, &check, Box::new(unbuffered)) });
    }
    book.enter(contest::run(Contest { group: "records", what: what.into(), place, entrants }, plan));
}

/// Whole records, as many as stay in the processor's cache.
fn source(len: usize) -> Vec<u8> {
    let period = CACHED / len * len;
    (0..period).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// Every record in turn. Its length is known at run time only, as a program's would be.
#[inline(always)]
fn each_record(source: &[u8], len: usize, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let len = black_box(len);
    let mut left = TOTAL / len;
    while left > 0 {
        for record in source.chunks_exact(len).take(left) {
            write(record)?;
            left -= 1;
        }
    }
    Ok(())
}

fn into_file(folder: &Path, write: impl FnOnce(File) -> Result<()>) -> Result<Sample> {
    fs::create_dir_all(folder)?;
    timed(|| write(File::create(folder.join("file"))?))
}

fn close(file: File) -> Result<()> {
    drop(file);
    Ok(())
}

fn holds_periods(path: &Path, source: &[u8]) -> Result<()> {
    let mut file = File::open(path)?;
    ensure!(file.metadata()?.len() == TOTAL as u64, "{} bytes long", file.metadata()?.len());
    let (mut period, mut left) = (vec![0; source.len()], TOTAL);
    while left > 0 {
        let next = source.len().min(left);
        file.read_exact(&mut period[..next])?;
        ensure!(period[..next] == source[..next], "other bytes than were written, {} from the start", TOTAL - left);
        left -= next;
    }
    Ok(())
}
