//! Files that are written beside their name and get it when they are complete: streams whose name was in use when they
//! began.

use std::ffi::OsStr;
use std::io;

use super::access::mode_to_open;
use super::conflict::{Choice, Entry};
use super::folders::OpenFolder;
use super::job::Unnamed;
use super::lane::Lane;
use super::name::Name;
use super::placement::{Opened, Placement, Target};
use crate::sys::{self, EntryKind, FileFlags, Things};
use crate::tree::{Content, Metadata};
use crate::{Error, Operation, Result};

impl Lane {
    /// Opens a file that is not to have its name yet: until [`give_name`](Lane::give_name) its name is a temporary one.
    pub(super) fn open_beside(&mut self, at: &OpenFolder, name: &OsStr, mut metadata: Metadata) -> Result<Opened> {
        let failed = |cause| Error::new(Operation::Create, at.folder.join(name), cause);
        let mode = mode_to_open(&metadata, None);
        let (file, temporary) = self.make_temporary(at, |dir, name| dir.create_new(name, mode)).map_err(failed)?;
        let mut target = Target::new(file, Placement::New);
        // Without its own name it cannot be found at the end.
        if let Some(flags) = &mut metadata.flags
            && flags.has(FileFlags::LAST)
        {
            *flags = flags.without(FileFlags::LAST);
            metadata.lost = metadata.lost.with(Things::FLAGS);
        }
        let prepared = self.prepare(at, &mut target, &metadata);
        let opened = Opened {
            name: Name::from(&*temporary),
            content: Content::from_static(b""),
            metadata,
            target,
            asked: None,
            source: None,
        };
        match prepared {
            Ok(()) => Ok(opened),
            Err(cause) => Err(self.take_away(at, opened, failed(cause))),
        }
    }

    /// Gives a complete file its name, as the policy for names that are taken says.
    pub(super) fn give_name(&mut self, at: &OpenFolder, name: &OsStr, unnamed: Unnamed) -> Result<()> {
        match self.try_to_name(at, name, &unnamed) {
            Ok(true) => {
                self.counts.files += 1;
                self.counts.bytes += unnamed.bytes;
                Ok(())
            }
            Ok(false) => {
                self.counts.skipped += 1;
                drop(at.dir.remove(&unnamed.temporary)); // A later run removes it, if this cannot.
                Ok(())
            }
            Err(cause) => {
                drop(at.dir.remove(&unnamed.temporary)); // The error to report is the one that led here.
                Err(Error::new(Operation::Create, at.folder.join(name), cause))
            }
        }
    }

    /// False if the entry is skipped.
    fn try_to_name(&mut self, at: &OpenFolder, name: &OsStr, unnamed: &Unnamed) -> io::Result<bool> {
        let Unnamed { temporary, metadata, .. } = unnamed;
        let dir = &at.dir;
        let taken = match dir.rename_new(temporary, name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => error,
            named => return named.map(|()| true),
        };
        let there = match dir.stat(name) {
            // The file that had the name is gone. One that comes now is replaced as the old one would be.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return dir.rename(temporary, name).map(|()| true),
            there => there?,
        };
        match self.choice(&at.folder, name, &there, Entry::File, metadata.modified) {
            Choice::Fail(obstacle) => Err(obstacle.error()),
            Choice::Skip => Ok(false),
            Choice::Rename => {
                self.free_name(&at.folder, dir, name, |dir, other| dir.rename_new(temporary, other)).map(|_| true)
            }
            Choice::Compare | Choice::Overwrite | Choice::Replace => {
                if there.kind == EntryKind::File {
                    let file = dir.open_to_write(temporary)?;
                    let mode = self.prepare_beside(&file, &there, metadata, &mut Things::default())?;
                    if !metadata.xattrs.is_empty() {
                        sys::set_xattrs(&file, &metadata.xattrs, &self.shared.options.keep)?; // Another owner takes capabilities away.
                    }
                    if let Some(mode) = mode {
                        sys::set_permissions(&file, mode)?;
                    }
                }
                dir.rename(temporary, name).map(|()| true)
            }
            Choice::Ask => Err(taken),
        }
    }
}
