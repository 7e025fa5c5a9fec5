//! Waiting for those pending closes alone that stand in the way of something.
//!
//! On Windows a file whose close is pending cannot be opened for oneself alone, nor be removed for good, nor its folder
//! be removed or renamed. Who is about to do that settles the file's name first: closes of it that wait in the queue
//! are made on the spot, and those being made just now are waited for. All others go on as they were. Errors stay for
//! [`Closer::wait`](super::Closer::wait).

#![cfg_attr(not(feature = "fs"), allow(dead_code, reason = "only `fs` comes to where files were closed"))]

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::handle::Handle;
use super::metrics::Side;
use super::pool::Pool;
#[cfg(feature = "fs")]
use crate::sys;

/// A file's name as the operating system knows it, whatever path it was opened by.
///
/// Compared without regard to case: two files that differ in it alone make a settling wait for one more close, which
/// does no harm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name(String);

impl Name {
    pub(crate) fn new(name: &str) -> Name {
        Name(name.to_lowercase())
    }

    /// Whether this is what `other` names, or inside it.
    fn is_at_or_below(&self, other: &Name) -> bool {
        let is_separator = |byte: &u8| [b'/', b'\\'].contains(byte);
        match self.0.as_bytes().strip_prefix(other.0.as_bytes()) {
            Some([]) => true,
            // The root's name ends with its separator.
            Some([first, ..]) => is_separator(first) || other.0.as_bytes().last().is_some_and(is_separator),
            None => false,
        }
    }
}

/// What a pending close stands in the way of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Of nothing: here an open file hinders nobody.
    Nowhere,
    /// Of whatever has this name, and of the folders it is in.
    At(Name),
    /// The system tells no name: a pipe; a type of the user's with who knows what inside. It may be anything.
    Anywhere,
}

impl Place {
    #[cfg(feature = "fs")]
    pub(super) fn of(handle: &Handle) -> Place {
        match handle {
            _ if !sys::OPEN_FILES_HINDER => Place::Nowhere,
            Handle::System(handle) => sys::name(handle).map_or(Place::Anywhere, |name| Place::At(Name::new(&name))),
            Handle::Other(_) => Place::Anywhere,
        }
    }

    #[cfg(not(feature = "fs"))]
    pub(super) fn of(_handle: &Handle) -> Place {
        Place::Nowhere
    }

    pub(super) fn hinders(&self, name: &Name) -> bool {
        match self {
            Place::Nowhere => false,
            Place::At(own) => own.is_at_or_below(name),
            Place::Anywhere => true,
        }
    }
}

/// A close in [`InFlight`]. `None` for one that hinders nobody.
pub(super) type Ticket = Option<u64>;

/// The closes being made just now that may be in somebody's way: as many as threads close.
#[derive(Default)]
pub(super) struct InFlight {
    closes: Vec<(u64, Place)>,
    /// Those whose own drop waits for others now. They count as closed meanwhile: two that wait for each other would
    /// never end.
    aside: Vec<u64>,
    last: u64,
    waiting: usize,
}

impl InFlight {
    pub(super) fn enter(&mut self, place: Place) -> Ticket {
        if place == Place::Nowhere {
            return None;
        }
        self.last += 1;
        self.closes.push((self.last, place));
        Some(self.last)
    }

    /// The close is done. `true` if somebody may wait for it.
    #[must_use]
    pub(super) fn leave(&mut self, ticket: Ticket) -> bool {
        let Some(ticket) = ticket else { return false };
        self.closes.retain(|(own, _)| *own != ticket);
        self.waiting > 0
    }

    /// The close waits for others. `true` if somebody may wait for it.
    #[must_use]
    pub(super) fn step_aside(&mut self, ticket: Ticket) -> bool {
        self.aside.extend(ticket);
        ticket.is_some() && self.waiting > 0
    }

    /// It no longer does.
    pub(super) fn step_back(&mut self, ticket: Ticket) {
        self.aside.retain(|own| Some(*own) != ticket);
    }

    fn that_hinder(&self, name: &Name) -> Vec<u64> {
        self.closes.iter().filter(|(_, place)| place.hinders(name)).map(|(ticket, _)| *ticket).collect()
    }

    fn has(&self, ticket: u64) -> bool {
        self.closes.iter().any(|(own, _)| *own == ticket) && !self.aside.contains(&ticket)
    }
}

impl Pool {
    /// Whether all is closed that was handed over, as far as this thread knows. Costs one load.
    pub(super) fn is_idle(&self) -> bool {
        self.unsettled.load(Ordering::Acquire) == 0
    }

    /// Returns when what was handed over before and has this name, or is in the folder of this name, is closed.
    ///
    /// What still waits is closed on this thread: it need not wait for those before it, and a thread of the executor
    /// that comes here needs no other thread to go on.
    pub(super) fn settle(&self, name: &Name) {
        if self.is_idle() {
            return;
        }
        let (mut queue, left) = self.step_aside();
        let generation = queue.end_generation();
        while let Some(job) = queue.pop_where(generation, |place| place.hinders(name)) {
            queue = self.run(Side::Caller, queue, job);
        }
        let mut tickets = queue.in_flight.that_hinder(name);
        loop {
            tickets.retain(|ticket| queue.in_flight.has(*ticket));
            if tickets.is_empty() {
                break;
            }
            queue.in_flight.waiting += 1;
            queue = self.finished.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.in_flight.waiting -= 1;
        }
        self.step_back(&mut queue, left);
    }

    /// Returns when all that was handed over before is closed. Errors stay for a wait.
    pub(super) fn settle_all(&self) {
        if self.is_idle() {
            return;
        }
        drop(self.drain());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_at_or_below_itself_and_its_folders_alone() {
        for (name, folder, is) in [
            (r"\a\b", r"\a\b", true),
            (r"\a\b", r"\a", true),
            (r"\a\b", r"\", true),
            (r"\A\Ärger", r"\a\äRGER", true),
            ("/a/b/c", "/a/b", true),
            (r"\a\b", r"\a\bc", false),
            (r"\a\bc", r"\a\b", false),
            (r"\a", r"\a\b", false),
            (r"\b\a", r"\a", false),
        ] {
            assert_eq!(Name::new(name).is_at_or_below(&Name::new(folder)), is, "{name} {folder}");
        }
    }

    #[test]
    fn what_has_no_name_hinders_everything() {
        let name = Name::new(r"\a");
        assert!(Place::Anywhere.hinders(&name));
        assert!(!Place::Nowhere.hinders(&name));
    }
}
