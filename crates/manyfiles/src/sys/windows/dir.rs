//! Folders as handles, and what is done to names in them. Nothing here follows a link on the way down.

use std::ffi::OsStr;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::OwnedHandle;
use std::path::{Component, Path};
use std::time::SystemTime;

use windows_sys::Wdk::Storage::FileSystem::{
    FILE_CREATE, FILE_DIRECTORY_FILE, FILE_DISPOSITION_DELETE, FILE_DISPOSITION_IGNORE_READONLY_ATTRIBUTE,
    FILE_DISPOSITION_INFORMATION, FILE_DISPOSITION_INFORMATION_EX, FILE_DISPOSITION_POSIX_SEMANTICS,
    FILE_NON_DIRECTORY_FILE, FILE_OPEN, FILE_RENAME_IGNORE_READONLY_ATTRIBUTE, FILE_RENAME_POSIX_SEMANTICS,
    FILE_RENAME_REPLACE_IF_EXISTS, FileDispositionInformation, FileDispositionInformationEx, FileRenameInformation,
    FileRenameInformationEx,
};
use windows_sys::Win32::Foundation::{
    ERROR_DELETE_PENDING, ERROR_DIRECTORY, ERROR_DIRECTORY_NOT_SUPPORTED, ERROR_REPARSE_POINT_ENCOUNTERED,
    STATUS_ACCESS_DENIED, STATUS_CANNOT_DELETE, STATUS_INVALID_PARAMETER, STATUS_NAME_TOO_LONG,
    STATUS_REPARSE_POINT_ENCOUNTERED,
};
use windows_sys::Win32::Storage::FileSystem::{
    DELETE, FILE_ATTRIBUTE_NORMAL, FILE_ATTRIBUTE_READONLY, FILE_FLAG_BACKUP_SEMANTICS, FILE_GENERIC_READ,
    FILE_GENERIC_WRITE, FILE_LIST_DIRECTORY, FILE_READ_ATTRIBUTES, FILE_TRAVERSE, FILE_WRITE_ATTRIBUTES, SYNCHRONIZE,
};

use super::identity::kind;
use super::native::{Links, Open, Status, set_information, set_name, while_in_use, while_in_use_or_denied, wide};
use super::{Handle, Permissions, forbids_writing, no_owner};
use crate::sys::{EntryKind, Stat};

/// An open folder.
#[derive(Debug)]
pub(crate) struct Dir(pub(super) OwnedHandle);

/// What a folder is opened for.
pub(super) const FOLDER: u32 = FILE_LIST_DIRECTORY | FILE_TRAVERSE | FILE_READ_ATTRIBUTES;

const SHARE_ALL: u32 = 7;

/// Opens what is there.
pub(super) const fn existing(access: u32, options: u32) -> Open {
    Open { access, attributes: 0, disposition: FILE_OPEN, options, links: Links::OneComponent }
}

impl Dir {
    /// Opens the folder at `path`, whatever links lead there: it is the caller's choice of a root.
    pub(crate) fn open_root(path: &Path) -> io::Result<Dir> {
        let folder = std::fs::OpenOptions::new()
            .access_mode(FOLDER | SYNCHRONIZE)
            .share_mode(SHARE_ALL)
            .custom_flags(FILE_FLAG_BACKUP_SEMANTICS) // What folders are opened with.
            .open(path)?;
        if !folder.metadata()?.is_dir() {
            return Err(io::Error::from_raw_os_error(ERROR_DIRECTORY as i32));
        }
        Ok(Dir(folder.into()))
    }

    /// A second handle for the same folder.
    pub(crate) fn try_clone(&self) -> io::Result<Dir> {
        Ok(Dir(self.0.try_clone()?))
    }

    /// Opens the folder at `path` below this one, following no link on the way.
    pub(crate) fn folder(&self, path: &Path) -> io::Result<Dir> {
        let how = Open { links: Links::Refuse, ..existing(FOLDER, FILE_DIRECTORY_FILE) };
        match how.at(&self.0, &wide(path.as_os_str())) {
            Ok(folder) => Dir(folder).unless_link(),
            // Windows before 10 (1607) does not know how to refuse links on the way. And what is refused then may be no
            // link, but a folder that is stored otherwise, in a cloud for instance.
            // Nor does one call take a path of more than 32,767 units.
            Err(Status(STATUS_INVALID_PARAMETER | STATUS_REPARSE_POINT_ENCOUNTERED | STATUS_NAME_TOO_LONG)) => {
                self.folder_by_component(path)
            }
            Err(status) => Err(status.into()),
        }
    }

