//! The rights of a file's group, where an access control list hides them.
//!
//! A file with such a list shows its mask as the group's bits: the most that any user or group of the list may do.
//! Copied as permissions without the list, that would give the group what it never had.

use std::collections::HashSet;
use std::fs::Metadata;
use std::path::Path;

use super::{mode, reach};

/// Looks for access control lists where one could matter.
#[derive(Default)]
pub(crate) struct Acls {
    /// Devices with a file system without such lists.
    without: HashSet<u64>,
    found: u64,
}

impl Acls {
    /// How many files and folders were seen to have one.
    pub(crate) fn found(&self) -> u64 {
        self.found
    }

    /// Permission bits, set-id and sticky bits included, with what the group really may do.
    pub(crate) fn mode(&mut self, path: &Path, metadata: &Metadata) -> u32 {
        let bits = mode(metadata);
        let (group, others) = (bits >> 3 & 7, bits & 7);
        // Rights that all other users have as well cannot be given away by the copy, and asking for each file takes
        // time.
        if group & !others == 0 || metadata.is_symlink() {
            return bits;
        }
        match self.group(path, metadata) {
            Some(really) => bits & !0o070 | (really & group) << 3,
            None => bits,
        }
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn group(&mut self, path: &Path, metadata: &Metadata) -> Option<u32> {
        use std::os::unix::fs::MetadataExt;
        if self.without.contains(&metadata.dev()) {
            return None;
        }
        // More entries than lists have in practice. A longer list stays unread, and its mask is copied.
        let mut list = [0; 4096];
        let path = reach(path).ok()?;
        match rustix::fs::lgetxattr(path.path(), "system.posix_acl_access", &mut list) {
            Ok(len) => {
                self.found += 1;
                of_owning_group(&list[..len])
            }
            Err(rustix::io::Errno::OPNOTSUPP) => {
                self.without.insert(metadata.dev());
                None
            }
            Err(_) => None, // no list, or none that may be read
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn group(&mut self, _path: &Path, _metadata: &Metadata) -> Option<u32> {
        None
    }
}

/// What a list in the kernel's form (a version, then entries of tag, permissions and id) gives the group that the file
/// belongs to.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn of_owning_group(list: &[u8]) -> Option<u32> {
    const GROUP: u16 = 0x04;
    let entries = list.strip_prefix(&2u32.to_le_bytes())?.chunks_exact(8);
    let of = |entry: &[u8], at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
    entries.filter(|entry| of(entry, 0) == GROUP).map(|entry| u32::from(of(entry, 2) & 7)).next()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_entry_of_the_owning_group_is_found_and_nonsense_has_none() {
        let list = [
            2, 0, 0, 0, // version
            1, 0, 6, 0, 255, 255, 255, 255, // the owner
            2, 0, 6, 0, 1, 0, 0, 0, // a user
            4, 0, 4, 0, 255, 255, 255, 255, // the group
            16, 0, 6, 0, 255, 255, 255, 255, // the mask
        ];
        assert_eq!(of_owning_group(&list), Some(4));
        assert_eq!(of_owning_group(&list[..20]), None);
        assert_eq!(of_owning_group(&[]), None);
        assert_eq!(of_owning_group(&[1, 0, 0, 0, 4, 0, 4, 0, 0, 0, 0, 0]), None, "another version");
    }
}
