//! Unix.

#[cfg(feature = "sync")]
mod access;
#[cfg(feature = "writer")]
mod append;
mod dir;
#[cfg(feature = "sync")]
mod durable;
mod file;
#[cfg(feature = "vfs")]
mod kept;
#[cfg(feature = "tree")]
mod link;
#[cfg(target_os = "linux")]
mod magic;
mod mapping;
#[cfg(feature = "tree")]
mod name;
#[cfg(feature = "tree")]
mod names;
#[cfg(feature = "fs")]
mod open_files;
#[cfg_attr(not(feature = "fs"), allow(dead_code, reason = "where a path leads is asked by `fs`"))]
mod place;
#[cfg(feature = "sync")]
mod process;
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
pub(crate) use file::*;
#[cfg(feature = "vfs")]
pub(crate) use kept::*;
pub(crate) use mapping::Mapping;
#[cfg(feature = "tree")]
pub(crate) use name::{has_usual_separators, is_separator, refusal_of_name};
#[cfg(feature = "tree")]
pub(crate) use names::exchange;
#[cfg(feature = "fs")]
pub(crate) use open_files::*;
pub(crate) use place::*;
#[cfg(feature = "sync")]
pub(crate) use process::{Process, is_running, own_process};
#[cfg(feature = "sync")]
pub(crate) use sync::*;
pub(crate) use thread::{Sleeps, handle_limit, leave_processor, make_room_for_handles, processor, spawn_quiet, umask};
