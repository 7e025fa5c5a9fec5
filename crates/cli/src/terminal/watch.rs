//! [`Watch`]: looks at the work ten times a second, names failures when they happen, and draws the progress.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use manyfiles::tree::{Observer, Progress};

use super::{Display, Failures, Screen, Waiting, time_left};
use crate::args;
use crate::human::{about, bytes, count, entries, per_second};

/// How much of the input was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputRead {
    /// Bytes of the archives, and how many there are, if that is known.
    Bytes(u64, Option<u64>),
    /// Entries found in the source folders.
    Entries(u64),
}

/// A thread that watches a job until it is [ended](Watch::end).
pub(crate) struct Watch {
    stop: Sender<()>,
    handed_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Watch {
    /// Begins to watch. `input` says how far the reading is, `waiting` how long answers were waited for.
    pub(crate) fn start(
        screen: Arc<Screen>,
        observer: Observer,
        failures: Arc<Mutex<Failures>>,
        waiting: Waiting,
        progress: args::Progress,
        input: Box<dyn Fn() -> InputRead + Send>,
    ) -> io::Result<Watch> {
        let (stop, stopped) = mpsc::channel();
        let handed_over = Arc::new(AtomicBool::new(false));
        let mut display = Display::new(progress);
        let all_read = handed_over.clone();
        let thread = thread::Builder::new().name("watch".into()).spawn(move || {
            while stopped.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
                {
                    let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
                    let new = observer.failures(failures.seen());
                    failures.name(&screen, &new);
                }
                display.show(&screen, |elapsed| {
                    let elapsed = elapsed.saturating_sub(waiting.so_far());
                    let handed_over = all_read.load(Ordering::Relaxed);
                    let seen = Seen { progress: observer.progress(), input: input(), elapsed, handed_over };
                    (seen.fraction(), seen.text())
                });
            }
            screen.clear();
        })?;
        Ok(Watch { stop, handed_over, thread })
    }

    /// From now on nothing is read any more: what is left is to write and to close.
    pub(crate) fn all_is_handed_over(&self) {
        self.handed_over.store(true, Ordering::Relaxed);
    }

    /// Ends it.
    pub(crate) fn end(self) {
        drop(self.stop);
        // If the thread panicked, the panic was printed. Failures that it did not name are named at the end.
        drop(self.thread.join());
    }
}

/// One look at the work.
struct Seen {
    progress: Progress,
    input: InputRead,
    elapsed: Duration,
    handed_over: bool,
}

impl Seen {
    /// How much is done, from 0 to 1, where it is known how much there is.
    fn fraction(&self) -> Option<f64> {
        let (done, all) = match self.input {
            _ if self.handed_over => (self.progress.entries_done, self.progress.entries_accepted),
            InputRead::Bytes(read, Some(total)) => (read, total),
            InputRead::Bytes(_, None) | InputRead::Entries(_) => return None,
        };
        (all > 0).then(|| (done as f64 / all as f64).min(1.0))
    }

    fn text(&self) -> String {
        let Progress { entries_accepted, entries_done, bytes_written, failures, threads, closing, syncing, .. } =
            self.progress;
        let mut text = format!(
            "{}, {}, {}/s",
            entries(entries_done),
            bytes(bytes_written),
            bytes(per_second(bytes_written, self.elapsed))
        );
        let left = entries_accepted.saturating_sub(entries_done);
        match self.input {
            _ if syncing => text += ", waiting for the disk",
            _ if self.handed_over && left == 0 => text += ", finishing folders",
            _ if self.handed_over && closing > 0 => {
                text += &format!(", closing: {} left, {closing} of {threads} threads are at it", entries(left));
            }
            _ if self.handed_over => text += &format!(", {} left", entries(left)),
            InputRead::Entries(found) => text += &format!(", {} found so far", count(found)),
            InputRead::Bytes(..) if closing * 2 > threads => text += &format!(", {closing} threads are closing"),
            InputRead::Bytes(..) => {}
        }
        if let Some(left) = time_left(self.fraction(), self.elapsed) {
            text += &format!(", {} left", about(left));
        }
        if failures > 0 {
            text += &format!(", {} failed", count(failures));
        }
        text
    }
}
