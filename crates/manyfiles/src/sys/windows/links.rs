//! Links, and files that are neither file, folder nor link.

use std::ffi::OsStr;
use std::io;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::OwnedHandle;
use std::path::{Component, Path, PathBuf, Prefix};

use windows_sys::Wdk::Storage::FileSystem::{
    FILE_CREATE, FILE_DIRECTORY_FILE, FILE_NON_DIRECTORY_FILE, FILE_OPEN, FileLinkInformation, SYMLINK_FLAG_RELATIVE,
};
use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_FILENAME_EXCED_RANGE, ERROR_INVALID_FUNCTION, ERROR_NOT_SAME_DEVICE,
    ERROR_NOT_SUPPORTED, ERROR_PRIVILEGE_NOT_HELD, ERROR_TOO_MANY_LINKS,
};
use windows_sys::Win32::Storage::FileSystem::{
    CreateSymbolicLinkW, DELETE, FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_NORMAL, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_READ_ATTRIBUTES, FILE_WRITE_ATTRIBUTES, FILE_WRITE_DATA,
    SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE, SYMBOLIC_LINK_FLAG_DIRECTORY,
};
use windows_sys::Win32::System::SystemServices::{IO_REPARSE_TAG_MOUNT_POINT, IO_REPARSE_TAG_SYMLINK};

use super::location::final_path;
use super::native::{Links, Open, set_name, wide};
use super::{Dir, LinkKind, Permissions, control, dir, no_owner};
use crate::error::explained;
use crate::sys::{Keep, Symlink, Things, Unable};

impl Dir {
    pub(crate) fn symlink(&self, link: &Symlink, name: &OsStr) -> io::Result<()> {
        make(&self.0, name, link)
    }

    /// Gives the file `existing` in `from` the name `name` in this folder too.
    pub(crate) fn hard_link(&self, from: &Dir, existing: &OsStr, name: &OsStr) -> io::Result<()> {
        let file = from.open_any(existing, FILE_WRITE_ATTRIBUTES)?;
        Ok(set_name(&file, FileLinkInformation, 0, &self.0, &wide(name))?)
    }

    /// Gives the file at `existing`, wherever that is, the name `name` in this folder too. A link at `existing` itself is
    /// not followed.
    pub(crate) fn link_from(&self, existing: &Path, name: &OsStr) -> io::Result<()> {
        let how = FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS;
        let file = std::fs::OpenOptions::new().access_mode(FILE_WRITE_ATTRIBUTES).custom_flags(how).open(existing)?;
        Ok(set_name(&file.into(), FileLinkInformation, 0, &self.0, &wide(name))?)
    }

    /// There are none in a folder.
    pub(crate) fn make_node(&self, _name: &OsStr, _node: crate::sys::Node, _mode: u32) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "folders of Windows hold no devices or FIFOs"))
    }

    /// There are none in a folder.
    pub(crate) fn is_node(&self, _name: &OsStr, _node: crate::sys::Node) -> io::Result<bool> {
        Ok(false)
    }

    /// Sets what a link or node is to carry: its time, as it has no permissions here.
    pub(crate) fn dress(
        &self,
        name: &OsStr,
        metadata: &crate::sys::Metadata,
        _mode: Option<Permissions>,
        keep: &Keep,
    ) -> io::Result<Things> {
        let mut lost = super::without_xattrs(&metadata.xattrs, keep)?;
        if metadata.owner.is_some() {
            match keep.may_lose(Things::OWNERS) {
                true => lost = lost.with(Things::OWNERS),
                false => return Err(no_owner()),
            }
        }
        self.set_times(name, metadata.modified, metadata.accessed)?;
        Ok(lost)
    }
}

/// Whether `error` says that the file cannot have another name there, so that it has to be copied.
pub(crate) fn unable_to_link(error: &io::Error) -> Option<Unable> {
    match error.raw_os_error()? as u32 {
        ERROR_NOT_SAME_DEVICE | ERROR_INVALID_FUNCTION | ERROR_NOT_SUPPORTED => Some(Unable::All),
        ERROR_TOO_MANY_LINKS | ERROR_ACCESS_DENIED => Some(Unable::These),
        _ => None,
    }
}

