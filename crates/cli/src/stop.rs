//! Stopping early: Ctrl-C, SIGTERM, a terminal that is closed, messages without a reader, or the answer "quit".

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::sys::{self, SIGHUP, SIGINT, SIGPIPE};

/// Whether the job was told to stop, and by what. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// 0: go on.
    signal: AtomicI32,
    cancel: Mutex<Option<Box<dyn Fn() + Send>>>,
}

impl Stop {
    /// The first SIGINT, SIGTERM or SIGHUP from now on stops the job cleanly. A further one ends the process at once,
    /// unless it is SIGHUP: when a terminal is closed, the shell sends one and the system another. The second must not
    /// keep the job from tidying up.
    pub(crate) fn on_signals() -> io::Result<Stop> {
        let stop = Stop::default();
        let for_signals = stop.clone();
        sys::on_signals(move |signal| {
            let is_first = !for_signals.is_set();
            for_signals.set(signal);
            is_first || signal == SIGHUP
        })?;
        Ok(stop)
    }

    /// Calls this when the job is stopped, or now if it is.
    pub(crate) fn attach(&self, cancel: impl Fn() + Send + 'static) {
        let mut slot = self.0.cancel.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_set() {
            cancel();
        }
        *slot = Some(Box::new(cancel));
    }

    /// Stops the job as Ctrl-C does.
    pub(crate) fn quit(&self) {
        self.set(SIGINT);
    }

    /// Stops the job because the reader of its messages is gone, as SIGPIPE stops a writer.
    pub(crate) fn reader_is_gone(&self) {
        self.set(SIGPIPE);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.signal().is_some()
    }

    /// The signal that stopped the job.
    pub(crate) fn signal(&self) -> Option<i32> {
        Some(self.0.signal.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
    }

    fn set(&self, signal: i32) {
        let slot = self.0.cancel.lock().unwrap_or_else(PoisonError::into_inner);
        // The first signal is the reason. Later ones follow from it: a terminal that is gone can be neither read nor
        // written.
        let _was_stopped = self.0.signal.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
        if let Some(cancel) = &*slot {
            cancel();
        }
    }
}

/// Reads what may keep us waiting for ever (a pipe, a terminal), and fails when the job is stopped meanwhile.
pub(crate) struct Interruptible {
    input: sys::Input,
    stop: Stop,
}

impl Interruptible {
    pub(crate) fn new(file: File, stop: Stop) -> Interruptible {
        Interruptible { input: sys::Input::new(file), stop }
    }

    /// Standard input, past the standard library's buffer.
    pub(crate) fn stdin(stop: Stop) -> io::Result<Interruptible> {
        Ok(Interruptible { input: sys::Input::stdin()?, stop })
    }
}

/// Long enough to cost nothing, short enough to feel like at once.
const LOOK_UP: Duration = Duration::from_millis(50);

impl Read for Interruptible {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.stop.is_set() {
                // Not `Interrupted`, which readers take for "again".
                return Err(io::Error::other("stopped"));
            }
            if let Some(read) = self.input.read_within(LOOK_UP, buffer)? {
                return Ok(read);
            }
        }
    }
}

/// Writes what may keep us waiting for ever (a pipe that nobody reads from), and fails when the job is stopped
/// meanwhile.
pub(crate) struct InterruptibleOutput {
    output: sys::Output,
    stop: Stop,
}

impl InterruptibleOutput {
    pub(crate) fn new(file: File, stop: Stop) -> InterruptibleOutput {
        InterruptibleOutput { output: sys::Output::new(file), stop }
    }
}

impl Write for InterruptibleOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            if self.stop.is_set() {
                return Err(io::Error::other("stopped"));
            }
            if let Some(written) = self.output.write_within(LOOK_UP, bytes)? {
                return Ok(written);
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
