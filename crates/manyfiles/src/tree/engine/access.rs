//! The owner and the permission bits that a file gets, by the rules of tar and cp.
//!
//! - No mode is given: the kernel makes the file with 0666, by the umask or the folder's default access control list.
//!   What is replaced keeps its mode, and its owner where that can be; what is written over in place keeps both by
//!   itself.
//! - A mode is given: the kernel applies umask or list to it as well, unless exact permissions are asked for.
//! - Rights are taken away before the content comes, and given after it. Owner first, then permissions, because a
//!   change of the owner takes set-id bits away; these come last of all, so that a file that is half there cannot be
//!   run.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use super::folders::Folder;
use super::folders::OpenFolder;
use super::lane::Lane;
use super::placement::{Placement, Target};
use crate::sys::{self, Dir, Handle, Stat};
use crate::tree::Metadata;

/// The permissions of a file for which none are given.
pub(super) const FILE_MODE: u32 = 0o666;

/// Without what the group may do and others may not: until a file has its group, another group must not have it open.
fn narrowed(mode: u32) -> u32 {
    mode & (0o707 | (mode & 0o007) << 3)
}

/// The right that a user needs to give a file of its own extended attributes, however the file was opened.
fn to_set_xattrs(metadata: &Metadata) -> u32 {
    if metadata.xattrs.is_empty() { 0 } else { 0o200 }
}

/// What to open a new file with, that is to take the place of `old` if there is one.
pub(super) fn mode_to_open(metadata: &Metadata, old: Option<&Stat>) -> u32 {
    let mode = metadata.mode.or(old.map(|old| old.mode)).unwrap_or(FILE_MODE) & 0o777 | to_set_xattrs(metadata);
    if metadata.owner.is_some() || old.is_some() { narrowed(mode) } else { mode }
}

impl Folder {
    /// Whether the kernel gives new files in it permissions by a list of the folder. Folders that this run made have
    /// inherited that from the one above.
    pub(super) fn has_default_permissions(&self, dir: &Dir) -> bool {
        *self.default_permissions.get_or_init(|| {
            let mut top = self;
            while !top.was_there.load(Relaxed)
                && let Some(parent) = &top.parent
            {
                top = parent;
            }
            if std::ptr::eq(top, self) {
                return dir.has_default_permissions();
            }
            *top.default_permissions.get_or_init(|| dir.has_default_permissions())
        })
    }
}

impl Lane {
    /// The mode to set for a given one, where the kernel does not apply the umask.
    pub(super) fn wanted(&self, mode: u32) -> u32 {
        mode & 0o7777 & !self.shared.masked()
    }

    /// Sets owner and rights that have to be set before the first byte is written.
    pub(super) fn prepare(&self, at: &OpenFolder, target: &mut Target, metadata: &Metadata) -> io::Result<()> {
        target.mode_at_the_end = match &target.placement {
            Placement::New | Placement::Beside { old: None, .. } => self.prepare_new(at, &target.file, metadata)?,
            Placement::InPlace(old) => self.prepare_in_place(&target.file, old, metadata)?,
            Placement::Beside { old: Some(old), .. } => self.prepare_beside(&target.file, old, metadata)?,
        };
        Ok(())
    }

    fn prepare_new(&self, at: &OpenFolder, file: &Handle, metadata: &Metadata) -> io::Result<Option<u32>> {
        if let Some(owner) = metadata.owner {
            sys::set_owner(file, owner)?;
        }
        let Some(mode) = metadata.mode else { return Ok(None) };
        let opened_with = mode_to_open(metadata, None);
        let as_asked = opened_with == mode & 0o7777;
        if self.shared.options.exact_permissions {
            let unmasked = self.shared.umask().is_some_and(|umask| mode & umask & 0o777 == 0);
            let has = as_asked && unmasked && !at.folder.has_default_permissions(&at.dir);
            return Ok((!has).then_some(mode & 0o7777));
        }
        if as_asked {
            return Ok(None);
        }
        if opened_with != mode & 0o777 {
            return Ok(Some(self.wanted(mode)));
        }
        Ok(Some(sys::stat(file)?.mode & 0o777 | mode & 0o7000))
    }

