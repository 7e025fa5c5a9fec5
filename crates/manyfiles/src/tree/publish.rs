//! A tree that appears whole: written beside its name, and given the name when all of it is there.
//!
//! All is done in the folder above, by a handle of it: a folder that another program puts in its place is left alone.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Metadata;
use super::above::{parents_of_missing, that_have_names};
use super::removal;
use crate::error::explained;
use crate::folders;
use crate::sys::{self, Dir, EntryKind};
use crate::temporary;
use crate::{Error, Operation, Result};

/// A tree in the making, and the name it is to have.
#[derive(Debug)]
pub(super) struct Publish {
    /// The folder that has both names, and its path at the beginning.
    parent: Dir,
    above: PathBuf,
    name: OsString,
    target: PathBuf,
    /// The temporary name, and the path with it.
    making: OsString,
    making_path: PathBuf,
    durable: bool,
    /// Folders further above that got a new name in them.
    to_sync: Vec<(PathBuf, Dir)>,
    /// The folder in the making, with its lock, which says that its maker runs. `None`: the file system has no locks.
    held: Option<File>,
}

/// Between the name and the temporary name of a tree that was moved aside: in two renames, between which the process
/// may die.
const ASIDE: &str = ".old";

/// Of a larger folder only as many names are looked at for what dead runs have left.
const MOST_NAMES: usize = 16 << 10;

impl Publish {
    /// Makes the folder to write in, beside `target`. Those that runs which died have left beside it are removed.
    pub(super) fn begin(target: &Path, durable: bool) -> Result<Publish> {
        let failed = |error| Error::new(Operation::CreateFolder, target, error);
        let invalid = |why| failed(io::Error::new(io::ErrorKind::InvalidInput, why));
        let absolute = std::path::absolute(target).map_err(failed)?;
        let Some(above) = absolute.parent() else { return Err(invalid("a root folder cannot be replaced")) };
        let Some(name) = absolute.file_name() else { return Err(invalid("the path ends in no name")) };
        // Without a separator at its end, which would lead through a link.
        let target = above.join(name);
        let failed = |error| Error::new(Operation::CreateFolder, &*target, error);
        let old = match fs::symlink_metadata(&target) {
            Ok(old) if !old.is_dir() => return Err(failed(not_a_folder())),
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(failed(error)),
        };
        let missing = if durable { parents_of_missing(above) } else { Vec::new() };
        folders::make_all(above).map_err(|error| Error::new(Operation::CreateFolder, above, error))?;
        let parent = Dir::open_root(above).map_err(|error| Error::new(Operation::Open, above, error))?;
        let to_sync = if durable { that_have_names(above, &missing)? } else { Vec::new() };
        refuse_mounts(&parent, name).map_err(failed)?;
        let mode = if old { parent.stat(name).map_or(0o700, |old| mode_to_make(old.mode)) } else { 0o777 };
        let (making, held) = make(&parent, mode).map_err(|error| Error::new(Operation::CreateFolder, above, error))?;
        if let Ok(own) = parent.stat(&making) {
            clean_up(&parent, name, own.changed);
        }
        Ok(Publish {
            making_path: above.join(&making),
            above: above.to_path_buf(),
            name: name.to_owned(),
            parent,
            target,
            making,
            durable,
            to_sync,
            held,
        })
    }

    /// The folder that the tree is written in.
    pub(super) fn making(&self) -> &Path {
        &self.making_path
    }

    /// That folder, opened by no path that another program can make lead elsewhere: a link in its place is an error.
    pub(super) fn open_making(&self) -> Result<Dir> {
        self.parent.child(&self.making).map_err(|error| Error::new(Operation::Open, &*self.making_path, error))
    }

