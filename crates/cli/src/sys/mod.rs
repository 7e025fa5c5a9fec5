//! What the command asks the operating system itself: the same functions for each.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::*;

/// The numbers that Unix gives to a terminal that is gone, to Ctrl-C, to output that nobody reads any more, and to a request to
/// end; the exit status has them on every system.
pub(crate) const SIGHUP: i32 = 1;
pub(crate) const SIGINT: i32 = 2;
pub(crate) const SIGPIPE: i32 = 13;
pub(crate) const SIGTERM: i32 = 15;

/// A file, whatever its names: its volume and its number there.
pub(crate) type FileId = (u64, u64);

/// A command that was traced and ran to its end.
pub(crate) struct Traced {
    /// Its trace. The file has no name: it is gone when it is closed, however this process ends.
    pub trace: std::fs::File,
    /// As a shell has it: 128 and the signal, if that is what ended it.
    pub exit_code: u8,
}
