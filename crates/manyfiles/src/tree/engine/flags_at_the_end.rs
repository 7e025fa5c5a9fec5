//! Files that are to be immutable or append-only: with these flags no link to them is made, no name is changed, and no
//! time is set. So they get them when all else is done.

use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex};

use super::folders::Folder;
use super::lane::Lane;
use super::lock::lock;
use crate::sys::{FileFlags, Identity, Things};
use crate::{Error, Operation, Result};

/// Takes memory for each such file. Only privileged programs make any.
#[derive(Debug, Default)]
pub(super) struct FlagsAtTheEnd(Mutex<Vec<Flagged>>);

#[derive(Debug)]
struct Flagged {
    folder: Arc<Folder>,
    name: OsString,
    flags: FileFlags,
    /// What has the name by then may be another file.
    identity: Identity,
}

impl FlagsAtTheEnd {
    pub(super) fn add(&self, folder: Arc<Folder>, name: &OsStr, flags: FileFlags, identity: Identity) {
        lock(&self.0).push(Flagged { folder, name: name.to_owned(), flags, identity });
    }

    /// Sets them, and returns what went wrong.
    pub(super) fn set(&self, lane: &mut Lane) -> Vec<Error> {
        let all = std::mem::take(&mut *lock(&self.0));
        all.into_iter().filter_map(|flagged| set_one(lane, &flagged).err()).collect()
    }
}

fn set_one(lane: &mut Lane, flagged: &Flagged) -> Result<()> {
    let Flagged { folder, name, flags, identity } = flagged;
    let dir = lane.folder(folder)?.dir;
    let which = flags.only(FileFlags::LAST);
    let set = dir.set_flags(name, *flags, which, Some(*identity));
    if !set.map_err(|cause| Error::new(Operation::SetMetadata, folder.join(name), cause))? {
        lane.counts.lose(Things::FLAGS);
    }
    Ok(())
}
