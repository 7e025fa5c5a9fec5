//! The local files.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::backend::{Backend, Choices, Metadata, Output};
use crate::close::{Closer, Policy};
use crate::sys;
use crate::writer::{FileWriter, SyncPolicy};

/// Paths and `file://`.
pub(super) struct Files {
    /// Closes, on the spot, a file whose writer is dropped: after a failure, or while a panic unwinds. It prints what such a
    /// close says.
    closer: Arc<Closer>,
}

impl Files {
    pub(super) fn new() -> Files {
        Files { closer: Arc::new(Closer::options().policy(Policy::Never).build()) }
    }

    fn output(&self, file: File, path: &Path, sync: SyncPolicy) -> io::Result<Box<dyn Output>> {
        let id = sys::id_of_file(&file)?;
        // No buffer: whoever has the output gathers for it.
        let options = FileWriter::options().buffer_size(0).sync(sync).closer(Arc::clone(&self.closer));
        Ok(Box::new(LocalFile { file: options.append_to(file, path)?, path: path.into(), id }))
    }
}

/// An open file, whose writer closes it.
struct LocalFile {
    file: FileWriter,
    path: Box<Path>,
    id: sys::FileId,
}

impl Output for LocalFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        Ok(self.file.write_all(bytes)?)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(self.file.sync()?)
    }

    fn is_current(&self) -> bool {
        sys::id_of_path(&self.path).is_ok_and(|id| id == self.id)
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        self.file.close()?;
        Ok(())
    }
}

impl Backend for Files {
    fn append(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        let file = sys::explain_folder(File::options().append(true).create(true).open(path), path)?;
        self.output(file, path, SyncPolicy::Never)
    }

    fn create(&self, path: &Path, choices: &Choices<'_>) -> io::Result<Box<dyn Output>> {
        let create_new = choices.parse("create_new", "true or false", |value| value.parse().ok())?.unwrap_or(false);
        let sync = choices.parse("sync", "never or close", |value| match value {
            "never" => Some(SyncPolicy::Never),
            "close" => Some(SyncPolicy::OnClose),
            _ => None,
        })?;
        let file = sys::explain_folder(sys::create_to_append(path, create_new), path)?;
        self.output(file, path, sync.unwrap_or(SyncPolicy::Never))
    }

    fn option_names(&self) -> &'static [&'static str] {
        &["create_new", "sync"]
    }

    fn read_at(&self, path: &Path, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = sys::explain_folder(File::open(path), path)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut read = 0;
        while read < buffer.len() {
            match file.read(&mut buffer[read..]) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        fs::metadata(path).map(known)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, Metadata)>> {
        let mut children = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let metadata = match fs::metadata(entry.path()) {
                // A link that leads nowhere.
                Err(error) if error.kind() == io::ErrorKind::NotFound => entry.metadata(),
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
        fs::create_dir_all(path)
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
        sys::sync_all(&file)?;
        match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => sys::sync_folder(folder),
            _ => Ok(()),
        }
    }
}

fn known(metadata: fs::Metadata) -> Metadata {
    let is_folder = metadata.is_dir();
    Metadata { is_folder, size: if is_folder { 0 } else { metadata.len() } }
}
