//! Removing the oldest files.

use std::io;

use crate::appender::options::Keep;
use crate::appender::storage::Measure;
use crate::appender::upkeep::Upkeep;
use crate::{Error, Operation, Result};

/// A file, and what is known of it.
struct Old {
    number: u64,
    measure: Measure,
}

impl Keep {
    fn is_everything(&self) -> bool {
        self.files.is_none() && self.bytes.is_none() && self.age.is_none()
    }

    /// How many of these files, from the first on, are not kept. The last one always is.
    fn needless(&self, files: &[Old]) -> usize {
        let mut bytes: u64 = files.iter().map(|file| file.measure.bytes).sum();
        let mut needless = 0;
        while needless + 1 < files.len() {
            let Measure { bytes: own, unchanged } = files[needless].measure;
            let are_too_many = self.files.is_some_and(|most| (files.len() - needless) as u64 > most);
            let are_too_large = self.bytes.is_some_and(|most| bytes > most);
            let is_too_old = self.age.is_some_and(|most| unchanged >= most);
            if !are_too_many && !are_too_large && !is_too_old {
                break;
            }
            needless += 1;
            bytes -= own;
        }
        needless
    }
}

impl Upkeep {
    /// Removes files that are not to be kept, the oldest first.
    pub(in crate::appender) fn remove_old(&self, newest: u64) {
        if self.keep.is_everything() {
            return;
        }
        if let Err(error) = self.try_remove_old(newest) {
            self.tell(error);
        }
    }

    fn try_remove_old(&self, newest: u64) -> Result<()> {
        let mut first_left = self.lock_names();
        let mut files = Vec::new();
        for number in self.series.numbers(&*self.storage)?.into_iter().filter(|&number| number <= newest) {
            if let Some(measure) = self.measure(number)? {
                files.push(Old { number, measure });
            }
        }
        for old in &files[..self.keep.needless(&files)] {
            self.series.remove(&*self.storage, old.number)?;
            *first_left = old.number + 1;
        }
        Ok(())
    }

    /// `None` if another program has removed it.
    fn measure(&self, number: u64) -> Result<Option<Measure>> {
        let mut all: Option<Measure> = None;
        for path in [self.series.path(number), self.series.packed_path(number)] {
            match self.storage.measure(&path) {
                Ok(one) => {
                    let before = all.map_or(0, |all| all.bytes);
                    all = Some(Measure { bytes: before + one.bytes, ..all.unwrap_or(one) });
                }
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                Err(cause) => return Err(Error::new(Operation::Metadata, path, cause)),
            }
        }
        Ok(all)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Duration;

    use super::*;

    fn needless(keep: Keep, files: &[(u64, u64)]) -> usize {
        let old = |(number, &(bytes, seconds)): (usize, &(u64, u64))| Old {
            number: number as u64,
            measure: Measure { bytes, unchanged: Duration::from_secs(seconds) },
        };
        keep.needless(&files.iter().enumerate().map(old).collect::<Vec<_>>())
    }

    #[test]
    fn the_oldest_go_until_each_limit_holds_and_the_last_one_never() {
        const FILES: [(u64, u64); 4] = [(10, 90), (20, 60), (30, 30), (5, 0)];
        let keep = |files, bytes, age: Option<u64>| Keep { files, bytes, age: age.map(Duration::from_secs) };
        for (limits, count) in [
            (keep(None, None, None), 0),
            (keep(Some(4), None, None), 0),
            (keep(Some(3), None, None), 1),
            (keep(Some(0), None, None), 3),
            (keep(None, Some(65), None), 0),
            (keep(None, Some(64), None), 1),
            (keep(None, Some(35), None), 2),
            (keep(None, Some(0), None), 3),
            (keep(None, None, Some(61)), 1),
            (keep(None, None, Some(60)), 2),
            (keep(None, None, Some(0)), 3),
            (keep(Some(3), Some(40), Some(61)), 2),
        ] {
            assert_eq!(needless(limits, &FILES), count, "{limits:?}");
        }
        assert_eq!(needless(keep(Some(0), Some(0), Some(0)), &[]), 0);
    }

    #[test]
    fn a_newer_file_is_never_removed_before_an_older_one() {
        let keep = Keep { age: Some(Duration::from_secs(50)), ..Keep::default() };
        // A program has touched the first.
        assert_eq!(needless(keep, &[(1, 0), (1, 90), (1, 80), (1, 0)]), 0);
    }
}