    fn folder_by_component(&self, path: &Path) -> io::Result<Dir> {
        let mut at = None::<Dir>;
        for component in path.components() {
            let Component::Normal(name) = component else {
                return Err(Status(STATUS_INVALID_PARAMETER).into());
            };
            at = Some(at.as_ref().unwrap_or(self).child(name)?);
        }
        at.map_or_else(|| self.try_clone(), Ok)
    }

    /// Opens the folder `name` in this one. A link gives the error that a file would.
    pub(crate) fn child(&self, name: &OsStr) -> io::Result<Dir> {
        Dir(existing(FOLDER, FILE_DIRECTORY_FILE).at(&self.0, &wide(name))?).unless_link()
    }

    /// A link to a folder is opened like one.
    pub(super) fn unless_link(self) -> io::Result<Dir> {
        match kind(&self.0)?.0 {
            EntryKind::Folder => Ok(self),
            _ => Err(io::Error::from_raw_os_error(ERROR_DIRECTORY as i32)),
        }
    }

    /// The folder itself once more, open to be written to.
    pub(super) fn to_writable(&self) -> io::Result<Handle> {
        Ok(existing(FILE_GENERIC_WRITE, FILE_DIRECTORY_FILE).at(&self.0, &[])?)
    }

    /// Permissions of folders are those that they inherit.
    pub(crate) fn make_folder(&self, name: &OsStr, _mode: u32) -> io::Result<()> {
        let how = Open { disposition: FILE_CREATE, ..existing(FILE_READ_ATTRIBUTES, FILE_DIRECTORY_FILE) };
        super::close(how.at(&self.0, &wide(name))?)
    }

    /// Creates `name` for writing; `AlreadyExists` if anything at all has that name.
    pub(crate) fn create_new(&self, name: &OsStr, mode: u32) -> io::Result<Handle> {
        let how = Open {
            // This handle may write all the same.
            attributes: if forbids_writing(mode) { FILE_ATTRIBUTE_READONLY } else { FILE_ATTRIBUTE_NORMAL },
            disposition: FILE_CREATE,
            ..existing(FILE_GENERIC_WRITE | FILE_READ_ATTRIBUTES, FILE_NON_DIRECTORY_FILE)
        };
        // A removed file of that name may not be closed yet.
        Ok(while_in_use(|| how.at(&self.0, &wide(name)))?)
    }

    /// Opens the file of that name for reading.
    pub(crate) fn open_to_read(&self, name: &OsStr) -> io::Result<Handle> {
        // To change its attributes, too, if that is allowed: a file that turns out to be identical may get others.
        let name = wide(name);
        let open = |access| existing(access, FILE_NON_DIRECTORY_FILE).at(&self.0, &name);
        match open(FILE_GENERIC_READ | FILE_WRITE_ATTRIBUTES) {
            Err(Status(STATUS_ACCESS_DENIED)) => Ok(open(FILE_GENERIC_READ)?),
            other => Ok(other?),
        }
    }

    /// Opens what has that name for writing, as it is.
    pub(crate) fn open_to_write(&self, name: &OsStr) -> io::Result<Handle> {
        let name = wide(name);
        let open = |access| existing(access, FILE_NON_DIRECTORY_FILE).at(&self.0, &name);
        let file = while_in_use(|| match open(FILE_GENERIC_READ | FILE_GENERIC_WRITE) {
            // A file that may be written and not read.
            Err(Status(STATUS_ACCESS_DENIED)) => open(FILE_GENERIC_WRITE | FILE_READ_ATTRIBUTES),
            other => other,
        })?;
        // A handle of a link writes into the link; one of a file that is stored otherwise writes past what knows how.
        let (_, attributes) = kind(&file)?;
        match attributes & windows_sys::Win32::Storage::FileSystem::FILE_ATTRIBUTE_REPARSE_POINT {
            0 if !is_of_another_name(&file, &name) => Ok(file),
            _ => Err(io::Error::from_raw_os_error(ERROR_REPARSE_POINT_ENCOUNTERED as i32)),
        }
    }

    pub(crate) fn stat(&self, name: &OsStr) -> io::Result<Stat> {
        super::stat(&self.open_any(name, FILE_READ_ATTRIBUTES)?)
    }

