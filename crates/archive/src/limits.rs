//! What stops a bomb: limits on what an archive may unpack to, and the meter that holds an archive to them.

use crate::entry::{Attribute, Kind};
use crate::error::{ErrorKind, Result};
use crate::limit::Limit;

/// Limits that stop a bomb, and let the Linux kernel's sources (83,731 entries, 1.4 GB, compressed 10 times) pass.
///
/// Each archive is counted by itself. Entries that are left out (by a selection, or because stripping leaves no name)
/// count as entries, not as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most entries. Default: 10 million.
    pub entries: u64,
    /// The most bytes of content, holes of sparse files included: not every file system has holes. Default: 1 TiB.
    pub bytes: u64,
    /// The most times larger than its compressed form an archive may become. Default: 1,000. Counted from the first
    /// [`RATIO_FREE`](Limits::RATIO_FREE) bytes on, so that a small archive of zeros is no bomb; holes of sparse files
    /// are not counted.
    pub ratio: u64,
}

impl Limits {
    /// What an archive may unpack to whatever its ratio: 64 MiB.
    pub const RATIO_FREE: u64 = 64 << 20;

    /// Nothing is limited.
    pub const NONE: Limits = Limits { entries: u64::MAX, bytes: u64::MAX, ratio: u64::MAX };

    /// With this most entries.
    #[must_use]
    pub fn entries(mut self, entries: u64) -> Self {
        self.entries = entries;
        self
    }

    /// With this most bytes.
    #[must_use]
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }

    /// With this most times that content may be larger than its compressed form.
    #[must_use]
    pub fn ratio(mut self, ratio: u64) -> Self {
        self.ratio = ratio;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits { entries: 10_000_000, bytes: 1 << 40, ratio: 1000 }
    }
}

/// Counts the entries and bytes of one archive.
#[derive(Debug)]
pub(crate) struct Meter {
    limits: Limits,
    pub entries: u64,
    /// Entries that were not selected, or that stripping left no name of.
    pub left_out: u64,
    /// Those that stripping left no name of.
    pub stripped: u64,
    pub bytes: u64,
    /// Entries that had attributes that are not unpacked.
    pub with_attributes: u64,
    /// Entries that lost the root of their paths.
    pub rooted: u64,
    /// How many bytes of extended attributes wait with their folders for the end.
    attributes_of_folders: usize,
}

/// More extended attributes of folders than this are not kept: they are in memory until all else is done.
const MOST_OF_FOLDERS: usize = 256 << 20;

impl Meter {
    /// Whether there is room in memory for these extended attributes of an entry.
    pub(crate) fn may_keep(&mut self, kind: Kind<'_>, attributes: &[Attribute]) -> bool {
        if kind != Kind::Folder {
            return true; // The tree waits while too much is on its way.
        }
        self.attributes_of_folders += attributes.iter().map(|it| it.name.len() + it.value.len()).sum::<usize>();
        self.attributes_of_folders <= MOST_OF_FOLDERS
    }

    pub(crate) fn new(limits: Limits) -> Meter {
        Meter {
            limits,
            entries: 0,
            left_out: 0,
            stripped: 0,
            bytes: 0,
            with_attributes: 0,
            rooted: 0,
            attributes_of_folders: 0,
        }
    }

    /// An entry is left out because stripping leaves no name of it.
    pub(crate) fn stripped(&mut self) {
        self.left_out += 1;
        self.stripped += 1;
    }

    /// One more entry, asked before anything of it is written.
    pub(crate) fn entry(&mut self) -> Result<(), ErrorKind> {
        if self.entries >= self.limits.entries {
            return Err(ErrorKind::Limit { limit: Limit::Entries, value: self.limits.entries, entries: self.entries });
        }
        self.entries += 1;
        Ok(())
    }

    /// So many bytes of content more, asked before any of them is written.
    pub(crate) fn content(&mut self, bytes: u64) -> Result<(), ErrorKind> {
        let sum = self.bytes.saturating_add(bytes);
        if sum > self.limits.bytes {
            return Err(ErrorKind::Limit { limit: Limit::Bytes, value: self.limits.bytes, entries: self.entries });
        }
        self.bytes = sum;
        Ok(())
    }
}

/// `unpacked` bytes came from `packed` ones: too many?
pub(crate) fn check_ratio(limits: &Limits, unpacked: u64, packed: u64) -> Result<(), ErrorKind> {
    if unpacked > Limits::RATIO_FREE && unpacked / limits.ratio.max(1) > packed {
        return Err(ErrorKind::Limit { limit: Limit::Ratio, value: limits.ratio, entries: 0 });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_reached_exactly_is_no_error_and_one_more_is() {
        let mut meter = Meter::new(Limits::default().entries(2).bytes(10));
        meter.entry().unwrap();
        meter.entry().unwrap();
        assert!(matches!(meter.entry(), Err(ErrorKind::Limit { limit: Limit::Entries, value: 2, entries: 2 })));
        meter.content(10).unwrap();
        assert!(matches!(meter.content(1), Err(ErrorKind::Limit { limit: Limit::Bytes, value: 10, .. })));
        assert!(matches!(meter.content(u64::MAX), Err(ErrorKind::Limit { .. })));
        assert_eq!(meter.bytes, 10, "what was not allowed was not counted");
    }

    #[test]
    fn the_ratio_counts_only_when_there_is_something_to_lose() {
        let limits = Limits::default().ratio(10);
        check_ratio(&limits, Limits::RATIO_FREE, 1).unwrap();
        check_ratio(&limits, 1 << 30, 1 << 27).unwrap();
        assert!(check_ratio(&limits, 1 << 30, 1 << 26).is_err());
        check_ratio(&Limits::NONE, u64::MAX, 1).unwrap();
    }
}
