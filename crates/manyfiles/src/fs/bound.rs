//! Files that belong to a closer of the program's own: it returns the errors of their closes.

use std::io;
use std::path::Path;

use super::file::File;
use super::functions;
use super::open_options::OpenOptions;
use super::owner::Owner;
use crate::close::Closer;

/// Files that belong to this closer. All other functions of [`fs`](crate::fs) see them closed.
impl Closer {
    /// [`fs::File::open`](File::open): for reading.
    ///
    /// # Errors
    /// As in std.
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        self.open_with(OpenOptions::new().read(true), path)
    }

    /// [`fs::File::create`](File::create): for writing; the file's old content goes away.
    ///
    /// # Errors
    /// As in std.
    pub fn create(&self, path: impl AsRef<Path>) -> io::Result<File> {
        self.open_with(OpenOptions::new().write(true).create(true).truncate(true), path)
    }

    /// [`fs::File::create_new`](File::create_new): for reading and writing; there must be no such file yet.
    ///
    /// # Errors
    /// As in std.
    pub fn create_new(&self, path: impl AsRef<Path>) -> io::Result<File> {
        self.open_with(OpenOptions::new().read(true).write(true).create_new(true), path)
    }

    /// [`fs::OpenOptions::open`](OpenOptions::open).
    ///
    /// # Errors
    /// As in std.
    pub fn open_with(&self, options: &OpenOptions, path: impl AsRef<Path>) -> io::Result<File> {
        options.open_for(Owner::of(&self.pool), path.as_ref())
    }

    /// [`fs::write`](fn@super::write): a file with these contents alone, made or overwritten.
    ///
    /// # Errors
    /// As in std.
    pub fn write(&self, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
        functions::write_for(&Owner::of(&self.pool), path.as_ref(), contents.as_ref())
    }

    /// [`fs::read`](super::read): all that is in a file.
    ///
    /// # Errors
    /// As in std.
    pub fn read(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        functions::read_for(&Owner::of(&self.pool), path.as_ref())
    }

    /// [`fs::read_to_string`](super::read_to_string): all that is in a file, as text.
    ///
    /// # Errors
    /// As in std.
    pub fn read_to_string(&self, path: impl AsRef<Path>) -> io::Result<String> {
        functions::read_to_string_for(&Owner::of(&self.pool), path.as_ref())
    }

    /// [`fs::copy`](super::copy): a file's contents and permissions.
    ///
    /// # Errors
    /// As in std.
    pub fn copy(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
        functions::copy_for(&Owner::of(&self.pool), from.as_ref(), to.as_ref())
    }
}
