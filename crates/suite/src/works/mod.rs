//! The works, one file for each kind.

mod durable;
mod files;
mod one_path;
mod records;

use crate::session::Session;

/// Something that all entrants do.
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
pub(crate) static ALL: [Work; 12] = [
    Work {
        closes_can_be_simulated: true,
        ..work("2,300 files of 1.5 KB in one folder", "files", 2_300, 3, files::one_folder)
    },
    Work { closes_can_be_simulated: true, ..work("a font: 2,305 XML files", "files", 2_305, 3, files::font) },
    Work {
        closes_can_be_simulated: true,
        ..work("10,000 files of 1.5 KB in 600 folders", "files", 10_000, 6, files::folders)
    },
    work("32 MiB, records of 1 B", "bytes", 32 << 20, 3, records::of_1),
    work("32 MiB, records of 100 B", "bytes", 32 << 20, 3, records::of_100),
    work("32 MiB, records of 1 KiB", "bytes", 32 << 20, 2, records::of_1024),
    work("32 MiB, records of 8 KiB", "bytes", 32 << 20, 2, records::of_8192),
    work("1,000 writes of 4 KB to one path", "writes", 1_000, 1, one_path::of_1000),
    work("5,000 writes of 4 KB to one path", "writes", 5_000, 1, one_path::of_5000),
    work("10,000 writes of 512 B to one path", "writes", 10_000, 1, one_path::of_10000),
    work("500 durable files", "files", 500, 4, durable::files),
    work("400 durable records of 100 B, 8 threads", "records", 400, 4, durable::records),
];

const fn work(name: &'static str, unit: &'static str, amount: u32, share: u32, run: fn(&Work, &Session<'_>)) -> Work {
    Work { name, unit, amount: amount as f64, closes_can_be_simulated: false, share, run }
}
