//! The operating system: one folder for each, with the same functions in all. Errors keep their number.

mod entry;
#[cfg(feature = "tree")]
mod text;

pub(crate) use entry::{EntryKind, Identity, Stat};
#[cfg(feature = "tree")]
pub(crate) use text::{ShortName, split_at_last_separator};

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::*;
