//! Stopping early: Ctrl-C, SIGTERM, or the answer "quit".

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use manyfiles::tree::Canceller;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Whether the job was told to stop, and by what. Cheap to clone.
#[derive(Clone, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// 0: go on.
    signal: AtomicI32,
    canceller: Mutex<Option<Canceller>>,
}

impl Stop {
    /// The first SIGINT or SIGTERM from now on stops the job cleanly, the second ends the process at once.
    pub fn on_signals() -> io::Result<Stop> {
        let stop = Stop::default();
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let for_signals = stop.clone();
        thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in signals.forever() {
                if for_signals.is_set() {
                    // It only fails for signals that cannot be caught.
                    let _impossible = signal_hook::low_level::emulate_default_handler(signal);
                }
                for_signals.set(signal);
            }
        })?;
        Ok(stop)
    }

    /// Cancels this too when the job is stopped, or now if it is.
    pub fn attach(&self, canceller: Canceller) {
        let mut slot = self.0.canceller.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_set() {
            canceller.cancel();
        }
        *slot = Some(canceller);
    }

    /// Stops the job as Ctrl-C does.
    pub fn quit(&self) {
        self.set(SIGINT);
    }

    pub fn is_set(&self) -> bool {
        self.signal().is_some()
    }

    /// The signal that stopped the job.
    pub fn signal(&self) -> Option<i32> {
        Some(self.0.signal.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
    }

    fn set(&self, signal: i32) {
        let slot = self.0.canceller.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.signal.store(signal, Ordering::Relaxed);
        if let Some(canceller) = &*slot {
            canceller.cancel();
        }
    }
}

/// Reads what may keep us waiting for ever (a pipe, a terminal), and fails when the job is stopped meanwhile.
pub struct Interruptible {
    file: File,
    stop: Stop,
}

impl Interruptible {
    pub fn new(file: File, stop: Stop) -> Interruptible {
        Interruptible { file, stop }
    }

    /// Standard input, past the standard library's buffer.
    pub fn stdin(stop: Stop) -> io::Result<Interruptible> {
        Ok(Interruptible::new(File::from(io::stdin().as_fd().try_clone_to_owned()?), stop))
    }
}

impl Read for Interruptible {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Long enough to cost nothing, short enough to feel like at once.
        const LOOK_UP: Timespec = Timespec { tv_sec: 0, tv_nsec: Duration::from_millis(50).as_nanos() as _ };
        loop {
            if self.stop.is_set() {
                // Not `Interrupted`, which readers take for "again".
                return Err(io::Error::other("stopped"));
            }
            match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&LOOK_UP)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return self.file.read(buffer),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
