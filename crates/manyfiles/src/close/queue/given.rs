//! The workers that an executor was given and has not begun.

/// Counts of these workers. An executor begins them in the order in which it got them.
#[derive(Default)]
pub(super) struct Given {
    /// Not begun yet. They count as starting.
    queued: usize,
    /// How many of the queued ones were there at the last look. 0 if a worker has begun since then: the executor is
    /// slow, and does not hang.
    seen: usize,
    /// Not begun for so long that no job relies on them any more.
    late: usize,
}

impl Given {
    pub(super) fn one_more(&mut self) {
        self.queued += 1;
    }

    /// The executor has begun or dropped its first worker. `true` if that worker was late.
    pub(super) fn one_less(&mut self) -> bool {
        if self.late > 0 {
            self.late -= 1;
            return true;
        }
        self.queued -= 1;
        self.seen = 0;
        false
    }

    /// Workers that were queued at the last look are late from now on, if none has begun since then. Returns how many.
    pub(super) fn look(&mut self) -> usize {
        let newly_late = self.seen;
        self.queued -= newly_late;
        self.late += newly_late;
        self.seen = self.queued;
        newly_late
    }

    pub(super) fn late(&self) -> usize {
        self.late
    }
}
