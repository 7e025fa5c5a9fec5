//! The operating system: one folder for each, with the same functions in all. Errors keep their number.

#[cfg_attr(not(any(unix, windows)), allow(dead_code, reason = "what is there needs less"))]
mod entry;
mod place;
#[cfg(all(feature = "tree", any(unix, windows)))]
mod text;

pub(crate) use entry::Identity;
#[cfg(any(unix, windows))]
pub(crate) use entry::{EntryKind, Stat};
pub(crate) use place::{PathPlace, Place};
#[cfg(all(feature = "tree", any(unix, windows)))]
pub(crate) use text::{ShortName, split_at_last_separator};

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::*;

#[cfg(not(any(unix, windows)))]
mod other;
#[cfg(not(any(unix, windows)))]
pub(crate) use other::*;
