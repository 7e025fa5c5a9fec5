//! [`Keeper`]: what an entry of a tar keeps besides its bytes: its owner by name, attributes, access control lists, file flags.

use std::io;

use manyfiles::Error;
use manyfiles::tree::{Keep, Metadata};

use super::member::{Class, Member};
use crate::acl;
use crate::entry::{Attribute, Entry, Kind};
use crate::entry_filter::EntryFilter;
use crate::limits::Meter;
use crate::owners::Ids;

/// What the entries of one tar keep.
pub(super) struct Keeper<'a> {
    filter: &'a EntryFilter,
    ids: Ids,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(filter: &'a EntryFilter) -> Keeper<'a> {
        Keeper { filter, ids: Ids::new(filter.numeric_owner) }
    }

    /// The owner, by name where this system knows the name, else by number.
    pub(super) fn owner(&mut self, member: &Member) -> Option<(u32, u32)> {
        if !self.filter.keeps_owners() {
            return None;
        }
        if self.filter.numeric_owner {
            return member.owner;
        }
        let user = self.ids.user(&member.user_name).or(member.owner.map(|owner| owner.0));
        let group = self.ids.group(&member.group_name).or(member.owner.map(|owner| owner.1));
        user.zip(group)
    }

    /// The access control lists as attributes. True if one is lost. An entry whose list has to arrive, and cannot, is
    /// refused.
    pub(super) fn lists(&mut self, member: &Member, entry: &mut Entry<'_>) -> (Vec<Attribute>, bool) {
        let (mut lists, mut is_lost) = (Vec::new(), false);
        for (name, text) in [(acl::ACCESS, &member.acl), (acl::DEFAULT, &member.default_acl)] {
            let Some(text) = text else { continue };
            // A link has the rights of what it leads to, and only in folders files are made.
            if matches!(entry.kind, Kind::Symlink(_)) || (name == acl::DEFAULT && entry.kind != Kind::Folder) {
                continue;
            }
            let list = match self.filter.keep.keeps_attribute(name) {
                true => acl::attribute(name, text, &mut self.ids).map_err(Some),
                false => Err(None),
            };
            match list {
                Ok(list) => {
                    // bsdtar writes what the owning group may, not what a chmod would set.
                    if name == acl::ACCESS
                        && let Some(mask) = list.as_ref().and_then(acl::mask)
                    {
                        entry.mode = entry.mode.map(|mode| mode & !0o070 | mask << 3);
                    }
                    lists.extend(list);
                }
                Err(Some(why)) if self.filter.keep.requires_attribute(name) => refuse(entry, why),
                Err(_) => {
                    is_lost = true;
                    if name == acl::ACCESS {
                        entry.mode = entry.mode.map(|mode| acl::mode_without(text, mode));
                    }
                }
            }
        }
        (lists, is_lost)
    }

    /// What the tree is to give the entry. Counts it if it loses something.
    pub(super) fn metadata(&mut self, member: &Member, entry: &mut Entry<'_>, meter: &mut Meter) -> Metadata {
        let keep = self.filter.keep;
        // A file whose list is its permission bits is to have none, whatever list its folder gives to new files.
        let exactly = |metadata: Metadata| match keep.keeps_attribute(acl::ACCESS) {
            true => metadata.exactly(Keep::default().acls()),
            false => metadata,
        };
        let with_flags = |metadata: Metadata| match &member.flags {
            // Nothing else has any that can be set.
            Some(flags) if matches!(member.class, Class::File | Class::Folder) => {
                metadata.named_file_flags(flags, keep)
            }
            _ => metadata,
        };
        if !member.has_attributes {
            return with_flags(exactly(entry.metadata()));
        }
        let (lists, mut is_lost) = self.lists(member, entry);
        let mut metadata = with_flags(exactly(entry.metadata()));
        is_lost |= member.has_other_attributes;
        is_lost |= member.attributes.iter().any(|attribute| keep.loses_attribute(&attribute.name));
        let has_room = meter.may_keep(entry.kind, &member.attributes) && meter.may_keep(entry.kind, &lists);
        let kept = member.attributes.iter().filter(|attribute| keep.keeps_attribute(&attribute.name));
        // A list in text comes last: it has names, and takes the place of the same list in the kernel's form.
        for attribute in kept.chain(&lists) {
            match has_room {
                true => metadata = metadata.xattr(&attribute.name, &attribute.value),
                false => is_lost = true,
            }
        }
        meter.with_attributes += u64::from(is_lost);
        metadata
    }
}

fn refuse(entry: &mut Entry<'_>, why: acl::Malformed) {
    let cause = format!("its access control list cannot be kept: {why}");
    let cause = io::Error::new(io::ErrorKind::InvalidData, cause);
    if entry.refusal.is_none() {
        entry.refusal = Some(Error::new(entry.operation(), entry.path, cause));
    }
}
