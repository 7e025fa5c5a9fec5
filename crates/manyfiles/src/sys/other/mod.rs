//! A system that is neither Unix nor Windows: WebAssembly, or one that was never tried. Files are std's, and closed on
//! the spot; only `close` and `fs` are there.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::thread::{Builder, JoinHandle};

use super::{AtPath, Identity, Location};

mod system_path;

pub(crate) use system_path::SystemPath;

/// The handle of an open file.
pub(crate) type Handle = File;

/// std says nothing of a close.
pub(crate) fn close(file: Handle) -> io::Result<()> {
    drop(file);
    Ok(())
}

pub(crate) fn location(_file: &Handle) -> Option<Location> {
    None
}

pub(crate) const SYSTEM_PATHS_ARE_QUICK: bool = false;

pub(crate) fn location_without_path(_file: &Handle) -> Option<Location> {
    None
}

pub(crate) fn system_path(_file: &Handle) -> Option<SystemPath> {
    None
}

pub(crate) fn regular_file(_file: &Handle) -> Option<Identity> {
    None
}

pub(crate) fn file_at(_path: &Path) -> Option<Identity> {
    None
}

pub(crate) fn at_path(_path: &Path, _follow: bool) -> Option<AtPath> {
    None
}

pub(crate) fn is_read_only(_file: &Handle) -> bool {
    false
}

/// Nobody is.
pub(crate) fn is_privileged() -> bool {
    false
}

pub(crate) fn leaves_room<T>(_any: T) -> bool {
    false
}

pub(crate) fn may_hold_lock(_file: &Handle) -> bool {
    true
}

pub(crate) fn at_exit(_what: extern "C" fn()) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn copy_contents(mut source: &File, _length: u64, mut target: &File) -> io::Result<u64> {
    io::copy(&mut source, &mut target)
}

pub(crate) fn around_forks(
    _before: extern "C" fn(),
    _parent: extern "C" fn(),
    _child: extern "C" fn(),
) -> io::Result<()> {
    Ok(())
}

pub(crate) fn handle_limit() -> usize {
    usize::MAX
}

pub(crate) fn free_handles<T>(_any: T) -> usize {
    usize::MAX
}

pub(crate) fn make_room_for_handles<T>(_any: T, _count: usize) {}

pub(crate) fn spawn_quiet<T: Send + 'static>(
    builder: Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    builder.spawn(work)
}

pub(crate) fn is_out_of_handles(_error: &io::Error) -> bool {
    false
}

/// std copies as it can.
pub(crate) const COPIES_BY_PATH: bool = true;

pub(crate) fn create_like(_source: &Metadata, _to: &Path, _must_be_new: bool) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn may_not_open(_path: &Path, _reads: bool, _writes: bool) -> bool {
    false
}

pub(crate) fn may_not_change_entries(_folder: &Path) -> bool {
    false
}

pub(crate) fn may_not_remove(_path: &Path, _folder: &Path) -> bool {
    false
}

pub(crate) fn may_not_set_permissions(_path: &Path) -> bool {
    false
}

pub(crate) fn may_be_for_an_open_file(_error: &io::Error, _paths: &[&Path]) -> bool {
    false
}

pub(crate) fn while_in_use<T>(_paths: &[&Path], mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    work()
}

pub(crate) fn is_stand_in(_name: &OsStr) -> bool {
    false
}
