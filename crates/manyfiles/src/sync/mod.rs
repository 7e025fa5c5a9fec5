//! When bytes are durable: on the disk, so that a crash of the machine or a power cut does not take them.
//!
//! - [`sync_data`] and [`sync_all`] for one file, [`sync_folder`] for names.
//! - [`SyncBatch`] for many files at once, whole or not at all if need be.
//!
//! A file that was just made is durable when its bytes are *and* the folder that has its name: sync the file, then the
//! folder.
//!
//! A sync that failed is not to be tried again: Linux reports lost bytes once, and a second call may well answer that
//! all is fine while the bytes are gone. What reads of the file show proves nothing: they come from memory. Nor does
//! writing the bytes again in place help on every file system, or appending behind them. Create the file anew, or write
//! another one.
//!
//! Everything here trusts the drive to keep what it says it keeps. Virtual machines and cheap drives have been caught
//! lying.

#![deny(unsafe_code)]

mod batch;
pub(crate) mod doubt;
mod failed;
mod folders;
mod method;
mod name;
mod options;
mod rename;
mod single;
mod volume;

pub use batch::{SyncBatch, Synced};
pub use failed::BatchFailed;
pub use method::BatchMethod;
pub(crate) use name::sync_name;
pub use options::Options;
pub use single::{sync_all, sync_data, sync_folder};
