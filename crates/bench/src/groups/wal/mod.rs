//! Durable records from many threads: a framed Appender, a lock around each write and sync, and write-ahead logs of
//! others, each at its best setting.

#[cfg(feature = "wal-peers")]
mod okay;
#[cfg(feature = "wal-peers")]
mod raft;

use anyhow::Result;

use super::append::{Waits, appender, holds, locked, named};
use crate::contest::{self, Contest, Entrant, Goal, Plan};
use crate::place::Place;
use crate::report::Book;
use Goal::Shown;

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    if cfg!(not(feature = "wal-peers")) {
        book.skip(
            "wal",
            "needs the feature wal-peers: cargo run --release -p manyfiles-bench --features wal-peers -- wal",
        );
        return Ok(());
    }
    for place in [Place::ext4(), Place::tmpfs()] {
        let Some(place) = book.place_or_skip("wal", place) else { continue };
        for threads in [1, 8, 64] {
            contest(threads, &place, plan, book);
        }
    }
    Ok(())
}

/// The time of one durable record.
fn contest(threads: usize, place: &Place, plan: Plan, book: &mut Book) {
    // So many that a run of those who share syncs takes some tens of milliseconds, and fewer where each record takes a
    // sync.
    let (each, each_alone) = (400_usize.div_ceil(threads).max(60), 400 / threads + 2);
    let framed = holds(threads * each, true);
    let alone = holds(threads * each_alone, false);
    #[cfg(feature = "wal-peers")]
    let (in_raft, in_okay) = (raft::holds(threads, each), okay::holds(threads * each));
    let mean = |waits: Waits| waits.seconds;
    #[cfg_attr(not(feature = "wal-peers"), expect(unused_mut, reason = "peers are added below"))]
    let mut entrants = vec![
        Entrant::new(
            "Appender, framed",
            Shown,
            &framed,
            Box::new(move |folder| appender(folder, threads, each, true, mean)),
        ),
        Entrant::new(
            "lock, write_all, sync_data",
            Shown,
            &alone,
            Box::new(move |folder| locked(folder, threads, each_alone, mean)),
        ),
    ];
    #[cfg(feature = "wal-peers")]
    entrants.extend([
        Entrant::new("raft-engine", Shown, &in_raft, Box::new(move |folder| raft::run(folder, threads, each, mean))),
        Entrant::new("okaywal", Shown, &in_okay, Box::new(move |folder| okay::run(folder, threads, each, mean))),
    ]);
    let what = format!("durable records of 100 B in a log, {}", named(threads));
    book.enter(contest::run(Contest { group: "wal", what, place, entrants }, plan));
}

/// Makes durable what a peer has made ready, so that no run pays for that.
#[cfg(feature = "wal-peers")]
fn settle(folder: &std::path::Path) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        std::fs::File::open(entry?.path())?.sync_all()?;
    }
    Ok(())
}
