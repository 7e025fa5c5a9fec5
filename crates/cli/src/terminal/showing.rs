//! [`Showing`]: shows how far a command is, where nothing else is to be told meanwhile.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use manyfiles_archive::InputProgress;

use super::{Display, Screen, time_left};
use crate::args;
use crate::human::{about, bytes, per_second};

/// A thread that draws a bar until it is dropped.
pub(crate) struct Showing {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Showing {
    /// Begins to show what `look` says: it is given the time that has passed, and tells how much is done, from 0 to 1, if
    /// that is known, and what to say. Without a thread nothing is shown, and all is done.
    pub(crate) fn start(
        screen: Arc<Screen>,
        progress: args::Progress,
        look: impl Fn(Duration) -> (Option<f64>, String) + Send + 'static,
    ) -> Showing {
        let (stop, stopped) = mpsc::channel();
        let mut display = Display::new(progress);
        let show = move || {
            while stopped.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
                display.show(&screen, &look);
            }
            screen.clear();
        };
        let thread = thread::Builder::new().name("watch".into()).spawn(show).ok();
        Showing { stop: Some(stop), thread }
    }
}

impl Drop for Showing {
    fn drop(&mut self) {
        self.stop.take();
        // If the thread panicked, the panic was printed.
        self.thread.take().map(JoinHandle::join);
    }
}

/// What to say of the reading of archives that have `total` bytes.
pub(crate) fn reading(
    input: InputProgress,
    total: Option<u64>,
) -> impl Fn(Duration) -> (Option<f64>, String) + Send + 'static {
    move |elapsed| {
        let read = input.read();
        let fraction = total.filter(|&total| total > 0).map(|total| (read as f64 / total as f64).min(1.0));
        let mut text = format!("{} read, {}/s", bytes(read), bytes(per_second(read, elapsed)));
        if let Some(left) = time_left(fraction, elapsed) {
            text += &format!(", {} left", about(left));
        }
        (fraction, text)
    }
}
