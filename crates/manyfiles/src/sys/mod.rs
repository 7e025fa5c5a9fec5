//! The operating system: one folder for each, with the same functions in all. Errors keep their number.

mod entry;
mod metadata;
mod place;
mod refusal;
mod text;

pub(crate) use entry::{EntryKind, Identity, Stat};
pub use metadata::{Metadata, Node};
pub(crate) use place::{PathPlace, Place};
pub use refusal::Refusal;
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
