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
use super::name::Name;
use super::partial::Partial;
use super::placement::{Placement, Target};
use crate::sys::{self, Dir, FileFlags, Handle, Keep, Stat, Things};
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

/// What the system gives a new file in a folder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newborn {
    owner: (u32, u32),
    flags: FileFlags,
}

impl Lane {
    /// What `file`, which was just made, has. Its folder decides that, so one file of each folder is asked.
    fn newborn(&self, at: &OpenFolder, file: &Handle) -> io::Result<Newborn> {
        if let Some(newborn) = at.folder.newborn.get() {
            return Ok(*newborn);
        }
        let flags = match self.shared.options.keep.wants(Things::FLAGS) {
            true => sys::flags_of(file)?.unwrap_or_default(),
            false => FileFlags::default(),
        };
        let newborn = Newborn { owner: sys::stat(file)?.owner, flags };
        Ok(*at.folder.newborn.get_or_init(|| newborn))
    }

    /// False if it has another owner, and may have.
    fn give_owner(&self, file: &Handle, owner: (u32, u32)) -> io::Result<bool> {
        self.shared.options.keep.give_owner(owner, |user, group| match user {
            Some(user) => sys::set_owner(file, (user, group)),
            None => sys::set_group(file, group),
        })
    }

    /// The mode to set for a given one, where the kernel does not apply the umask.
    pub(super) fn wanted(&self, mode: u32) -> u32 {
        mode & 0o7777 & !self.shared.masked()
    }

    /// Sets owner and rights that have to be set before the first byte is written.
    pub(super) fn prepare(&self, at: &OpenFolder, target: &mut Target, metadata: &Metadata) -> io::Result<()> {
        let lost = &mut target.lost;
        target.mode_at_the_end = match &target.placement {
            Placement::New | Placement::Beside { old: None, .. } => {
                self.prepare_new(at, &target.file, metadata, lost)?
            }
            Placement::InPlace(old) => self.prepare_in_place(&target.file, old, metadata, lost)?,
            Placement::Beside { old: Some(old), .. } => self.prepare_beside(&target.file, old, metadata, lost)?,
        };
        if target.partial.is_some() {
            // It was made without the rights that it is to have.
            let mode = metadata.mode.unwrap_or(FILE_MODE);
            let exact = self.shared.options.exact_permissions;
            let special = if target.lost.has(Things::OWNERS) { 0o1777 } else { 0o7777 };
            target.mode_at_the_end = Some(if exact { mode } else { self.wanted(mode) } & special);
        }
        match metadata.flags {
            Some(flags) => self.prepare_flags(at, target, flags),
            None => Ok(()),
        }
    }

    /// Sets the flags that a file has to have while it is empty.
    fn prepare_flags(&self, at: &OpenFolder, target: &mut Target, flags: FileFlags) -> io::Result<()> {
        let has = match &target.placement {
            _ if matches!(target.partial, Some(Partial::Resumed)) => sys::flags_of(&target.file)?.unwrap_or_default(),
            Placement::InPlace(_) => sys::flags_of(&target.file)?.unwrap_or_default(),
            Placement::New | Placement::Beside { .. } => self.newborn(at, &target.file)?.flags,
        };
        target.flags = flags.differing(has);
        let first = target.flags.only(FileFlags::FIRST);
        if !first.is_empty() && !sys::set_flags(&target.file, flags, first)? {
            target.lost = target.lost.with(Things::FLAGS);
        }
        Ok(())
    }