/// Makes a link at `name` in `folder`. One whose kind is not known is one to a folder if the target is a folder now,
/// else one to a file.
pub(super) fn make(folder: &OwnedHandle, name: &OsStr, link: &Symlink) -> io::Result<()> {
    let (path, target) = (final_path(folder)?, link.target());
    let (to_folder, data) = match link.kind {
        None => (leads_to_folder(folder, &path, target), data(target)?),
        Some(LinkKind::File) => (false, data(target)?),
        Some(LinkKind::Folder) => (true, data(target)?),
        Some(LinkKind::Junction) => (true, junction_data(target)?),
    };
    let how = Open {
        access: FILE_WRITE_DATA | FILE_WRITE_ATTRIBUTES | DELETE,
        attributes: FILE_ATTRIBUTE_NORMAL,
        disposition: FILE_CREATE,
        options: if to_folder { FILE_DIRECTORY_FILE } else { FILE_NON_DIRECTORY_FILE },
        links: Links::OneComponent,
    };
    let link = how.at(folder, &wide(name))?;
    let Err(error) = control::set_reparse_point(&link, &data) else { return Ok(()) };
    dir::delete(&link)?;
    drop(link);
    match error.raw_os_error().map(|number| number as u32) {
        // Where the "developer mode" of Windows is on, this one call may do what privileges are needed for otherwise.
        // It takes a path; the folder on it cannot be renamed or replaced while its handle is open.
        Some(ERROR_PRIVILEGE_NOT_HELD) => by_path(&path.join(name), target, to_folder),
        Some(ERROR_INVALID_FUNCTION | ERROR_NOT_SUPPORTED) => {
            Err(explained(error, "this file system, or wine, holds no links"))
        }
        _ => Err(error),
    }
}

/// Whether a link in `folder`, which is at `path`, leads to a folder: looked at through handles, and through no link.
/// An absolute target is not looked at: opening `\\server\share` logs on there, and an archive could name any server.
fn leads_to_folder(folder: &OwnedHandle, path: &Path, target: &Path) -> bool {
    let target = with_backslashes(target);
    let mut rest = target.components().peekable();
    let mut up = 0;
    while rest.next_if(|part| matches!(part, Component::ParentDir | Component::CurDir)).is_some_and(|part| {
        up += usize::from(part == Component::ParentDir);
        true
    }) {}
    let mut below = PathBuf::new();
    for part in rest {
        match part {
            Component::Normal(name) => below.push(name),
            Component::CurDir => {}
            // Absolute, of another drive, or up again behind what may be a link.
            _ => return false,
        }
    }
    if below.as_os_str().is_empty() {
        return true; // a folder above
    }
    let above = match up {
        0 => None,
        up => match path.ancestors().nth(up).map(dir::Dir::open_root) {
            Some(Ok(above)) => Some(above),
            _ => return false,
        },
    };
    let how = Open {
        access: FILE_READ_ATTRIBUTES,
        attributes: FILE_ATTRIBUTE_NORMAL,
        disposition: FILE_OPEN,
        options: 0,
        links: Links::Refuse,
    };
    let opened = how.at(above.as_ref().map_or(folder, |above| &above.0), &wide(below.as_os_str()));
    // The last name is opened itself. A link to a folder counts as one.
    opened.is_ok_and(|it| {
        super::identity::kind(&it).is_ok_and(|(_, attributes)| attributes & FILE_ATTRIBUTE_DIRECTORY != 0)
    })
}

