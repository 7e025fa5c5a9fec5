//! Which operations a pending close is in the way of.

use std::sync::{Arc, OnceLock};

use super::handle::Handle;
use super::policy::Access;
use crate::sys::{self, AtPath, Identity, Location, SystemPath};

/// What a handle that waits for its close may be in the way of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// Nothing: a pipe, a socket.
    Nowhere,
    /// This file.
    At(Location),
    /// This file, which was only read here. Its close changes nothing that can be seen in the file, so that it may come
    /// at any time, but not after the file's name is gone: NFS and FUSE would keep the file under another name.
    Read(Location),
    /// A user's type. It may hold any files.
    Anywhere,
}

/// The path of a file that is being closed. While it is being closed the system cannot be asked, so the thread that
/// closes asks just before, without the lock of the queue: asking takes as long as taking the job.
pub(super) type AskedPath = Arc<OnceLock<Option<SystemPath>>>;

/// The file or folder that an operation is about.
#[derive(Clone, Debug)]
pub(crate) enum Affected {
    /// What is in a file, by whatever path.
    File(Identity),
    /// A file and its names.
    Named(Identity),
    /// A folder and all below it.
    Folder(Location),
    /// What is in a folder itself.
    Entries(Location),
}

impl From<AtPath> for Affected {
    fn from(location: AtPath) -> Affected {
        match location {
            AtPath::File(identity) => Affected::Named(identity),
            AtPath::Folder(location) => Affected::Folder(location),
        }
    }
}

/// Whether a pending close is in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hinders {
    No,
    /// It may be: it is waited for, but not for ever.
    Perhaps,
    Surely,
}

impl Spot {
    /// The spot of a handle that is about to be queued. Where the system can tell the path later, it is not asked now:
    /// the path is seldom needed, and the thread that hands a file over must not wait for the answer.
    pub(super) fn of(handle: &Handle) -> Spot {
        match handle {
            Handle::System(handle) if sys::SYSTEM_PATHS_ARE_QUICK => {
                sys::location_without_path(handle).map_or(Spot::Nowhere, Spot::At)
            }
            Handle::System(handle) => sys::location(handle).map_or(Spot::Nowhere, Spot::At),
            #[cfg(feature = "tokio")]
            Handle::Busy(file) => sys::location(&**file).map_or(Spot::Nowhere, Spot::At),
            Handle::Other(_) => Spot::Anywhere,
        }
    }

    /// The spot of a handle that was opened for `access`. On a system where open files keep other operations from their
    /// paths, reading makes no difference.
    pub(super) fn with(self, access: Access) -> Spot {
        match self {
            Spot::At(location) if access == Access::Read && !cfg!(windows) => Spot::Read(location),
            spot => spot,
        }
    }

    /// Asks the system for the path of this open handle, if that was not done before. Only the kernel is asked, no
    /// server.
    pub(super) fn learn_path(&mut self, handle: &Handle) {
        if self.has_more_to_ask(handle) {
            let path = self.ask_path(handle);
            if let Spot::At(location) | Spot::Read(location) = self {
                location.path = path;
            }
        }
    }

    /// Whether the system can be asked for the path of this open handle, and was not.
    pub(super) fn has_more_to_ask(&self, handle: &Handle) -> bool {
        let is_unknown = matches!(self, Spot::At(location) | Spot::Read(location) if location.path.is_none());
        sys::SYSTEM_PATHS_ARE_QUICK && is_unknown && matches!(handle, Handle::System(_))
    }

    /// What the system says, if it was not asked before.
    pub(super) fn ask_path(&self, handle: &Handle) -> Option<SystemPath> {
        match handle {
            Handle::System(system) if self.has_more_to_ask(handle) => sys::system_path(system),
            _ => None,
        }
    }

    /// The file, if its other closes have to come before or after this one.
    pub(super) fn file(&self) -> Option<Identity> {
        match self {
            Spot::At(location) => Some(location.identity),
            _ => None,
        }
    }

    /// The volume whose other closes may hang if this one does. Zero stands for all that is on no volume.
    pub(super) fn volume(&self) -> u64 {
        match self {
            Spot::At(location) | Spot::Read(location) => location.identity.volume,
            Spot::Nowhere | Spot::Anywhere => 0,
        }
    }

    /// `asked`: the path, where the system was asked for it when the close began.
    pub(super) fn hinders(&self, affected: &Affected, asked: Option<&SystemPath>) -> Hinders {
        let surely = |is| if is { Hinders::Surely } else { Hinders::No };
        match (self, affected) {
            (Spot::Nowhere, _) => Hinders::No,
            (Spot::Anywhere, _) => Hinders::Perhaps,
            (Spot::Read(_), Affected::File(_)) => Hinders::No,
            (Spot::At(location), Affected::File(file)) => surely(location.identity == *file),
            (Spot::At(location) | Spot::Read(location), Affected::Named(file)) => surely(location.identity == *file),
            (Spot::At(location) | Spot::Read(location), Affected::Folder(folder)) => {
                is_in(location, asked, folder, SystemPath::is_at_or_below)
            }
            (Spot::At(location) | Spot::Read(location), Affected::Entries(folder)) => {
                is_in(location, asked, folder, SystemPath::is_entry_of)
            }
        }
    }
}

/// Whether a file is in a folder, as `by_path` tells.
///
/// Files on what is mounted below a folder are not in the way of an operation on the folder. But the folder itself may
/// be mounted in two places. Then the paths differ, and whether the file is in the folder is not known.
fn is_in(
    file: &Location,
    asked: Option<&SystemPath>,
    folder: &Location,
    by_path: fn(&SystemPath, &SystemPath) -> bool,
) -> Hinders {
    let is_on_one_volume = file.identity.volume == folder.identity.volume;
    let are_mounts_known = file.mount != 0 && folder.mount != 0;
    match (file.path.as_ref().or(asked), &folder.path) {
        (Some(own), Some(above)) if !are_mounts_known || file.mount == folder.mount => match by_path(own, above) {
            true => Hinders::Surely,
            false => Hinders::No,
        },
        _ if is_on_one_volume => Hinders::Perhaps,
        _ => Hinders::No,
    }
}
