//! The queue of pending closes as plain data: what to do next is decided here, under a lock that its owner holds, and
//! done elsewhere, without the lock.

use std::collections::VecDeque;
use std::path::Path;

use super::handle::Handle;
use super::settle::{InFlight, Place, Ticket};
use crate::Error;

/// A close that was handed over.
pub(super) struct Job {
    pub(super) handle: Handle,
    pub(super) path: Option<Box<Path>>,
    pub(super) generation: u64,
    /// Until a thread takes the job; then the ticket stands for it.
    place: Place,
    pub(super) ticket: Ticket,
}

/// What the caller of [`Queue::push`] has to do once the lock is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing: a thread is on its way.
    Nothing,
    /// Wake an idle thread.
    Wake,
    /// Start a thread; its place is reserved.
    Start,
}

/// Pending closes, the threads that make them, and the errors that nobody has taken yet.
///
/// Every pending close belongs to a generation. A wait ends the newest generation and then waits until it and those
/// before it are empty, whatever others hand over meanwhile.
///
/// A thread is starting, idle, woken (and not there yet) or closing. Starting and woken threads will look at the queue,
/// and closing ones will when they are done; so if no more jobs wait than threads are starting or woken, each job has
/// its thread.
pub(super) struct Queue {
    jobs: VecDeque<Job>,
    pub(super) in_flight: InFlight,
    capacity: usize,
    /// Waiting or being closed.
    pending: usize,
    /// How many are pending of each generation, oldest first; never empty.
    generations: VecDeque<usize>,
    oldest: u64,

    handed_over: u64,
    peak_pending: usize,

    max_threads: usize,
    threads: usize,
    starting: usize,
    idle: usize,
    woken: usize,
    shut_down: bool,

    errors: Vec<Error>,
}

impl Queue {
    pub(super) fn new(capacity: usize) -> Queue {
        Queue {
            jobs: VecDeque::new(),
            in_flight: InFlight::default(),
            capacity,
            pending: 0,
            generations: VecDeque::from([0]),
            oldest: 0,
            handed_over: 0,
            peak_pending: 0,
            max_threads: 0,
            threads: 0,
            starting: 0,
            idle: 0,
            woken: 0,
            shut_down: false,
            errors: Vec::new(),
        }
    }

    pub(super) fn pending(&self) -> usize {
        self.pending
    }

    /// Whether no more may be handed over now.
    pub(super) fn is_full(&self) -> bool {
        self.pending >= self.capacity
    }

    /// How many were ever pushed.
    pub(super) fn handed_over(&self) -> u64 {
        self.handed_over
    }

    /// The most that were pending at once.
    pub(super) fn peak_pending(&self) -> usize {
        self.peak_pending
    }

    /// Takes a handle that is to be closed.
    pub(super) fn push(&mut self, handle: Handle, path: Option<Box<Path>>, place: Place) -> Need {
        let generation = self.enter();
        self.handed_over += 1;
        self.peak_pending = self.peak_pending.max(self.pending);
        self.jobs.push_back(Job { handle, path, generation, place, ticket: None });
        self.need()
    }

    /// What the jobs that wait need, if anything.
    pub(super) fn need(&mut self) -> Need {
        let coming = self.starting + self.woken;
        let closing = self.threads - coming - self.idle;
        // While many close, one of them is free again sooner than a sleeper is awake: letting a few jobs wait for that
        // makes a hand-over three times cheaper (10 → 3 µs, closes of 2 ms). Not without an idle thread: those look at
        // the queue by themselves when their time is up, so that no job waits for closes that hang.
        let soon_free = if self.idle > 0 { closing / 8 } else { 0 };
        if self.jobs.len() <= coming + soon_free {
            Need::Nothing
        } else if self.idle > 0 {
            self.idle -= 1;
            self.woken += 1;
            Need::Wake
        } else if self.threads < self.max_threads {
            self.threads += 1;
            self.starting += 1;
            Need::Start
        } else {
            Need::Nothing
        }
    }

