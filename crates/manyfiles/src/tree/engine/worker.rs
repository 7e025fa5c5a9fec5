//! A thread that writes: takes entries of one folder, writes them, says so, and takes the next.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::counts::TELLING_SIZE;
use super::folders::Folder;
use super::job::Job;
use super::lane::Lane;
use super::lesson::{Ended, Lesson};
use super::lock::lock;
use super::look_away::look_away;
use super::own_thread::belongs_to_a_tree;
use super::pipeline::Writer;
use super::queue::{Batch, Done};
use super::shared::Shared;
use super::step::{OpenOnce, SPLIT_EVERY, write_job};
use super::stopwatch::Stopwatch;
use crate::sys::{self, Sleeps};
use crate::tree::pace::SLOW;

/// A thread without work looks again this often by itself, so that a caller that hands over one file now and then need
/// not wake it; after this many times it sleeps until it is told.
const LINGER: Duration = Duration::from_millis(1);
const LINGERINGS: u32 = 40;

/// At first it looks as often as this without sleeping: what comes next mostly comes at once, and a processor that has
/// gone to sleep takes 50–100 µs to wake up in a virtual machine.
const LOOKS: u32 = 20;

/// `leave` is the processor of the thread that started this one, if that goes on at once.
pub(super) fn run(shared: Arc<Shared>, leave: Option<usize>) {
    belongs_to_a_tree();
    leave.into_iter().for_each(sys::leave_processor);
    let mut lane = Lane::new(shared.clone());
    let mut writer = None;
    let mut ended = None;
    while let Some(batch) = next_batch(&shared, ended.take()) {
        ended = Some(if batch.hot {
            let writer = writer.get_or_insert_with(|| Writer::start(&mut lane));
            writer.write_folder(&mut lane, batch)
        } else {
            writer = None;
            write_batch(&mut lane, batch)
        });
    }
}

/// `None` when this thread is to end.
fn next_batch(shared: &Arc<Shared>, ended: Option<Ended>) -> Option<Batch> {
    let mut lingered = 0;
    let mut state = lock(&shared.state);
    // Under one lock with what follows: no other thread can take the folder that this one goes on with.
    match ended {
        Some(ended) => {
            shared.end_batch(&mut state, ended);
            state.threads.busy -= 1;
        }
        None => state.threads.beginning -= 1,
    }
    loop {
        shared.drop_if_cancelled(&mut state);
        let others = state.threads.busy;
        if others < state.queue.target
            && let Some(batch) = state.queue.take(others)
        {
            state.threads.busy += 1;
            state.threads.peak = state.threads.peak.max(state.threads.busy);
            shared.tell_a_thread(&mut state);
            return Some(batch);
        }
        // More threads than are wanted wait a while before they go: they may be wanted again.
        let surplus = state.threads.count > state.queue.target && lingered == LINGERINGS;
        if surplus || (state.threads.closing && state.queue.unfinished == 0) {
            state.threads.count -= 1;
            shared.room.notify_all();
            return None;
        }
        // All queued entries may wait for a stream that a blocked caller must close. So the caller is let in.
        if state.waiting_callers > 0 && state.queue.waits_for_streams() {
            shared.room.notify_all();
        }
        state.threads.idle += 1;
        if lingered < LINGERINGS {
            lingered += 1;
            state.threads.lingering += 1;
            if lingered <= LOOKS && !state.queue.is_wide() {
                drop(state);
                look_away();
                state = lock(&shared.state);
            } else {
                state = shared.work.wait_timeout(state, LINGER).unwrap_or_else(PoisonError::into_inner).0;
            }
            state.threads.lingering -= 1;
        } else {
            state = shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.threads.idle -= 1;
        // One notification, one decrement: it does not matter which thread woke.
        state.threads.told = state.threads.told.saturating_sub(1);
    }
}

/// Writes the entries of a batch, or the first of them if they turn out slow: the rest goes back, for other threads to
/// take.
pub(super) fn write_batch(lane: &mut Lane, batch: Batch) -> Ended {
    let Batch { folder, mut jobs, .. } = batch;
    let mut done = Done::default();
    let mut lesson = Lesson::default();
    write_jobs(lane, &folder, &mut jobs, &mut done, &mut lesson);
    lane.flush_counts();
    Ended { folder: folder.id, rest: jobs, done, lesson }
}

fn write_jobs(lane: &mut Lane, folder: &Arc<Folder>, jobs: &mut VecDeque<Job>, done: &mut Done, lesson: &mut Lesson) {
    let at = OpenOnce::new();
    let mut sleeps = Sleeps::default();
    sleeps.since_last();
    let mut watch = Stopwatch::start();
    while let Some(job) = jobs.pop_front() {
        watch.split_this(done.jobs.is_multiple_of(SPLIT_EVERY) || job.is_large());
        done.count(&job);
        let bytes = lane.counts.bytes;
        write_job(lane, folder, &at, job, &mut watch);
        let time = watch.next_file(&mut lane.counts);
        let small = lane.counts.bytes - bytes <= TELLING_SIZE;
        let slept = time >= SLOW && sleeps.since_last();
        let asked = std::mem::take(&mut lane.asked);
        if !asked {
            lesson.note(time, small, slept);
        }
        if slept && small && jobs.len() > 1 && !asked {
            return;
        }
    }
}
