//! Traces of Unix system calls: what `strace` and `perf trace` print.
//!
//! Both are lines of `name(arguments) = result`, in two spellings. A line becomes a [`Record`]; [`System`] puts calls that were
//! interrupted together again, follows descriptors to the files they were opened on, and hands each call to the analysis.

mod args;
mod perf;
mod strace;
mod syscall;
mod system;

use std::io;

use crate::analysis::Analysis;
use crate::buffer::Buffer;

use args::Args;
pub(crate) use perf::is_summary as is_perf_summary;
use system::System;

/// One of the two spellings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    Strace,
    Perf,
}

impl Spelling {
    fn parse(self, line: &[u8]) -> Option<Record<'_>> {
        match self {
            Spelling::Strace => strace::parse(line),
            Spelling::Perf => perf::parse(line),
        }
    }

    /// Whether the line is a call in this spelling.
    pub fn recognises(self, line: &[u8]) -> bool {
        self.parse(line)
            .is_some_and(|record| !matches!(record.event, Event::Note | Event::Attached { .. } | Event::Summary))
    }
}

/// A line of a trace.
#[derive(Debug, PartialEq, Eq)]
struct Record<'a> {
    /// The thread's number, if the line has it.
    pid: Option<u32>,
    /// The program's name, if the line has it.
    program: &'a [u8],
    stamp: Stamp,
    event: Event<'a>,
}

/// When.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stamp {
    #[default]
    None,
    /// Nanoseconds since a beginning that is the same for all lines.
    Since(u64),
    /// Nanoseconds since midnight.
    TimeOfDay(u64),
    /// Nanoseconds since the line before.
    SinceLast(u64),
}

#[derive(Debug, PartialEq, Eq)]
enum Event<'a> {
    /// A call with its result.
    Call { name: &'a [u8], args: Args<'a>, end: End<'a> },
    /// A call that another thread's line interrupts, or, in the middle of the line, the message that a thread was attached.
    Unfinished { name: &'a [u8], args: Args<'a>, attached: Option<u32> },
    /// The rest of such a call.
    Resumed { name: &'a [u8], args: Args<'a>, end: End<'a> },
    /// The thread is gone.
    Exited,
    /// A thread that will be named from now on.
    Attached { pid: u32 },
    /// Says nothing of a call: a signal, an empty line.
    Note,
    /// What follows are sums, and no calls.
    Summary,
}

/// What a call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End<'a> {
    /// As it is printed: `3</tmp/a>`, `-1 ENOENT (No such file or directory)`, `?`.
    result: &'a [u8],
    duration: Option<crate::number::Decimal>,
}

impl<'a> End<'a> {
    /// The number returned. `None` if the call did not return.
    fn value(&self) -> Option<i64> {
        let (negative, text) = match self.result.strip_prefix(b"-") {
            Some(text) => (true, text),
            None => (false, self.result),
        };
        let value = match text.strip_prefix(b"0x") {
            Some(hex) => hex
                .iter()
                .map_while(|&byte| (byte as char).to_digit(16))
                .fold(0, |n: u64, digit| n << 4 | u64::from(digit)),
            None => crate::number::digits(text)?.0,
        };
        Some(if negative { (value as i64).wrapping_neg() } else { value as i64 })
    }

    fn failed(&self) -> bool {
        self.result.starts_with(b"-")
    }

    /// The path that `-y` adds to a descriptor.
    fn annotation(&self) -> Option<&'a [u8]> {
        args::annotation(&self.result[self.result.iter().take_while(|byte| byte.is_ascii_digit()).count()..])
    }
}

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
