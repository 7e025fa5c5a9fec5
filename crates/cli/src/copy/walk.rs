//! Finds what is in a source: one folder at a time, links not followed.
//!
//! One folder is open at any time, and memory grows with the folders that are still to be read, not with files.

use std::fs::{self, Metadata};
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;

use manyfiles::{Error, Operation};

use super::target::{Placed, join};
use crate::sys::{self, FileId};

/// Something that is to be copied.
pub struct Found {
    /// Where it is.
    pub source: PathBuf,
    /// Where it goes, below the root.
    pub path: PathBuf,
    /// Of itself: not of what a link leads to.
    pub metadata: Metadata,
}

/// Shows everything in `placed`, folders before what is in them. The visitor says whether to go on, and whether to look
/// into the folder it was shown. `root` is the destination, which is not copied into itself.
pub fn walk(
    placed: &Placed,
    root: Option<FileId>,
    visit: &mut dyn FnMut(Result<Found, Error>) -> ControlFlow<(), bool>,
) -> ControlFlow<()> {
    let metadata = match fs::symlink_metadata(&placed.source) {
        Ok(metadata) => metadata,
        Err(error) => {
            visit(Err(cannot_read(placed.source.clone(), error)))?;
            return ControlFlow::Continue(());
        }
    };
    // Folders still to be read, as paths below the source.
    let mut folders = Vec::new();
    let is_folder = metadata.is_dir();
    let descend = visit(Ok(Found { source: placed.source.clone(), path: placed.path.clone(), metadata }))?;
    if is_folder && descend {
        folders.push(PathBuf::from("."));
    }
    while let Some(folder) = folders.pop() {
        let folder_path = join(&placed.source, &folder);
        let entries = match fs::read_dir(&folder_path) {
            Ok(entries) => entries,
            Err(error) => {
                visit(Err(cannot_read(folder_path, error)))?;
                continue;
            }
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                // Nothing more comes after this: see `std::fs::ReadDir`.
                Err(error) => {
                    visit(Err(cannot_read(folder_path, error)))?;
                    break;
                }
            };
            let name = PathBuf::from(entry.file_name());
            let below = join(&folder, &name);
            let source = folder_path.join(&name);
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                Err(error) => {
                    visit(Err(cannot_read(source, error)))?;
                    continue;
                }
            };
            if metadata.is_dir() && root.is_some() && root == sys::file_id(&source, &metadata) {
                visit(Err(cannot_read(
                    source,
                    io::Error::other("this is the destination, which is not copied into itself"),
                )))?;
                continue;
            }
            let is_folder = metadata.is_dir();
            let descend = visit(Ok(Found { source, path: join(&placed.path, &below), metadata }))?;
            if is_folder && descend {
                folders.push(below);
            }
        }
    }
    ControlFlow::Continue(())
}

fn cannot_read(path: PathBuf, error: io::Error) -> Error {
    Error::new(Operation::Read, path, error)
}
