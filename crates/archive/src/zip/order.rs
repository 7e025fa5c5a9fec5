//! [`Order`]: entries are decoded by several threads and handed over one after the other, in the archive's order.
//!
//! The thread that decoded the next entry hands it over, and then all following entries that are ready. A thread that
//! is ahead leaves what it has decoded here and goes on; it waits only when too much lies here. Content that is too
//! long to lie here is written as it is decoded: at once where no other entry is about its path, else in its [`Turn`].

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The most bytes that lie here, decoded and not yet handed over.
const MOST_BYTES: usize = 8 << 20;
/// The most entries: small ones take memory, too.
const MOST_ENTRIES: usize = 1024;

/// `T` is the decoded content of an entry. Entries are known by their place in the order, from 0 on.
pub(super) struct Order<'a, T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    hand_over: &'a (dyn Fn(usize, T) + Sync),
}

struct State<T> {
    /// The place of the entry that is handed over next.
    next: usize,
    /// The decoded content and its memory; `None` for entries that wait for no turn.
    ready: BTreeMap<usize, (Option<T>, usize)>,
    bytes: usize,
    /// Whether a thread is handing over, or has the turn.
    busy: bool,
    waiting: usize,
    stopped: bool,
}

impl<'a, T> Order<'a, T> {
    pub(super) fn new(hand_over: &'a (dyn Fn(usize, T) + Sync)) -> Order<'a, T> {
        let ready = BTreeMap::new();
        let state = State { next: 0, ready, bytes: 0, busy: false, waiting: 0, stopped: false };
        Order { state: Mutex::new(state), changed: Condvar::new(), hand_over }
    }

    /// The entry at `place` is decoded, and keeps `bytes` of memory. It is handed over by this thread or by another
    /// one. `false`: it was stopped.
    pub(super) fn ready(&self, place: usize, decoded: T, bytes: usize) -> bool {
        let mut state = self.lock();
        while !state.stopped && state.next != place && state.is_full() {
            // A thread that gave up its turn may have left ready entries. This thread hands them over.
            state = if state.can_hand_over() { self.hand_over(state) } else { self.wait(state) };
        }
        if !state.stopped {
            state.bytes += bytes;
            state.ready.insert(place, (Some(decoded), bytes));
            state = self.hand_over(state);
        }
        !state.stopped
    }

    /// No other entry is about the path of the entry at `place`: it is written at once, and no turn waits for it.
    /// `false`: it was stopped.
    pub(super) fn leave_out(&self, place: usize) -> bool {
        let mut state = self.lock();
        state.ready.insert(place, (None, 0));
        // This thread has a file to write: the next thread that comes hands over ready entries.
        self.changed.notify_all();
        !state.stopped
    }

    /// Waits for the turn of the entry at `place`, and keeps it until it is dropped. `None`: it was stopped.
    pub(super) fn turn(&self, place: usize) -> Option<Turn<'_, 'a, T>> {
        let mut state = self.lock();
        while !state.stopped && (state.next != place || state.busy) {
            state = if state.can_hand_over() { self.hand_over(state) } else { self.wait(state) };
        }
        if state.stopped {
            return None;
        }
        state.busy = true;
        Some(Turn { order: self })
    }

    /// Hands over ready entries: a thread that had a file to write may have left some. `false`: it was stopped.
    pub(super) fn go_on(&self) -> bool {
        !self.hand_over(self.lock()).stopped
    }

    /// Nothing more is handed over, and no thread waits any more.
    pub(super) fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    fn hand_over<'s>(&'s self, mut state: MutexGuard<'s, State<T>>) -> MutexGuard<'s, State<T>> {
        while state.can_hand_over() {
            let next = state.next;
            let Some((decoded, bytes)) = state.ready.remove(&next) else { break };
            state.busy = true;
            if let Some(decoded) = decoded {
                drop(state);
                (self.hand_over)(next, decoded);
                state = self.lock();
            }
            state.bytes -= bytes;
            state.pass();
            if state.waiting > 0 {
                self.changed.notify_all();
            }
        }
        state
    }

    fn wait<'s>(&'s self, mut state: MutexGuard<'s, State<T>>) -> MutexGuard<'s, State<T>> {
        state.waiting += 1;
        let mut state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    fn is_full(&self) -> bool {
        self.bytes >= MOST_BYTES || self.ready.len() >= MOST_ENTRIES
    }

    fn can_hand_over(&self) -> bool {
        !self.busy && !self.stopped && self.ready.contains_key(&self.next)
    }

    fn pass(&mut self) {
        self.busy = false;
        self.next += 1;
    }
}

/// The turn of one entry: nothing is handed over before it is dropped.
pub(super) struct Turn<'o, 'a, T> {
    order: &'o Order<'a, T>,
}

impl<T> Drop for Turn<'_, '_, T> {
    fn drop(&mut self) {
        self.order.lock().pass();
        self.order.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which entries take a turn of their own, and how much the others keep.
    fn is_long(place: usize) -> bool {
        place % 7 == 3
    }

    #[test]
    fn whoever_decodes_them_entries_come_in_order_and_all_of_them() {
        const COUNT: usize = 20_000;
        for threads in [1, 2, 8] {
            let handed_over = Mutex::new(Vec::new());
            let hand_over = |place, decoded: usize| {
                assert_eq!(place, decoded);
                handed_over.lock().unwrap().push(place);
            };
            let order = Order::new(&hand_over);
            let next = std::sync::atomic::AtomicUsize::new(0);
            let work = || {
                loop {
                    let place = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if place >= COUNT {
                        break;
                    }
                    if place % 11 == 5 {
                        order.leave_out(place);
                        order.go_on();
                    } else if is_long(place) {
                        let turn = order.turn(place).unwrap();
                        handed_over.lock().unwrap().push(place);
                        drop(turn);
                        order.go_on();
                    } else {
                        // Some are larger than the limit.
                        order.ready(
                            place,
                            place,
                            if place.is_multiple_of(100) { 2 * MOST_BYTES } else { place % 50_000 },
                        );
                    }
                }
            };
            std::thread::scope(|scope| {
                for _ in 1..threads {
                    scope.spawn(work);
                }
                work();
            });
            let expected = (0..COUNT).filter(|place| place % 11 != 5);
            assert!(handed_over.lock().unwrap().iter().copied().eq(expected), "{threads} threads");
        }
    }

    #[test]
    fn a_thread_that_is_too_far_ahead_waits_and_stopping_frees_it() {
        let order: Order<'_, ()> = Order::new(&|place, ()| unreachable!("entry 0 is never ready, but {place} came"));
        std::thread::scope(|scope| {
            for place in 1..4 {
                let order = &order;
                scope.spawn(move || order.ready(place, (), MOST_BYTES));
            }
            scope.spawn(|| assert!(order.turn(5).is_none()));
            while order.lock().waiting < 3 {
                std::thread::yield_now();
            }
            assert_eq!(order.lock().ready.len(), 1, "what does not fit is not taken");
            order.stop();
        });
    }
}
