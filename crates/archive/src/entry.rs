//! [`Entry`]: one entry of an archive, as it is handed over.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use manyfiles::tree::{Metadata, Node, Refusal, check};
use manyfiles::{Error, Operation};

/// An entry as [`Unpacker::list`](crate::Unpacker::list) shows it: as it would be written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry<'a> {
    /// Its path, after stripping.
    pub path: &'a Path,
    /// What it is.
    pub kind: Kind<'a>,
    /// How many bytes of content it has, holes included. Zero for what is no file.
    pub size: u64,
    /// Permission bits, as far as they are kept.
    pub mode: Option<u32>,
    /// Time of the last modification, if it is one that this system can express.
    pub modified: Option<SystemTime>,
    /// User and group number, if they are kept.
    pub owner: Option<(u32, u32)>,
    /// Name of the user, if the archive has one. Tars do.
    pub user_name: Option<&'a [u8]>,
    /// Name of the group, if the archive has one.
    pub group_name: Option<&'a [u8]>,
    /// Extended attributes, sorted by name. Those of tars are known. Access control lists are not among them.
    pub attributes: &'a [Attribute],
    /// Whether its content is encrypted. Known of zip and 7z, and not told by an [`Archive`](crate::Archive).
    pub is_encrypted: bool,
    /// The access control list, as the text that a tar has.
    pub acl: Option<&'a [u8]>,
    /// The list that new files in this folder get, as the text that a tar has.
    pub default_acl: Option<&'a [u8]>,
    /// Why it would not be written. Reasons that depend on what is in the folder (a name that is taken, a symbolic link
    /// in the way) are found only when it is written.
    pub refusal: Option<Error>,
}

/// An extended attribute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Attribute {
    /// With its name space: `user.comment`. Up to 255 bytes, none of them zero.
    pub name: Vec<u8>,
    /// Up to 64 KiB.
    pub value: Vec<u8>,
}

impl Attribute {
    /// What Linux allows for a name, for a value, and for all names of a file, each with a zero behind it.
    const LONGEST_NAME: usize = 255;
    const LONGEST: usize = 64 << 10;

    /// `None`: no file of Linux can have it.
    pub(crate) fn new(name: Vec<u8>, value: Vec<u8>) -> Option<Attribute> {
        let is_name = (1..=Attribute::LONGEST_NAME).contains(&name.len()) && !name.contains(&0);
        (is_name && value.len() <= Attribute::LONGEST).then_some(Attribute { name, value })
    }

    /// Sorts attributes by name. The last one of a name is kept. Those whose names come after 64 KiB of others are left
    /// out: no file can list them. False if there were such.
    pub(crate) fn tidy(attributes: &mut Vec<Attribute>) -> bool {
        attributes.reverse();
        attributes.sort_by(|one, other| one.name.cmp(&other.name));
        attributes.dedup_by(|one, other| one.name == other.name);
        let mut len = 0;
        attributes.retain(|attribute| {
            len += attribute.name.len() + 1;
            len <= Attribute::LONGEST
        });
        len <= Attribute::LONGEST
    }
}

/// What an [`Entry`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind<'a> {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link that says this.
    Symlink(&'a Path),
    /// A second name for the file at this path, which is below the same root (after stripping).
    HardLink(&'a Path),
    /// A device or a FIFO.
    Node(Node),
    /// Something that has no place in a folder: a socket, say.
    Other,
}

impl<'a> Entry<'a> {
    /// One of which nothing else is known.
    pub(crate) fn plain(path: &'a Path, kind: Kind<'a>) -> Entry<'a> {
        Entry {
            path,
            kind,
            size: 0,
            mode: None,
            modified: None,
            owner: None,
            user_name: None,
            group_name: None,
            attributes: &[],
            is_encrypted: false,
            acl: None,
            default_acl: None,
            refusal: None,
        }
    }
}

impl Entry<'_> {
    /// What making it is called in an error.
    pub(crate) fn operation(&self) -> Operation {
        match self.kind {
            Kind::File => Operation::Create,
            Kind::Folder => Operation::CreateFolder,
            Kind::Symlink(_) => Operation::Symlink,
            Kind::HardLink(_) => Operation::HardLink,
            Kind::Node(_) => Operation::CreateNode,
            // Nothing that there is an operation for: a socket, say.
            Kind::Other => Operation::Create,
        }
    }

    pub(crate) fn metadata(&self) -> Metadata {
        let mut metadata = Metadata::default();
        metadata.mode = self.mode;
        metadata.modified = self.modified;
        metadata.owner = self.owner;
        metadata
    }

    /// Refused for this reason, if there is one.
    pub(crate) fn unless(mut self, refusal: Option<Refusal>) -> Self {
        if let Some(refusal) = refusal {
            self.refuse(refusal);
        }
        self
    }

    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        self.refusal = Some(Error::refused(self.operation(), self.path, refusal));
    }

    /// Refuses a symbolic link that says nothing. The system would say that a file is missing.
    pub(crate) fn check_target(&mut self) {
        if self.refusal.is_none() && self.kind == Kind::Symlink(Path::new("")) {
            let cause = io::Error::new(io::ErrorKind::InvalidData, "the archive does not say where it leads");
            self.refusal = Some(Error::new(self.operation(), self.path, cause));
        }
    }

    /// Looks for the refusals that a tree would find by itself from the paths alone.
    pub(crate) fn check_paths(&mut self) {
        if self.refusal.is_some() {
            return;
        }
        match check(self.path) {
            Ok(path) if path.as_os_str().is_empty() && self.kind != Kind::Folder => self.refuse(Refusal::Empty),
            Ok(_) => {
                if let Kind::HardLink(existing) = self.kind
                    && let Err(refusal) = check(existing)
                {
                    // In the tree's words: the error names the path of the entry, and the refusal says that the link's
                    // target is wrong.
                    let cause = Error::refused(Operation::Open, existing, refusal);
                    let cause = io::Error::new(cause.kind(), cause);
                    self.refusal = Some(Error::new(self.operation(), self.path, cause));
                }
            }
            Err(refusal) => self.refuse(refusal),
        }
    }
}

/// The time `seconds` after 1970 (before it, if negative), and `nanos` after that. `None` if this system's clock type
/// cannot hold it.
pub(crate) fn time(seconds: i64, nanos: u32) -> Option<SystemTime> {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let time =
        if seconds < 0 { SystemTime::UNIX_EPOCH.checked_sub(whole) } else { SystemTime::UNIX_EPOCH.checked_add(whole) };
    time?.checked_add(Duration::from_nanos(nanos.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_and_beyond_all_clocks_do_not_panic() {
        let epoch = SystemTime::UNIX_EPOCH;
        assert_eq!(time(-2, 500_000_000), Some(epoch - Duration::from_millis(1500)));
        assert_eq!(time(1, 5), Some(epoch + Duration::new(1, 5)));
        for seconds in [i64::MIN, i64::MIN + 1, i64::MAX] {
            if let Some(time) = time(seconds, 999_999_999) {
                assert_eq!(time > epoch, seconds > 0);
            }
        }
    }
}
