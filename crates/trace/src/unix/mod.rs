//! Traces of Unix system calls: what `strace` and `perf trace` print.
//!
//! Both are lines of `name(arguments) = result`, in two spellings. A line becomes a [`Record`](record::Record);
//! [`System`] puts calls that were interrupted together again, follows descriptors to the files they were opened on,
//! and hands each call to the analysis.

mod args;
mod perf;
mod record;
mod spelling;
mod strace;
mod syscall;
mod system;

use std::io;

use crate::analysis::Analysis;
use crate::buffer::Buffer;

pub(crate) use perf::is_summary as is_perf_summary;
pub(crate) use spelling::Spelling;
use system::System;

/// Reads a whole trace.
pub(crate) fn read(spelling: Spelling, buffer: &mut Buffer<'_>, analysis: &mut Analysis) -> io::Result<()> {
    let mut system = System::new(spelling);
    buffer.lines(|line| {
        analysis.count_line();
        let Some(line) = line else { return analysis.damaged(b"a line of more than 8 MiB") };
        if !system.line(line, analysis) {
            analysis.damaged(line);
        }
    })?;
    system.finish(analysis);
    Ok(())
}
