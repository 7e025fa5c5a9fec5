//! What the entries of a batch teach about the file system.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::control::State;
use super::folders::FolderId;
use super::job::Job;
use super::lock::lock;
use super::queue::Done;
use super::shared::Shared;
use crate::tree::pace::SLOW;

/// Handles that a thread has open at a time: its folder, a file, what that is a copy of, and a folder on the way to one.
const HANDLES: usize = 4;

/// A thread leaves a folder: the entries of its batch that are done, and those that it gives back.
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
    /// The shortest wait of a small file, and the number of small files.
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

    /// Adds the lesson to what all threads know.
    pub(super) fn learn(&self, shared: &Shared, state: &mut State) {
        if self.files == 0 {
            return;
        }
        let per_file = self.time / self.files;
        // A batch of fast files counts once, and each slow file counts by itself: slowness has to be noticed soon.
        let slow = self.least_wait.is_some_and(|wait| wait >= SLOW);
        let before = state.queue.target;
        if slow && !state.queue.is_wide() {
            state.queue.most = before.saturating_add(shared.free_handles() / HANDLES);
        }
        for _ in 0..if slow { self.small } else { 1 } {
            state.queue.learn(per_file, self.least_wait);
        }
        if state.queue.target < before {
            shared.work.notify_all(); // Sleeping threads that are not wanted any more end.
        }
        shared.slow.store(state.queue.is_wide(), Relaxed);
    }

    /// As [`learn`](Lesson::learn), for the thread that opens files only. That thread can tell slowness and not speed:
    /// the closes, which it does not see, may be slow.
    pub(super) fn learn_if_slow(&self, shared: &Shared) -> bool {
        let slow = self.least_wait.is_some_and(|wait| wait >= SLOW);
        if slow {
            self.learn(shared, &mut lock(&shared.state));
        }
        slow
    }
}
