//! The kinds of logs and of ends, and what is appended.

use crate::appender::tests::disk::Random;
use crate::appender::{Appender, Options};

/// Logs of a kind, with three ends each.
pub(super) const LOGS: u32 = 900;
pub(super) const ENDS: u64 = 3;
pub(super) const SEED: u64 = 20_261_122;

/// What kind of log it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Framed,
    FramedRotated,
    /// Framed and rotated, and the oldest files are removed.
    Kept,
    /// The same, and files that are not written to any more are compressed.
    #[cfg(feature = "zstd")]
    Packed,
    Plain,
    PlainRotated,
}

impl Kind {
    pub(super) fn options(self, random: &mut Random) -> Options {
        let framed = !matches!(self, Kind::Plain | Kind::PlainRotated);
        let options = Appender::options().framed(framed).capacity([0, 600, 4_096, 256 << 10][random.below(4) as usize]);
        match self {
            Kind::FramedRotated | Kind::PlainRotated => options.rotate_bytes(3_000 + random.below(20_000)),
            Kind::Plain | Kind::Framed => options,
            // Small files, so that many come and go. Compressed ones are sometimes kept all.
            _ => {
                let options = options.rotate_bytes(500 + random.below(3_000));
                match random.below(3) {
                    0 if self != Kind::Kept => options,
                    0 | 1 => options.keep_files(1 + random.below(4)),
                    _ => options.keep_bytes(random.below(10_000)),
                }
            }
        }
    }

    /// How many of them are lived.
    pub(super) fn logs(self) -> u32 {
        match self {
            // Compressing takes long.
            #[cfg(feature = "zstd")]
            Kind::Packed => LOGS / 2,
            _ => LOGS,
        }
    }

    /// Whether records may be gone from the front, because their files were not to be kept.
    pub(super) fn is_kept(self) -> bool {
        !matches!(self, Kind::Framed | Kind::FramedRotated | Kind::Plain | Kind::PlainRotated)
    }
}

/// How a life ends. The table in docs/appender.md has a row for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    Closed,
    Killed,
    PowerCut,
    FailedSync,
    DiskFull,
}

/// The nth record of a log. Its length stays when it is appended again in another life, its content does not: so what
/// was cut off and comes back fits, and is found out. Some are empty, some hold zeros, some are longer than a page.
pub(super) fn record(n: u64, life: u64, seed: u64) -> Vec<u8> {
    let mut random = Random(seed ^ n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let len = match random.below(12) {
        0 => 0,
        1 => random.below(9_000),
        _ => random.below(200),
    };
    match random.below(8) {
        0 => vec![0; len as usize],
        1 => vec![0xFF; len as usize],
        _ => format!("{life}/{n}:").bytes().cycle().take(len as usize).collect(),
    }
}

/// The nth record of a log that may have lost records at its front: it says which one it is.
pub(super) fn numbered(n: usize, life: u64, seed: u64) -> Vec<u8> {
    [format!("{n:08} ").as_bytes(), &record(n as u64, life, seed)].concat()
}
