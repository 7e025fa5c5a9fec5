//! Reading a trace, with progress.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use manyfiles_trace::{Error, Progress, Report};

use super::compressed::decoded;
use super::source::Source;
use crate::args;
use crate::human::{about, bytes, per_second};
use crate::terminal::{Display, Screen, time_left};

/// Reads the trace to its end, and shows meanwhile how far that is.
pub(super) fn read(source: Source, progress: args::Progress, rows: usize) -> Result<Report, Error> {
    let reading = Progress::default();
    let (mut read, compressed) = decoded(source.read)?;
    // Of what is compressed nobody knows how much it will be.
    let size = source.size.filter(|&size| size > 0 && !compressed);
    let (stop, stopped) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn({
            let reading = reading.clone();
            move || {
                let screen = Screen::default();
                let mut display = Display::new(progress);
                while stopped.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
                    display.show(&screen, |elapsed| seen(reading.bytes(), size, elapsed));
                }
                screen.clear();
            }
        });
        let report = manyfiles_trace::explain_rows(&mut read, &reading, rows);
        drop(stop);
        report
    })
}

fn seen(read: u64, size: Option<u64>, elapsed: Duration) -> (Option<f64>, String) {
    let fraction = size.map(|size| (read as f64 / size as f64).min(1.0));
    let mut text = format!("{} read, {}/s", bytes(read), bytes(per_second(read, elapsed)));
    if let Some(left) = time_left(fraction, elapsed) {
        text += &format!(", {} left", about(left));
    }
    (fraction, text)
}
