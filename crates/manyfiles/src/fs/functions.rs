//! The functions of `std::fs`.

use std::fs::{Metadata, Permissions, ReadDir};
use std::io::{self, Read, Take, Write};
use std::path::Path;

use super::owner::Owner;
use super::pending::At::{Followed, Itself, Listed};
use super::pending::{cut_or_made, known, opened, settled, unless_open, with_handles};
use super::refused::{
    cannot_link, cannot_list, cannot_open, cannot_remove, cannot_remove_all, cannot_rename, cannot_set_permissions,
};
use crate::close::Access;
use crate::sys;

/// [`std::fs::write`], without waiting for a slow close: a file with these contents alone, made or overwritten.
///
/// `Ok` says that every byte is with the operating system. What it says at close (NFS, a quota, a full disk) arrives at
/// [`close::wait`](crate::close::wait), with this path. Nothing is synced: after a power cut the file may be empty or
/// missing.
///
/// # Errors
/// As in std: when the file cannot be opened for writing, or not all is written.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let temp = tempfile::tempdir()?;
/// # let path = temp.path().join("a.txt");
/// manyfiles::fs::write(&path, "some text")?;
/// assert_eq!(manyfiles::fs::read_to_string(&path)?, "some text");
/// manyfiles::close::wait()?;
/// # Ok(()) }
/// ```
pub fn write<P: AsRef<Path>, C: AsRef<[u8]>>(path: P, contents: C) -> io::Result<()> {
    write_for(&Owner::default(), path.as_ref(), contents.as_ref())
}

pub(super) fn write_for(owner: &Owner, path: &Path, contents: &[u8]) -> io::Result<()> {
    let new = || std::fs::File::options().write(true).create_new(true).open(path);
    let refused = || cannot_open(path, false, true);
    let file = cut_or_made(path, refused, new, || std::fs::File::create(path))?;
    let result = (&file).write_all(contents);
    owner.close(file, Some(path), Some(Access::Write));
    result
}

/// [`std::fs::read`]: all that is in a file.
///
/// # Errors
/// As in std: when the file cannot be opened or read.
pub fn read<P: AsRef<Path>>(path: P) -> io::Result<Vec<u8>> {
    read_for(&Owner::default(), path.as_ref())
}

pub(super) fn read_for(owner: &Owner, path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_all(owner, path, |mut file, length| {
        bytes.try_reserve_exact(length)?;
        file.read_to_end(&mut bytes)
    })?;
    Ok(bytes)
}

/// [`std::fs::read_to_string`]: all that is in a file, as text.
///
/// # Errors
/// As in std: when the file cannot be opened or read, or is not UTF-8.
pub fn read_to_string<P: AsRef<Path>>(path: P) -> io::Result<String> {
    read_to_string_for(&Owner::default(), path.as_ref())
}

pub(super) fn read_to_string_for(owner: &Owner, path: &Path) -> io::Result<String> {
    let mut text = String::new();
    read_all(owner, path, |mut file, length| {
        text.try_reserve_exact(length)?;
        file.read_to_string(&mut text)
    })?;
    Ok(text)
}

/// `read` gets the file and the length it has, or 0.
fn read_all(
    owner: &Owner,
    path: &Path,
    read: impl FnOnce(Take<&std::fs::File>, usize) -> io::Result<usize>,
) -> io::Result<()> {
    let file = opened(path, false, || cannot_open(path, true, false), || std::fs::File::open(path))?;
    let length = file.metadata().map_or(0, |metadata| usize::try_from(metadata.len()).unwrap_or(usize::MAX));
    // Not `File`'s own `read_to_end`, which asks for the position first: a call more for each file, and it is 0.
    let result = read((&file).take(u64::MAX), length);
    owner.close(file, Some(path), Some(Access::Read));
    result.map(drop)
}

/// [`std::fs::copy`]: a file's contents and permissions. Returns the number of bytes copied.
///
/// The system copies where it can: `CopyFileEx` on Windows with attributes and streams, `copy_file_range` on Linux with
/// shared blocks where the file system has them, `fclonefileat` on Apple's systems. The target's close is handed over,
/// but not on Windows and Apple's systems, which copy by path. What it says arrives at
/// [`close::wait`](crate::close::wait), with the path `to`.
///
/// # Errors
/// As in std: when `from` is no file or cannot be read, when `to` cannot be written, or gets less than all.
pub fn copy<P: AsRef<Path>, Q: AsRef<Path>>(from: P, to: Q) -> io::Result<u64> {
    copy_for(&Owner::default(), from.as_ref(), to.as_ref())
}

pub(super) fn copy_for(owner: &Owner, from: &Path, to: &Path) -> io::Result<u64> {
    if sys::COPIES_BY_PATH {
        return sys::while_in_use(&[to], || {
            settled(&[Followed(from), Followed(to)], || false, || std::fs::copy(from, to))
        });
    }
    let source = opened(from, false, || cannot_open(from, true, false), || std::fs::File::open(from))?;
    let result = copy_contents(owner, &source, to);
    owner.close(source, Some(from), Some(Access::Read));
    result
}

