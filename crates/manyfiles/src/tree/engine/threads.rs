//! The engine's threads: how many there are and what each is at, when one more is started or woken, and how all end.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::control::State;
use super::folders::FolderId;
use super::lane::Lane;
use super::lesson::Ended;
use super::lock::lock;
use super::queue::Done;
use super::shared::Shared;
use super::thread_counts::Threads;
use super::worker;
use crate::sys;

impl Shared {
    /// Waits once, for room or for the end of all work; every thread that could help is told first.
    pub(super) fn wait_in_room<'a>(self: &'a Arc<Shared>, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        while self.tell_a_thread(&mut state) {}
        // No thread could be started: then the caller is one.
        if state.threads.count == 0
            && let Some(batch) = state.queue.take(0)
        {
            drop(state);
            let ended = worker::write_batch(&mut Lane::new(self.clone()), batch);
            let mut state = lock(&self.state);
            self.end_batch(&mut state, ended);
            return state;
        }
        self.room.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes or starts one thread, if there is work for one more.
    pub(super) fn tell_a_thread(self: &Arc<Shared>, state: &mut State) -> bool {
        let State { queue, threads, .. } = state;
        let looking = threads.told + threads.beginning;
        if looking >= queue.free_folders() {
            return false; // Each free folder will have a thread without this call.
        }
        // One that looks by itself within a millisecond counts as busy until there is more than enough for it.
        let busy = threads.busy + looking;
        let soon = usize::from(threads.lingering > threads.told);
        let urgent = state.waiting_callers > 0 || threads.closing;
        if !queue.wants_thread(if urgent { busy } else { busy + soon }, urgent) {
            return false;
        }
        if threads.idle > threads.told {
            threads.told += 1;
            self.work.notify_one();
            return true;
        }
        threads.count < queue.target && self.start_thread(threads)
    }

    /// False if the system has no thread for us; those there are do the work then, or the caller does.
    fn start_thread(self: &Arc<Shared>, threads: &mut Threads) -> bool {
        const STACK: usize = 256 << 10;
        // Ended ones are joined so that their handles don't pile up; it doesn't block.
        let (ended, running) = std::mem::take(&mut threads.handles).into_iter().partition(JoinHandle::is_finished);
        threads.handles = running;
        for handle in ended {
            let handle: JoinHandle<()> = handle;
            drop(handle.join()); // A panic was reported where it was caught.
        }
        let shared = self.clone();
        // The caller goes on handing over; the others come when it waits.
        let leave = (threads.count == 0).then(sys::processor);
        let builder = std::thread::Builder::new().name("manyfiles".into()).stack_size(STACK);
        match sys::spawn_quiet(builder, move || worker::run(shared, leave)) {
            Ok(handle) => {
                if leave.is_some() {
                    std::thread::yield_now(); // See `leave_processor`.
                }
                threads.handles.push(handle);
                threads.count += 1;
                threads.beginning += 1;
                true
            }
            Err(_) => false,
        }
    }

    /// Notes what came of a batch.
    pub(super) fn end_batch(&self, state: &mut State, ended: Ended) {
        ended.lesson.learn(self, state);
        state.queue.put_back(ended.folder, ended.rest);
        self.done(state, ended.folder, &ended.done);
        state.queue.leave(ended.folder);
    }

    /// Notes that jobs of this folder are done, and wakes the callers that wait for that.
    fn done(&self, state: &mut State, folder: FolderId, done: &Done) {
        self.totals.done.fetch_add(done.entries as u64, Relaxed);
        state.queue.done(folder, done);
        self.tell_that_all_is_done(state);
        let queue = &state.queue;
        let room = queue.has_plenty_of_room(self.options.bytes_in_flight) || queue.waits_for_streams();
        // Some wait for a folder.
        let reached = !done.reached.is_empty() && state.waiting_callers > 0;
        if reached || (state.waiting_for_room > 0 && room) || (state.waiting_callers > 0 && state.queue.unfinished == 0)
        {
            self.room.notify_all();
        }
    }

    /// As [`done`](Shared::done), for a thread that does not look for work itself afterwards. Entries that waited for
    /// the names of these jobs may go on now, and all threads that could write them may sleep.
    pub(super) fn done_aside(self: &Arc<Shared>, state: &mut State, folder: FolderId, done: &Done) {
        self.done(state, folder, done);
        if state.threads.busy == 0 {
            self.tell_a_thread(state);
        }
    }

    /// Waits until everything that was handed over is done with.
    pub(super) fn wait_until_written(self: &Arc<Shared>) {
        let mut state = lock(&self.state);
        state.waiting_callers += 1;
        while state.queue.unfinished > 0 {
            self.drop_if_cancelled(&mut state);
            if state.queue.unfinished > 0 {
                state = self.wait_in_room(state);
            }
        }
        state.waiting_callers -= 1;
    }

    /// Waits until everything is written and joins every thread: they have closed all they had open, and this process
    /// has no more threads than before.
    pub(super) fn end_threads(self: &Arc<Shared>) {
        let mut state = lock(&self.state);
        state.threads.closing = true;
        self.drop_if_cancelled(&mut state);
        while self.tell_a_thread(&mut state) {}
        while state.threads.count == 0 && state.queue.unfinished > 0 {
            state = self.wait_in_room(state); // No thread could be started: the caller does the work.
        }
        self.work.notify_all();
        // Threads that end may have started others.
        while !state.threads.handles.is_empty() {
            let handles = std::mem::take(&mut state.threads.handles);
            drop(state);
            for handle in handles {
                drop(handle.join()); // A panic was reported where it was caught.
            }
            state = lock(&self.state);
        }
    }
}