    /// Opens whatever has the name; this folder itself if that is `.`.
    pub(super) fn open_any(&self, name: &OsStr, access: u32) -> Result<OwnedHandle, Status> {
        let name = if name == "." { OsStr::new("") } else { name };
        existing(access, 0).at(&self.0, &wide(name))
    }

    /// Of the folder itself.
    pub(crate) fn identity(&self) -> io::Result<crate::sys::Identity> {
        super::identity::identity(&self.0)
    }

    /// Removes what is no folder.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        let file = while_in_use(|| self.open_any(name, DELETE | FILE_READ_ATTRIBUTES))?;
        if kind(&file)?.0 == EntryKind::Folder {
            return Err(io::Error::from_raw_os_error(ERROR_DIRECTORY_NOT_SUPPORTED as i32));
        }
        self.delete_even_read_only(&file, name)
    }

    /// Removes `name`, which `file` is a handle of.
    pub(super) fn delete_even_read_only(&self, file: &OwnedHandle, name: &OsStr) -> io::Result<()> {
        match delete(file) {
            Err(Status(STATUS_CANNOT_DELETE | STATUS_ACCESS_DENIED)) if self.make_writable(name)? => Ok(delete(file)?),
            other => Ok(other?),
        }
    }

    /// Takes the read-only attribute away. False if it had none.
    fn make_writable(&self, name: &OsStr) -> io::Result<bool> {
        let file = self.open_any(name, FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES)?;
        super::set_read_only(&file, false)
    }

    /// Renames within this folder; what had the new name is replaced, unless it is a folder.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let file = while_in_use(|| self.open_any(from, DELETE | FILE_READ_ATTRIBUTES))?;
        let new_name = wide(to);
        // Of a file that is open "access denied" is said, as of a folder and of a read-only file.
        let may_be_open = || match self.stat(to) {
            Ok(old) => old.kind == EntryKind::File && !forbids_writing(old.mode),
            Err(error) => error.raw_os_error() == Some(ERROR_DELETE_PENDING as i32),
        };
        let rename = || while_in_use_or_denied(may_be_open, || self.rename_to(&file, &new_name));
        let status = match rename() {
            Ok(()) => return Ok(()),
            Err(status) => status,
        };
        // What the system does not replace by itself: read-only files (the older call), and links to folders.
        let Ok(old) = self.stat(to) else { return Err(status.into()) };
        match old.kind {
            EntryKind::Folder => return Err(status.into()),
            EntryKind::Symlink => self.remove(to)?,
            EntryKind::File | EntryKind::Other if self.make_writable(to)? => {}
            EntryKind::File | EntryKind::Other => return Err(status.into()),
        }
        Ok(rename()?)
    }

    /// Renames within this folder; `AlreadyExists` if anything has the new name.
    pub(crate) fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let file = while_in_use(|| self.open_any(from, DELETE | FILE_READ_ATTRIBUTES))?;
        Ok(while_in_use(|| set_name(&file, FileRenameInformation, 0, &self.0, &wide(to)))?)
    }

    /// Names that differ in case are one, except in folders that were made case-sensitive.
    pub(crate) fn folds(&self) -> bool {
        true
    }

    /// In the way that replaces files which others have open, if the file system knows it.
    fn rename_to(&self, file: &OwnedHandle, to: &[u16]) -> Result<(), Status> {
        let flags = FILE_RENAME_REPLACE_IF_EXISTS | FILE_RENAME_POSIX_SEMANTICS | FILE_RENAME_IGNORE_READONLY_ATTRIBUTE;
        match set_name(file, FileRenameInformationEx, flags, &self.0, to) {
            Err(status) if status.is_unknown_call() => {
                set_name(file, FileRenameInformation, FILE_RENAME_REPLACE_IF_EXISTS, &self.0, to)
            }
            other => other,
        }
    }

    /// Up to `most` of the names in it, in no order.
    pub(crate) fn names(&self, most: usize) -> io::Result<Vec<std::ffi::OsString>> {
        let mut listing = self.list()?;
        std::iter::from_fn(|| listing.next()).take(most).map(|listed| Ok(listed?.name().to_owned())).collect()
    }

    /// What permissions there are is the read-only attribute, which no folder decides about.
    pub(crate) fn has_default_permissions(&self) -> bool {
        false
    }

    /// Not asked: nothing depends on it but one call.
    pub(crate) fn is_private(&self) -> bool {
        false
    }

    /// `None` stays as it is.
    pub(crate) fn set_times(
        &self,
        name: &OsStr,
        modified: Option<SystemTime>,
        accessed: Option<SystemTime>,
    ) -> io::Result<()> {
        if modified.is_none() && accessed.is_none() {
            return Ok(());
        }
        super::set_times(&self.open_any(name, FILE_WRITE_ATTRIBUTES)?, modified, accessed)
    }

    /// A user or group of Windows has no number.
    pub(crate) fn set_owner(&self, _name: &OsStr, _user: Option<u32>, _group: u32) -> io::Result<()> {
        Err(no_owner())
    }

    /// Of folders the read-only attribute says nothing.
    pub(crate) fn set_folder_permissions(&self, _name: &OsStr, _mode: Permissions) -> io::Result<()> {
        Ok(())
    }
}

