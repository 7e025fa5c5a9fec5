//! [`Reading`]: shows how far the reading of archives is, where nothing else is to be told meanwhile.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use manyfiles_archive::InputProgress;

use super::{Display, Screen, time_left};
use crate::args;
use crate::human::{about, bytes, per_second};

/// A thread that draws a bar until it is dropped.
pub(crate) struct Reading {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Reading {
    /// Begins to show how much of `total` bytes is read. Without a thread nothing is shown, and all is read.
    pub(crate) fn start(
        screen: Arc<Screen>,
        progress: args::Progress,
        input: InputProgress,
        total: Option<u64>,
    ) -> Reading {
        let (stop, stopped) = mpsc::channel();
        let mut display = Display::new(progress);
        let show = move || {
            while stopped.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
                display.show(&screen, |elapsed| seen(input.read(), total, elapsed));
            }
            screen.clear();
        };
        let thread = thread::Builder::new().name("watch".into()).spawn(show).ok();
        Reading { stop: Some(stop), thread }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.stop.take();
        // If the thread panicked, the panic was printed.
        self.thread.take().map(JoinHandle::join);
    }
}

fn seen(read: u64, total: Option<u64>, elapsed: Duration) -> (Option<f64>, String) {
    let fraction = total.filter(|&total| total > 0).map(|total| (read as f64 / total as f64).min(1.0));
    let mut text = format!("{} read, {}/s", bytes(read), bytes(per_second(read, elapsed)));
    if let Some(left) = time_left(fraction, elapsed) {
        text += &format!(", {} left", about(left));
    }
    (fraction, text)
}