fn by_path(path: &Path, target: &Path, to_folder: bool) -> io::Result<()> {
    let with_nul = |path: &Path| wide(path.as_os_str()).into_iter().chain([0]).collect::<Vec<_>>();
    let folder = if to_folder { SYMBOLIC_LINK_FLAG_DIRECTORY } else { 0 };
    let flags = folder | SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE;
    // SAFETY: both are strings with a NUL at the end that live until the call returns.
    if unsafe { CreateSymbolicLinkW(with_nul(path).as_ptr(), with_nul(&with_backslashes(target)).as_ptr(), flags) } {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(match error.raw_os_error().map(|number| number as u32) {
        Some(ERROR_PRIVILEGE_NOT_HELD) => explained(
            error,
            "Windows lets only administrators make symbolic links, unless its developer mode is on (Settings, System, For developers)",
        ),
        _ => error,
    })
}

/// A link with slashes leads nowhere.
pub(super) fn with_backslashes(path: &Path) -> PathBuf {
    let units =
        wide(path.as_os_str()).into_iter().map(|unit| if unit == u16::from(b'/') { u16::from(b'\\') } else { unit });
    std::ffi::OsString::from_wide(&units.collect::<Vec<_>>()).into()
}

/// What a symbolic link consists of.
///
/// # Errors
/// When it is longer than the system takes: 16 KiB for both ways of writing it.
pub(super) fn data(target: &Path) -> io::Result<Vec<u8>> {
    let shown = with_backslashes(target);
    // What the system follows is written as the native calls take it, if it is absolute.
    let (native, flags) = match native(&shown) {
        Some(native) => (native, 0),
        None => (wide(shown.as_os_str()), SYMLINK_FLAG_RELATIVE),
    };
    reparse_data(IO_REPARSE_TAG_SYMLINK, native, wide(shown.as_os_str()), Some(flags))
}

/// What a junction consists of. It leads to an absolute path always.
fn junction_data(target: &Path) -> io::Result<Vec<u8>> {
    let not_absolute = || io::Error::new(io::ErrorKind::InvalidInput, "a junction has an absolute target");
    let [native, shown] = [native(target).ok_or_else(not_absolute)?, wide(target.as_os_str())];
    // Programs take both names for strings with a NUL at the end.
    let [native, shown] = [native, shown].map(|name| name.into_iter().chain([0]).collect());
    reparse_data(IO_REPARSE_TAG_MOUNT_POINT, native, shown, None)
}

/// A path with a drive or a server, as the native calls take it.
fn native(path: &Path) -> Option<Vec<u16>> {
    let Some(Component::Prefix(prefix)) = path.components().next() else { return None };
    let units = wide(path.as_os_str());
    let (begin, rest) = match prefix.kind() {
        Prefix::UNC(..) => (r"\??\UNC", &units[1..]),
        Prefix::Disk(_) => (r"\??\", &units[..]),
        // `\\?\`; the other one is as good.
        _ => (r"\??\", &units[4..]),
    };
    Some(begin.encode_utf16().chain(rest.iter().copied()).collect())
}

/// `native` is what the system follows, `shown` what people read. A NUL at the end of both belongs to neither. Symbolic
/// links have flags, and junctions none.
fn reparse_data(tag: u32, native: Vec<u16>, shown: Vec<u16>, flags: Option<u32>) -> io::Result<Vec<u8>> {
    const MOST: usize = 16 << 10; // MAXIMUM_REPARSE_DATA_BUFFER_SIZE
    let names = size_of_val(&native[..]) + size_of_val(&shown[..]);
    let before = 8 + flags.map_or(0, |_| size_of::<u32>());
    if 8 + before + names > MOST {
        let error = io::Error::from_raw_os_error(ERROR_FILENAME_EXCED_RANGE as i32);
        return Err(explained(error, "Windows takes a link's target of some 4,000 characters at most"));
    }
    let len = |name: &[u16]| size_of_val(name.strip_suffix(&[0]).unwrap_or(name)) as u16;
    let mut data = Vec::new();
    data.extend(tag.to_le_bytes());
    data.extend(((before + names) as u16).to_le_bytes());
    data.extend(0_u16.to_le_bytes());
    // Offset and length of the one, of the other.
    for number in [0, len(&native), size_of_val(&native[..]) as u16, len(&shown)] {
        data.extend(number.to_le_bytes());
    }
    data.extend(flags.into_iter().flat_map(u32::to_le_bytes));
    for unit in native.iter().chain(&shown) {
        data.extend(unit.to_le_bytes());
    }
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two names of a link's data, and whether it is relative.
    fn read(target: &str) -> (String, String, bool) {
        let data = data(Path::new(target)).unwrap();
        let number = |at: usize| usize::from(u16::from_le_bytes([data[at], data[at + 1]]));
        assert_eq!(number(4), data.len() - 8, "the length is that of what follows the header");
        let text = |offset: usize, len: usize| {
            let units = data[20 + offset..][..len].chunks(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
            String::from_utf16(&units.collect::<Vec<_>>()).unwrap()
        };
        (text(number(8), number(10)), text(number(12), number(14)), data[16] == 1)
    }

    /// As the documentation of REPARSE_DATA_BUFFER has it, and as `mklink /J` of Windows writes it.
    #[test]
    fn a_junction_has_both_names_with_a_nul_each_and_no_flags() {
        let data = junction_data(Path::new(r"C:\ä")).unwrap();
        let mut expected = vec![0x03, 0, 0, 0xa0]; // IO_REPARSE_TAG_MOUNT_POINT
        expected.extend([36, 0, 0, 0]); // What follows is so long.
        expected.extend([0, 0, 16, 0, 18, 0, 8, 0]); // Offset and length of the one, of the other.
        for unit in "\\??\\C:\\ä\0C:\\ä\0".encode_utf16() {
            expected.extend(unit.to_le_bytes());
        }
        assert_eq!(data, expected);
        assert_eq!(data.len(), 8 + 36);
    }

    #[test]
    fn a_junction_to_no_absolute_path_or_a_long_one_is_an_error() {
        for target in ["a", r"\a", "..", ""] {
            assert_eq!(junction_data(Path::new(target)).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{target}");
        }
        assert!(junction_data(Path::new(&format!(r"C:\{}", r"x\".repeat(2_000)))).is_ok());
        let error = junction_data(Path::new(&format!(r"C:\{}", r"x\".repeat(2_100)))).unwrap_err();
        assert!(error.to_string().contains("4,000"), "{error}");
    }

    #[test]
    fn a_target_that_is_not_unicode_stays_as_it_is() {
        let target = std::ffi::OsString::from_wide(&[u16::from(b'C'), u16::from(b':'), u16::from(b'\\'), 0xd800]);
        let data = data(Path::new(&target)).unwrap();
        assert_eq!(data[data.len() - 2..], 0xd800_u16.to_le_bytes());
        assert_eq!(data[20 + 2 * 7..][..2], 0xd800_u16.to_le_bytes());
    }

    #[test]
    fn a_target_that_is_too_long_is_an_error() {
        assert!(data(Path::new(&"x/".repeat(2_000))).is_ok());
        for too_long in [5_000, 8_500, 16_383, 40_000] {
            let error = data(Path::new(&"x/".repeat(too_long))).unwrap_err();
            assert!(error.to_string().contains("4,000"), "{error}");
        }
    }

    #[test]
    fn a_target_is_looked_at_only_where_no_server_can_be_asked() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join("in/folder")).unwrap();
        std::fs::write(temp.path().join("in/file"), "").unwrap();
        let folder = dir::Dir::open_root(&temp.path().join("in")).unwrap();
        let path = final_path(&folder.0).unwrap();
        let absolute = temp.path().join("in/folder");
        for (target, is) in [
            ("folder", true),
            ("./folder", true),
            ("../in/folder", true),
            ("..", true),
            (".", true),
            ("file", false),
            ("missing", false),
            ("folder/../folder", false),
            (absolute.to_str().unwrap(), false),
            (r"\\server.invalid\share\folder", false),
            ("//server.invalid/share/folder", false),
            (r"\\?\UNC\server.invalid\share", false),
            ("/folder", false),
            ("C:folder", false),
        ] {
            assert_eq!(leads_to_folder(&folder.0, &path, Path::new(target)), is, "{target}");
        }
    }

    #[test]
    fn a_link_says_its_target_as_people_and_as_the_system_write_it() {
        let both = |text: &str, relative| (text.to_owned(), text.to_owned(), relative);
        assert_eq!(read("a/b"), both("a\\b", true));
        assert_eq!(read("../x"), both("..\\x", true));
        assert_eq!(read("/etc/x"), both("\\etc\\x", true));
        assert_eq!(read("C:/x"), ("\\??\\C:\\x".into(), "C:\\x".into(), false));
        assert_eq!(read("//srv/share/x"), ("\\??\\UNC\\srv\\share\\x".into(), "\\\\srv\\share\\x".into(), false));
        assert_eq!(read("\\\\?\\C:\\x"), ("\\??\\C:\\x".into(), "\\\\?\\C:\\x".into(), false));
    }
}
