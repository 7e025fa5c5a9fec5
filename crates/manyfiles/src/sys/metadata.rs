//! What a file carries besides its bytes.

use std::time::SystemTime;

/// Permissions, modification time and owner of an entry. What is `None` is left as the system sets it.
///
/// ```
/// use manyfiles::tree::Metadata;
/// let script = Metadata::default().mode(0o755);
/// assert_eq!(script.mode, Some(0o755));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metadata {
    /// Permission bits, set-id and sticky bits included (at most `0o7777`). The process's umask, or the folder's
    /// default access control list, applies unless the tree was opened with
    /// [`exact_permissions`](crate::tree::Options::exact_permissions). `None`: what these leave of 0666 or 0777, or
    /// what the file that is written over or replaced has.
    pub mode: Option<u32>,
    /// Time of the last modification. A folder gets it when all else is done.
    pub modified: Option<SystemTime>,
    /// User and group number. Needs privileges that most processes lack. `None`: those of this process, or of the file
    /// that is written over or replaced, where that is allowed.
    pub owner: Option<(u32, u32)>,
}

impl Metadata {
    /// With these permission bits.
    #[must_use]
    pub fn mode(mut self, mode: u32) -> Self {
        self.mode = Some(mode);
        self
    }

    /// With this time of the last modification.
    #[must_use]
    pub fn modified(mut self, time: SystemTime) -> Self {
        self.modified = Some(time);
        self
    }

    /// With this user and group number.
    #[must_use]
    pub fn owner(mut self, user: u32, group: u32) -> Self {
        self.owner = Some((user, group));
        self
    }
}

/// An entry that is neither file, folder nor link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Node {
    /// A named pipe.
    Fifo,
    /// A character device with its major and minor number. Needs privileges.
    CharDevice(u32, u32),
    /// A block device with its major and minor number. Needs privileges.
    BlockDevice(u32, u32),
}
