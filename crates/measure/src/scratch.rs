//! [`Scratch`]: a folder to measure in, which is gone when that is done.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use manyfiles::{Error, Operation, Result};
use tempfile::TempDir;

/// Removing may be as slow as all else that is measured.
const THREADS: usize = 64;

/// A folder for one measurement. A drop removes the folder too, but cannot report a failure.
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// Makes a folder below `dir`, with a name that begins with `prefix`.
    ///
    /// # Errors
    /// Where none can be made, with the path that it was to have.
    pub fn below(dir: &Path, prefix: &str) -> Result<Scratch> {
        let made = tempfile::Builder::new().prefix(prefix).tempdir_in(dir);
        // tempfile wraps the error with the path, and the number is inside.
        made.map(Scratch)
            .map_err(|error| Error::new(Operation::CreateFolder, dir.join(format!("{prefix}XXXXXX")), error))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Removes it with all that is in it.
    ///
    /// # Errors
    /// What could not be removed is still there.
    pub fn remove(self) -> Result<()> {
        let path = self.path().to_path_buf();
        remove_tree(&path).map_err(|error| Error::new(Operation::Remove, &path, error))?;
        // It only forgets: there is nothing left.
        drop(self.0.keep());
        Ok(())
    }
}

/// Removes a folder with all that is in it, its files on many threads.
///
/// # Errors
/// The system's for the first that could not be removed.
pub fn remove_tree(root: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    collect(root, &mut files)?;
    let next = AtomicUsize::new(0);
    let remove = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            // If it cannot be removed, the folder cannot either, and that error is told.
            drop(fs::remove_file(file));
        }
    };
    thread::scope(|scope| {
        for _ in 1..THREADS.min(files.len() / 8) {
            // One thread less is no harm.
            drop(thread::Builder::new().spawn_scoped(scope, remove));
        }
        remove();
    });
    fs::remove_dir_all(root)
}

/// All that is no folder. Symbolic links are not followed.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_gone_with_all_that_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::below(dir.path(), ".measured-").unwrap();
        for n in 0..100 {
            let folder = scratch.path().join(format!("{}/deep", n % 3));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(n.to_string()), "x").unwrap();
        }
        assert!(scratch.path().file_name().unwrap().to_str().unwrap().starts_with(".measured-"));
        scratch.remove().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn where_none_can_be_made_it_is_named_and_not_the_folder_that_is_there() {
        let error = Scratch::below(Path::new("no/such"), ".x-").err().unwrap();
        assert_eq!((error.path(), error.kind()), (Some(Path::new("no/such/.x-XXXXXX")), io::ErrorKind::NotFound));
    }
}
