//! When bytes are durable: on the disk, so that a crash of the machine or a power cut does not take them.
//!
//! - [`sync_data`] and [`sync_all`] for one file, [`sync_folder`] for names.
//! - [`SyncBatch`] for many files at once, whole or not at all if need be.
//!
//! A file that was just made is durable when its bytes are *and* the folder that has its name: sync the file, then the folder.
//!
//! A sync that failed is not to be tried again: Linux reports lost bytes once, and a second call may well answer that all is
//! fine while the bytes are gone. Write them again, to another place if need be.
//!
//! Everything here trusts the drive to keep what it says it keeps. Virtual machines and cheap drives have been caught lying.

#![deny(unsafe_code)]

mod batch;
mod errors;
mod method;
mod single;
mod temporary;
mod volume;

pub use batch::{SyncBatch, Synced};
pub use errors::SyncErrors;
pub use method::BatchMethod;
pub use single::{sync_all, sync_data, sync_folder};
