//! What the system refuses whatever is closed: such an error must not wait for a close, which may never return.
//!
//! Asked only while closes are pending. What is asked here may change before the call itself; then that tells.

use std::fs::{Metadata, symlink_metadata};
use std::path::Path;

use crate::close;
use crate::sys;

/// Whether a folder is there, and no link to one.
pub(super) fn is_folder(path: &Path) -> bool {
    !close::nothing_pends() && symlink_metadata(path).is_ok_and(|it| it.is_dir())
}

/// Whether something else than a folder is there.
pub(super) fn is_file(path: &Path) -> bool {
    !close::nothing_pends() && std::fs::metadata(path).is_ok_and(|it| !it.is_dir())
}

/// Whether a rename fails: what is renamed is missing, or the folder that it is to go to, or that is on another volume; or what has
/// the new name cannot be replaced by it.
pub(super) fn cannot_rename(from: &Path, to: &Path) -> bool {
    if close::nothing_pends() {
        return false;
    }
    let Ok(source) = symlink_metadata(from) else { return true };
    if goes_elsewhere(&source, to) {
        return true;
    }
    let Ok(target) = symlink_metadata(to) else { return false };
    match (source.is_dir(), target.is_dir()) {
        (false, false) => false,
        (true, true) => has_entries(to),
        // Windows may replace what others don't: it is left to say so.
        _ => cfg!(unix),
    }
}

/// Whether a hard link cannot be made: its name is taken, or the folder that it is to be in is missing or on another volume.
pub(super) fn cannot_link(original: &Path, link: &Path) -> bool {
    if close::nothing_pends() {
        return false;
    }
    let Ok(source) = symlink_metadata(original) else { return true };
    symlink_metadata(link).is_ok() || goes_elsewhere(&source, link)
}

fn goes_elsewhere(source: &Metadata, to: &Path) -> bool {
    let folder = match to.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return false,
    };
    let Ok(folder) = std::fs::metadata(folder) else { return true };
    !sys::may_be_on_one_volume(source, &folder)
}

/// Whether a folder has entries that are more than stand-ins of removed files that are open.
fn has_entries(folder: &Path) -> bool {
    std::fs::read_dir(folder)
        .is_ok_and(|mut names| names.any(|entry| entry.is_ok_and(|entry| !sys::is_stand_in(&entry.file_name()))))
}
