//! Links to folders that were there before the run, which entries may be written through
//! ([`Options::follow_folder_links`](crate::tree::Options::follow_folder_links)).
//!
//! What must never be followed is a link that the run has made itself: an archive could lead anywhere by it. Its path
//! does not tell. Where `b -> a` was there, an archive that makes the link `a/out` has a second path to it, `b/out`; and
//! where `b -> a/out` was there, it has filled in what an old link leads through. So links that the run makes are known
//! by the folder that they are in, by its number, and their name there; and an old link is not left to the system to
//! follow, but gone along name by name, with the same look at each link on the way.
//!
//! A link that was changed after the run began was not there before it, whoever made it. That is looked at too: the
//! system's time of a link's last change is one that nobody can set.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Mutex;
use std::time::SystemTime;

use super::lock::lock;
use super::name::folded;
use crate::sys::{Dir, Identity};

/// What the run knows of links.
#[derive(Debug)]
pub(super) struct FolderLinks {
    begun: SystemTime,
    /// Those that the run makes, or has made, by their folders and their names as a folder that folds names has them.
    made: Mutex<HashSet<(Identity, OsString)>>,
}

impl FolderLinks {
    pub(super) fn new() -> FolderLinks {
        FolderLinks { begun: SystemTime::now(), made: Mutex::default() }
    }

    /// Notes a link before it is made. False if it was noted before.
    pub(super) fn note(&self, dir: &Dir, name: &OsStr) -> io::Result<bool> {
        let key = (dir.identity()?, folded(name));
        Ok(lock(&self.made).insert(key))
    }

    /// It was not made after all.
    pub(super) fn forget(&self, dir: &Dir, name: &OsStr) -> io::Result<()> {
        let key = (dir.identity()?, folded(name));
        lock(&self.made).remove(&key);
        Ok(())
    }

    /// The folder that the link `name` in `dir` leads to. `None` if a link on the way is not to be followed.
    #[cfg(unix)]
    pub(super) fn follow(&self, dir: &Dir, name: &OsStr) -> io::Result<Option<Dir>> {
        use std::path::{Component, Path};

        use crate::sys::EntryKind;
        /// As many as Linux follows.
        const MOST_LINKS: u32 = 40;
        let (mut at, mut links) = (dir.try_clone()?, 0);
        let mut rest = vec![name.to_owned()];
        while let Some(name) = rest.pop() {
            let not_a_folder = match at.child(&name) {
                Ok(dir) => {
                    at = dir;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => error,
                Err(error) => return Err(error),
            };
            let there = at.stat(&name)?;
            if there.kind != EntryKind::Symlink {
                return Err(not_a_folder);
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(io::Error::other("it leads through too many links"));
            }
            let link = at.read_link(&name)?;
            // Looked at after it was read: whatever was read is what this is about.
            let now = at.stat(&name)?;
            let is_made = || -> io::Result<bool> { Ok(lock(&self.made).contains(&(at.identity()?, folded(&name)))) };
            if now.identity != there.identity || now.changed >= self.begun || is_made()? {
                return Ok(None);
            }
            for component in link.target().components().rev() {
                match component {
                    Component::Normal(name) => rest.push(name.to_owned()),
                    Component::ParentDir => rest.push("..".into()),
                    Component::RootDir => at = Dir::open_root(Path::new("/"))?,
                    Component::CurDir | Component::Prefix(_) => {}
                }
            }
        }
        Ok(Some(at))
    }

    /// Windows has links of several kinds, none of which is followed.
    #[cfg(not(unix))]
    pub(super) fn follow(&self, _dir: &Dir, _name: &OsStr) -> io::Result<Option<Dir>> {
        let _of_unix_alone = self.begun;
        Ok(None)
    }
}
