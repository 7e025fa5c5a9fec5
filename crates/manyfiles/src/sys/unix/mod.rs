//! Unix.

mod access;
mod append;
mod dir;
mod durable;
mod file;
mod kept;
mod link;
#[cfg(target_os = "linux")]
mod magic;
mod mapping;
mod name;
mod names;
mod open_files;
mod place;
mod process;
mod sync;
mod thread;

use super::{EntryKind, Identity, Stat};
pub(crate) use access::Access;
pub(crate) use append::{open_for_one_writer, rename_new, unlock};
pub(crate) use dir::Dir;
pub(crate) use durable::{WholeFileSystem, sync_handle};
pub(crate) use file::*;
pub(crate) use kept::*;
pub(crate) use mapping::Mapping;
pub(crate) use name::{has_usual_separators, is_separator, refusal_of_name};
pub(crate) use names::exchange;
pub(crate) use open_files::*;
pub(crate) use place::*;
pub(crate) use process::{Process, is_running, own_process};
pub(crate) use sync::*;
pub(crate) use thread::{Sleeps, handle_limit, leave_processor, make_room_for_handles, processor, spawn_quiet, umask};
