//! Paths that are longer than the system takes in one call.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

/// What the system takes, with the zero behind it (`PATH_MAX`).
const MOST: usize = 4096;

/// A path by which the system finds something, as long as this is there.
pub(crate) struct Reached {
    /// The folder that the path begins at.
    _folder: Option<File>,
    path: PathBuf,
}

impl Reached {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether the path is too long for a call.
pub(crate) fn is_too_long(path: &Path) -> bool {
    path.as_os_str().len() >= MOST
}

/// Finds a way to something however long its path is: from folder to folder, in steps that the system takes. No folder
/// on the way may be a symbolic link below the first such step: the walk follows none either.
pub(crate) fn reach(path: &Path) -> io::Result<Reached> {
    if !is_too_long(path) {
        return Ok(Reached { _folder: None, path: path.to_path_buf() });
    }
    let Some(name) = path.file_name() else { return Err(io::ErrorKind::InvalidFilename.into()) };
    let mut folder: Option<File> = None;
    let mut step = PathBuf::new();
    let mut open = |step: &Path| -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        folder = Some(File::from(match &folder {
            None => openat(CWD, step, flags, Mode::empty())?,
            Some(folder) => openat(folder, step, flags | OFlags::NOFOLLOW, Mode::empty())?,
        }));
        Ok(())
    };
    for part in path.parent().unwrap_or(Path::new("")).components() {
        if step.as_os_str().len() + 1 + part.as_os_str().len() >= MOST {
            open(&step)?;
            step = PathBuf::new();
        }
        step.push(part);
    }
    open(&step)?;
    let folder = folder.expect("a path of this length has folders");
    let path = super::by_descriptor(&folder).join(name);
    Ok(Reached { _folder: Some(folder), path })
}
