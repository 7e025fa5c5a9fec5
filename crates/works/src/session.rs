//! [`Session`]: all works, one after the other, in the time there is.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use manyfiles::{Error, Operation, sync};
use manyfiles_measure::contest::{self, Check, Contest, Entrant, Goal, Run, Site, Watch};
use manyfiles_measure::{Failure, noise, remove_tree};

use crate::interrupt::Interrupt;
use crate::options::{LEAST_ROUNDS, Observer, Options};
use crate::results::{LeftOut, Table};
use crate::shown::{self, Work};

/// How often it is looked whether to stop.
const LOOK: Duration = Duration::from_millis(20);

/// One call of [`bench`](crate::bench).
pub(crate) struct Session<'a> {
    pub(crate) options: &'a Options,
    pub(crate) interrupt: Interrupt,
    root: &'a Path,
    observer: &'a dyn Observer,
    begun: Instant,
    /// The shares of the works that have ended and of the one that runs, of the shares of all.
    shares: Cell<(u32, u32, u32)>,
    runs: Cell<u32>,
    /// What no work can go on with.
    fatal: RefCell<Option<Error>>,
    tables: RefCell<Vec<Table>>,
    left_out: RefCell<Vec<LeftOut>>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(root: &'a Path, options: &'a Options, observer: &'a dyn Observer) -> Session<'a> {
        let begun = Instant::now();
        Session {
            options,
            interrupt: Interrupt::at(begun + options.time),
            root,
            observer,
            begun,
            shares: Cell::default(),
            runs: Cell::default(),
            fatal: RefCell::default(),
            tables: RefCell::default(),
            left_out: RefCell::default(),
        }
    }

    /// Does all works that the options leave.
    pub(crate) fn run(self) -> Result<(Vec<Table>, Vec<LeftOut>), Failure> {
        let (end, ended) = mpsc::channel::<()>();
        let (interrupt, observer) = (&self.interrupt, self.observer);
        thread::scope(|scope| {
            scope.spawn(move || {
                while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                    interrupt.look(observer.stopped());
                }
            });
            self.all();
            drop(end);
        });
        match self.fatal.into_inner() {
            _ if self.observer.stopped() => Err(Failure::Stopped),
            Some(error) => Err(Failure::Failed(error)),
            None => Ok((self.tables.into_inner(), self.left_out.into_inner())),
        }
    }

    fn all(&self) {
        let simulated = self.options.simulate_close.is_some();
        let (works, impossible): (Vec<&Work>, Vec<_>) =
            shown::works(self.options).into_iter().partition(|work| work.closes_can_be_simulated || !simulated);
        let all: u32 = works.iter().map(|work| work.share).sum();
        let mut before = 0;
        for work in works {
            self.shares.set((before, work.share, all));
            before += work.share;
            if self.fatal.borrow().is_some() || self.observer.stopped() {
                return;
            }
            self.interrupt.reset(self.latest());
            (work.run)(work, self);
        }
        for work in impossible {
            self.leave_out(work.name, "its closes cannot be made slower from within the process");
        }
    }

    /// Notes that something was not measured.
    pub(crate) fn leave_out(&self, what: impl Into<String>, why: impl Into<String>) {
        self.left_out.borrow_mut().push(LeftOut { what: what.into(), why: why.into() });
    }

    /// Lets the entrants do the work. The first is what the others are compared with.
    pub(crate) fn contest<'c>(&self, work: &Work, check: &'c Check<'c>, entrants: Vec<(&str, Run<'c>)>) {
        let entrants = entrants
            .into_iter()
            .map(|(name, run)| {
                let entrant = Entrant::new(name, Goal::Shown, check, run);
                // Where closes are made slower, minutes of warming up would warm nothing.
                Entrant { warms_up: self.options.simulate_close.is_none(), ..entrant }
            })
            .collect();
        self.enter(work, entrants);
    }

    /// The same for entrants that leave different outputs.
    pub(crate) fn enter(&self, work: &Work, entrants: Vec<Entrant<'_>>) {
        let turn = Turn { session: self, work: work.name, begun: Instant::now(), first: Cell::new(None) };
        let before = noise::taken_by_others();
        let contest = Contest { group: "bench", what: work.name.into(), place: self, entrants };
        let outcome = contest::run(contest, self.options.rounds.max(LEAST_ROUNDS), &turn);
        if self.observer.stopped() || self.fatal.borrow().is_some() {
            return;
        }
        if outcome.rounds < LEAST_ROUNDS {
            let (took, played) = (turn.begun.elapsed().as_secs_f64(), outcome.rounds);
            let why =
                format!("too slow: {played} of {LEAST_ROUNDS} rounds in {took:.1} s; give more time with --seconds");
            self.leave_out(work.name, why);
            return;
        }
        let taken_by_others = before.max(noise::taken_by_others());
        self.tables.borrow_mut().push(Table::new(work, outcome, taken_by_others));
    }

    /// The share of the work that runs of the time that is left, counted from `begun`.
    fn share(&self, begun: Instant) -> Duration {
        let (before, own, all) = self.shares.get();
        let left = (self.begun + self.options.time).saturating_duration_since(begun);
        left.mul_f64(f64::from(own) / f64::from((all - before).max(1)))
    }

    /// When the work that begins now has to end: to get its few rounds it may take twice its share, and no more, so
    /// that one that is slow does not keep all others from being measured.
    fn latest(&self) -> Instant {
        let now = Instant::now();
        (now + self.share(now) * 2).min(self.begun + self.options.time)
    }

    fn done(&self) -> f64 {
        let (before, own, all) = self.shares.get();
        let by_time = self.begun.elapsed().div_duration_f64(self.options.time).min(1.0);
        // Works that end before their share is used up are done all the same.
        by_time.clamp(f64::from(before) / f64::from(all.max(1)), f64::from(before + own) / f64::from(all.max(1)))
    }
}

