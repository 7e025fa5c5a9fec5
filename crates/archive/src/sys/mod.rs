//! The differences between systems: the characters of a path, and reading a file by position. Each system has the same
//! functions.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::*;

/// What became of a file that perhaps a killed run has left.
pub(crate) enum Left {
    /// It was removed, or was gone.
    Gone,
    /// A run holds it.
    Held,
    /// It cannot be opened, so that no run of this user's has made it.
    #[cfg_attr(windows, allow(dead_code, reason = "there it is removed by opening it"))]
    NotOurs,
    /// Whether a run holds it cannot be told.
    #[cfg_attr(windows, allow(dead_code, reason = "there every file system tells it"))]
    Unknown(std::io::Error),
}
