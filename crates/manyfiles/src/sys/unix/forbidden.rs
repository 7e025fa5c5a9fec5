//! What this process may not do, asked before it is tried.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;

use super::{is_fixed, is_privileged, own_user};

/// Whether `path` cannot be opened for this: it lacks the permission, or is on a file system that is read-only. What is
/// missing is not forbidden.
pub(crate) fn may_not_open(path: &Path, reads: bool, writes: bool) -> bool {
    let mut wanted = Access::EXISTS;
    wanted.set(Access::READ_OK, reads);
    wanted.set(Access::WRITE_OK, writes);
    is_denied(path, wanted)
}

/// Whether the regular file that `path` leads to is refused for the sake of such flags of `open`.
pub(crate) fn do_flags_refuse(flags: i32, path: &Path) -> bool {
    flags & libc::O_DIRECTORY != 0
        || flags & libc::O_NOFOLLOW != 0 && std::fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink())
}

/// Whether nothing can be added to a folder, or removed from it.
pub(crate) fn may_not_change_entries(folder: &Path) -> bool {
    is_denied(folder, Access::WRITE_OK | Access::EXEC_OK)
}

/// Whether what is at `path` cannot be removed or renamed, though its folder may be changed: something is mounted
/// there, it has the attribute of being immutable, or the folder is one where users remove only what is their own.
pub(crate) fn may_not_remove(path: &Path, folder: &Path) -> bool {
    let is_of_others = |metadata: &Metadata| metadata.uid() != own_user();
    let is_sticky = |folder: &Metadata| folder.mode() & STICKY != 0 && is_of_others(folder);
    is_fixed(path)
        || !is_privileged()
            && std::fs::metadata(folder).is_ok_and(|folder| is_sticky(&folder))
            && std::fs::symlink_metadata(path).is_ok_and(|it| is_of_others(&it))
}

/// Whether the permissions of the file or folder at `path` are not this process's to set.
pub(crate) fn may_not_set_permissions(path: &Path) -> bool {
    !is_privileged() && std::fs::metadata(path).is_ok_and(|it| it.uid() != own_user())
}

const STICKY: u32 = 0o1000;

fn is_denied(path: &Path, wanted: Access) -> bool {
    let result = rustix::fs::accessat(CWD, path, wanted, AtFlags::EACCESS);
    matches!(result, Err(Errno::ACCESS | Errno::PERM | Errno::ROFS))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_this_process_may_do_is_not_forbidden_and_what_is_missing_is_not() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        std::fs::write(&file, "text").unwrap();
        assert!(!may_not_open(&file, true, true) && !may_not_change_entries(temp.path()));
        assert!(!may_not_remove(&file, temp.path()) && !may_not_set_permissions(&file));
        let missing = temp.path().join("missing");
        assert!(!may_not_open(&missing, true, true) && !may_not_remove(&missing, temp.path()));
    }

    #[test]
    fn a_file_without_the_permission_to_write_is_not_opened_for_writing() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        std::fs::write(&file, "text").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o400)).unwrap();
        std::fs::set_permissions(temp.path(), PermissionsExt::from_mode(0o500)).unwrap();
        assert!(!may_not_open(&file, true, false));
        assert_eq!(may_not_open(&file, false, true), std::fs::File::options().write(true).open(&file).is_err());
        assert_eq!(may_not_change_entries(temp.path()), std::fs::write(temp.path().join("new"), "").is_err());
        std::fs::set_permissions(temp.path(), PermissionsExt::from_mode(0o700)).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_something_is_mounted_at_is_not_removed() {
        assert!(may_not_remove(Path::new("/proc"), Path::new("/")));
    }
}
