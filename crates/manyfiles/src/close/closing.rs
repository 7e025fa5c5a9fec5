//! What this thread is closing just now: so that a job whose drop waits for its own pool does not wait for itself.

use std::cell::RefCell;

use super::settle::Ticket;
use super::sync::thread_local;

/// A job that this thread is closing. There can be several, one inside the other: a drop may wait, and a wait helps.
struct Closing {
    /// The address of its pool, which tells it from others for as long as it lives.
    pool: usize,
    /// `None` while a wait inside of it runs: it counts as closed meanwhile.
    generation: Option<u64>,
    ticket: Ticket,
}

thread_local! {
    // Not `const { … }`: loom's macro does not know it.
    static CLOSING: RefCell<Vec<Closing>> = RefCell::default();
}

/// A job's close begins.
pub(super) fn begin(pool: usize, generation: u64, ticket: Ticket) {
    with(|closing| closing.push(Closing { pool, generation: Some(generation), ticket }));
}

/// The close that began last is done. Returns its generation, which waits inside of it may have changed.
pub(super) fn end() -> Option<u64> {
    with(|closing| closing.pop()).flatten()?.generation
}

/// A wait begins: `leave` is called with the generation and the ticket of each job of this pool that it is inside of.
/// Returns which they are, for [`rejoin`].
pub(super) fn leave(pool: usize, mut leave: impl FnMut(u64, Ticket)) -> Vec<usize> {
    with(|closing| {
        let own = closing.iter_mut().enumerate().filter(|(_, job)| job.pool == pool);
        own.filter_map(|(index, job)| {
            leave(job.generation.take()?, job.ticket);
            Some(index)
        })
        .collect()
    })
    .unwrap_or_default()
}

/// The wait ends: the jobs that left are pending again, in new generations.
pub(super) fn rejoin(left: Vec<usize>, mut enter: impl FnMut(Ticket) -> u64) {
    with(|closing| left.into_iter().for_each(|index| closing[index].generation = Some(enter(closing[index].ticket))));
}

/// `None` when the thread is ending and its locals are gone; then it closes no job of a queue.
fn with<R>(f: impl FnOnce(&mut Vec<Closing>) -> R) -> Option<R> {
    CLOSING.try_with(|closing| f(&mut closing.borrow_mut())).ok()
}