impl Site for Session<'_> {
    fn name(&self) -> &str {
        "here"
    }

    fn fresh(&self) -> Result<PathBuf> {
        let run = self.runs.replace(self.runs.get() + 1);
        // So that a run pays for no more of what came before than it must. Not every file system can sync a folder, and
        // none has to for this.
        drop(sync::sync_folder(self.root));
        Ok(self.root.join(format!("run-{run}")))
    }

    fn done_with(&self, folder: &Path) -> Result<()> {
        if fs::exists(folder)? {
            remove_tree(folder)?;
        }
        Ok(())
    }
}

/// A work that is being done.
struct Turn<'a> {
    session: &'a Session<'a>,
    work: &'static str,
    begun: Instant,
    /// When the first counted round began.
    first: Cell<Option<Instant>>,
}

impl Watch for Turn<'_> {
    /// Rounds beyond the least are played while there is time for them.
    fn wants_round(&self, round: usize) -> bool {
        let now = Instant::now();
        match self.first.get() {
            _ if round <= LEAST_ROUNDS => {}
            Some(first) => {
                let one = (now - first) / (round - 1) as u32;
                return now + one <= self.begun + self.session.share(self.begun);
            }
            None => {}
        }
        if round == 1 {
            self.first.set(Some(now));
            // Warming up may have been the slowest, but not by that much.
            return self.session.interrupt.deadline().is_none_or(|deadline| now + (now - self.begun) <= deadline);
        }
        true
    }

    fn begins(&self, round: usize, entrant: &str) {
        self.session.observer.begins(self.work, entrant, round, self.session.done());
    }

    fn failed(&self, error: &anyhow::Error) {
        if let Some(error) = hopeless(error, self.session.root) {
            self.session.fatal.borrow_mut().get_or_insert(error);
        }
    }

    fn is_over(&self) -> bool {
        self.session.interrupt.is_set() || self.session.fatal.borrow().is_some()
    }
}

/// The cause, if it is one that every further run would fail for.
fn hopeless(error: &anyhow::Error, root: &Path) -> Option<Error> {
    use std::io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let is_hopeless = |kind| matches!(kind, StorageFull | QuotaExceeded | ReadOnlyFilesystem);
    error.chain().find_map(|cause| {
        if let Some(error) = cause.downcast_ref::<Error>() {
            return is_hopeless(error.kind()).then(|| error.clone());
        }
        let error = cause.downcast_ref::<std::io::Error>()?;
        let same = error.raw_os_error().map_or_else(|| error.kind().into(), std::io::Error::from_raw_os_error);
        is_hopeless(error.kind()).then(|| Error::new(Operation::Write, root, same))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_ends_everything_and_another_failure_does_not() {
        let full = || std::io::Error::from_raw_os_error(28);
        let root = Path::new("root");
        for error in [
            anyhow::Error::from(full()),
            anyhow::Error::from(Error::new(Operation::Close, "file", full())).context("in a run"),
        ] {
            // 28 is ENOSPC on Unix and another full medium's number on Windows.
            assert_eq!(hopeless(&error, root).is_some(), full().kind() == std::io::ErrorKind::StorageFull, "{error:#}");
        }
        assert!(hopeless(&anyhow::anyhow!("a file is missing"), root).is_none());
        assert!(hopeless(&std::io::Error::from(std::io::ErrorKind::NotFound).into(), root).is_none());
    }
}
