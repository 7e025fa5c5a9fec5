//! [`Symlink`]: what a symbolic link is to say, and what it is.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use super::system::{LinkKind, becomes, read_symlink};

/// A symbolic link: what it says and, if it was [`read`](Symlink::read) on Windows, of which kind it is.
///
/// Windows has three kinds: links to files, links to folders, and junctions, which lead to folders of this machine and
/// need no privileges. A link that is given by its target alone becomes one of the first two, by what the target is
/// when the link is made; one that was read becomes what it was, whatever is at its target. Elsewhere there is one kind.
///
/// ```no_run
/// # use manyfiles::tree::{Metadata, Symlink, TreeWriter};
/// # let tree = TreeWriter::open("copy")?;
/// tree.symlink("current", "releases/7", Metadata::default())?;
/// tree.symlink("cache", Symlink::read("original/cache")?, Metadata::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symlink {
    /// Not a path: two links that say the same in different ways differ.
    pub(super) target: OsString,
    /// `None`: it is found out when the link is made.
    pub(super) kind: Option<LinkKind>,
}

impl Symlink {
    /// Reads the link at `path`, to make another one like it.
    ///
    /// # Errors
    /// The system's. On Windows also where another volume is mounted in the folder, and for links of the Linux
    /// subsystem: `Unsupported`.
    pub fn read(path: impl AsRef<Path>) -> io::Result<Symlink> {
        read_symlink(path.as_ref())
    }

    /// What it says.
    pub fn target(&self) -> &Path {
        Path::new(&self.target)
    }

    /// Whether a link that is made of this one is as `there`, which was read, is already: it says the same and, if this
    /// one was read as well, it is of the same kind.
    pub fn becomes(&self, there: &Symlink) -> bool {
        becomes(self, there)
    }
}

/// A link that says this.
impl<P: AsRef<Path>> From<P> for Symlink {
    fn from(target: P) -> Symlink {
        Symlink { target: target.as_ref().as_os_str().to_owned(), kind: None }
    }
}
