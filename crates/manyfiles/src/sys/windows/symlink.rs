//! Links are read, and of which kind one is.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use windows_sys::Win32::Foundation::ERROR_NOT_A_REPARSE_POINT;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_TAG_INFO, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT,
    FILE_READ_ATTRIBUTES,
};
use windows_sys::Win32::System::SystemServices::{IO_REPARSE_TAG_MOUNT_POINT, IO_REPARSE_TAG_SYMLINK};

use super::Dir;
use super::identity::kind_of;
use super::information::get;
use super::links::with_backslashes;
use super::location::final_path;
use crate::sys::{EntryKind, Symlink};

/// The kinds of links that are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkKind {
    File,
    Folder,
    Junction,
}

/// The link at `path` itself.
pub(crate) fn read_symlink(path: &Path) -> io::Result<Symlink> {
    let how = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT;
    let link = OpenOptions::new().access_mode(FILE_READ_ATTRIBUTES).custom_flags(how).open(path)?;
    let FILE_ATTRIBUTE_TAG_INFO { FileAttributes: attributes, ReparseTag: tag } = get(&link.into())?;
    if kind_of(attributes, tag) != EntryKind::Symlink {
        return Err(io::Error::from_raw_os_error(ERROR_NOT_A_REPARSE_POINT as i32));
    }
    // Links of other kinds are none to the standard library.
    let target = if known(tag) { std::fs::read_link(path)? } else { Default::default() };
    let kind = link_kind(attributes, tag, &target)?;
    Ok(Symlink { target: target.into(), kind: Some(kind) })
}

fn known(tag: u32) -> bool {
    matches!(tag, IO_REPARSE_TAG_SYMLINK | IO_REPARSE_TAG_MOUNT_POINT)
}

/// What a link that says `target` is made as. An error if no such link is made.
fn link_kind(attributes: u32, tag: u32, target: &Path) -> io::Result<LinkKind> {
    /// How a volume is named that is mounted in a folder; the data of that folder are those of a junction.
    const VOLUME: &[u8] = br"\\?\volume{";
    let unsupported = |why| Err(io::Error::new(io::ErrorKind::Unsupported, why));
    match tag {
        IO_REPARSE_TAG_SYMLINK if attributes & FILE_ATTRIBUTE_DIRECTORY != 0 => Ok(LinkKind::Folder),
        IO_REPARSE_TAG_SYMLINK => Ok(LinkKind::File),
        IO_REPARSE_TAG_MOUNT_POINT => {
            let begin = target.as_os_str().as_encoded_bytes().get(..VOLUME.len());
            match begin.is_some_and(|begin| begin.eq_ignore_ascii_case(VOLUME)) {
                true => unsupported(
                    "another volume is mounted in this folder, and it is not mounted a second time; give its content \
                     as a source of its own",
                ),
                false => Ok(LinkKind::Junction),
            }
        }
        _ => unsupported("it is a link of a kind that this program does not know, of the Linux subsystem for instance"),
    }
}

impl Dir {
    /// The link `name`.
    pub(crate) fn read_link(&self, name: &OsStr) -> io::Result<Symlink> {
        read_symlink(&final_path(&self.0)?.join(name))
    }

    /// Whether `name` is such a link.
    pub(crate) fn is_symlink(&self, name: &OsStr, link: &Symlink) -> io::Result<bool> {
        match self.read_link(name) {
            Ok(there) => Ok(becomes(link, &there)),
            Err(error) if error.kind() == io::ErrorKind::Unsupported || is_no_link(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn is_no_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(ERROR_NOT_A_REPARSE_POINT as i32)
}

/// Whether `link` would become what is there. Where its kind is still to be found out, what is there may have either.
pub(crate) fn becomes(link: &Symlink, there: &Symlink) -> bool {
    let is_of_kind = match link.kind {
        None => there.kind != Some(LinkKind::Junction),
        kind => there.kind == kind,
    };
    is_of_kind && there.target == with_backslashes(link.target()).as_os_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDER: u32 = FILE_ATTRIBUTE_DIRECTORY;

    #[test]
    fn a_link_is_of_the_kind_that_its_tag_and_its_attributes_say() {
        for (attributes, tag, target, kind) in [
            (0, IO_REPARSE_TAG_SYMLINK, "a", LinkKind::File),
            (FOLDER, IO_REPARSE_TAG_SYMLINK, r"C:\a", LinkKind::Folder),
            (FOLDER, IO_REPARSE_TAG_MOUNT_POINT, r"C:\a", LinkKind::Junction),
            (FOLDER, IO_REPARSE_TAG_MOUNT_POINT, r"\\?\C:\a", LinkKind::Junction),
        ] {
            assert_eq!(link_kind(attributes, tag, Path::new(target)).unwrap(), kind, "{tag:x} {target}");
        }
    }

    #[test]
    fn a_mounted_volume_and_a_link_of_another_system_are_errors_that_say_so() {
        const LINUX: u32 = 0xa000_001d;
        for (tag, target, says) in [
            (IO_REPARSE_TAG_MOUNT_POINT, r"\\?\Volume{01234567-89ab-cdef-0123-456789abcdef}\", "volume"),
            (IO_REPARSE_TAG_MOUNT_POINT, r"\\?\volume{01234567-89ab-cdef-0123-456789abcdef}\x", "volume"),
            (LINUX, "", "Linux"),
        ] {
            let error = link_kind(FOLDER, tag, Path::new(target)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
            assert!(error.to_string().contains(says), "{error}");
        }
    }

    #[test]
    fn a_file_is_no_link_and_is_not_taken_for_one() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("file"), "x").unwrap();
        assert!(is_no_link(&read_symlink(&temp.path().join("file")).unwrap_err()));
        let dir = Dir::open_root(temp.path()).unwrap();
        assert!(!dir.is_symlink(OsStr::new("file"), &"x".into()).unwrap());
        assert_eq!(dir.is_symlink(OsStr::new("none"), &"x".into()).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_junction_is_no_link_to_a_folder_of_the_same_target() {
        let link = |target: &str, kind| Symlink { kind, ..Symlink::from(target) };
        let junction = link(r"C:\a", Some(LinkKind::Junction));
        let folder = link(r"C:\a", Some(LinkKind::Folder));
        assert!(junction.becomes(&junction) && folder.becomes(&folder));
        assert!(!junction.becomes(&folder) && !folder.becomes(&junction));
        // From an archive: whichever kind it became.
        let from_archive = link("C:/a", None);
        assert!(from_archive.becomes(&folder) && !from_archive.becomes(&junction));
        assert!(!link("C:/b", None).becomes(&folder));
    }
}
