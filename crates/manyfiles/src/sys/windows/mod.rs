//! Windows: 10 and later is what it is made for. Where a file system, an older Windows or a server does not know a call, the
//! one before it is used.

mod access;
mod append;
mod control;
mod dir;
mod durable;
mod exchange;
mod file;
mod kept;
mod link;
mod mapping;
mod name;
mod native;
mod open_files;
mod place;
mod process;
mod stat;
mod sync;
mod thread;

use super::{EntryKind, Identity, Stat};
pub(crate) use access::Access;
pub(crate) use append::{open_for_one_writer, rename_new, unlock};
pub(crate) use dir::Dir;
pub(crate) use durable::{WholeFileSystem, sync_handle};
pub(crate) use exchange::exchange;
pub(crate) use file::*;
pub(crate) use kept::*;
pub(crate) use mapping::Mapping;
pub(crate) use name::{has_usual_separators, is_separator, refusal_of_name};
pub(crate) use open_files::*;
pub(crate) use place::*;
pub(crate) use process::{Process, is_running, own_process};
pub(crate) use stat::{identity_of, stat};
pub(crate) use sync::*;
pub(crate) use thread::{Sleeps, handle_limit, leave_processor, make_room_for_handles, processor, spawn_quiet, umask};
