//! What a file carries besides its bytes.

use std::fmt;
#[cfg(any(unix, windows))]
use std::fs::File;
#[cfg(any(unix, windows))]
use std::io;
#[cfg(any(unix, windows))]
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use super::keep::{Keep, Things};

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
    /// Time of the last access. `None`: that of the copying, or as the system sets it.
    pub accessed: Option<SystemTime>,
    pub(crate) xattrs: Xattrs,
    pub(crate) flags: Option<FileFlags>,
    /// Of these the entry is to have what is given here and no more.
    pub(crate) exact: Things,
    /// What the source has of these, and the entry will not have.
    pub(crate) lost: Things,
}

/// Flags that a file or folder can have, as the system numbers them: those of `chattr`, the attributes of Windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileFlags(pub(crate) u32);

impl FileFlags {
    pub(crate) fn has(self, any: FileFlags) -> bool {
        self.0 & any.0 != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those of these that are among `which`.
    pub(crate) fn only(self, which: FileFlags) -> FileFlags {
        FileFlags(self.0 & which.0)
    }

    pub(crate) fn without(self, which: FileFlags) -> FileFlags {
        FileFlags(self.0 & !which.0)
    }

    /// Those in which the two differ.
    pub(crate) fn differing(self, other: FileFlags) -> FileFlags {
        FileFlags(self.0 ^ other.0)
    }
}

/// The names that bsdtar has for them in a tar. The first of a flag is written.
#[cfg(target_os = "linux")]
const FLAG_NAMES: &[(&str, u32)] = &[
    ("secdel", 0x1),
    ("undel", 0x2),
    ("compress", 0x4),
    ("sync", 0x8),
    ("schg", 0x10),
    ("sappnd", 0x20),
    ("nodump", 0x40),
    ("noatime", 0x80),
    ("nocompress", 0x400),
    ("journal-data", 0x4000),
    ("notail", 0x8000),
    ("dirsync", 0x1_0000),
    ("topdir", 0x2_0000),
    ("nocow", 0x80_0000),
    ("schange", 0x10),
    ("simmutable", 0x10),
    ("uchg", 0x10),
    ("uchange", 0x10),
    ("uimmutable", 0x10),
    ("sappend", 0x20),
    ("uappnd", 0x20),
    ("uappend", 0x20),
    ("journal", 0x4000),
    ("securedeletion", 0x1),
];

/// None are kept in tars.
#[cfg(not(target_os = "linux"))]
const FLAG_NAMES: &[(&str, u32)] = &[];

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

    #[cfg_attr(not(unix), allow(dead_code, reason = "no files have any elsewhere"))]
    pub(crate) fn get(&self, name: &[u8]) -> Option<&[u8]> {
        let all = self.0.as_ref()?;
        all.binary_search_by(|(has, _)| (**has).cmp(name)).ok().map(|at| &*all[at].1)
    }