    fn prepare_new(
        &self,
        at: &OpenFolder,
        file: &Handle,
        metadata: &Metadata,
        lost: &mut Things,
    ) -> io::Result<Option<u32>> {
        let mut special = 0o7000;
        if let Some(owner) = metadata.owner
            && owner != self.newborn(at, file)?.owner
            && !self.give_owner(file, owner)?
        {
            (special, *lost) = (0o1000, lost.with(Things::OWNERS));
        }
        let Some(mode) = metadata.mode.map(|mode| mode & (0o777 | special)) else { return Ok(None) };
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

    fn prepare_in_place(
        &self,
        file: &Handle,
        old: &Stat,
        metadata: &Metadata,
        lost: &mut Things,
    ) -> io::Result<Option<u32>> {
        let mut special = 0o7000;
        if let Some(owner) = metadata.owner.filter(|owner| *owner != old.owner)
            && !self.give_owner(file, owner)?
        {
            (special, *lost) = (0o1000, lost.with(Things::OWNERS));
        }
        // The file keeps its own mode. Set-id bits are not handed on to another owner.
        let Some(mode) = metadata.mode.map(|mode| mode & (0o777 | special)) else { return Ok(None) };
        let wanted = self.wanted(mode);
        let mut has = old.mode;
        if has & !wanted != 0 {
            has &= (wanted | to_set_xattrs(metadata)) & 0o1777;
            sys::set_permissions(file, has)?;
        }
        // Writing may take set-id bits away.
        Ok((has != wanted || wanted & 0o6000 != 0).then_some(wanted))
    }

    pub(super) fn prepare_beside(
        &self,
        file: &Handle,
        old: &Stat,
        metadata: &Metadata,
        lost: &mut Things,
    ) -> io::Result<Option<u32>> {
        let has = sys::stat(file)?;
        let (mut owner, mut special) = (has.owner, 0o7000);
        match metadata.owner {
            Some(given) if given != owner => {
                if !self.give_owner(file, given)? {
                    (special, *lost) = (0o1000, lost.with(Things::OWNERS));
                }
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
        let wanted = match metadata.mode.map(|mode| mode & (0o777 | special)) {
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
    pub(super) fn set_metadata(
        &self,
        at: &OpenFolder,
        name: &Name,
        target: &mut Target,
        metadata: &Metadata,
    ) -> io::Result<()> {
        let special = if target.lost.has(Things::OWNERS) { 0o1777 } else { 0o7777 };
        let wanted = || metadata.mode.map(|mode| self.wanted(mode) & special);
        // Writing takes capabilities away, and so does another owner: both are done.
        if !metadata.xattrs.is_empty() {
            let lost = sys::set_xattrs(&target.file, &metadata.xattrs, &self.shared.options.keep)?;
            target.lost = target.lost.with(lost);
            // A list changes the permissions, and what the list would have hidden must not be given away.
            if metadata.xattrs.iter().any(|(name, _)| Keep::thing(name) == Some(Things::ACLS)) {
                target.mode_at_the_end = target.mode_at_the_end.or_else(wanted);
            }
            if lost.has(Things::ACLS) {
                let mode = target.mode_at_the_end;
                target.mode_at_the_end = mode.map(|mode| sys::mode_without_list(mode, &metadata.xattrs));
            }
        }
        if self.may_have_others(at, target, metadata)
            && sys::take_away_other_xattrs(&target.file, &metadata.xattrs, metadata.exact)?
        {
            target.mode_at_the_end = target.mode_at_the_end.or_else(wanted);
        }
        if let Some(mode) = target.mode_at_the_end {
            sys::set_permissions(&target.file, mode)?;
            // The system drops the bit of a group that this process is not in, and says nothing.
            if mode & 0o2000 != 0 && sys::stat(&target.file)?.mode & 0o2000 == 0 {
                target.lost = target.lost.with(Things::OWNERS);
            }
        }
        if metadata.modified.is_some() || metadata.accessed.is_some() {
            sys::set_times(&target.file, metadata.modified, metadata.accessed)?;
        }
        match metadata.flags {
            Some(flags) if !target.flags.without(FileFlags::FIRST).is_empty() => {
                self.set_flags(at, name, target, flags)
            }
            _ => Ok(()),
        }
    }

    /// Whether a file may have attributes that it is not to have: what was there, or the list of its folder.
    fn may_have_others(&self, at: &OpenFolder, target: &Target, metadata: &Metadata) -> bool {
        match target.placement {
            _ if metadata.exact.is_empty() => false,
            Placement::InPlace(_) => true,
            Placement::New | Placement::Beside { .. } => {
                metadata.exact.has(Things::ACLS) && at.folder.has_default_permissions(&at.dir)
            }
        }
    }

    fn set_flags(&self, at: &OpenFolder, name: &Name, target: &mut Target, flags: FileFlags) -> io::Result<()> {
        let now = target.flags.without(FileFlags::FIRST).without(FileFlags::LAST);
        if !now.is_empty() && !sys::set_flags(&target.file, flags, now)? {
            target.lost = target.lost.with(Things::FLAGS);
        }
        if target.flags.only(flags).has(FileFlags::LAST) {
            if sys::is_privileged() {
                let identity = sys::stat(&target.file)?.identity;
                self.shared.flags_at_the_end.add(at.folder.clone(), name, flags, identity);
            } else {
                target.lost = target.lost.with(Things::FLAGS);
            }
        }
        Ok(())
    }

    /// Gives a file that stays, because it has the bytes already, what it has not of `metadata`. False if it has to be
    /// replaced for that: it has other names, under which it is to stay as it is.
    pub(super) fn settle(&self, at: &OpenFolder, file: &Handle, old: &Stat, metadata: &Metadata) -> io::Result<bool> {
        let exact = self.shared.options.exact_permissions;
        // One that this user may not give, and need not, would differ for ever.
        let may_give = sys::is_privileged() || !self.shared.options.keep.may_lose(Things::OWNERS);
        let owner = metadata.owner.filter(|owner| may_give && *owner != old.owner);
        // If a list of the folder decided about the file's permissions before, it would decide the same again.
        let mode = metadata.mode.map(|mode| self.wanted(mode)).filter(|mode| {
            let lost = owner.is_some() && mode & 0o6000 != 0;
            lost || *mode != old.mode && (exact || !at.folder.has_default_permissions(&at.dir))
        });
        let modified = metadata.modified.filter(|modified| *modified != old.modified);
        let lacks_xattrs = !metadata.xattrs.is_empty() && (owner.is_some() || !sys::has_xattrs(file, &metadata.xattrs));
        let has_others = !metadata.exact.is_empty() && sys::has_other_xattrs(file, &metadata.xattrs, metadata.exact)?;
        let flags = match metadata.flags {
            Some(flags) => sys::flags_of(file)?.map_or(FileFlags::default(), |has| flags.differing(has)),
            None => FileFlags::default(),
        };
        let differs = owner.is_some() || mode.is_some() || modified.is_some() || lacks_xattrs || has_others;
        if old.links > 1 && (differs || !flags.is_empty()) {
            return Ok(false);
        }
        let mut given = true;
        if let Some(owner) = owner {
            given = self.give_owner(file, owner)?;
        }
        let mut mode = mode.map(|mode| if given { mode } else { mode & 0o1777 });
        if lacks_xattrs && sys::set_xattrs(file, &metadata.xattrs, &self.shared.options.keep)?.has(Things::ACLS) {
            mode = mode.map(|mode| sys::mode_without_list(mode, &metadata.xattrs));
        }
        if has_others && sys::take_away_other_xattrs(file, &metadata.xattrs, metadata.exact)? {
            mode = mode.or(metadata.mode.map(|mode| self.wanted(mode)));
        }
        if let Some(mode) = mode {
            sys::set_permissions(file, mode)?;
        }
        if let Some(modified) = modified {
            sys::set_times(file, Some(modified), metadata.accessed)?;
        }
        if let (Some(wanted), false) = (metadata.flags, flags.is_empty()) {
            sys::set_flags(file, wanted, flags)?; // What cannot be set now could not be when it was copied.
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
