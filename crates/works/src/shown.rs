//! The works that `manyfiles bench` shows: a part of all, small enough for a minute on a slow disk.

use std::path::Path;

use manyfiles::sync::SyncBatch;
use manyfiles_measure::contest::{Check, Entrant, Goal, Run, Sample};

use crate::corpus::Corpus;
use crate::options::Options;
use crate::session::Session;
use crate::works::{DurableFiles, DurableRecords, Folders, NewFiles, OnePath, Records};

/// A work with its row in the tables.
#[derive(Debug)]
pub struct Work {
    /// As tables show it.
    pub name: &'static str,
    /// What is counted, in the plural.
    pub unit: &'static str,
    /// How many of them a run writes.
    pub amount: f64,
    /// Whether a slow close can be simulated.
    pub closes_can_be_simulated: bool,
    /// Its part of the time, beside the others'.
    pub(crate) share: u32,
    pub(crate) run: fn(&Work, &Session<'_>),
}

/// In the order in which they are done.
static ALL: [Work; 12] = [
    Work {
        closes_can_be_simulated: true,
        ..work("2,300 files of 1.5 KB in one folder", "files", 2_300, 3, |work, session| {
            new_files(work, session, &Corpus::pages(2_300, 1));
        })
    },
    Work {
        closes_can_be_simulated: true,
        ..work("a font: 2,305 XML files", "files", 2_305, 3, |work, session| new_files(work, session, &Corpus::font()))
    },
    Work {
        closes_can_be_simulated: true,
        ..work("10,000 files of 1.5 KB in 600 folders", "files", 10_000, 6, |work, session| {
            new_files(work, session, &Corpus::pages(10_000, 600));
        })
    },
    work("32 MiB, records of 1 B", "bytes", 32 << 20, 3, |work, session| records(work, session, 1)),
    work("32 MiB, records of 100 B", "bytes", 32 << 20, 3, |work, session| records(work, session, 100)),
    work("32 MiB, records of 1 KiB", "bytes", 32 << 20, 2, |work, session| records(work, session, 1 << 10)),
    work("32 MiB, records of 8 KiB", "bytes", 32 << 20, 2, |work, session| records(work, session, 8 << 10)),
    work("1,000 writes of 4 KB to one path", "writes", 1_000, 1, |work, session| one_path(work, session, 4 << 10)),
    work("5,000 writes of 4 KB to one path", "writes", 5_000, 1, |work, session| one_path(work, session, 4 << 10)),
    work("10,000 writes of 512 B to one path", "writes", 10_000, 1, |work, session| one_path(work, session, 512)),
    work("500 durable files", "files", 500, 4, durable_files),
    work("400 durable records of 100 B, 8 threads", "records", 400, 4, durable_records),
];

/// The works of [`bench`](crate::bench()) that the options leave, in their order.
pub fn works(options: &Options) -> Vec<&'static Work> {
    ALL.iter().filter(|work| work.name.contains(&options.only)).collect()
}

const fn work(name: &'static str, unit: &'static str, amount: u32, share: u32, run: fn(&Work, &Session<'_>)) -> Work {
    Work { name, unit, amount: amount as f64, closes_can_be_simulated: false, share, run }
}

fn new_files(work: &Work, session: &Session<'_>, corpus: &Corpus) {
    let check: Check<'_> = Box::new(|folder| corpus.check(folder));
    let slow_close = session.options.simulate_close;
    let files = NewFiles::new(&corpus.files, Folders::Once, &session.interrupt).slow_close(slow_close);
    let mut entrants: Vec<(&str, Run<'_>)> = vec![
        ("std loop", Box::new(|root| files.with_std(root))),
        ("rayon", Box::new(|root| files.with_rayon(root))),
        ("rayon, 64 threads", Box::new(|root| files.with_rayon_on(64, root))),
        ("FastClose loop", Box::new(|root| files.with_fast_close(root))),
    ];
    if slow_close.is_some() {
        session.leave_out(
            format!("{}: TreeWriter", work.name),
            "it closes its files itself, and no slower than the disk does",
        );
    } else {
        entrants.push(("TreeWriter", Box::new(|root| files.with_tree_writer(root))));
    }
    session.contest(work, &check, entrants);
}

/// A call of the system for each byte of 32 MiB takes half a minute. So that it ends, this many are written, and the
/// time is multiplied.
const BARE_BYTES: usize = 256 << 10;

fn records(work: &Work, session: &Session<'_>, len: usize) {
    let total = work.amount as usize;
    let bare = if len == 1 { BARE_BYTES } else { total };
    let all = Records::new(len, total, &session.interrupt);
    let part = Records::new(len, bare, &session.interrupt);
    let check_all: Check<'_> = Box::new(|folder| all.check(folder));
    let check_part: Check<'_> = Box::new(|folder| part.check(folder));
    let (name, times) = if bare < total { ("File (1/128, multiplied)", total / bare) } else { ("File", 1) };
    let with_file = |folder: &Path| {
        let sample = part.with_file(folder)?;
        let times = times as f64;
        Ok(Sample { seconds: sample.seconds * times, cpu_seconds: sample.cpu_seconds * times, ..sample })
    };
    let entrant = |name, run| Entrant::new(name, Goal::Shown, &check_all, run);
    session.enter(
        work,
        vec![
            Entrant::new(name, Goal::Shown, &check_part, Box::new(with_file)),
            entrant("BufWriter, 8 KiB", Box::new(|folder| all.with_buf_writer(8 << 10, folder))),
            entrant("BufWriter, 256 KiB", Box::new(|folder| all.with_buf_writer(256 << 10, folder))),
            entrant("FileWriter", Box::new(|folder| all.with_file_writer(false, folder))),
        ],
    );
}

fn one_path(work: &Work, session: &Session<'_>, len: usize) {
    let writes = OnePath::new(work.amount as usize, len, &session.interrupt);
    let check: Check<'_> = Box::new(|folder| writes.check(folder));
    session.contest(
        work,
        &check,
        vec![
            ("open, write, close each", Box::new(|folder| writes.with_open_each(folder))),
            ("one File", Box::new(|folder| writes.with_file(folder))),
            ("Vfs::write", Box::new(|folder| writes.with_vfs(folder))),
            ("FileWriter", Box::new(|folder| writes.with_file_writer(folder))),
        ],
    );
}

fn durable_files(work: &Work, session: &Session<'_>) {
    let corpus = Corpus::pages(work.amount as usize, 1);
    let files = DurableFiles::new(&corpus.files, &session.interrupt);
    let check: Check<'_> = Box::new(|folder| corpus.check(folder));
    let (plain, atomic) = (SyncBatch::options(), SyncBatch::options().atomic(true));
    session.contest(
        work,
        &check,
        vec![
            ("sync_all for each", Box::new(|root| files.with_sync_all(root))),
            ("SyncBatch", Box::new(|root| files.with_batch(&plain, false, root))),
            ("SyncBatch, atomic", Box::new(|root| files.with_batch(&atomic, false, root))),
        ],
    );
}

fn durable_records(work: &Work, session: &Session<'_>) {
    const THREADS: usize = 8;
    let records = DurableRecords::new(THREADS, work.amount as usize / THREADS, &session.interrupt);
    let check: Check<'_> = Box::new(|folder| records.check(folder));
    session.contest(
        work,
        &check,
        vec![
            ("write_all, sync_data, locked", Box::new(|folder| records.with_lock(folder))),
            ("Appender", Box::new(|folder| records.with_appender(folder))),
        ],
    );
}
