//! Many new files that survive a power cut: one sync for each, against a batch.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::Result;
use manyfiles::sync::{self, SyncBatch};
use manyfiles_measure::contest::{Sample, timed};

use crate::corpus::{FileList, folders};
use crate::interrupt::Interrupt;

/// Files written and made durable, in folders that are there before the clock starts.
#[derive(Clone, Copy, Debug)]
pub struct DurableFiles<'a> {
    files: &'a FileList,
    interrupt: &'a Interrupt,
}

impl<'a> DurableFiles<'a> {
    /// These files.
    pub fn new(files: &'a FileList, interrupt: &'a Interrupt) -> DurableFiles<'a> {
        DurableFiles { files, interrupt }
    }

    /// `sync_all` of each file.
    ///
    /// # Errors
    /// The first.
    pub fn with_sync_all(&self, root: &Path) -> Result<Sample> {
        self.in_folders(root, || {
            self.files.iter().try_for_each(|(path, bytes)| {
                self.interrupt.check()?;
                let mut file = File::create(root.join(path))?;
                file.write_all(bytes)?;
                Ok(file.sync_all()?)
            })
        })
    }

    /// One [`SyncBatch`] for all. With `folders_too` the names of the folders become durable as well.
    ///
    /// # Errors
    /// Those of the batch.
    pub fn with_batch(&self, options: &sync::Options, folders_too: bool, root: &Path) -> Result<Sample> {
        self.in_folders(root, || {
            let batch: SyncBatch = options.clone().build();
            self.files.iter().try_for_each(|(path, bytes)| {
                self.interrupt.check()?;
                Ok::<(), anyhow::Error>(batch.write(root.join(path), bytes)?)
            })?;
            if folders_too {
                for folder in folders(self.files) {
                    batch.add_folder(root.join(folder).parent().unwrap_or(root));
                }
            }
            batch.finish()?;
            Ok(())
        })
    }

    /// Makes the folders, and times the work: for entrants that only the caller knows.
    ///
    /// # Errors
    /// Those of the work, and of making a folder.
    pub fn in_folders(&self, root: &Path, work: impl FnOnce() -> Result<()>) -> Result<Sample> {
        fs::create_dir(root)?;
        folders(self.files).into_iter().try_for_each(|folder| fs::create_dir(root.join(folder)))?;
        timed(work)
    }
}
