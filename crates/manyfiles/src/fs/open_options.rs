//! How a file is opened.

use std::io;
use std::path::Path;

use super::refused::cannot_open;
#[cfg(unix)]
use crate::sys;

/// [`std::fs::OpenOptions`] that opens a [`File`](super::File) of this module.
///
/// It has the same methods, those of the platform's extension trait included: what it says there holds here.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let temp = tempfile::tempdir()?;
/// # let path = temp.path().join("log");
/// use manyfiles::fs::{self, OpenOptions};
/// use std::io::Write;
///
/// for line in ["one\n", "two\n"] {
///     OpenOptions::new().append(true).create(true).open(&path)?.write_all(line.as_bytes())?;
/// }
/// assert_eq!(fs::read(&path)?, b"one\ntwo\n");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    pub(super) options: std::fs::OpenOptions,
    /// Whether the methods here have said what the file is opened for.
    pub(super) is_known: bool,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Flags of the system's.
    #[cfg(unix)]
    flags: i32,
    /// What is in the file goes away.
    pub(super) cuts: bool,
    pub(super) makes: bool,
    /// There must be none.
    pub(super) is_new: bool,
    /// The file is removed when it is closed: see [`File`](super::File).
    pub(super) close_here: bool,
}

#[expect(clippy::new_without_default, reason = "std's has none")]
impl OpenOptions {
    /// Nothing is chosen yet: at least reading, writing or appending must be.
    #[must_use]
    pub fn new() -> OpenOptions {
        OpenOptions { is_known: true, ..OpenOptions::from(std::fs::OpenOptions::new()) }
    }

    /// For reading.
    pub fn read(&mut self, read: bool) -> &mut OpenOptions {
        self.options.read(read);
        self.reads = read;
        self
    }

    /// For writing, from the start of the file.
    pub fn write(&mut self, write: bool) -> &mut OpenOptions {
        self.options.write(write);
        self.writes |= write;
        self
    }

    /// For writing, each time to the end of the file.
    pub fn append(&mut self, append: bool) -> &mut OpenOptions {
        self.options.append(append);
        self.writes |= append;
        self
    }

    /// What is in the file goes away.
    pub fn truncate(&mut self, truncate: bool) -> &mut OpenOptions {
        self.options.truncate(truncate);
        self.cuts = truncate;
        self
    }

    /// The file is made if there is none.
    pub fn create(&mut self, create: bool) -> &mut OpenOptions {
        self.options.create(create);
        self.makes = create;
        self
    }

    /// The file is made, and there must be none.
    pub fn create_new(&mut self, create_new: bool) -> &mut OpenOptions {
        self.options.create_new(create_new);
        self.is_new = create_new;
        self
    }

    /// Whether the file at `path` cannot be opened so, whatever is closed.
    pub(super) fn are_refused(&self, path: &Path) -> bool {
        #[cfg(unix)]
        let are_flags_refused = sys::do_flags_refuse(self.flags, path);
        #[cfg(not(unix))]
        let are_flags_refused = false;
        are_flags_refused || self.is_known && cannot_open(path, self.reads, self.writes) || self.are_invalid()
    }

    /// Whether std or the system refuses such options for any path. Nothing can be at an empty path; options are looked
    /// at before it is.
    pub(super) fn are_invalid(&self) -> bool {
        self.options.open("").is_err_and(|error| error.kind() == io::ErrorKind::InvalidInput)
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::OpenOptionsExt;

    use super::OpenOptions;

    impl OpenOptions {
        /// [`OpenOptionsExt::mode`]: the permissions of a file that is made, less the umask; 0o666 if not chosen.
        pub fn mode(&mut self, mode: u32) -> &mut OpenOptions {
            self.options.mode(mode);
            self
        }

        /// [`OpenOptionsExt::custom_flags`]: more flags for `open`.
        pub fn custom_flags(&mut self, flags: i32) -> &mut OpenOptions {
            self.options.custom_flags(flags);
            self.flags = flags;
            self
        }
    }
}

#[cfg(unix)]
impl std::os::unix::fs::OpenOptionsExt for OpenOptions {
    fn mode(&mut self, mode: u32) -> &mut OpenOptions {
        OpenOptions::mode(self, mode)
    }

    fn custom_flags(&mut self, flags: i32) -> &mut OpenOptions {
        OpenOptions::custom_flags(self, flags)
    }
}

#[cfg(windows)]
impl std::os::windows::fs::OpenOptionsExt for OpenOptions {
    fn access_mode(&mut self, access: u32) -> &mut OpenOptions {
        OpenOptions::access_mode(self, access)
    }

    fn share_mode(&mut self, share: u32) -> &mut OpenOptions {
        OpenOptions::share_mode(self, share)
    }

    fn custom_flags(&mut self, flags: u32) -> &mut OpenOptions {
        OpenOptions::custom_flags(self, flags)
    }

    fn attributes(&mut self, attributes: u32) -> &mut OpenOptions {
        OpenOptions::attributes(self, attributes)
    }

    fn security_qos_flags(&mut self, flags: u32) -> &mut OpenOptions {
        OpenOptions::security_qos_flags(self, flags)
    }
}

#[cfg(windows)]
mod windows {
    use std::os::windows::fs::OpenOptionsExt;

    use super::OpenOptions;
    use crate::sys;

    impl OpenOptions {
        /// [`OpenOptionsExt::access_mode`]: the access in place of what reading, writing and appending stand for.
        pub fn access_mode(&mut self, access: u32) -> &mut OpenOptions {
            self.options.access_mode(access);
            self.is_known = false;
            self
        }

        /// [`OpenOptionsExt::share_mode`]: what others may do while the file is open; everything if not chosen.
        pub fn share_mode(&mut self, share: u32) -> &mut OpenOptions {
            self.options.share_mode(share);
            self
        }

        /// [`OpenOptionsExt::custom_flags`]: more flags for `CreateFile`.
        pub fn custom_flags(&mut self, flags: u32) -> &mut OpenOptions {
            self.options.custom_flags(flags);
            self.close_here = flags & sys::DELETE_ON_CLOSE != 0;
            self
        }

        /// [`OpenOptionsExt::attributes`]: the attributes of a file that is made.
        pub fn attributes(&mut self, attributes: u32) -> &mut OpenOptions {
            self.options.attributes(attributes);
            self
        }

        /// [`OpenOptionsExt::security_qos_flags`]: what a server may do in this process's name.
        pub fn security_qos_flags(&mut self, flags: u32) -> &mut OpenOptions {
            self.options.security_qos_flags(flags);
            self
        }
    }
}

impl From<std::fs::OpenOptions> for OpenOptions {
    /// For choices that only std's options have.
    fn from(options: std::fs::OpenOptions) -> OpenOptions {
        OpenOptions {
            options,
            is_known: false,
            reads: false,
            writes: false,
            #[cfg(unix)]
            flags: 0,
            cuts: false,
            makes: false,
            is_new: false,
            close_here: false,
        }
    }
}
