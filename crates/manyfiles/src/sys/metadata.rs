//! What a file carries besides its bytes.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

/// Permissions, modification time, owner and extended attributes of an entry. What is `None` is left as the system sets it.
///
/// ```
/// use manyfiles::tree::Metadata;
/// let script = Metadata::default().mode(0o755);
/// assert_eq!(script.mode, Some(0o755));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    pub(crate) xattrs: Xattrs,
}

/// Extended attributes. Without any it is one word, and nothing is allocated. Clones share them.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Xattrs(Option<Arc<Vec<Xattr>>>);

/// A name and a value. All are sorted by name.
type Xattr = (Box<[u8]>, Box<[u8]>);

impl Xattrs {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().flat_map(|all| all.iter()).map(|(name, value)| (&**name, &**value))
    }

    /// How many bytes of memory they take, nearly.
    pub(crate) fn weight(&self) -> usize {
        self.iter().map(|(name, value)| name.len() + value.len()).sum()
    }

    /// A later value of a name takes the place of the one before.
    fn set(&mut self, name: &[u8], value: &[u8]) {
        let all = Arc::make_mut(self.0.get_or_insert_default());
        match all.binary_search_by(|(has, _)| (**has).cmp(name)) {
            Ok(at) => all[at].1 = value.into(),
            Err(at) => all.insert(at, (name.into(), value.into())),
        }
    }

    /// Adds those of a later entry for the same folder.
    pub(crate) fn add(&mut self, later: &Xattrs) {
        if self.is_empty() {
            self.clone_from(later);
        } else {
            later.iter().for_each(|(name, value)| self.set(name, value));
        }
    }
}

impl fmt::Debug for Xattrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.iter().map(|(name, value)| (String::from_utf8_lossy(name), value.len()));
        f.debug_map().entries(shown).finish()
    }
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

    /// With this extended attribute. The name has its name space, as in `user.comment`. A later value of a name takes
    /// the place of the one before.
    ///
    /// It is set after the content and the owner, which would take a capability away, and before the permissions and
    /// the time. Access control lists are the attributes `system.posix_acl_access` and `system.posix_acl_default` in
    /// the kernel's form, capabilities are `security.capability`. A folder gets its attributes when all else is done,
    /// so that what is made in it inherits nothing from a list of its own.
    ///
    /// An attribute that cannot be set is a failure of the entry, as an owner is: where the file system keeps none, or
    /// the system (Windows), or where this process may not. Attributes that a file has and that are not given stay.
    #[must_use]
    pub fn xattr(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.xattrs.set(name.as_ref(), value.as_ref());
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
