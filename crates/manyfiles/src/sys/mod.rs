//! The operating system: one folder for each, with the same rooms and the same functions in all. Errors keep their
//! number.
//!
//! It knows nothing of the rest of the crate but how an error is explained.

mod identity;
mod keep;
mod location;
mod metadata;
#[cfg(any(unix, windows))]
mod name;
mod refusal;
#[cfg(any(unix, windows))]
mod symlink;
mod unable;

pub use identity::EntryKind;
pub use identity::Identity;
pub(crate) use identity::{Entering, Stat};
pub use keep::Keep;
#[cfg(any(unix, windows))]
pub(crate) use keep::Things;
pub(crate) use location::{AtPath, Location};
#[cfg(any(unix, windows))]
pub(crate) use metadata::{Attributes, FileFlags, Xattrs};
pub use metadata::{Metadata, Node};
#[cfg(any(unix, windows))]
pub(crate) use name::{ShortName, split_at_last_separator};
pub use refusal::Refusal;
#[cfg(any(unix, windows))]
pub use symlink::Symlink;
pub(crate) use unable::Unable;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as system;

#[cfg(windows)]
mod windows;
#[cfg(unix)]
pub(crate) use unix::do_flags_refuse;
#[cfg(windows)]
use windows as system;
#[cfg(windows)]
pub(crate) use windows::DELETE_ON_CLOSE;

// What each system has: the compiler says which one has not.
#[cfg(any(unix, windows))]
pub(crate) use system::{
    Access, COPIES_BY_PATH, Dir, Handle, Listing, Mapping, Process, Rights, SYSTEM_PATHS_ARE_QUICK, Sleeps, SystemPath,
    WholeFileSystem, appends, around_forks, at_exit, at_path, attributes_at, attributes_of, can_sync_file_system,
    cannot_be_kept, clone_file, close, coarse_milliseconds, copy_contents, copy_in_kernel, create_like,
    create_to_append, explain_folder, file_at, file_system_of, flags_of, forget_cached, free_handles, handle_limit,
    has_other_xattrs, has_usual_separators, has_xattrs, have_one_kernel, hold_file, id_of_path, identity_and_birth,
    identity_of, is_not_writable_in_place, is_out_of_handles, is_privileged, is_read_only, is_running, is_separator,
    is_stand_in, is_unreadable, leave_processor, leaves_room, location, location_without_path, make_room_for_handles,
    may_be_for_an_open_file, may_hold_lock, may_not_change_entries, may_not_open, may_not_remove,
    may_not_set_permissions, mode_without_list, name_is_taken, names_at, names_of, next_data, open_for_one_writer,
    open_source, open_to_sync, own_process, own_user, path_from_bytes, path_of, preallocate, processor, read, read_at,
    refusal_of_name, regular_file, rename_new, reserve_like, same_permissions, seek, set_flags, set_group, set_len,
    set_owner, set_permissions, set_times, set_xattrs, spawn_quiet, start_writeback, stat, stat_source, sync_all,
    sync_data, sync_file_system, sync_folder, sync_handle, system_path, take_away_other_xattrs, umask, unable_to_link,
    unlock, unwritten, while_in_use, write, write_at,
};

#[cfg(not(any(unix, windows)))]
mod other;
#[cfg(not(any(unix, windows)))]
pub(crate) use other::*;
