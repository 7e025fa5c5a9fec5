//! [`Place`]: what file system a folder is on.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as system;

use std::fmt;
use std::path::{Path, PathBuf};

use manyfiles::{Error, Operation, Result};

/// Where something is measured. What the system does not say is `None`.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The folder, absolute, with symbolic links resolved.
    pub folder: PathBuf,
    /// `ext4`, `tmpfs`, `NTFS`…
    pub file_system: Option<String>,
    /// The device, share or program behind it.
    pub source: Option<String>,
    /// Where it is mounted.
    pub mount_point: Option<PathBuf>,
    /// The options that it is mounted with.
    pub mount_options: Option<String>,
    /// How many bytes this user may still write.
    pub free_bytes: Option<u64>,
    /// What else is known to matter: scanners, Dev Drive.
    pub remarks: Vec<String>,
}

impl Place {
    /// Looks at the folder.
    ///
    /// # Errors
    /// If it is no folder, or is not there.
    pub fn of(dir: &Path) -> Result<Place> {
        let failed = |error| Error::new(Operation::Open, dir, error);
        let folder = dir.canonicalize().map_err(failed)?;
        if !folder.is_dir() {
            return Err(failed(std::io::ErrorKind::NotADirectory.into()));
        }
        Ok(system::describe(folder))
    }
}

/// A line for the file system, and one for each remark.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.folder.display())?;
        if let Some(name) = &self.file_system {
            write!(f, " is on {name}")?;
        }
        if let Some(source) = &self.source {
            write!(f, " ({source})")?;
        }
        if let Some(point) = &self.mount_point {
            write!(f, ", mounted at {}", point.display())?;
        }
        if let Some(options) = &self.mount_options {
            write!(f, " with {options}")?;
        }
        writeln!(f)?;
        self.remarks.iter().try_for_each(|remark| writeln!(f, "{remark}"))
    }
}
