//! [`Record`]: a line of a trace, taken apart.

use super::args::{self, Args};
use crate::number::{Decimal, digits};

/// A line of a trace.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    /// The thread's number, if the line has it.
    pub pid: Option<u32>,
    /// The program's name, if the line has it.
    pub program: &'a [u8],
    pub stamp: Stamp,
    pub event: Event<'a>,
}

/// When.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stamp {
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
pub(super) enum Event<'a> {
    /// A call with its result.
    Call { name: &'a [u8], args: Args<'a>, end: End<'a> },
    /// A call that another thread's line interrupts, or, in the middle of the line, the message that a thread was
    /// attached.
    Unfinished { name: &'a [u8], args: Args<'a>, attached: Option<u32> },
    /// The rest of such a call.
    Resumed { name: &'a [u8], args: Args<'a>, end: End<'a> },
    /// The thread is gone.
    Exited,
    /// A thread that will be named from now on.
    Attached { pid: u32 },
    /// Says nothing of a call: a signal, an empty line.
    Note,
    /// The lines after this one are sums, and no calls.
    Summary,
}

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End<'a> {
    /// As it is printed: `3</tmp/a>`, `-1 ENOENT (No such file or directory)`, `?`.
    pub result: &'a [u8],
    pub duration: Option<Decimal>,
}

impl<'a> End<'a> {
    /// The number returned. `None` if the call did not return.
    pub(super) fn value(&self) -> Option<i64> {
        let (negative, text) = match self.result.strip_prefix(b"-") {
            Some(text) => (true, text),
            None => (false, self.result),
        };
        let value = match text.strip_prefix(b"0x") {
            Some(hex) => hex
                .iter()
                .map_while(|&byte| (byte as char).to_digit(16))
                .fold(0, |n: u64, digit| n << 4 | u64::from(digit)),
            None => digits(text)?.0,
        };
        Some(if negative { (value as i64).wrapping_neg() } else { value as i64 })
    }

    pub(super) fn failed(&self) -> bool {
        self.result.starts_with(b"-")
    }

    /// The path that `-y` adds to a descriptor.
    pub(super) fn annotation(&self) -> Option<&'a [u8]> {
        args::annotation(&self.result[self.result.iter().take_while(|byte| byte.is_ascii_digit()).count()..])
    }
}
