//! Entries without bytes: links and nodes. They are made whole: where something is to be replaced under a temporary
//! name, with all that they carry, and renamed.

use std::cell::Cell;
use std::ffi::OsStr;
use std::io;
use std::time::SystemTime;

use super::access::FILE_MODE;
use super::conflict::{Choice, Entry, Obstacle};
use super::folders::OpenFolder;
use super::lane::Lane;
use super::shared::Shared;
use crate::sys::{Dir, EntryKind, Keep, Stat, Things};
use crate::tree::{Metadata, Node, Symlink};
use crate::{Error, Operation, Result};

/// How one kind of entry without bytes is made.
pub(super) struct Making<'a> {
    pub(super) operation: Operation,
    /// What it is, as far as a conflict goes by it: a second name of a file is as a file.
    pub(super) entry: &'a dyn Fn() -> Entry,
    /// The time that a conflict goes by. Asked only then.
    pub(super) modified: &'a dyn Fn() -> io::Result<Option<SystemTime>>,
    pub(super) make: &'a dyn Fn(&Dir, &OsStr) -> io::Result<()>,
    /// Gives what was made its metadata.
    pub(super) dress: &'a dyn Fn(&Dir, &OsStr) -> io::Result<()>,
    /// Whether what is there is what would be made.
    pub(super) is_same: &'a dyn Fn(&Dir, &OsStr, &Stat) -> io::Result<bool>,
    /// Whether it is always left alone where it is the same: a second name for a file that it is a name of.
    pub(super) same_is_done: bool,
}

impl Lane {
    pub(super) fn make_symlink(
        &mut self,
        at: &OpenFolder,
        name: &OsStr,
        link: &Symlink,
        metadata: &Metadata,
    ) -> Result<()> {
        let (keep, lost) = (self.shared.options.keep, Cell::new(metadata.lost));
        let shared = self.shared.clone();
        let making = Making {
            operation: Operation::Symlink,
            entry: &|| Entry::Other,
            modified: &|| Ok(metadata.modified),
            make: &|dir, name| shared.noting_link(dir, name, || dir.symlink(link, name)),
            dress: &|dir, name| dress_and_note(dir, name, metadata, None, &keep, &lost),
            is_same: &|dir, name, there| Ok(has(there, metadata, None) && dir.is_symlink(name, link)?),
            same_is_done: false,
        };
        let made = self.make_noted(at, name, &making)?;
        self.counts.symlinks += u64::from(made);
        self.counts.lose(if made { lost.get() } else { Things::default() });
        Ok(())
    }

    pub(super) fn make_hard_link(
        &mut self,
        at: &OpenFolder,
        name: &OsStr,
        from: &OpenFolder,
        existing: &OsStr,
    ) -> Result<()> {
        let shared = self.shared.clone();
        let making = Making {
            operation: Operation::HardLink,
            entry: &|| match from.dir.stat(existing) {
                Ok(source) if source.kind == EntryKind::File => Entry::File,
                _ => Entry::Other,
            },
            modified: &|| Ok(Some(from.dir.stat(existing)?.modified)),
            make: &|dir, name| shared.noting_link(dir, name, || dir.hard_link(&from.dir, existing, name)),
            dress: &|_, _| Ok(()),
            is_same: &|_, _, there| Ok(from.dir.stat(existing)?.identity == there.identity),
            same_is_done: true,
        };
        let made = self.make_noted(at, name, &making)?;
        self.counts.hard_links += u64::from(made);
        Ok(())
    }

    pub(super) fn make_node(&mut self, at: &OpenFolder, name: &OsStr, node: Node, metadata: &Metadata) -> Result<()> {
        let mode = metadata.mode.unwrap_or(FILE_MODE);
        let exact = self.shared.options.exact_permissions;
        let wanted = metadata.mode.map(|mode| mode & 0o7777 & !self.shared.masked());
        // What the kernel, which applies the umask, does not give by itself.
        let at_the_end = wanted.filter(|_| exact || mode & 0o7000 != 0);
        let (keep, lost) = (self.shared.options.keep, Cell::new(metadata.lost));
        let making = Making {
            operation: Operation::CreateNode,
            entry: &|| Entry::Other,
            modified: &|| Ok(metadata.modified),
            make: &|dir, name| dir.make_node(name, node, mode & 0o777),
            dress: &|dir, name| dress_and_note(dir, name, metadata, at_the_end, &keep, &lost),
            is_same: &|dir, name, there| Ok(has(there, metadata, wanted) && dir.is_node(name, node)?),
            same_is_done: false,
        };
        let made = self.make_named(at, name, &making)?;
        self.counts.nodes += u64::from(made);
        self.counts.lose(if made { lost.get() } else { Things::default() });
        Ok(())
    }

