//! Which threads there are, and which more the waiting jobs need.

use super::{Queue, Volume};

/// Where a thread comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::close) enum Source {
    /// The closer's own.
    Own,
    Executor,
}

/// What the caller of [`Queue::push`] has to do once the lock is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::close) enum Need {
    /// Nothing: a thread is on its way.
    Nothing,
    /// Wake an idle thread.
    Wake,
    /// Start a thread; its place is reserved.
    Start(Source),
}

impl Queue {
    /// From now on the executor takes up to `max` workers.
    pub(in crate::close) fn allow_workers(&mut self, max: usize) {
        self.max_workers = max.min(self.max_threads);
    }

    /// What the waiting jobs need of threads. The count of threads is changed as if the caller had done it.
    pub(in crate::close) fn need(&mut self) -> Need {
        let coming = self.starting + self.woken;
        let wanted: usize = self.volumes.iter().map(|volume| self.wanted(volume)).sum();
        if wanted <= coming {
            Need::Nothing
        } else if self.idle > 0 {
            self.idle -= 1;
            self.woken += 1;
            Need::Wake
        } else if self.workers < self.max_workers && self.given.late() == 0 {
            self.start(Source::Executor)
        } else if self.max_workers == 0 || self.given.late() > 0 || (coming == 0 && self.is_one_stuck()) {
            self.start(Source::Own)
        } else {
            Need::Nothing
        }
    }

    /// How many more threads a volume's jobs could do with.
    fn wanted(&self, volume: &Volume) -> usize {
        // While many close, one of them is free again sooner than a sleeper is awake: letting a few jobs wait for that
        // makes a hand-over three times cheaper (10 → 3 µs, closes of 2 ms). Not without an idle thread: an idle thread
        // looks at the queue by itself when its time is up, and asks again what is needed when it takes a job. So no
        // job waits for closes that hang.
        let soon_free = if self.idle > 0 { volume.closing / 8 } else { 0 };
        volume.ready.min(self.max_threads.saturating_sub(volume.closing)).saturating_sub(soon_free)
    }

    /// Whether a volume has waiting jobs and no thread. Then all of the executor's threads are busy with closes of
    /// other volumes, which may hang.
    fn is_one_stuck(&self) -> bool {
        self.volumes.iter().any(|volume| volume.closing == 0 && volume.ready > 0)
    }

    fn start(&mut self, source: Source) -> Need {
        self.threads += 1;
        self.starting += 1;
        if source == Source::Executor {
            self.workers += 1;
            self.given.one_more();
        }
        Need::Start(source)
    }

    /// A place for a thread of the closer's own, if there is none, whatever the executor does.
    pub(in crate::close) fn start_own(&mut self) -> bool {
        let has_none = self.threads == self.workers;
        if has_none {
            self.start(Source::Own);
        }
        has_none
    }

    pub(in crate::close) fn started(&mut self, source: Source) {
        match source {
            Source::Own => self.starting -= 1,
            Source::Executor => {
                if !self.given.one_less() {
                    self.starting -= 1;
                }
            }
        }
    }

    /// Workers that the executor has not begun since the last look are late from now on. `true` if there are late ones.
    pub(in crate::close) fn look_for_late_workers(&mut self) -> bool {
        self.starting -= self.given.look();
        self.given.late() > 0
    }

    /// A thread could not be started.
    ///
    /// Jobs may have counted on that thread. If there is an idle thread, it must be woken. If there is no thread at
    /// all, the caller has to close what waits.
    pub(in crate::close) fn not_started(&mut self, source: Source) -> Need {
        self.started(source);
        self.ended(source);
        if self.idle > 0 { self.need() } else { Need::Nothing }
    }

    /// A worker that the executor dropped becomes a thread of the closer's own.
    pub(in crate::close) fn replace_worker(&mut self) {
        self.workers -= 1;
        if self.given.one_less() {
            self.starting += 1;
        }
    }

    pub(in crate::close) fn threads(&self) -> usize {
        self.threads
    }

    pub(in crate::close) fn goes_idle(&mut self) {
        self.idle += 1;
    }

    /// An idle thread is back, for whatever reason. If a wake-up is on its way to any idle thread, this thread takes
    /// it, so that the counts stay right when a timeout and a wake-up cross.
    pub(in crate::close) fn comes_back(&mut self) {
        if self.woken > 0 {
            self.woken -= 1;
        } else {
            self.idle -= 1;
        }
    }

    pub(in crate::close) fn ended(&mut self, source: Source) {
        self.threads -= 1;
        self.workers -= usize::from(source == Source::Executor);
    }

    /// From now on threads leave rather than go idle.
    pub(in crate::close) fn shut_down(&mut self) {
        self.shut_down = true;
    }

    pub(in crate::close) fn is_shut_down(&self) -> bool {
        self.shut_down
    }

    /// Whether no job waits for a thread.
    pub(in crate::close) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
