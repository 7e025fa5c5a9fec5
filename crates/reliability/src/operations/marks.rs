//! When calls of a program began and ended, among the calls of the system that failed: lines in the file to which the
//! preload writes those. So it is known which call of the program met a failure, and which came after it.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Began,
    /// It has the file that it makes: what is closed from now on is its own.
    Made,
    Ended,
}

/// A step of the call with this number. `at`: the line, as in [`Fired`](crate::run::Fired).
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    pub at: usize,
    pub number: u64,
    pub step: Step,
}

static FILE: OnceLock<Option<File>> = OnceLock::new();

/// Has to come first in the child. Where no call fails there is no such file, and nothing is marked.
pub fn open() {
    FILE.get_or_init(|| {
        let path = std::env::var_os("TESTKIT_PRELOAD_FIRED")?;
        File::options().append(true).open(path).ok()
    });
}

pub fn mark(number: u64, step: Step) {
    if let Some(Some(file)) = FILE.get() {
        let mut file = file;
        file.write_all(format!("mark {number} - {step:?}\n").as_bytes()).expect("the preload writes there, too");
    }
}

pub fn read(record: &Path) -> Vec<Mark> {
    let text = fs::read(record).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let of = |(at, line): (usize, &str)| {
        let (number, step) = line.strip_prefix("mark ")?.split_once(" - ")?;
        let step = [Step::Began, Step::Made, Step::Ended].into_iter().find(|it| format!("{it:?}") == step)?;
        Some(Mark { at, number: number.parse().ok()?, step })
    };
    text.lines().enumerate().filter_map(of).collect()
}