    /// The name that the tree is to have, as an absolute path.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// Gives the tree its name; what had it is removed. If that fails, what had the name has it still, and the new tree
    /// is gone. `given` is what entries asked for the tree's own folder. Returns all that failed.
    pub(super) fn appear(self, given: Metadata) -> Vec<Error> {
        let old = match self.take_name(given) {
            Ok(old) => old,
            Err(error) => return [error].into_iter().chain(self.remove()).collect(),
        };
        if self.durable {
            let all =
                std::iter::once((&self.above, &self.parent)).chain(self.to_sync.iter().map(|(path, dir)| (path, dir)));
            let failed = |(path, dir): (&PathBuf, &Dir)| {
                dir.sync().err().map(|error| Error::new(Operation::Sync, &**path, error))
            };
            let failed: Vec<_> = all.filter_map(failed).collect();
            if !failed.is_empty() {
                return failed; // After a crash the old tree may have the name again: it is not removed.
            }
        }
        let Some(old) = old else { return Vec::new() };
        removal::remove_folder(&self.parent, &self.above, &old).err().into_iter().collect()
    }

    /// Returns the name that the old tree has now.
    fn take_name(&self, given: Metadata) -> Result<Option<OsString>> {
        let failed = |error| Error::new(Operation::Rename, &*self.target, explain_overlay(error));
        let Publish { parent, name, making, .. } = self;
        self.is_where_it_was().map_err(failed)?;
        self.has(making).map_err(failed)?;
        let old = match parent.stat(name) {
            Ok(old) => old,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                parent.rename(making, name).map_err(failed)?;
                return match self.has(name) {
                    Ok(()) => Ok(None),
                    Err(error) => {
                        parent.rename(name, making).map_err(failed)?;
                        Err(failed(error))
                    }
                };
            }
            Err(error) => return Err(failed(error)),
        };
        if old.kind != EntryKind::Folder {
            return Err(failed(not_a_folder()));
        }
        refuse_mounts(parent, name).map_err(failed)?;
        // What is replaced hands its owner and its permissions on, unless others are given.
        let keeps = (given.owner.is_some(), given.mode.is_some());
        sys::Access::of(&self.target)
            .and_then(|access| access.give_to_folder((parent, making), &self.target, keeps))
            .map_err(|error| Error::new(Operation::SetMetadata, &*self.target, error))?;
        if parent.exchange(making, name).map_err(failed)? {
            // Another program may have put something else there a moment ago.
            let replaced = parent.stat(making).and_then(|replaced| match replaced.kind {
                EntryKind::Folder => self.has(name),
                _ => Err(not_a_folder()),
            });
            let Err(refused) = replaced else { return Ok(Some(making.clone())) };
            parent.exchange(making, name).map_err(failed)?;
            return Err(failed(refused));
        }
        // In two steps: for a moment nothing has the name.
        let mut aside = name.clone();
        aside.push(ASIDE);
        aside.push(temporary::name());
        parent.rename(name, &aside).map_err(failed)?;
        let renamed = parent.rename(making, name).and_then(|()| {
            self.has(name).or_else(|error| {
                parent.rename(name, making)?;
                Err(error)
            })
        });
        match renamed {
            Ok(()) => Ok(Some(aside)),
            Err(error) => {
                let back = parent.rename(&aside, name);
                back.map_err(|error| Error::new(Operation::Rename, self.above.join(aside), error))?;
                Err(failed(error))
            }
        }
    }

    /// The path that the caller gave must still lead to the folder that has the tree.
    fn is_where_it_was(&self) -> io::Result<()> {
        match Dir::open_root(&self.above).and_then(|now| now.identity()) {
            Ok(now) if now == self.parent.identity()? => return Ok(()),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(error) => return Err(error),
        }
        let why = "the folder above was renamed or replaced meanwhile, so that the tree was not published";
        Err(io::Error::new(io::ErrorKind::NotFound, why))
    }

    /// An error unless the name is that of the folder that the tree was written in. Where the file system has no locks,
    /// no handle keeps the folder's identity the same, and any folder will do.
    fn has(&self, name: &OsStr) -> io::Result<()> {
        let Some(held) = &self.held else { return Ok(()) };
        if self.parent.stat(name)?.identity == sys::identity_of(held)? {
            return Ok(());
        }
        let why = "another program has put something in the place of the folder that the tree was written in: the tree is \
            where that program has moved it";
        Err(io::Error::other(why))
    }

    /// Removes the tree that was in the making. Returns what failed.
    pub(super) fn remove(&self) -> Option<Error> {
        let failed = |error| Error::new(Operation::Remove, &*self.making_path, error);
        let is_there = self.has(&self.making).map_err(failed);
        is_there.and_then(|()| removal::remove_folder(&self.parent, &self.above, &self.making)).err()
    }
}

