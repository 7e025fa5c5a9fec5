//! Windows: 10 and later is what it is made for. Where a file system, an older Windows or a server does not know a call, the
//! one before it is used.

#[cfg(feature = "sync")]
mod access;
#[cfg(feature = "writer")]
mod append;
mod control;
mod dir;
#[cfg(feature = "sync")]
mod durable;
#[cfg(feature = "tree")]
mod exchange;
mod file;
#[cfg(feature = "vfs")]
mod kept;
mod link;
mod mapping;
#[cfg(feature = "tree")]
mod name;
mod native;
#[cfg(any(feature = "fs", feature = "sync"))]
#[cfg_attr(not(feature = "fs"), allow(dead_code, reason = "`sync` tries again, and asks for no more"))]
mod open_files;
#[cfg_attr(not(feature = "fs"), allow(dead_code, reason = "where a path leads is asked by `fs`"))]
mod place;
#[cfg(feature = "sync")]
mod process;
mod stat;
#[cfg(feature = "sync")]
#[allow(dead_code, reason = "which of these are used depends on the features")]
mod sync;
mod thread;

use super::{EntryKind, Identity, Stat};
#[cfg(feature = "sync")]
pub(crate) use access::Access;
#[cfg(feature = "writer")]
pub(crate) use append::{open_for_one_writer, rename_new, unlock};
pub(crate) use dir::Dir;
#[cfg(feature = "sync")]
pub(crate) use durable::{WholeFileSystem, sync_handle};
#[cfg(feature = "tree")]
pub(crate) use exchange::exchange;
pub(crate) use file::*;
#[cfg(feature = "vfs")]
pub(crate) use kept::*;
pub(crate) use mapping::Mapping;
#[cfg(feature = "tree")]
pub(crate) use name::{has_usual_separators, is_separator, refusal_of_name};
#[cfg(any(feature = "fs", feature = "sync"))]
pub(crate) use open_files::*;
pub(crate) use place::*;
#[cfg(feature = "sync")]
pub(crate) use process::{Process, is_running, own_process};
pub(crate) use stat::{identity_of, stat};
#[cfg(feature = "sync")]
pub(crate) use sync::*;
pub(crate) use thread::{Sleeps, handle_limit, leave_processor, make_room_for_handles, processor, spawn_quiet, umask};