    /// Makes what may be a link that leads to a folder. It is known to be the run's before it has the name.
    fn make_noted(&mut self, at: &OpenFolder, name: &OsStr, making: &Making<'_>) -> Result<bool> {
        if !self.shared.options.follow_folder_links {
            return self.make_named(at, name, making);
        }
        let failed = |cause| Error::new(making.operation, at.folder.join(name), cause);
        let is_first = self.shared.folder_links.note(&at.dir, name).map_err(failed)?;
        let made = self.make_named(at, name, making)?;
        if !made && is_first {
            // What was there stays.
            self.shared.folder_links.forget(&at.dir, name).map_err(failed)?;
        }
        Ok(made)
    }

    /// False if it was skipped.
    pub(super) fn make_named(&mut self, at: &OpenFolder, name: &OsStr, making: &Making<'_>) -> Result<bool> {
        let failed = |operation| {
            let path = at.folder.join(name);
            move |cause| Error::new(operation, path, cause)
        };
        // Again, if the file in the way is gone when it is looked at.
        for _ in 0..8 {
            match (making.make)(&at.dir, name) {
                Ok(()) => {
                    return dress(&at.dir, name, making).map(|()| true).map_err(failed(Operation::SetMetadata));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(making.operation)(error)),
            }
            let there = match at.dir.stat(name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                there => there.map_err(failed(making.operation))?,
            };
            return self.make_over(at, name, &there, making).map_err(failed(making.operation));
        }
        Err(failed(making.operation)(Obstacle::Taken.error()))
    }

    fn make_over(&mut self, at: &OpenFolder, name: &OsStr, there: &Stat, making: &Making<'_>) -> io::Result<bool> {
        let modified = (making.modified)()?;
        match self.choice(&at.folder, name, there, (making.entry)(), modified) {
            Choice::Fail(obstacle) => Err(obstacle.error()),
            Choice::Skip => self.skipped(),
            Choice::Rename => {
                let (_, name) = self.free_name(&at.folder, &at.dir, name, |dir, name| (making.make)(dir, name))?;
                dress(&at.dir, &name, making).map(|()| true)
            }
            Choice::Compare if (making.is_same)(&at.dir, name, there)? => self.skipped(),
            Choice::Overwrite | Choice::Replace if making.same_is_done && (making.is_same)(&at.dir, name, there)? => {
                Ok(true)
            }
            Choice::Compare | Choice::Overwrite | Choice::Replace | Choice::Ask => {
                let ((), temporary) = self.make_temporary(at, |dir, name| (making.make)(dir, name))?;
                let renamed = (making.dress)(&at.dir, &temporary).and_then(|()| at.dir.rename(&temporary, name));
                // The temporary is still there if the rename failed, or if both names were links to one file already.
                match at.dir.remove(&temporary) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => renamed.and(Err(error)),
                    _ => renamed.map(|()| true),
                }
            }
        }
    }

    fn skipped(&mut self) -> io::Result<bool> {
        self.counts.skipped += 1;
        Ok(false)
    }
}

impl Shared {
    /// Makes a link under a name that may be one of several.
    fn noting_link(&self, dir: &Dir, name: &OsStr, make: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        if self.options.follow_folder_links {
            self.folder_links.note(dir, name)?;
        }
        make()
    }
}

/// Gives what was made what it is to carry, and notes what it does not get of that.
fn dress_and_note(
    dir: &Dir,
    name: &OsStr,
    metadata: &Metadata,
    mode: Option<u32>,
    keep: &Keep,
    lost: &Cell<Things>,
) -> io::Result<()> {
    lost.set(lost.get().with(dir.dress(name, metadata, mode, keep)?));
    Ok(())
}

/// Sets the metadata of what was made. If that fails, it is removed again.
fn dress(dir: &Dir, name: &OsStr, making: &Making<'_>) -> io::Result<()> {
    (making.dress)(dir, name).inspect_err(|_| drop(dir.remove(name))) // The error to report is the first.
}

/// Whether what is there carries all that is given.
fn has(there: &Stat, metadata: &Metadata, mode: Option<u32>) -> bool {
    metadata.modified.is_none_or(|modified| modified == there.modified)
        && metadata.owner.is_none_or(|owner| owner == there.owner)
        && mode.is_none_or(|mode| mode == there.mode)
        && metadata.xattrs.is_empty() // They are not looked at: what is to have some is made again.
}
