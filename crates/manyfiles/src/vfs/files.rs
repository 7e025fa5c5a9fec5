//! The local files.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::Output;
use super::backend::{Backend, Choices, Identity, Input, Metadata};
use crate::sync::{BatchMethod, SyncBatch, doubt, sync_name};
use crate::writer::{Kind, Target};
use crate::{Error, Operation, sys};

/// Paths and `file://`.
#[derive(Default)]
pub(super) struct Files {
    /// Files that were opened here before. What their ends hold was written, or looked at, by this process.
    known: Mutex<HashSet<Identity>>,
}

/// Of more files it is forgotten that they are known: then each is looked at once more.
const MOST_KNOWN: usize = 100_000;

/// An open file. What is not closed is closed by its drop: after a failure that was told, or while a panic unwinds.
struct LocalFile {
    target: Target,
    identity: Identity,
}

impl LocalFile {
    fn open(file: File, path: &Path) -> io::Result<Box<LocalFile>> {
        let identity = sys::identity_of(&file)?;
        Ok(Box::new(LocalFile { target: Target::file(Kind::Next(file), path.into(), true), identity }))
    }
}

impl Output for LocalFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        Ok(self.target.write_all(bytes, 0, &mut 0)?)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(self.target.sync()?)
    }

    fn identity(&self) -> Option<Identity> {
        Some(self.identity)
    }

    fn names(&self) -> Option<u64> {
        self.target.names()
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(self.target.close()?)
    }
}

/// A file that is open to be read.
struct LocalInput {
    file: File,
    identity: Identity,
}

impl Input for LocalInput {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        // Beyond what a file can have there is nothing, whatever the system says to such a number.
        let most = u64::try_from(i64::MAX).unwrap_or(u64::MAX).saturating_sub(offset);
        let len = usize::try_from(most).map_or(buffer.len(), |most| buffer.len().min(most));
        let buffer = &mut buffer[..len];
        let mut read = 0;
        while read < buffer.len() {
            match sys::read_at(&self.file, &mut buffer[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    fn identity(&self) -> Option<Identity> {
        Some(self.identity)
    }
}

impl Files {
    /// Whether the file is opened here for the first time.
    fn is_new(&self, identity: Identity) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(identity)
    }

    fn input(&self, path: &Path) -> io::Result<LocalInput> {
        let file = sys::explain_folder(File::open(path), path)?;
        let identity = sys::identity_of(&file)?;
        Ok(LocalInput { file, identity })
    }
}

impl Backend for Files {
    fn append(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        let file = sys::explain_folder(File::options().append(true).create(true).open(path), path)?;
        let output = LocalFile::open(file, path)?;
        if self.is_new(output.identity) {
            output.target.start_from_disk(0);
        }
        Ok(output)
    }

    fn create(&self, path: &Path, choices: &Choices<'_>) -> io::Result<Box<dyn Output>> {
        let create_new = choices.parse("create_new", "true or false", |value| value.parse().ok())?.unwrap_or(false);
        let file = sys::explain_folder(sys::create_to_append(path, create_new), path)?;
        Ok(LocalFile::open(file, path)?)
    }

    fn option_names(&self) -> &'static [&'static str] {
        &["create_new"]
    }

    fn identity(&self, path: &Path) -> io::Result<Option<Identity>> {
        sys::id_of_path(path).map(Some)
    }

    fn names(&self, path: &Path) -> io::Result<u64> {
        sys::names_at(path)
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn is_link(&self, path: &Path) -> bool {
        // What cannot be looked at is not gone through either: listing it fails.
        fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
    }

    fn open(&self, path: &Path) -> io::Result<Option<Box<dyn Input>>> {
        Ok(Some(Box::new(self.input(path)?)))
    }

    fn put(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        // A link stays, and what it leads to is replaced. What a name with a slash behind it leads to would be a
        // folder: the batch has to see that.
        let path = match fs::canonicalize(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_path_buf(),
            other => other?,
        };
        let batch = SyncBatch::options().atomic(true).method(BatchMethod::EachFile).build();
        batch.write(&path, bytes)?;
        match batch.finish() {
            Ok(_) => Ok(()),
            Err(failed) => Err(failed.errors().iter().next().expect("never empty").clone().into()),
        }
    }

    fn copy(&self, from: &Path, to: &Path) -> io::Result<u64> {
        // It would cut what it is about to read.
        if let (Ok(from), Ok(to)) = (sys::id_of_path(from), sys::id_of_path(to))
            && from == to
        {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "both names lead to the same file"));
        }
        // Or the error would be the copy's, of either file. What is no file may be opened only once.
        let of_source = |cause| Error::new(Operation::Read, from, cause);
        let metadata = fs::metadata(from).map_err(of_source)?;
        if sys::COPIES_BY_PATH || !metadata.is_file() {
            if metadata.is_file() {
                drop(self.input(from).map_err(of_source)?);
            }
            return fs::copy(from, to);
        }
        let source = self.input(from).map_err(of_source)?;
        let mut target = sys::create_like(&metadata, to, false)?;
        doubt::forget(&target);
        let mut copied = io::copy(&mut &source.file, &mut target)?;
        // A mount that reads past the page cache and returns less than was asked for makes the kernel stop early, without
        // an error. What reads are given decides.
        let mut buffer = if copied < metadata.len() { vec![0; 256 << 10] } else { Vec::new() };
        while !buffer.is_empty() {
            match source.read_at(copied, &mut buffer)? {
                0 => break,
                read => {
                    target.write_all(&buffer[..read])?;
                    copied += read as u64;
                }
            }
        }
        // std would not tell what only the close of the new file says.
        sys::close(target.into()).map_err(|cause| {
            let error = Error::new(Operation::Close, to, cause);
            doubt::note_at(to, &error);
            error
        })?;
        Ok(copied)
    }

    fn read_at(&self, path: &Path, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.input(path)?.read_at(offset, buffer)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        fs::metadata(path).map(known)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, Metadata)>> {
        let mut children = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let metadata = match fs::metadata(entry.path()) {
                // A link that leads nowhere, in a circle, or to where this process may not look.
                Err(_) if entry.file_type().is_ok_and(|kind| kind.is_symlink()) => entry.metadata(),
                other => other,
            };
            match metadata {
                Ok(metadata) => children.push((entry.file_name(), known(metadata))),
                // Gone since the folder was read.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(children)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        crate::folders::make_all(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        if fs::metadata(path)?.is_dir() {
            return sys::sync_folder(path);
        }
        // Windows syncs only what is open to be written; elsewhere a file that may only be read can be synced too.
        let file = match File::options().append(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path)?,
            other => other?,
        };
        doubt::check(&file, false)?;
        let failed = |cause| {
            let error = Error::new(Operation::Sync, path, cause);
            doubt::note(&file, &error);
            error
        };
        sys::sync_all(&file).map_err(failed)?;
        sync_name(&file, path)?;
        // Some file systems tell only here what others' writes have met.
        sys::close(file.into()).map_err(|cause| {
            let error = Error::new(Operation::Close, path, cause);
            doubt::note_at(path, &error);
            error.into()
        })
    }
}

fn known(metadata: fs::Metadata) -> Metadata {
    if metadata.is_dir() { Metadata::folder() } else { Metadata::file(metadata.len()) }
}
