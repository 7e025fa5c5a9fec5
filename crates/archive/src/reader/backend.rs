//! An archive as a place for the files of a [`Vfs`](manyfiles::vfs::Vfs): `archive://` URIs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

use manyfiles::vfs::{Backend, Choices, Input, Metadata, Output};

use super::archive::{Archive, ArchiveOptions};
use super::file::ArchiveFile;
use crate::entry::{Entry, Kind};

/// How many archives stay open.
const MOST_OPEN: usize = 16;

/// The files in all archives, by URIs of the archive's path and the path in it:
/// `archive:///data/tiles.tar.zst/12/7.png`. A [`Backend`] for a [`Vfs`](manyfiles::vfs::Vfs). Nothing can be written:
/// [`ReadOnlyFilesystem`](io::ErrorKind::ReadOnlyFilesystem).
///
/// The 16 archives that were used last stay open. One that was changed or replaced is opened anew, once for all threads
/// that want it.
///
/// For the files of one archive, give the `Vfs` the [`Archive`] itself as its backend: then a URI has only the path in
/// it.
///
/// ```
/// use manyfiles::vfs::Vfs;
/// use manyfiles_archive::{Archives, ArchiveWriter};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let temp = tempfile::tempdir()?;
/// # let path = temp.path().join("tiles.zip");
/// # #[cfg(unix)] {
/// let tiles = ArchiveWriter::create(&path)?;
/// tiles.file("12/7.png", b"seven".to_vec(), Default::default())?;
/// tiles.finish()?;
///
/// let vfs = Vfs::options().backend("archive", Archives::default()).build();
/// assert_eq!(vfs.read(format!("archive://{}/12/7.png", path.display()))?, b"seven");
/// # }
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
pub struct Archives {
    options: ArchiveOptions,
    /// The one used last is the last.
    open: Mutex<Vec<Arc<Open>>>,
}

impl Archives {
    /// Opens archives with these options.
    pub fn new(options: ArchiveOptions) -> Archives {
        Archives { options, open: Mutex::default() }
    }

    /// The archive of a path, and the path in it. The archive is the first name of the path that is no folder.
    fn split<'a>(&self, path: &'a Path) -> io::Result<(Archive, &'a Path)> {
        let above: Vec<&Path> = path.ancestors().collect();
        for at in above.iter().rev().filter(|at| !at.as_os_str().is_empty()) {
            let metadata = fs::metadata(at)?;
            if !metadata.is_dir() {
                let inner = path.strip_prefix(at).expect("it is one of its ancestors");
                return Ok((self.archive(at, &metadata)?, inner));
            }
        }
        Err(io::Error::new(io::ErrorKind::IsADirectory, "none of its names is an archive, all are folders"))
    }

    fn archive(&self, path: &Path, metadata: &fs::Metadata) -> io::Result<Archive> {
        let place = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let place = match open.iter().position(|place| place.path == path) {
                Some(found) => open.remove(found),
                None => Arc::new(Open { path: path.to_path_buf(), archive: Mutex::default() }),
            };
            open.push(Arc::clone(&place));
            if open.len() > MOST_OPEN {
                open.remove(0);
            }
            place
        };
        // Others that want the same archive wait here: its index is made once.
        let mut archive = place.archive.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(archive) = archive.as_ref().filter(|archive| archive.is_of(metadata)) {
            return Ok(archive.clone());
        }
        *archive = None;
        let opened = self.options.clone().open(path).map_err(|error| {
            let kind = error
                .raw_os_error()
                .map_or(io::ErrorKind::InvalidData, |code| io::Error::from_raw_os_error(code).kind());
            io::Error::new(kind, error)
        })?;
        *archive = Some(opened.clone());
        Ok(opened)
    }
}

/// A place for an archive that is open.
#[derive(Debug)]
struct Open {
    path: PathBuf,
    /// `None`: not yet, or it could not be opened.
    archive: Mutex<Option<Archive>>,
}

impl Backend for Archives {
    fn append(&self, _path: &Path) -> io::Result<Box<dyn Output>> {
        Err(read_only())
    }

    fn create(&self, _path: &Path, _choices: &Choices<'_>) -> io::Result<Box<dyn Output>> {
        Err(read_only())
    }

    fn open(&self, path: &Path) -> io::Result<Option<Box<dyn Input>>> {
        let (archive, path) = self.split(path)?;
        Backend::open(&archive, path)
    }

    fn put(&self, _path: &Path, _bytes: &[u8]) -> io::Result<()> {
        Err(read_only())
    }

    fn read_at(&self, path: &Path, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let (archive, path) = self.split(path)?;
        Backend::read_at(&archive, path, offset, buffer)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let (archive, path) = self.split(path)?;
        Backend::metadata(&archive, path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, Metadata)>> {
        let (archive, path) = self.split(path)?;
        Backend::list(&archive, path)
    }

    fn create_folder(&self, _path: &Path) -> io::Result<()> {
        Err(read_only())
    }

    fn remove(&self, _path: &Path) -> io::Result<()> {
        Err(read_only())
    }

    fn rename(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        Err(read_only())
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        let (archive, path) = self.split(path)?;
        Backend::sync(&archive, path)
    }
}

/// The files of this one archive: a URI has the path in it alone. See [`Archives`] for many.
impl Backend for Archive {
    fn locate(&self, name: &str) -> io::Result<PathBuf> {
        Ok(PathBuf::from(name.trim_start_matches('/')))
    }

    fn append(&self, _path: &Path) -> io::Result<Box<dyn Output>> {
        Err(read_only())
    }

    fn create(&self, _path: &Path, _choices: &Choices<'_>) -> io::Result<Box<dyn Output>> {
        Err(read_only())
    }

    fn open(&self, path: &Path) -> io::Result<Option<Box<dyn Input>>> {
        Ok(Some(Box::new(self.file_at(path)?)))
    }

    fn put(&self, _path: &Path, _bytes: &[u8]) -> io::Result<()> {
        Err(read_only())
    }

    fn read_at(&self, path: &Path, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file_at(path)?.read_at(buffer, offset)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let number = self.index().resolve(path, true)?;
        Ok(metadata(&self.index().entry(path, number)))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, Metadata)>> {
        let of = |entry: Entry<'_>| {
            // What a symbolic link leads to, as a listing of local files has it; one that leads nowhere is a file.
            let metadata = match entry.kind {
                Kind::Symlink(_) => {
                    Backend::metadata(self, &path.join(entry.path)).unwrap_or(Metadata::file(entry.size))
                }
                _ => metadata(&entry),
            };
            (entry.path.as_os_str().to_owned(), metadata)
        };
        Ok(self.folder_at(path)?.map(of).collect())
    }

    fn create_folder(&self, _path: &Path) -> io::Result<()> {
        Err(read_only())
    }

    fn remove(&self, _path: &Path) -> io::Result<()> {
        Err(read_only())
    }

    fn rename(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        Err(read_only())
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        // It is as durable as the archive is.
        self.index().resolve(path, true).map(drop)
    }
}

impl Input for ArchiveFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        ArchiveFile::read_at(self, buffer, offset)
    }
}

fn metadata(entry: &Entry<'_>) -> Metadata {
    if entry.kind == Kind::Folder { Metadata::folder() } else { Metadata::file(entry.size) }
}

fn read_only() -> io::Error {
    io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "an archive that is read is not written")
}