    /// The next job of a thread that is free.
    pub(super) fn pop(&mut self) -> Option<Job> {
        self.take(0)
    }

    #[cfg_attr(not(feature = "fs"), allow(dead_code, reason = "for settling, which only `fs` does"))]
    /// The first job up to this generation that `wanted` says yes to.
    pub(super) fn pop_where(&mut self, generation: u64, wanted: impl Fn(&Place) -> bool) -> Option<Job> {
        let until = self.jobs.partition_point(|job| job.generation <= generation);
        let index = self.jobs.range(..until).position(|job| wanted(&job.place))?;
        self.take(index)
    }

    fn take(&mut self, index: usize) -> Option<Job> {
        let mut job = self.jobs.remove(index)?;
        job.ticket = self.in_flight.enter(std::mem::replace(&mut job.place, Place::Nowhere));
        Some(job)
    }

    /// The next job of this generation or one before it: those wait in order.
    pub(super) fn pop_up_to(&mut self, generation: u64) -> Option<Job> {
        (self.jobs.front()?.generation <= generation).then(|| self.pop())?
    }

    /// Whether no job waits for a thread.
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    // Generations.

    /// One more close is pending, or again. Returns its generation, for [`leave`](Queue::leave).
    pub(super) fn enter(&mut self) -> u64 {
        self.pending += 1;
        let newest = self.generations.len() - 1;
        self.generations[newest] += 1;
        self.oldest + newest as u64
    }

    /// A close of this generation is done. `true` if a generation is finished that somebody may wait for.
    #[must_use]
    pub(super) fn leave(&mut self, generation: u64) -> bool {
        self.pending -= 1;
        self.generations[(generation - self.oldest) as usize] -= 1;
        let before = self.oldest;
        self.forget_finished();
        self.oldest != before
    }

    /// Ends the newest generation and returns it; it is [finished](Queue::is_finished) when all closes pending now are
    /// done.
    pub(super) fn end_generation(&mut self) -> u64 {
        let newest = self.oldest + self.generations.len() as u64 - 1;
        self.generations.push_back(0);
        self.forget_finished();
        newest
    }

    fn forget_finished(&mut self) {
        while self.generations.len() > 1 && self.generations[0] == 0 {
            self.generations.pop_front();
            self.oldest += 1;
        }
    }

    pub(super) fn is_finished(&self, generation: u64) -> bool {
        generation < self.oldest
    }

    // Threads.

    /// From now on there may be so many.
    pub(super) fn allow_threads(&mut self, max: usize) {
        self.max_threads = max;
    }

    pub(super) fn started(&mut self) {
        self.starting -= 1;
    }

    /// A thread could not be started.
    ///
    /// Others may have counted on it. If there is an idle thread, it must be woken; if there is no thread at all, the
    /// caller has to close what waits.
    pub(super) fn not_started(&mut self) -> Need {
        self.starting -= 1;
        self.threads -= 1;
        if self.idle > 0 { self.need() } else { Need::Nothing }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    pub(super) fn goes_idle(&mut self) {
        self.idle += 1;
    }

    /// An idle thread is back, for whatever reason. If a wake-up is on its way to any of them, this one takes it, so
    /// that the counts stay right when a timeout and a wake-up cross.
    pub(super) fn is_back(&mut self) {
        if self.woken > 0 {
            self.woken -= 1;
        } else {
            self.idle -= 1;
        }
    }

    pub(super) fn ended(&mut self) {
        self.threads -= 1;
    }

    /// From now on threads leave rather than go idle.
    pub(super) fn shut_down(&mut self) {
        self.shut_down = true;
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.shut_down
    }

    // Errors.

    pub(super) fn keep(&mut self, error: Error) {
        self.errors.push(error);
    }

    pub(super) fn take_errors(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.errors)
    }
}
