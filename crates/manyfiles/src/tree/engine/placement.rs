//! Where the bytes of a file go, and what was there before.

use std::ffi::{OsStr, OsString};
use std::io;

use super::folders::OpenFolder;
use super::name::Name;
use super::partial::Partial;
use crate::sys::{FileFlags, Handle, Stat, Things};
use crate::tree::Metadata;
use crate::tree::content::Content;
use crate::{Error, Operation};

/// Where the content goes. Whatever depends on what was there is decided by this: which permissions and owner the file
/// gets, what is taken away if it fails, what the failure says, whether it is synced by itself, under which name it is
/// written.
#[derive(Debug)]
pub(super) enum Placement {
    /// Nothing had the name.
    New,
    /// This file is written over.
    InPlace(Stat),
    /// It is written under a temporary name, and then takes the place of `old` (if that is a file) or of whatever else
    /// is there.
    Beside { temporary: OsString, old: Option<Stat> },
}

/// The open file that the content goes to.
pub(super) struct Target {
    pub(super) file: Handle,
    pub(super) placement: Placement,
    /// The permissions to be set when the content is there, if they are not what it has by then.
    pub(super) mode_at_the_end: Option<u32>,
    /// Whether any of its content may have changed.
    pub(super) touched: bool,
    /// The flags in which it differs from what it is to have.
    pub(super) flags: FileFlags,
    /// What it does not get of what its source has.
    pub(super) lost: Things,
    /// Whether nothing had the name. If something has it at the end, that is only replaced if all is to be.
    pub(super) name_was_free: bool,
    /// Whether a later run can go on with it.
    pub(super) partial: Option<Partial>,
}

/// A file that is open and has nothing of its content yet. Its folder is not in here: counting its users for each file,
/// on two processors in turns, takes 5 % of the time that a small file takes.
pub(in crate::tree) struct Opened {
    /// The name it is to have at the end.
    pub(super) name: Name,
    pub(super) content: Content,
    pub(super) metadata: Metadata,
    pub(super) target: Target,
    /// The name it was handed over with, if it got another.
    pub(super) asked: Option<Name>,
    /// What it is to be a copy of.
    pub(super) source: Option<(Handle, Stat)>,
}

impl Target {
    pub(super) fn new(file: Handle, placement: Placement) -> Target {
        Target {
            file,
            placement,
            mode_at_the_end: None,
            touched: false,
            flags: FileFlags::default(),
            lost: Things::default(),
            name_was_free: false,
            partial: None,
        }
    }

    /// How long what is written over was.
    pub(super) fn old_len(&self) -> Option<u64> {
        match &self.placement {
            Placement::InPlace(old) => Some(old.len),
            _ => None,
        }
    }

    /// Whether it stays if it fails, to be gone on with.
    pub(super) fn stays(&self) -> bool {
        match self.partial {
            Some(Partial::Resumed) => true,
            Some(Partial::Sealed) => self.touched,
            Some(Partial::Wanted(_)) | None => false,
        }
    }

    pub(super) fn is_in_place(&self) -> bool {
        matches!(self.placement, Placement::InPlace(_))
    }
}

impl Placement {
    /// The name under which an incomplete file is removed. What is written over in place never is.
    pub(super) fn removable_name<'a>(&'a self, name: &'a Name) -> Option<&'a OsStr> {
        match self {
            Placement::New => Some(name),
            Placement::InPlace(_) => None,
            Placement::Beside { temporary, .. } => Some(temporary),
        }
    }
}

impl Opened {
    pub(super) fn error(&self, at: &OpenFolder, operation: Operation, cause: io::Error) -> Error {
        Error::new(operation, at.folder.join(&self.name), cause)
    }
}
