//! Windows: 10 and later is what it is made for. Where a file system, an older Windows or a server does not know a call, the
//! one before it is used.

#[cfg(feature = "writer")]
mod append;
mod control;
mod dir;
#[cfg(feature = "tree")]
mod durable;
mod file;
#[cfg(feature = "vfs")]
mod kept;
mod link;
mod mapping;
#[cfg(feature = "tree")]
mod name;
mod native;
#[cfg(feature = "fs")]
mod open_files;
mod stat;
#[cfg(feature = "sync")]
#[allow(dead_code, reason = "which of these are used depends on the features")]
mod sync;
mod thread;

use super::{EntryKind, Stat};
#[cfg(feature = "writer")]
pub(crate) use append::open_for_one_writer;
pub(crate) use dir::Dir;
#[cfg(feature = "tree")]
pub(crate) use durable::{WholeFileSystem, sync_handle};
pub(crate) use file::*;
#[cfg(feature = "vfs")]
pub(crate) use kept::*;
pub(crate) use mapping::Mapping;
#[cfg(feature = "tree")]
pub(crate) use name::{has_usual_separators, is_separator, refusal_of_name};
#[cfg(feature = "fs")]
pub(crate) use open_files::*;
pub(crate) use stat::stat;
#[cfg(feature = "sync")]
pub(crate) use sync::*;
pub(crate) use thread::{
    Sleeps, handle_limit, leave_processor, make_room_for_handles, own_descriptors, own_umask, processor, umask,
};
