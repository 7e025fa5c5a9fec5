//! What a pending close stands in the way of.

use super::handle::Handle;
use super::policy::Access;
use crate::sys::{self, Identity, Name, PathPlace, Place};

/// What a handle that waits for its close may be in the way of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// Nothing: a pipe, a socket.
    Nowhere,
    /// This file.
    At(Place),
    /// This file, which was only read here: its close changes nothing that others could see in it, so that it may come
    /// at any time, but not after the file's name is gone (NFS and FUSE would keep another).
    Read(Place),
    /// A user's type. It may hold any files.
    Anywhere,
}

/// The file or folder that an operation is about.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// What is in a file, by whatever path.
    File(Identity),
    /// A file and its names.
    Named(Identity),
    /// A folder and all below it.
    Folder(Place),
    /// What is in a folder itself.
    Entries(Place),
}

impl From<PathPlace> for Target {
    fn from(place: PathPlace) -> Target {
        match place {
            PathPlace::File(identity) => Target::Named(identity),
            PathPlace::Folder(place) => Target::Folder(place),
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
    /// The spot of a handle that is about to be queued. Where the system can tell its name later it is not asked here:
    /// the name is seldom needed, and the thread that hands a file over must not wait for the answer.
    pub(super) fn of(handle: &Handle) -> Spot {
        match handle {
            Handle::System(handle) if sys::NAMES_ARE_QUICK => {
                sys::nameless_place(handle).map_or(Spot::Nowhere, Spot::At)
            }
            Handle::System(handle) => sys::place(handle).map_or(Spot::Nowhere, Spot::At),
            #[cfg(feature = "tokio")]
            Handle::Busy(file) => sys::place(&**file).map_or(Spot::Nowhere, Spot::At),
            Handle::Other(_) => Spot::Anywhere,
        }
    }

    /// The same of a handle that was opened for this. Where open files keep others from their paths it makes no
    /// difference.
    pub(super) fn with(self, access: Access) -> Spot {
        match self {
            Spot::At(place) if access == Access::Read && !cfg!(windows) => Spot::Read(place),
            spot => spot,
        }
    }

    /// Asks the system for the name of this open handle, if that was not done before. Only the kernel is asked, no
    /// server.
    pub(super) fn learn_name(&mut self, handle: &Handle) {
        if let (Spot::At(place) | Spot::Read(place), Handle::System(handle)) = (self, handle)
            && sys::NAMES_ARE_QUICK
            && place.name.is_none()
        {
            place.name = sys::name_of(handle);
        }
    }

    /// The file whose other closes have to come before or after this one.
    pub(super) fn file(&self) -> Option<Identity> {
        match self {
            Spot::At(place) => Some(place.identity),
            _ => None,
        }
    }

    /// What a hang of this close may spread to. Zero stands for all that is on no volume.
    pub(super) fn volume(&self) -> u64 {
        match self {
            Spot::At(place) | Spot::Read(place) => place.identity.volume,
            Spot::Nowhere | Spot::Anywhere => 0,
        }
    }

    pub(super) fn hinders(&self, target: &Target) -> Hinders {
        let surely = |is| if is { Hinders::Surely } else { Hinders::No };
        match (self, target) {
            (Spot::Nowhere, _) => Hinders::No,
            (Spot::Anywhere, _) => Hinders::Perhaps,
            (Spot::Read(_), Target::File(_)) => Hinders::No,
            (Spot::At(place), Target::File(file)) => surely(place.identity == *file),
            (Spot::At(place) | Spot::Read(place), Target::Named(file)) => surely(place.identity == *file),
            (Spot::At(place) | Spot::Read(place), Target::Folder(folder)) => is_in(place, folder, Name::is_at_or_below),
            (Spot::At(place) | Spot::Read(place), Target::Entries(folder)) => is_in(place, folder, Name::is_entry_of),
        }
    }
}

/// Whether a file is in a folder, as `by_name` tells.
///
/// What is mounted somewhere below a folder is in nobody's way who renames, removes or reads the folder. But the folder may be mounted
/// in two places: then the names differ, and nobody knows.
fn is_in(file: &Place, folder: &Place, by_name: fn(&Name, &Name) -> bool) -> Hinders {
    let is_on_one_volume = file.identity.volume == folder.identity.volume;
    let are_mounts_known = file.mount != 0 && folder.mount != 0;
    match (&file.name, &folder.name) {
        (Some(own), Some(name)) if !are_mounts_known || file.mount == folder.mount => match by_name(own, name) {
            true => Hinders::Surely,
            false => Hinders::No,
        },
        _ if is_on_one_volume => Hinders::Perhaps,
        _ => Hinders::No,
    }
}
