//! What a pending close stands in the way of.

#![cfg_attr(not(feature = "fs"), allow(dead_code, reason = "where a path leads is asked by `fs`"))]

use super::handle::Handle;
use crate::sys::{self, Identity, Name, PathPlace, Place};

/// What a handle that waits for its close may be in the way of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// Nothing: a pipe, a socket.
    Nowhere,
    /// This file.
    At(Place),
    /// A type of the user's with who knows what inside.
    Anywhere,
}

/// What somebody is about to do something with.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// A file, by whatever path.
    File(Identity),
    /// A folder and all below it.
    Folder {
        /// The volume it is on, for files whose names are not known.
        volume: u64,
        /// Its path.
        name: Option<Name>,
    },
}

impl From<PathPlace> for Target {
    fn from(place: PathPlace) -> Target {
        match place {
            PathPlace::File(identity) => Target::File(identity),
            PathPlace::Folder(Place { identity, name }) => Target::Folder { volume: identity.volume, name },
        }
    }
}

/// Whether a pending close is in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hinders {
    No,
    /// Nobody knows: it is waited for, but not for ever.
    Perhaps,
    Surely,
}

impl Spot {
    pub(super) fn of(handle: &Handle) -> Spot {
        match handle {
            Handle::System(handle) => sys::place(handle).map_or(Spot::Nowhere, Spot::At),
            #[cfg(feature = "tokio")]
            Handle::Busy(file) => sys::place(&**file).map_or(Spot::Nowhere, Spot::At),
            Handle::Other(_) => Spot::Anywhere,
        }
    }

    pub(super) fn file(&self) -> Option<Identity> {
        match self {
            Spot::At(place) => Some(place.identity),
            _ => None,
        }
    }

    /// What a hang of this close may spread to. Zero stands for all that is on no volume.
    pub(super) fn volume(&self) -> u64 {
        self.file().map_or(0, |file| file.volume)
    }

    pub(super) fn hinders(&self, target: &Target) -> Hinders {
        let surely = |is| if is { Hinders::Surely } else { Hinders::No };
        match (self, target) {
            (Spot::Nowhere, _) => Hinders::No,
            (Spot::Anywhere, _) => Hinders::Perhaps,
            (Spot::At(place), Target::File(file)) => surely(place.identity == *file),
            (Spot::At(place), Target::Folder { volume, name }) => match (&place.name, name) {
                (Some(own), Some(folder)) => surely(own.is_at_or_below(folder)),
                _ if place.identity.volume == *volume => Hinders::Perhaps,
                _ => Hinders::No,
            },
        }
    }
}
