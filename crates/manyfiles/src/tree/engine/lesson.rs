//! What the entries of a batch teach about the file system.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::control::State;
use super::folders::FolderId;
use super::job::Job;
use super::lock::lock;
use super::pace::SLOW;
use super::queue::Done;
use super::shared::Shared;

/// A thread leaves a folder: what came of its batch, and what it gives back.
pub(super) struct Ended {
    pub(super) folder: FolderId,
    pub(super) rest: VecDeque<Job>,
    pub(super) done: Done,
    pub(super) lesson: Lesson,
}

/// What a batch taught about the file system.
#[derive(Default)]
pub(super) struct Lesson {
    files: u32,
    time: Duration,
    /// The shortest wait of a small file, and how many there were.
    least_wait: Option<Duration>,
    small: u32,
}

impl Lesson {
    pub(super) fn note(&mut self, time: Duration, small: bool, slept: bool) {
        self.files += 1;
        self.time += time;
        if small {
            let wait = if slept { time } else { Duration::ZERO };
            self.least_wait = Some(self.least_wait.map_or(wait, |least| least.min(wait)));
            self.small += 1;
        }
    }

    /// Adds it to what all threads know.
    pub(super) fn learn(&self, shared: &Shared, state: &mut State) {
        if self.files == 0 {
            return;
        }
        let per_file = self.time / self.files;
        // Fast files count once a batch, slow ones each: it shall be noticed soon.
        let slow = self.least_wait.is_some_and(|wait| wait >= SLOW);
        let before = state.queue.target;
        for _ in 0..if slow { self.small } else { 1 } {
            state.queue.learn(per_file, self.least_wait);
        }
        if state.queue.target < before {
            shared.work.notify_all(); // Those that sleep and are not wanted any more go.
        }
        shared.slow.store(state.queue.is_wide(), Relaxed);
    }

    /// The same for the opening half of a file, which knows of slowness only: a close may be slow that it does not see.
    pub(super) fn learn_if_slow(&self, shared: &Shared) -> bool {
        let slow = self.least_wait.is_some_and(|wait| wait >= SLOW);
        if slow {
            self.learn(shared, &mut lock(&shared.state));
        }
        slow
    }
}