    /// A later value of a name takes the place of the one before.
    pub(crate) fn set(&mut self, name: &[u8], value: &[u8]) {
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

    /// With this time of the last access.
    #[must_use]
    pub fn accessed(mut self, time: SystemTime) -> Self {
        self.accessed = Some(time);
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

    /// Its extended attributes, by name.
    pub fn xattrs(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.xattrs.iter()
    }

    /// The file flags that are given, by bsdtar's names with commas between (`nodump,schg`), as `SCHILY.fflags` of a tar
    /// has them. Empty where there are none, and on other systems than Linux.
    pub fn file_flags(&self) -> String {
        let mut left = self.flags.unwrap_or_default().0;
        let mut names = Vec::new();
        for (name, bit) in FLAG_NAMES {
            if left & bit != 0 {
                left &= !bit;
                names.push(*name);
            }
        }
        names.join(",")
    }

    /// With the file flags of these names, and no others, if `keep` keeps flags. Those that this system does not have
    /// are lost, which [`Report::not_kept`](crate::tree::Report::not_kept) counts. A name that only says that a flag is
    /// not there (`noschg`), and what a file system says of itself (`projinherit`), is nothing to be kept.
    ///
    /// ```
    /// use manyfiles::tree::{Keep, Metadata};
    /// let flags = |keep| Metadata::default().named_file_flags("nodump,schg", keep).file_flags();
    /// assert_eq!(flags(Keep::default()), "");
    /// if cfg!(target_os = "linux") {
    ///     assert_eq!(flags(Keep::everything()), "schg,nodump");
    /// }
    /// ```
    #[must_use]
    pub fn named_file_flags(mut self, names: impl AsRef<[u8]>, keep: Keep) -> Self {
        const CLEARED: [&[u8]; 4] = [b"dump", b"atime", b"tail", b"cow"];
        const OF_THE_FILE_SYSTEM: [&[u8]; 2] = [b"projinherit", b"noprojinherit"];
        if !keep.wanted().has(Things::FLAGS) {
            return self;
        }
        /// Longer than the names of all flags together, of whatever system.
        const LONGEST: usize = 1024;
        let (mut flags, mut names) = (0, names.as_ref());
        if names.len() > LONGEST {
            (names, self.lost) = (b"", self.lost.with(Things::FLAGS));
        }
        for name in names.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            let bit = |name: &[u8]| FLAG_NAMES.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, bit)| *bit);
            if let Some(bit) = bit(name) {
                flags |= bit;
            } else if !name.is_empty()
                && !OF_THE_FILE_SYSTEM.contains(&name)
                && !CLEARED.contains(&name)
                && name.strip_prefix(b"no").is_none_or(|name| bit(name).is_none())
            {
                self.lost = self.lost.with(Things::FLAGS);
            }
        }
        self.flags = Some(FileFlags(flags));
        self
    }

    /// Whether the file that they were [read from](Metadata::attributes_of) has more that is not kept, or that could not
    /// be read and need not be.
    pub fn loses_attributes(&self) -> bool {
        self.lost.has(Things::XATTRS.with(Things::ACLS))
    }

    /// Of the attributes and lists that `keep` keeps, the entry is to have those that are given and no others: not the
    /// list that a new file gets from its folder, and not what was on a file or folder that is there already. Give the
    /// permissions with it.
    #[must_use]
    pub fn exactly(mut self, keep: Keep) -> Self {
        self.exact = keep.wanted();
        self
    }

    /// With what `keep` keeps of the file, folder, link or node at `path`: extended attributes, access control lists,
    /// file flags. Links are not followed. [Exactly](Metadata::exactly) these. Permissions, times and owner are not read
    /// here.
    ///
    /// # Errors
    /// What cannot be read and has to be kept.
    #[cfg(any(unix, windows))]
    pub fn attributes_of(self, path: impl AsRef<Path>, keep: Keep) -> io::Result<Self> {
        let found = super::attributes_at(path.as_ref(), &keep)?;
        Ok(self.with(found, keep))
    }

    /// The same of an open file, without a look at its name.
    ///
    /// # Errors
    /// What cannot be read and has to be kept.
    #[cfg(any(unix, windows))]
    pub fn attributes_of_file(self, file: &File, keep: Keep) -> io::Result<Self> {
        let found = super::attributes_of(file, &keep)?;
        Ok(self.with(found, keep))
    }

    #[cfg(any(unix, windows))]
    pub(crate) fn with(mut self, found: Attributes, keep: Keep) -> Self {
        // What is given counts, as with the rest.
        let mut xattrs = found.xattrs;
        xattrs.add(&self.xattrs);
        (self.xattrs, self.flags, self.lost) = (xattrs, found.flags, self.lost.with(found.lost));
        self.exactly(keep)
    }
}

/// What a file or folder has of what is kept.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) xattrs: Xattrs,
    pub(crate) flags: Option<FileFlags>,
    /// What it has besides, and that is not kept.
    pub(crate) lost: Things,
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
