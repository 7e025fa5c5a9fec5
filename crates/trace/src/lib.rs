//! Tells from a trace of system calls where a program's file time goes, and what would save it.
//!
//! Use this when a program that works with files is slow and you want to know why: record what it does, hand the
//! recording to [`explain`], and look at the [`Report`], or at one of its renderings ([`render`]).
//!
//! ```
//! use manyfiles_trace::{Progress, explain};
//!
//! let trace = "\
//! 7 1.000000 openat(AT_FDCWD, \"/tmp/a\", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3 <0.000020>
//! 7 1.000100 write(3, \"x\", 1) = 1 <0.000005>
//! 7 1.000200 close(3) = 0 <0.002000>
//! ";
//! let report = explain(&mut trace.as_bytes(), &Progress::default())?;
//! assert_eq!(report.operations[0].name, "close");
//! assert_eq!(report.closes.appended.calls, 1);
//! assert_eq!(report.findings[0].part, "FastClose, Closer");
//! # Ok::<(), manyfiles_trace::Error>(())
//! ```
//!
//! A trace is recognised by its content: an export of **Process Monitor** (CSV or XML), the output of **strace** (with
//! `-T`; better with `-f -ttt -y`), or of **perf trace**.
//!
//! - **Sums by operation are exact**: nothing is rounded, sampled or left out.
//! - **Memory is bounded**, whatever the trace: at most some 60 MB. Files, folders and threads are counted one by one
//!   as long as there are not too many; then the light ones are let go, and the report says by how much a row may be
//!   short ([`report::Top`]).
//! - **Damage is counted**: a line that is not understood is skipped, counted, and the first one is shown.
//! - **A trace is not trusted**: whatever it holds, reading it ends without a panic.
#![forbid(unsafe_code)]

mod analysis;
mod buffer;
mod call;
mod error;
mod findings;
mod format;
mod handle;
pub mod human;
mod number;
mod open_file;
mod procmon;
mod progress;
mod recognise;
pub mod render;
pub mod report;
mod unix;

use std::io::Read;

use analysis::Analysis;
use buffer::Buffer;
use unix::Spelling;

pub use call::Kind;
pub use error::Error;
pub use format::Format;
pub use progress::Progress;
pub use report::{Finding, Report};

/// Reads a trace to its end and says what it tells.
///
/// Reads in blocks of 256 KiB, so `source` needs no buffer. `progress` can be looked at from another thread meanwhile.
///
/// # Errors
/// The trace is empty, is something else, or cannot be read. Damaged lines and missing durations are no error: see
/// [`Report::is_complete`].
pub fn explain(source: &mut dyn Read, progress: &Progress) -> Result<Report, Error> {
    explain_rows(source, progress, ROWS)
}

/// As many rows the tables of a report have at most.
const ROWS: usize = 100;

/// As [`explain`], with at most `rows` in each table of files, folders and threads ([`report::Top`]): for what shows every
/// file, such as [`render::folded`]. Files that are counted one by one are bounded anyway.
///
/// # Errors
/// As [`explain`].
pub fn explain_rows(source: &mut dyn Read, progress: &Progress, rows: usize) -> Result<Report, Error> {
    let mut buffer = Buffer::new(source, progress);
    buffer.fill_to(recognise::HEAD)?;
    if buffer.rest().is_empty() {
        return Err(Error::Empty);
    }
    let (format, mark) = recognise::recognise(buffer.rest())?;
    buffer.take(mark);
    let mut analysis = Analysis::new();
    match format {
        Format::Strace => unix::read(Spelling::Strace, &mut buffer, &mut analysis)?,
        Format::PerfTrace => unix::read(Spelling::Perf, &mut buffer, &mut analysis)?,
        Format::ProcmonCsv => procmon::read_csv(&mut buffer, &mut analysis)?,
        Format::ProcmonXml => procmon::read_xml(&mut buffer, &mut analysis)?,
    }
    Ok(analysis.finish(format, progress.bytes(), rows))
}
