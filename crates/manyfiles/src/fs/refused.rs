//! What the system refuses whatever is closed: such an error must not wait for a close, which may never return.
//!
//! Asked only where a close is in the way. The answer may be out of date when the call is made: then the call waits for
//! that close, or is made before it.

use std::fs::{metadata, symlink_metadata};
use std::io::ErrorKind::NotFound;
use std::path::Path;

use crate::sys::{self, AtPath};

/// Whether what is at `path` cannot be opened for reading or writing.
pub(super) fn cannot_open(path: &Path, reads: bool, writes: bool) -> bool {
    sys::may_not_open(path, reads, writes)
}

/// Whether the folder at `path` cannot be listed: it is none, or its entries may not be read.
pub(super) fn cannot_list(path: &Path) -> bool {
    metadata(path).is_ok_and(|it| !it.is_dir()) || sys::may_not_open(path, true, false)
}

/// Whether `remove_file` fails: what is there is a folder and no link to one, or may not be removed.
pub(super) fn cannot_remove(path: &Path) -> bool {
    symlink_metadata(path).is_ok_and(|it| it.is_dir()) || is_kept(path)
}

/// Whether `remove_dir_all` fails at once: what is there is neither a folder nor a link.
pub(super) fn cannot_remove_all(path: &Path) -> bool {
    symlink_metadata(path).is_ok_and(|it| !it.is_dir() && !it.is_symlink())
}

/// Whether permissions cannot be set.
pub(super) fn cannot_set_permissions(path: &Path) -> bool {
    sys::may_not_set_permissions(path)
}

/// Whether a rename fails: `from` is missing; the folder of `to` is missing, on another volume, or inside of `from`;
/// what is at `to` cannot be replaced by what is at `from`; or one of the folders may not be changed.
pub(super) fn cannot_rename(from: &Path, to: &Path) -> bool {
    let Ok(source) = symlink_metadata(from) else { return true };
    let is_folder = source.is_dir();
    if goes_elsewhere(from, to) || is_folder && is_inside(to, from) || is_no_name(from) || is_no_name(to) {
        return true;
    }
    // `to/` can only be a folder.
    if is_kept(from) || cfg!(unix) && !is_folder && to.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return true;
    }
    match symlink_metadata(to) {
        Err(error) => error.kind() != NotFound || may_not_add(to),
        Ok(target) => match (is_folder, target.is_dir()) {
            (false, false) => is_kept(to),
            (true, true) => has_entries(to) || is_kept(to),
            // Windows may replace what other systems do not: the call itself tells.
            _ => cfg!(unix),
        },
    }
}

/// Whether a hard link cannot be made: `original` is a folder; `link` is taken; or the folder of `link` is missing, may
/// not be changed, or is on another volume.
pub(super) fn cannot_link(original: &Path, link: &Path) -> bool {
    let Ok(source) = symlink_metadata(original) else { return true };
    let is_free = symlink_metadata(link).is_err_and(|error| error.kind() == NotFound);
    source.is_dir() || !is_free || goes_elsewhere(original, link) || may_not_add(link)
}

/// Whether the folder that `to` is in is missing, or on another volume or mount than the one that `from` is in.
fn goes_elsewhere(from: &Path, to: &Path) -> bool {
    let folder = |path| match sys::at_path(folder_of(path)?, true)? {
        AtPath::Folder(location) => Some(location),
        AtPath::File(_) => None,
    };
    let (Some(from), Some(to)) = (folder(from), folder(to)) else { return true };
    from.identity.volume != to.identity.volume || from.mount != to.mount
}

/// Whether `path` is to be in this folder or below.
fn is_inside(path: &Path, folder: &Path) -> bool {
    let above = folder_of(path).and_then(|folder| folder.canonicalize().ok());
    above.is_some_and(|above| folder.canonicalize().is_ok_and(|folder| above.starts_with(folder)))
}

/// Whether a path ends in what is no name of a folder's: `.`, `..` or the root.
fn is_no_name(path: &Path) -> bool {
    cfg!(unix) && (path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/."))
}

fn may_not_add(path: &Path) -> bool {
    folder_of(path).is_none_or(sys::may_not_change_entries)
}

/// Whether what is at `path` may not be removed or renamed.
fn is_kept(path: &Path) -> bool {
    folder_of(path).is_none_or(|folder| sys::may_not_change_entries(folder) || sys::may_not_remove(path, folder))
}

/// `None` for the root and for an empty path.
fn folder_of(path: &Path) -> Option<&Path> {
    path.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
}

/// Whether a folder has entries that are more than stand-ins of removed files that are open.
fn has_entries(folder: &Path) -> bool {
    std::fs::read_dir(folder)
        .is_ok_and(|mut names| names.any(|entry| entry.is_ok_and(|entry| !sys::is_stand_in(&entry.file_name()))))
}