    fn prepare_in_place(&self, file: &Handle, old: &Stat, metadata: &Metadata) -> io::Result<Option<u32>> {
        if let Some(owner) = metadata.owner.filter(|owner| *owner != old.owner) {
            sys::set_owner(file, owner)?;
        }
        // The file keeps its own mode. Set-id bits are not handed on to another owner.
        let Some(mode) = metadata.mode else { return Ok(None) };
        let wanted = self.wanted(mode);
        let mut has = old.mode;
        if has & !wanted != 0 {
            has &= (wanted | to_set_xattrs(metadata)) & 0o1777;
            sys::set_permissions(file, has)?;
        }
        // Writing may take set-id bits away.
        Ok((has != wanted || wanted & 0o6000 != 0).then_some(wanted))
    }

    pub(super) fn prepare_beside(&self, file: &Handle, old: &Stat, metadata: &Metadata) -> io::Result<Option<u32>> {
        let has = sys::stat(file)?;
        let mut owner = has.owner;
        match metadata.owner {
            Some(given) if given != owner => {
                sys::set_owner(file, given)?;
                owner = given;
            }
            // The old owner, or at least the group, where this user may.
            None if old.owner != owner => {
                if sys::set_owner(file, old.owner).is_ok() {
                    owner = old.owner;
                } else if old.owner.1 != owner.1 && sys::set_group(file, old.owner.1).is_ok() {
                    owner.1 = old.owner.1;
                }
            }
            _ => {}
        }
        let wanted = match metadata.mode {
            Some(mode) => {
                let opened_with = mode_to_open(metadata, Some(old));
                if opened_with == mode & 0o7777 && !self.shared.options.exact_permissions {
                    return Ok(None); // The kernel has applied the umask or the list.
                }
                self.wanted(mode)
            }
            None => {
                let mut mode = old.mode;
                if metadata.owner.is_none() && owner.1 != old.owner.1 {
                    mode = mode & 0o7000 | narrowed(mode & 0o777); // Another group gets no more than all others.
                }
                // As where the file is written over in place.
                if sys::is_privileged() && owner == old.owner { mode } else { mode & 0o1777 }
            }
        };
        Ok((has.mode != wanted).then_some(wanted))
    }

    /// Sets what has to be set after the last byte is written.
    pub(super) fn set_metadata(&self, target: &Target, metadata: &Metadata) -> io::Result<()> {
        // Writing takes capabilities away, and so does another owner: both are done. A list changes the permissions.
        if !metadata.xattrs.is_empty() {
            sys::set_xattrs(&target.file, &metadata.xattrs)?;
        }
        if let Some(mode) = target.mode_at_the_end {
            sys::set_permissions(&target.file, mode)?;
        }
        if let Some(modified) = metadata.modified {
            sys::set_modified(&target.file, modified)?;
        }
        Ok(())
    }

    /// Gives a file that stays, because it has the bytes already, what it has not of `metadata`. False if it has to be
    /// replaced for that: it has other names, under which it is to stay as it is.
    pub(super) fn settle(&self, at: &OpenFolder, file: &Handle, old: &Stat, metadata: &Metadata) -> io::Result<bool> {
        let exact = self.shared.options.exact_permissions;
        let owner = metadata.owner.filter(|owner| *owner != old.owner);
        // If a list of the folder decided about the file's permissions before, it would decide the same again.
        let mode = metadata.mode.map(|mode| self.wanted(mode)).filter(|mode| {
            let lost = owner.is_some() && mode & 0o6000 != 0;
            lost || *mode != old.mode && (exact || !at.folder.has_default_permissions(&at.dir))
        });
        let modified = metadata.modified.filter(|modified| *modified != old.modified);
        let lacks_xattrs = !metadata.xattrs.is_empty() && (owner.is_some() || !sys::has_xattrs(file, &metadata.xattrs));
        if old.links > 1 && (owner.is_some() || mode.is_some() || modified.is_some() || lacks_xattrs) {
            return Ok(false);
        }
        if let Some(owner) = owner {
            sys::set_owner(file, owner)?;
        }
        if lacks_xattrs {
            sys::set_xattrs(file, &metadata.xattrs)?;
        }
        if let Some(mode) = mode {
            sys::set_permissions(file, mode)?;
        }
        if let Some(modified) = modified {
            sys::set_modified(file, modified)?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_gets_no_more_than_everybody_until_it_is_the_right_one() {
        for (mode, narrow) in
            [(0o644, 0o644), (0o640, 0o600), (0o664, 0o644), (0o750, 0o700), (0o777, 0o777), (0o070, 0)]
        {
            assert_eq!(narrowed(mode), narrow, "{mode:o}");
        }
    }
}