/// Opening, checking and copying are the same as in std.
fn copy_contents(owner: &Owner, source: &std::fs::File, to: &Path) -> io::Result<u64> {
    let metadata = source.metadata()?;
    if !metadata.is_file() {
        let message = "the source path is neither a regular file nor a symlink to a regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let create = |must_be_new| sys::create_like(&metadata, to, must_be_new);
    let target = cut_or_made(to, || cannot_open(to, false, true), || create(true), || create(false))?;
    let copied = sys::copy_contents(source, metadata.len(), &target);
    owner.close(target, Some(to), Some(Access::Write));
    copied
}

/// [`std::fs::rename`]: gives a file or folder another name, and replaces a file of that name.
///
/// Settles both paths: with a temporary file and this, files are replaced atomically, as with std.
///
/// # Errors
/// As in std.
pub fn rename<P: AsRef<Path>, Q: AsRef<Path>>(from: P, to: Q) -> io::Result<()> {
    let (from, to) = (from.as_ref(), to.as_ref());
    let rename = || std::fs::rename(from, to);
    let refused = || cannot_rename(from, to);
    sys::while_in_use(&[from, to], || settled(&[Itself(from), Itself(to)], refused, rename))
}

/// [`std::fs::hard_link`]: another name for a file. Settles both paths.
///
/// # Errors
/// As in std.
pub fn hard_link<P: AsRef<Path>, Q: AsRef<Path>>(original: P, link: Q) -> io::Result<()> {
    let (original, link) = (original.as_ref(), link.as_ref());
    let refused = || cannot_link(original, link);
    settled(&[Itself(original), Itself(link)], refused, || std::fs::hard_link(original, link))
}

/// [`std::fs::remove_file`]. Settles the path: when this has returned, the name is free.
///
/// # Errors
/// As in std.
pub fn remove_file<P: AsRef<Path>>(path: P) -> io::Result<()> {
    let path = path.as_ref();
    let refused = || cannot_remove(path);
    sys::while_in_use(&[path], || settled(&[Itself(path)], refused, || std::fs::remove_file(path)))
}

/// [`std::fs::remove_dir`]: removes an empty folder. Settles it and all below.
///
/// # Errors
/// As in std.
pub fn remove_dir<P: AsRef<Path>>(path: P) -> io::Result<()> {
    let path = path.as_ref();
    unless_open(path, || std::fs::remove_dir(path))
}

/// [`std::fs::remove_dir_all`]: removes a folder and all in it. Settles it and all below.
///
/// # Errors
/// As in std.
pub fn remove_dir_all<P: AsRef<Path>>(path: P) -> io::Result<()> {
    let path = path.as_ref();
    settled(&[Itself(path)], || cannot_remove_all(path), || std::fs::remove_dir_all(path))
}

/// [`std::fs::metadata`]: what is known about a file, or what a symbolic link leads to. Settles it, so that the times
/// are final.
///
/// # Errors
/// As in std.
pub fn metadata<P: AsRef<Path>>(path: P) -> io::Result<Metadata> {
    let path = path.as_ref();
    known(Followed(path), || false, || std::fs::metadata(path))
}

/// [`std::fs::symlink_metadata`]: what is known about a file or symbolic link. Settles it, so that the times are final.
///
/// # Errors
/// As in std.
pub fn symlink_metadata<P: AsRef<Path>>(path: P) -> io::Result<Metadata> {
    let path = path.as_ref();
    known(Itself(path), || false, || std::fs::symlink_metadata(path))
}

/// [`std::fs::read_dir`]: what is in a folder. Settles the files in it, so that entries have their final sizes and
/// times. Files that are written later, and are pending when the iterator comes to them, are not settled.
///
/// # Errors
/// As in std.
pub fn read_dir<P: AsRef<Path>>(path: P) -> io::Result<ReadDir> {
    let path = path.as_ref();
    settled(&[Listed(path)], || cannot_list(path), || std::fs::read_dir(path))
}

/// [`std::fs::create_dir`]: makes a folder.
///
/// # Errors
/// As in std.
pub fn create_dir<P: AsRef<Path>>(path: P) -> io::Result<()> {
    let path = path.as_ref();
    unless_open(path, || std::fs::create_dir(path))
}

/// [`std::fs::create_dir_all`]: makes a folder and those above it.
///
/// # Errors
/// As in std.
pub fn create_dir_all<P: AsRef<Path>>(path: P) -> io::Result<()> {
    let path = path.as_ref();
    unless_open(path, || std::fs::create_dir_all(path))
}

/// [`std::fs::set_permissions`]. Settles a file: a later close may undo what was set (NTFS does so with times).
///
/// # Errors
/// As in std.
pub fn set_permissions<P: AsRef<Path>>(path: P, permissions: Permissions) -> io::Result<()> {
    let path = path.as_ref();
    let refused = || cannot_set_permissions(path);
    known(Followed(path), refused, || std::fs::set_permissions(path, permissions.clone()))
}

/// [`std::fs::canonicalize`]: the absolute path without links.
///
/// # Errors
/// As in std.
pub fn canonicalize<P: AsRef<Path>>(path: P) -> io::Result<std::path::PathBuf> {
    with_handles(|| std::fs::canonicalize(path.as_ref()))
}
