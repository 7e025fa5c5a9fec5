//! Runs of small writes, each where the one before ended.

use crate::open_file::{OpenFile, Run};
use crate::report::{BUFFER, SmallWrites};

/// A write of less than this gains from a buffer of 256 KiB: at 64 KiB four in five system calls' fixed costs are gone
/// already.
const SMALL: u64 = 64 << 10;

#[derive(Default)]
pub(super) struct Runs(SmallWrites);

impl Runs {
    pub(super) fn wrote(&mut self, file: &OpenFile, bytes: u64, at: Option<u64>, time: u64) {
        file.written.set(file.written.get().saturating_add(bytes));
        // The first write to an empty file makes it grow.
        file.grew.set(file.grew.get() || (bytes > 0 && (file.appends || file.was_empty)));
        let follows = at.is_none_or(|at| at == file.position.get());
        file.position.set(at.unwrap_or(file.position.get()).saturating_add(bytes));
        // A buffer would take away what a durable write is for.
        let small = file.regular && !file.durable && bytes > 0 && bytes < SMALL;
        if !small || !follows {
            self.end(file);
        }
        if small {
            let run = file.run.get();
            file.run.set(Run {
                calls: run.calls + 1,
                bytes: run.bytes.saturating_add(bytes),
                time: run.time.saturating_add(time),
            });
        }
    }

    /// What is written next would not have gone into the same buffer.
    pub(super) fn end(&mut self, file: &OpenFile) {
        let run = file.run.take();
        if run.calls > 1 {
            self.0.runs += 1;
            self.0.calls += run.calls;
            self.0.bytes = self.0.bytes.saturating_add(run.bytes);
            self.0.nanos = self.0.nanos.saturating_add(run.time);
            self.0.calls_with_buffer += run.bytes.div_ceil(BUFFER);
        }
    }

    pub(super) fn finish(self) -> SmallWrites {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(writes: &[(u64, Option<u64>)]) -> SmallWrites {
        let (mut runs, file) = (Runs::default(), OpenFile::new(Some(b"/tmp/a"), 1));
        writes.iter().for_each(|&(bytes, at)| runs.wrote(&file, bytes, at, 10));
        runs.end(&file);
        runs.finish()
    }

    #[test]
    fn writes_that_follow_each_other_would_share_a_buffer() {
        let sum = found(&[(100, None); 10]);
        assert_eq!((sum.runs, sum.calls, sum.bytes, sum.nanos, sum.calls_with_buffer), (1, 10, 1000, 100, 1));
        let sum = found(&[(60_000, None); 10]);
        assert_eq!((sum.calls, sum.calls_with_buffer), (10, 3));
        let sum = found(&[(10, Some(0)), (10, Some(10)), (10, Some(20))]);
        assert_eq!((sum.calls, sum.calls_with_buffer), (3, 1));
    }

    #[test]
    fn large_scattered_and_single_writes_would_not() {
        assert_eq!(found(&[(1 << 20, None); 10]).calls, 0);
        assert_eq!(found(&[(10, Some(500)), (10, Some(0)), (10, Some(900))]).calls, 0);
        assert_eq!(found(&[(10, None)]).calls, 0);
        assert_eq!(found(&[(10, None), (1 << 20, None), (10, None)]).calls, 0);
    }
}
