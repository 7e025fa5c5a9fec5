//! Many new files: plain std, rayon, FastClose, TreeWriter.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use manyfiles::close::{self, FastClose};
use manyfiles::tree::TreeWriter;
use manyfiles_measure::contest::{Sample, timed};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::corpus::{FileList, folders};
use crate::interrupt::Interrupt;
use crate::slow_handle::SlowHandle;

/// When an entrant that makes its folders itself does so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folders {
    /// `create_dir_all` before each file, as most programs do.
    ForEachFile,
    /// Each folder once: before its first file, or all before the files where many threads write them.
    Once,
}

/// Files in folders, none of which is there yet. Each entrant returns when the last file is closed.
#[derive(Clone, Copy, Debug)]
pub struct NewFiles<'a> {
    files: &'a FileList,
    folders: Folders,
    interrupt: &'a Interrupt,
    slow_close: Option<Duration>,
}

impl<'a> NewFiles<'a> {
    /// These files.
    pub fn new(files: &'a FileList, folders: Folders, interrupt: &'a Interrupt) -> NewFiles<'a> {
        NewFiles { files, folders, interrupt, slow_close: None }
    }

    /// Each close takes so much longer, but those of [`TreeWriter`], which closes its files itself.
    pub fn slow_close(self, slow_close: Option<Duration>) -> NewFiles<'a> {
        NewFiles { slow_close, ..self }
    }

    /// A loop, as most programs have it.
    ///
    /// # Errors
    /// The first.
    pub fn with_std(&self, root: &Path) -> Result<Sample> {
        timed(|| self.in_loop(root, |path, bytes| self.write(path, bytes)))
    }

    /// That loop as a parallel iterator on rayon's own threads.
    ///
    /// # Errors
    /// The first of any thread.
    pub fn with_rayon(&self, root: &Path) -> Result<Sample> {
        timed(|| {
            if self.folders == Folders::Once {
                self.make_folders(root)?;
            }
            self.files.par_iter().try_for_each(|(path, bytes)| {
                let path = root.join(path);
                if self.folders == Folders::ForEachFile {
                    fs::create_dir_all(path.parent().expect("it is below the root"))?;
                }
                self.write(&path, bytes)
            })
        })
    }

    /// The same on a pool of so many threads, which is kept for the next time: a file that waits takes no processor, and
    /// where files wait, more threads than processors are of use.
    ///
    /// # Errors
    /// The first of any thread, or that a thread cannot be started.
    pub fn with_rayon_on(&self, threads: usize, root: &Path) -> Result<Sample> {
        pool(threads)?.install(|| self.with_rayon(root))
    }

    /// Every folder once, each before those in it: for entrants that only the caller knows.
    ///
    /// # Errors
    /// The first.
    pub fn make_folders(&self, root: &Path) -> Result<()> {
        fs::create_dir(root)?;
        folders(self.files).into_iter().try_for_each(|folder| Ok(fs::create_dir(root.join(folder))?))
    }

    /// The loop with each file in a [`FastClose`].
    ///
    /// # Errors
    /// The first, that of a close included.
    pub fn with_fast_close(&self, root: &Path) -> Result<Sample> {
        timed(|| {
            let written = self.in_loop(root, |path, bytes| match self.slow_close {
                Some(wait) => Ok(FastClose::new(SlowHandle::new(File::create(path)?, wait)).write_all(bytes)?),
                None => Ok(FastClose::new(File::create(path)?).write_all(bytes)?),
            });
            // Also after a failure: what is pending must be closed before its folder is removed.
            close::wait()?;
            written
        })
    }

    /// [`TreeWriter`], fed from one thread.
    ///
    /// # Errors
    /// The first.
    pub fn with_tree_writer(&self, root: &Path) -> Result<Sample> {
        timed(|| {
            let tree = TreeWriter::open(root)?;
            let handed_over = self.files.iter().try_for_each(|(path, bytes)| {
                self.interrupt.check()?;
                Ok(tree.file(path, Arc::clone(bytes))?)
            });
            if let Err(error) = handed_over {
                tree.canceller().cancel();
                // The first error is the one to tell.
                drop(tree.finish());
                return Err(error);
            }
            let (report, expected) = (tree.finish()?, self.files.len() as u64);
            ensure!(report.files == expected, "the report counts {} files of {expected}", report.files);
            Ok(())
        })
    }

    fn in_loop(&self, root: &Path, write: impl Fn(&Path, &[u8]) -> Result<()>) -> Result<()> {
        let mut folder = PathBuf::new();
        for (path, bytes) in self.files {
            self.interrupt.check()?;
            let path = root.join(path);
            let parent = path.parent().expect("it is below the root");
            if self.folders == Folders::ForEachFile {
                fs::create_dir_all(parent)?;
            } else if parent != folder {
                fs::create_dir_all(parent)?;
                folder = parent.to_owned();
            }
            write(&path, bytes)?;
        }
        Ok(())
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.interrupt.check()?;
        match self.slow_close {
            Some(wait) => SlowHandle::new(File::create(path)?, wait).write_all(bytes)?,
            None => File::create(path)?.write_all(bytes)?,
        }
        Ok(())
    }
}

/// A pool of so many threads for rayon, which is kept: starting one would count.
///
/// # Errors
/// A thread cannot be started.
pub fn pool(threads: usize) -> Result<Arc<ThreadPool>> {
    static POOLS: Mutex<BTreeMap<usize, Arc<ThreadPool>>> = Mutex::new(BTreeMap::new());
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.get(&threads) {
        return Ok(Arc::clone(pool));
    }
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build()?);
    pools.insert(threads, Arc::clone(&pool));
    Ok(pool)
}
