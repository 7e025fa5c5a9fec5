//! [`Member`]: one entry, as its headers tell it.

use std::time::SystemTime;

use manyfiles::tree::{Node, Refusal};

use super::sparse::Piece;
use crate::entry::{Attribute, Entry, Kind};
use crate::sys;

/// What an entry is, before its link's target is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Class {
    #[default]
    File,
    Folder,
    Symlink,
    HardLink,
    Node(Node),
    /// A socket, say.
    Other,
}

/// One entry of a tar, a cpio archive or an ar archive.
#[derive(Debug, Default)]
pub(crate) struct Member {
    pub path: Vec<u8>,
    pub link: Vec<u8>,
    pub class: Class,
    pub mode: Option<u32>,
    pub modified: Option<SystemTime>,
    pub owner: Option<(u32, u32)>,
    /// Whether it has extended attributes or an access control list.
    pub has_attributes: bool,
    /// Whether some of them are not here: lists of other systems, and what no file can have.
    pub has_other_attributes: bool,
    /// Extended attributes, sorted by name.
    pub attributes: Vec<Attribute>,
    /// Access control lists, as text.
    pub acl: Option<Vec<u8>>,
    pub default_acl: Option<Vec<u8>>,
    /// File flags, by bsdtar's names.
    pub flags: Option<Vec<u8>>,
    /// Names of the owner. Empty: there is none.
    pub user_name: Vec<u8>,
    pub group_name: Vec<u8>,
    /// What is wrong with a field of its headers that is ignored.
    pub ignored: Option<&'static str>,
    /// Whether this system cannot have such a path or link.
    pub not_unicode: bool,
    /// The size of the file, holes included.
    pub size: u64,
    /// The pieces of a sparse file.
    pub pieces: Option<Vec<Piece>>,
    /// The sum of the bytes of its content, which has to be compared.
    pub sum: Option<u32>,
}

impl Member {
    pub(crate) fn entry(&self) -> Entry<'_> {
        Entry {
            path: sys::path(&self.path),
            kind: match self.class {
                Class::File => Kind::File,
                Class::Folder => Kind::Folder,
                Class::Symlink => Kind::Symlink(sys::path(&self.link)),
                Class::HardLink => Kind::HardLink(sys::path(&self.link)),
                Class::Node(node) => Kind::Node(node),
                Class::Other => Kind::Other,
            },
            size: self.size,
            mode: self.mode,
            modified: self.modified,
            owner: self.owner,
            is_encrypted: false,
            user_name: Some(&*self.user_name).filter(|name| !name.is_empty()),
            group_name: Some(&*self.group_name).filter(|name| !name.is_empty()),
            attributes: &self.attributes,
            acl: self.acl.as_deref(),
            default_acl: self.default_acl.as_deref(),
            refusal: None,
        }
        .unless(self.not_unicode.then_some(Refusal::NotUnicode))
    }
}
