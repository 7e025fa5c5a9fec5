//! One name is compared.

use std::ffi::OsStr;
use std::io;
use std::sync::atomic::Ordering::Relaxed;

use super::What;
use super::compare::{Comparison, Job, Pair, Root};
use super::crew::Hand;
use super::found::Name;
use super::same::{is_same_content, is_same_time};
use crate::Operation;
use crate::sys::{self, Dir, EntryKind, Stat};

impl Comparison {
    /// Compares one name. An error says what could not be done, and in which tree.
    pub(super) fn name(
        &self,
        pair: &Pair,
        name: &OsStr,
        is_there: bool,
        folders: &mut Vec<Job>,
        hand: &mut Hand,
    ) -> Result<(), (Operation, &Root, io::Error)> {
        let of_source = |operation| move |cause| (operation, &self.source, cause);
        let of_target = |operation| move |cause| (operation, &self.target, cause);
        let stat = match pair.source.stat(name) {
            // It is gone meanwhile. What is in the target stays until the next time.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            stat => stat.map_err(of_source(Operation::Metadata))?,
        };
        // Most names are equal: only those that are not need their paths.
        let path = || pair.path.join(name);
        if self.how.one_file_system && stat.identity.volume != self.source.identity.volume {
            return Ok(());
        }
        if stat.identity == self.target.identity {
            self.found().overlap.is_the_other(self.source.path.join(path()), "target");
            return Ok(());
        }
        if stat.kind == EntryKind::Other
            && !(self.how.special_files && pair.source.node(name).map_err(of_source(Operation::Metadata))?.is_some())
        {
            self.found().left_out.push(path());
            return Ok(());
        }
        if pair.path.as_os_str().is_empty() {
            self.found().source_is_empty = false;
        }
        let there = match is_there.then(|| pair.target.stat(name)).transpose() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            there => there.map_err(of_target(Operation::Metadata))?,
        };
        if stat.links > 1 && stat.kind != EntryKind::Folder {
            let there = there.map(|there| there.identity);
            let name = Name { path: path(), there, len: stat.len };
            self.found().links.entry(stat.identity).or_default().push(name);
        }
        let Some(there) = there else {
            self.differs(path(), &stat, What::New);
            return Ok(());
        };
        if there.identity == self.source.identity {
            self.found().overlap.is_the_other(self.target.path.join(path()), "source");
            return Ok(());
        }
        if there.links > 1 && there.kind == EntryKind::File && stat.kind == EntryKind::File {
            let name = (path(), stat.identity, stat.len);
            self.found().shared.entry(there.identity).or_default().push(name);
        }
        if there.kind != stat.kind {
            self.differs(path(), &stat, What::Kind);
            return Ok(());
        }
        if stat.kind == EntryKind::Folder {
            folders.push(Job::Folder(path()));
            return Ok(());
        }
        let other_time = (!self.is_same_time(&stat, &there)).then_some(What::Metadata);
        let differs = match stat.kind {
            EntryKind::File if stat.len != there.len => Some(What::Content),
            EntryKind::File if self.how.by_content => {
                let same = is_same_content((&pair.source, name), (&pair.target, name), &self.how, &mut hand.buffer);
                let same = same.map_err(|(of_ours, cause)| {
                    (Operation::Read, if of_ours { &self.source } else { &self.target }, cause)
                })?;
                (!same).then_some(What::Content).or(other_time)
            }
            EntryKind::File | EntryKind::Folder => other_time.map(|_| What::Content),
            EntryKind::Symlink => {
                let says = pair.source.read_link(name).map_err(of_source(Operation::Read))?;
                let same = says == pair.target.read_link(name).map_err(of_target(Operation::Read))?;
                (!same).then_some(What::Content).or(other_time)
            }
            EntryKind::Other => {
                let node = |dir: &Dir| dir.node(name);
                let same = node(&pair.source).map_err(of_source(Operation::Metadata))?
                    == node(&pair.target).map_err(of_target(Operation::Metadata))?;
                (!same).then_some(What::Content).or(other_time)
            }
        };
        let differs =
            differs.or_else(|| self.metadata_differs(&pair.source, name, (&stat, &there)).then_some(What::Metadata));
        let differs = match differs {
            None => {
                let differ = self.attributes_differ(pair, name, stat.kind).map_err(|(of_ours, cause)| {
                    (Operation::Metadata, if of_ours { &self.source } else { &self.target }, cause)
                })?;
                differ.then_some(What::Metadata)
            }
            differs => differs,
        };
        match differs {
            Some(what) => self.differs(path(), &stat, what),
            None => drop(self.unchanged.fetch_add(1, Relaxed)),
        }
        Ok(())
    }

    pub(super) fn is_same_time(&self, source: &Stat, there: &Stat) -> bool {
        is_same_time(source.modified, there, self.keeps_coarse_times)
    }

    /// Permissions and owner.
    pub(super) fn metadata_differs(&self, source: &Dir, name: &OsStr, (stat, there): (&Stat, &Stat)) -> bool {
        if self.how.compares_owners() && stat.owner != there.owner {
            return true;
        }
        self.keeps_permissions
            && stat.kind != EntryKind::Symlink
            && self.how.mode_of(source, name, stat) != there.mode & self.how.mode_bits()
    }

    /// Attributes, lists and flags. True in the error: it is the source's.
    pub(super) fn attributes_differ(
        &self,
        pair: &Pair,
        name: &OsStr,
        kind: EntryKind,
    ) -> Result<bool, (bool, io::Error)> {
        if !self.how.compares_attributes() {
            return Ok(false);
        }
        let of = |root: &Root, dir: &Dir| {
            let shown = || root.path.join(&pair.path);
            dir.attributes_of_name(name, kind, shown, &self.how.keep)
        };
        let ours = of(&self.source, &pair.source).map_err(|cause| (true, cause))?;
        let theirs = of(&self.target, &pair.target).map_err(|cause| (false, cause))?;
        // `None`: there are no flags.
        let flags = |flags: Option<sys::FileFlags>| flags.unwrap_or_default();
        Ok(ours.xattrs != theirs.xattrs || flags(ours.flags) != flags(theirs.flags))
    }
}

/// A tree that is met in the other one, by a mount.
pub(super) fn is_the_other(which: &str) -> io::Error {
    io::Error::other(format!("it is the {which} itself, by a mount: one is in the other; exclude it, or unmount it"))
}