/// Whether `name` is a short name (8.3) of the file, which has a longer one. Another thread may be writing to the file
/// under that: only two entries of one name wait for each other.
fn is_of_another_name(file: &OwnedHandle, name: &[u16]) -> bool {
    let may_be_short = name.len() <= "LONGFI~1.TXT".len() && name.contains(&u16::from(b'~'));
    may_be_short && super::system_path(file).is_some_and(|path| !path.ends_in(name))
}

/// Removes an open file from its folder: at once where the file system knows how, else when the last handle is closed.
pub(super) fn delete(file: &OwnedHandle) -> Result<(), Status> {
    let flags = FILE_DISPOSITION_DELETE | FILE_DISPOSITION_POSIX_SEMANTICS | FILE_DISPOSITION_IGNORE_READONLY_ATTRIBUTE;
    let information = FILE_DISPOSITION_INFORMATION_EX { Flags: flags };
    // SAFETY: this is the structure of the class.
    match unsafe { set_information(file, FileDispositionInformationEx, &information) } {
        Err(status) if status.is_unknown_call() => {
            let information = FILE_DISPOSITION_INFORMATION { DeleteFile: true };
            // SAFETY: this is the structure of the class.
            unsafe { set_information(file, FileDispositionInformation, &information) }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    fn root() -> (tempfile::TempDir, Dir) {
        let temp = tempfile::tempdir().unwrap();
        let root = Dir::open_root(temp.path()).unwrap();
        (temp, root)
    }

    fn name(name: &str) -> &OsStr {
        OsStr::new(name)
    }

    #[test]
    fn one_call_and_one_call_per_component_agree() {
        let (temp, root) = root();
        fs::create_dir_all(temp.path().join("a/b/c")).unwrap();
        fs::write(temp.path().join("a/file"), "").unwrap();
        for path in ["a", "a\\b\\c", "a\\file", "a\\file\\x", "none", "a\\none\\x", ""] {
            let (fast, slow) = (root.folder(Path::new(path)), root.folder_by_component(Path::new(path)));
            assert_eq!(fast.is_ok(), slow.is_ok(), "{path:?}: {fast:?} {slow:?}");
        }
    }

    #[test]
    fn a_path_longer_than_one_call_takes_is_gone_through_name_by_name() {
        let (temp, root) = root();
        let long = "a\\".repeat(20_000);
        assert_eq!(root.folder(Path::new(&long)).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(temp.path().join("a"), "").unwrap();
        assert_eq!(root.folder(Path::new(&long)).unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }

    #[test]
    fn a_name_that_is_taken_and_a_name_that_is_not_there_say_so() {
        let (temp, root) = root();
        fs::create_dir(temp.path().join("folder")).unwrap();
        fs::write(temp.path().join("file"), "").unwrap();
        for taken in ["folder", "file", "FILE"] {
            assert_eq!(root.create_new(name(taken), 0o666).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(root.make_folder(name(taken), 0o777).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(root.child(name("file")).unwrap_err().kind(), io::ErrorKind::NotADirectory);
        assert_eq!(root.open_to_write(name("folder")).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(root.remove(name("folder")).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        for missing in [
            root.open_to_write(name("none")).map(drop),
            root.stat(name("none")).map(drop),
            root.remove(name("none")),
            root.rename(name("none"), name("x")),
            root.child(name("none")).map(drop),
        ] {
            assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
        }
    }

    #[test]
    fn a_rename_replaces_files_even_read_only_and_open_ones_but_no_folder() {
        let (temp, root) = root();
        let path = |name: &str| temp.path().join(name);
        fs::create_dir(path("folder")).unwrap();
        let new = || fs::write(path("new"), "new").unwrap();
        for old in ["file", "read-only"] {
            new();
            fs::write(path(old), "old").unwrap();
            if old == "read-only" {
                let mut permissions = fs::metadata(path(old)).unwrap().permissions();
                permissions.set_readonly(true);
                fs::set_permissions(path(old), permissions).unwrap();
            }
            root.rename(name("new"), name(old)).unwrap();
            assert_eq!(fs::read_to_string(path(old)).unwrap(), "new", "{old}");
        }
        new();
        root.rename(name("new"), name("folder")).unwrap_err();
        assert!(path("folder").is_dir() && path("new").is_file());
    }

    #[test]
    fn a_file_that_a_scanner_has_open_for_a_moment_is_renamed_and_removed_all_the_same() {
        let (temp, root) = root();
        for (from, work) in [
            ("renamed", &(|root: &Dir| root.rename(name("renamed"), name("new"))) as &dyn Fn(&Dir) -> io::Result<()>),
            ("removed", &|root: &Dir| root.remove(name("removed"))),
        ] {
            let path = temp.path().join(from);
            fs::write(&path, "x").unwrap();
            // No program may rename or remove it now.
            let scanner = fs::File::options().read(true).share_mode(1).open(&path).unwrap();
            let in_use = root.open_any(name(from), DELETE).unwrap_err();
            assert_eq!(io::Error::from(in_use).raw_os_error(), Some(32), "this system has no sharing modes");
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    std::thread::sleep(Duration::from_millis(20));
                    drop(scanner);
                });
                work(&root).unwrap();
            });
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_read_only_file_is_made_written_and_removed() {
        let (temp, root) = root();
        let file = root.create_new(name("f"), 0o444).unwrap();
        super::super::write(&file, b"bytes").unwrap();
        super::super::close(file).unwrap();
        assert_eq!(root.stat(name("f")).unwrap().mode, 0o444);
        assert!(fs::metadata(temp.path().join("f")).unwrap().permissions().readonly());
        root.remove(name("f")).unwrap();
        assert!(!temp.path().join("f").exists());
    }

    #[test]
    fn a_file_is_not_written_over_in_place_under_its_short_name() {
        use std::os::windows::ffi::OsStrExt;
        use windows_sys::Win32::Storage::FileSystem::GetShortPathNameW;
        let (temp, root) = root();
        let long = temp.path().join("a long name.text");
        fs::write(&long, "x").unwrap();
        let units: Vec<u16> = long.as_os_str().encode_wide().chain([0]).collect();
        let mut short = [0_u16; 1024];
        // SAFETY: `units` ends with a zero, and `short` has the length that is given.
        let len = unsafe { GetShortPathNameW(units.as_ptr(), short.as_mut_ptr(), short.len() as u32) } as usize;
        let short = String::from_utf16(&short[..len]).unwrap();
        let short = short.rsplit('\\').next().unwrap();
        if short == "a long name.text" {
            eprintln!("skipped: this volume has no short names");
            return;
        }
        assert_eq!(root.stat(name(short)).unwrap().identity, root.stat(name("a long name.text")).unwrap().identity);
        assert!(super::super::is_not_writable_in_place(&root.open_to_write(name(short)).unwrap_err()));
        root.open_to_write(name("A LONG NAME.text")).unwrap();
        // A name that only looks like a short one.
        fs::write(temp.path().join("x~1.txt"), "x").unwrap();
        root.open_to_write(name("X~1.txt")).unwrap();
    }

    #[test]
    fn the_folder_itself_is_a_dot() {
        let (temp, root) = root();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        root.set_times(name("."), Some(time), None).unwrap();
        assert_eq!(root.stat(name(".")).unwrap().kind, EntryKind::Folder);
        assert_eq!(fs::metadata(temp.path()).unwrap().modified().unwrap(), time);
    }

    #[test]
    fn a_second_name_is_of_the_same_file() {
        let (temp, root) = root();
        fs::write(temp.path().join("a"), "x").unwrap();
        fs::create_dir(temp.path().join("d")).unwrap();
        root.child(name("d")).unwrap().hard_link(&root, name("a"), name("b")).unwrap();
        assert_eq!(root.stat(name("a")).unwrap().links, 2);
        fs::write(temp.path().join("a"), "changed").unwrap();
        assert_eq!(fs::read_to_string(temp.path().join("d/b")).unwrap(), "changed");
        let taken = root.hard_link(&root, name("a"), name("a")).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
    }
}
