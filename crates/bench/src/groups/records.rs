//! 100 MiB in small records through FileWriter, against File, BufWriter and bare write(2).

use std::hint::black_box;
use std::io::Write;
use std::path::Path;

use anyhow::Result;
use manyfiles_works::works::Records;

use crate::contest::{self, Check, Contest, Entrant, FEW, Goal, Plan};
use crate::peers::NEVER;
use crate::place::Place;
use crate::report::Book;
use Goal::{AtMost, Faster, Shown, ShownTime};

/// What is written in all.
const TOTAL: usize = 100 << 20;

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

fn contest(place: &Place, len: usize, what: &str, over_default: Goal, over_block: Goal, plan: Plan, book: &mut Book) {
    let records = &Records::new(len, TOTAL, &NEVER);
    let check: Check<'_> = Box::new(|folder| records.check(folder));
    let buffered = |capacity: usize| move |folder: &Path| records.with_buf_writer(capacity, folder);
    let ours = |second_thread: bool| move |folder: &Path| records.with_file_writer(second_thread, folder);
    let bare = |folder: &Path| {
        records.into_file(folder, |mut file| {
            let source = records.source();
            let (block, mut left) = (source.repeat(BLOCK / source.len()), records.bytes());
            while left > 0 {
                let next = block.len().min(left);
                file.write_all(black_box(&block[..next]))?;
                left -= next;
            }
            Ok(())
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
        entrants.push(Entrant {
            rounds_at_most: Some(FEW),
            ..Entrant::new("File", Shown, &check, Box::new(|folder| records.with_file(folder)))
        });
    }
    book.enter(contest::run(Contest { group: "records", what: what.into(), place, entrants }, plan));
}
