//! [`Kind`]: what an entry of a folder is.

use std::fmt;
use std::path::PathBuf;

/// What kind of entry a path is, with what tells two entries of that kind apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file: its length and a hash of its bytes.
    File {
        /// Bytes.
        len: u64,
        /// XXH3, 128 bits.
        hash: u128,
    },
    /// A folder.
    Folder,
    /// A symbolic link and what it says.
    Symlink(PathBuf),
    /// A named pipe.
    Fifo,
    /// A character or block device.
    Device,
    /// A socket.
    Socket,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::File { len, hash } => write!(f, "file of {len} bytes, hash {:08x}", *hash as u32),
            Kind::Folder => f.write_str("folder"),
            Kind::Symlink(target) => write!(f, "symbolic link to {}", target.display()),
            Kind::Fifo => f.write_str("FIFO"),
            Kind::Device => f.write_str("device"),
            Kind::Socket => f.write_str("socket"),
        }
    }
}
