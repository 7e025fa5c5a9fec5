//! What the command asks the operating system itself: the same functions for each.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::*;

/// Unix's numbers of signals: the terminal is gone, Ctrl-C, the reader of the output is gone, a request to end. The
/// exit status has these numbers on every system.
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
    /// As a shell gives it: 128 plus the signal's number, if a signal ended the command.
    pub exit_code: u8,
}
