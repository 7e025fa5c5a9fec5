//! Unix.

mod dir;
mod file;
mod mapping;
mod thread;

pub(crate) use dir::{Dir, EntryKind, Stat};
pub(crate) use file::*;
pub(crate) use mapping::Mapping;
pub(crate) use thread::{
    Sleeps, handle_limit, leave_processor, make_room_for_handles, own_descriptors, own_umask, processor, umask,
};
