//! A tree that appears whole: written beside its name, and given the name when all of it is there.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::engine::Temporaries;
use crate::sys;
use crate::{Error, Operation, Result};

/// A tree in the making, and the name it is to have.
#[derive(Debug)]
pub(super) struct Publish {
    target: PathBuf,
    /// The folder that has both names.
    parent: PathBuf,
    making: PathBuf,
    durable: bool,
    temporaries: Temporaries,
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
        let target = std::path::absolute(target).map_err(failed)?;
        let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "a root folder cannot be replaced")));
        };
        match fs::symlink_metadata(&target) {
            Ok(old) if !old.is_dir() => {
                return Err(failed(not_a_folder()));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        fs::create_dir_all(parent).map_err(|error| Error::new(Operation::CreateFolder, parent, error))?;
        let temporaries = Temporaries::default();
        clean_up(parent, &target, name, &temporaries);
        let making = loop {
            let making = parent.join(temporaries.name());
            match fs::create_dir(&making) {
                Ok(()) => break making,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::new(Operation::CreateFolder, making, error)),
            }
        };
        Ok(Publish { parent: parent.to_path_buf(), target, making, durable, temporaries })
    }

    /// The folder that the tree is written in.
    pub(super) fn making(&self) -> &Path {
        &self.making
    }

    /// The name that the tree is to have, as an absolute path.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// Gives the tree its name; what had it is removed. If that fails, what had the name has it still, and the new tree
    /// is gone.
    pub(super) fn appear(self) -> Result<()> {
        let old = match self.take_name() {
            Ok(old) => old,
            Err(error) => {
                self.remove()?;
                return Err(error);
            }
        };
        if self.durable {
            sys::sync_folder(&self.parent).map_err(|error| Error::new(Operation::Sync, &*self.parent, error))?;
        }
        match old {
            Some(old) => fs::remove_dir_all(&old).map_err(|error| Error::new(Operation::Remove, old, error)),
            None => Ok(()),
        }
    }

    /// Returns where the tree is that had the name.
    fn take_name(&self) -> Result<Option<PathBuf>> {
        let failed = |error| Error::new(Operation::Rename, &*self.target, error);
        let old = match fs::symlink_metadata(&self.target) {
            Ok(old) => old,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return fs::rename(&self.making, &self.target).map_err(failed).map(|()| None);
            }
            Err(error) => return Err(failed(error)),
        };
        if !old.is_dir() {
            return Err(failed(not_a_folder()));
        }
        // What is replaced keeps its permissions.
        fs::set_permissions(&self.making, old.permissions()).map_err(failed)?;
        if sys::exchange(&self.making, &self.target).map_err(failed)? {
            // Another may have put something else there a moment ago.
            if fs::symlink_metadata(&self.making).is_ok_and(|replaced| replaced.is_dir()) {
                return Ok(Some(self.making.clone()));
            }
            sys::exchange(&self.making, &self.target).map_err(failed)?;
            return Err(failed(not_a_folder()));
        }
        // In two steps: for a moment nothing has the name.
        let mut aside = self.target.file_name().unwrap_or_default().to_owned();
        aside.push(ASIDE);
        aside.push(self.temporaries.name());
        let aside = self.parent.join(aside);
        fs::rename(&self.target, &aside).map_err(failed)?;
        match fs::rename(&self.making, &self.target) {
            Ok(()) => Ok(Some(aside)),
            Err(error) => {
                fs::rename(&aside, &self.target).map_err(|error| Error::new(Operation::Rename, aside, error))?;
                Err(failed(error))
            }
        }
    }

    /// Removes the tree that was in the making.
    pub(super) fn remove(&self) -> Result<()> {
        fs::remove_dir_all(&self.making).map_err(|error| Error::new(Operation::Remove, &*self.making, error))
    }
}

fn not_a_folder() -> io::Error {
    let why = "what has this name is not a folder: remove it, or publish under another name";
    io::Error::new(io::ErrorKind::NotADirectory, why)
}

/// Takes away what runs that died have left beside `target`, and gives a tree its name back that had been moved aside.
/// A courtesy: what cannot be listed or removed stays.
fn clean_up(parent: &Path, target: &Path, name: &OsStr, temporaries: &Temporaries) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten().take(MOST_NAMES) {
        let left = entry.file_name();
        let bytes = left.as_encoded_bytes();
        let aside = bytes.strip_prefix(name.as_encoded_bytes()).and_then(|rest| rest.strip_prefix(ASIDE.as_bytes()));
        let maker = aside.and_then(|maker| std::str::from_utf8(maker).ok()).map_or(&*left, OsStr::new);
        if !temporaries.is_of_the_dead(maker) || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let cleaned = match aside {
            Some(_) if !target.exists() => fs::rename(entry.path(), target),
            _ => fs::remove_dir_all(entry.path()),
        };
        cleaned.unwrap_or(()); // It stays, and is looked at again by the next run.
    }
}
