//! A tree that appears whole: written beside its name, and given the name when all of it is there.
//!
//! Everything is done by the handle of the folder above: it may be moved meanwhile, and is still the right one.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::Metadata;
use crate::error::explained_as;
use crate::sys::{self, Access, Dir, EntryKind};
use crate::{Error, Operation, Result, temporary};

/// A tree in the making, and the name it is to have.
#[derive(Debug)]
pub(super) struct Publish {
    /// For messages: where the tree is to be.
    target: PathBuf,
    /// The folder that has both names.
    above: Dir,
    name: OsString,
    making: OsString,
    /// The folder that the tree is written in. Locked, so that no other run takes it for one that was left. `None` on
    /// Windows.
    made: Option<File>,
    /// Folders above the target that were made for it, the lowest one first.
    made_above: Vec<PathBuf>,
    durable: bool,
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
        // Without a slash at its end, behind which a link would be followed.
        let target: PathBuf = std::path::absolute(target).map_err(failed)?.components().collect();
        let failed = |error| Error::new(Operation::CreateFolder, &*target, error);
        let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "a root folder cannot be replaced")));
        };
        let old = match fs::symlink_metadata(&target) {
            Ok(old) if !old.is_dir() => return Err(failed(not_a_folder())),
            Ok(_) => Some(Access::of(&target).map_err(failed)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let made_above: Vec<PathBuf> =
            parent.ancestors().take_while(|above| !above.exists()).map(Path::to_path_buf).collect();
        let failed_above = |error| Error::new(Operation::CreateFolder, parent, error);
        fs::create_dir_all(parent).map_err(failed_above)?;
        let above = Dir::open_root(parent).map_err(failed_above)?;
        let making = loop {
            let making = temporary::name();
            match above.make_folder(&making, 0o777) {
                Ok(()) => break making,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::new(Operation::CreateFolder, parent.join(making), error)),
            }
        };
        let made = File::open(parent.join(&making)).ok();
        let name = name.to_owned();
        let publish = Publish { target, above, name, making, made, made_above, durable };
        let begun = publish.check_mounts().and_then(|()| publish.prepare(old.as_ref()));
        begun.map_err(|error| {
            drop(publish.remove()); // The error to return is the first one.
            Error::new(Operation::CreateFolder, &*publish.target, error)
        })?;
        publish.clean_up();
        Ok(publish)
    }

    /// While it is written, no user has more rights to the new tree than to the old one.
    fn prepare(&self, old: Option<&Access>) -> io::Result<()> {
        let Some(made) = &self.made else { return Ok(()) };
        // A file system without locks: another run goes by the age alone.
        made.try_lock().unwrap_or(());
        let Some(old) = old else { return Ok(()) };
        old.give_to(made)?;
        old.give_inherited_to(made)?;
        self.above.let_owner_write(&self.making)
    }

    /// Where the folder above is now.
    fn parent(&self) -> PathBuf {
        self.above.path().or_else(|| self.target.parent().map(Path::to_path_buf)).unwrap_or_default()
    }

    /// The folder that the tree is written in.
    pub(super) fn making(&self) -> PathBuf {
        self.parent().join(&self.making)
    }

    /// The name that the tree is to have, as an absolute path.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// Gives the tree its name; what had it is removed. If that fails, what had the name has it still, and the new tree
    /// is gone. `given`: what the root was told to have. Returns what went wrong.
    pub(super) fn appear(self, given: Metadata) -> Vec<Error> {
        let old = match self.take_name(given) {
            Ok(old) => old,
            Err(error) => {
                let first = Error::new(Operation::Rename, &*self.target, error);
                return [first].into_iter().chain(self.remove().err()).collect();
            }
        };
        let mut errors = Vec::new();
        if self.durable {
            let synced = self.above.sync();
            errors.extend(synced.err().map(|error| Error::new(Operation::Sync, self.parent(), error)));
        }
        errors.extend(old.and_then(|old| self.remove_tree(&old).err()));
        errors
    }

    /// Returns the name of the tree that had the name.
    fn take_name(&self, given: Metadata) -> io::Result<Option<OsString>> {
        let (above, making, name) = (&self.above, &*self.making, &*self.name);
        match above.stat(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return above.rename(making, name).map(|()| None),
            Ok(old) if old.kind == EntryKind::Folder => {}
            Ok(_) => return Err(not_a_folder()),
            Err(error) => return Err(error),
        }
        self.check_mounts()?;
        self.dress(given)?;
        if above.exchange(making, name)? {
            // Another may have put something else there a moment ago.
            if above.stat(making).is_ok_and(|replaced| replaced.kind == EntryKind::Folder) {
                return Ok(Some(making.to_owned()));
            }
            above.exchange(making, name)?;
            return Err(not_a_folder());
        }
        // In two steps: for a moment nothing has the name.
        let mut aside = name.to_owned();
        aside.push(ASIDE);
        aside.push(temporary::name());
        above.rename(name, &aside)?;
        match above.rename(making, name) {
            Ok(()) => Ok(Some(aside)),
            Err(error) => {
                above.rename(&aside, name)?;
                Err(error)
            }
        }
    }

    /// What is replaced keeps its permissions and its owner, but for what the root was told to have.
    fn dress(&self, given: Metadata) -> io::Result<()> {
        let Some(made) = &self.made else { return Ok(()) };
        let old = Access::of(&self.parent().join(&self.name))?;
        if given.mode.is_none() && given.owner.is_none() {
            return old.give_to(made);
        }
        let mode = made.metadata()?.permissions();
        if given.owner.is_none() {
            old.give_owner_to(made)?;
        }
        if given.mode.is_some() {
            // Another owner may have taken bits away.
            return made.set_permissions(mode);
        }
        old.give_rights_to(made)
    }

    /// What is mounted in a folder goes wherever the folder goes: it would be taken for what is to be removed.
    fn check_mounts(&self) -> io::Result<()> {
        let Some(point) = sys::mounted_below(&self.parent().join(&self.name)) else { return Ok(()) };
        let cause = io::Error::new(io::ErrorKind::ResourceBusy, point.display().to_string());
        const MEANING: &str = "is mounted in the folder that is to be replaced: unmount it first";
        Err(explained_as(io::ErrorKind::ResourceBusy, cause, MEANING))
    }

    /// Removes the tree that was in the making.
    pub(super) fn remove(&self) -> Result<()> {
        self.remove_tree(&self.making)?;
        for folder in &self.made_above {
            if fs::remove_dir(folder).is_err() {
                break; // Others have put something in it.
            }
        }
        Ok(())
    }

    fn remove_tree(&self, name: &OsStr) -> Result<()> {
        let removed = self.above.remove_tree(name);
        removed.map_err(|(path, error)| Error::new(Operation::Remove, self.parent().join(path), error))
    }

    /// Takes away what runs that died have left beside the target, and gives a tree its name back that had been moved
    /// aside. A courtesy: what cannot be listed or removed stays.
    fn clean_up(&self) {
        let Ok(names) = self.above.names(MOST_NAMES) else { return };
        let now = self.above.stat(&self.making).map_or(std::time::UNIX_EPOCH, |made| made.changed);
        for left in names {
            let bytes = left.as_encoded_bytes();
            let of_target = bytes.strip_prefix(self.name.as_encoded_bytes());
            let aside = of_target.and_then(|rest| rest.strip_prefix(ASIDE.as_bytes()));
            let maker = aside.and_then(|maker| std::str::from_utf8(maker).ok()).map_or(&*left, OsStr::new);
            let is_locked = || {
                // What cannot be opened, or has no locks, may be in use.
                let opened = File::open(self.parent().join(&left));
                !opened.is_ok_and(|folder| folder.try_lock().is_ok())
            };
            if !temporary::is_a_tree_that_was_left(&self.above, &left, maker, now, is_locked) {
                continue;
            }
            let is_missing = || self.above.stat(&self.name).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
            // It stays, if this fails, and is looked at again by the next run.
            match aside {
                Some(_) if is_missing() => self.above.rename(&left, &self.name).unwrap_or(()),
                _ => self.above.remove_tree(&left).unwrap_or(()),
            }
        }
    }
}

fn not_a_folder() -> io::Error {
    let why = "what has this name is not a folder: remove it, or publish under another name";
    io::Error::new(io::ErrorKind::NotADirectory, why)
}
