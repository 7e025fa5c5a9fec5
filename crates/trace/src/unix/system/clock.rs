//! [`Clock`]: when.

use std::cell::Cell;

use super::super::record::Stamp;
use crate::number::SECOND;

/// Turns the stamps of lines into nanoseconds since the first.
#[derive(Default)]
pub(super) struct Clock {
    first: Cell<Option<u64>>,
    last: Cell<u64>,
    days: Cell<u64>,
}

impl Clock {
    pub(super) fn read(&self, stamp: Stamp) -> Option<u64> {
        const DAY: u64 = 86_400 * SECOND;
        let now = match stamp {
            Stamp::None => return None,
            Stamp::Since(nanos) => nanos,
            Stamp::SinceLast(nanos) => self.last.get().saturating_add(nanos),
            Stamp::TimeOfDay(nanos) => {
                let now = self.days.get() + nanos;
                // Lines of several threads may be a little out of order; half a day is midnight.
                if now + DAY / 2 < self.last.get() {
                    self.days.set(self.days.get() + DAY);
                }
                self.days.get() + nanos
            }
        };
        self.last.set(now);
        let first = match (self.first.get(), stamp) {
            (Some(first), _) => first,
            // Before the first line there is no line to count from.
            (None, Stamp::SinceLast(_)) => 0,
            (None, _) => now,
        };
        self.first.set(Some(first));
        Some(now.saturating_sub(first))
    }
}