/// The new tree gives other users, while it is written, no right that the old one does not give. What the old one gives
/// its group is left out: the new one has another group at first, and the group's bits may be the mask of a list.
fn mode_to_make(old: u32) -> u32 {
    let others = old & 0o007;
    0o700 | old & (others << 3 | others)
}

/// The target and the new tree are in one folder: they are on two file systems as an overlay sees it.
fn explain_overlay(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::CrossesDevices {
        return error;
    }
    let why = "the overlay of a container renames no folder that is in its image: remove the folder before, or publish \
        where a volume is mounted";
    explained(error, why)
}

/// Makes a folder with a temporary name, and takes its lock.
fn make(parent: &Dir, mode: u32) -> io::Result<(OsString, Option<File>)> {
    loop {
        let name = temporary::name();
        match parent.make_folder(&name, mode) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => made?,
        }
        // Before it has the lock another run may take it for one that was left, and remove it.
        match parent.hold(&name) {
            Ok(held) if held.is_none() || parent.stat(&name).is_ok() => return Ok((name, held)),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ResourceBusy) => {}
            Err(error) => {
                drop(removal::remove_folder(parent, Path::new(""), &name)); // The error to report is the first.
                return Err(error);
            }
        }
    }
}

fn not_a_folder() -> io::Error {
    let why = "what has this name is not a folder: remove it, or publish under another name";
    io::Error::new(io::ErrorKind::NotADirectory, why)
}

/// The old tree is removed when the new one has its name: nothing that is mounted there may be in it.
fn refuse_mounts(parent: &Dir, name: &OsStr) -> io::Result<()> {
    let Some(mounted) = parent.mounted_in(name)? else { return Ok(()) };
    let why = format!("something is mounted at {}: a tree with a mount in it is not replaced", mounted.display());
    Err(io::Error::new(io::ErrorKind::ResourceBusy, why))
}

/// Takes away what runs that died have left beside the target, and gives a tree its name back that had been moved
/// aside. A courtesy: what cannot be listed or removed stays. `now` is the file system's time.
fn clean_up(parent: &Dir, name: &OsStr, now: SystemTime) {
    for left in parent.names(MOST_NAMES).unwrap_or_default() {
        let bytes = left.as_encoded_bytes();
        let aside = bytes.strip_prefix(name.as_encoded_bytes()).and_then(|rest| rest.strip_prefix(ASIDE.as_bytes()));
        let made_as = aside.and_then(|maker| std::str::from_utf8(maker).ok()).map_or(&*left, OsStr::new);
        let Some(_held) = temporary::left_folder(parent, &left, made_as, now) else { continue };
        let is_free = || parent.stat(name).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        // What stays is looked at again by the next run.
        match aside {
            Some(_) if is_free() => drop(parent.rename(&left, name)),
            _ => drop(removal::remove_folder(parent, Path::new(""), &left)),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_the_place_of_the_folder_in_the_making_leads_nothing_elsewhere() {
        let (temp, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let publish = Publish::begin(&temp.path().join("site"), false).unwrap();
        publish.open_making().unwrap();
        fs::rename(publish.making(), temp.path().join("aside")).unwrap();
        std::os::unix::fs::symlink(outside.path(), publish.making()).unwrap();
        let error = publish.open_making().unwrap_err();
        assert_eq!((error.kind(), error.path()), (io::ErrorKind::NotADirectory, Some(publish.making())), "{error}");
        fs::write(outside.path().join("mine"), "x").unwrap();
        drop(publish.remove());
        assert!(outside.path().join("mine").is_file(), "what the link leads to is not removed");
    }
}
