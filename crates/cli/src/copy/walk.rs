//! Finds what is in a source: one folder at a time, links not followed.
//!
//! One folder is open at any time, and memory grows with the folders that are still to be read, not with files.

use std::cell::Cell;
use std::fs::{self, Metadata};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use manyfiles::{Error, Operation};

use super::target::{Placed, join};
use crate::sys::{self, FileId};

/// Something that is to be copied.
#[derive(Clone)]
pub struct Found {
    /// Where it is.
    pub source: PathBuf,
    /// The same below the source that was given; `.` is that source itself.
    pub below: PathBuf,
    /// Where it goes, below the root.
    pub path: PathBuf,
    /// Of itself: not of what a link leads to.
    pub metadata: Metadata,
    /// The folder it was found in; none for a source itself.
    pub above: Option<Rc<Found>>,
    /// Whether this was handed over, or need not be.
    pub is_settled: Cell<bool>,
}

/// Is shown what was found, or why it was not.
pub type Visit<'a> = dyn FnMut(Result<&Found, Error>) -> ControlFlow<(), bool> + 'a;

/// Shows everything in `placed`, folders before what is in them. The visitor says whether to go on, and whether to look
/// into the folder it was shown. `root` is the destination, which is not copied into itself.
pub fn walk(placed: &Placed, root: Option<FileId>, visit: &mut Visit<'_>) -> ControlFlow<()> {
    let metadata = match fs::symlink_metadata(&placed.source) {
        Ok(metadata) => metadata,
        Err(error) => {
            visit(Err(cannot_read(placed.source.clone(), error)))?;
            return ControlFlow::Continue(());
        }
    };
    let mut folders = Vec::new();
    let is_settled = Cell::default();
    let (source, path) = (placed.source.clone(), placed.path.clone());
    let top = Found { source, below: ".".into(), path, metadata, above: None, is_settled };
    if visit(Ok(&top))? && top.metadata.is_dir() {
        folders.push(Rc::new(top));
    }
    while let Some(folder) = folders.pop() {
        let entries = match sys::reach(&folder.source).and_then(|reached| fs::read_dir(reached.path())) {
            Ok(entries) => entries,
            Err(error) => {
                visit(Err(cannot_read(folder.source.clone(), error)))?;
                continue;
            }
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                // Nothing more comes after this: see `std::fs::ReadDir`.
                Err(error) => {
                    visit(Err(cannot_read(folder.source.clone(), error)))?;
                    break;
                }
            };
            let name = PathBuf::from(entry.file_name());
            let source = folder.source.join(&name);
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
            let (below, path) = (join(&folder.below, &name), join(&folder.path, &name));
            let found =
                Found { source, below, path, metadata, above: Some(folder.clone()), is_settled: Cell::default() };
            if visit(Ok(&found))? && found.metadata.is_dir() {
                folders.push(Rc::new(found));
            }
        }
    }
    ControlFlow::Continue(())
}

fn cannot_read(path: impl AsRef<Path>, error: io::Error) -> Error {
    Error::new(Operation::Read, path.as_ref(), error)
}
