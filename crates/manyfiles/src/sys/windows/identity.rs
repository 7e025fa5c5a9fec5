//! Which file it is, and what the system says of it.

use std::fs::File;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, OwnedHandle};
use std::path::Path;

use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_READONLY, FILE_ATTRIBUTE_REPARSE_POINT,
    FILE_ATTRIBUTE_SPARSE_FILE, FILE_ATTRIBUTE_TAG_INFO, FILE_BASIC_INFO, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_ID_INFO, FILE_READ_ATTRIBUTES, FILE_STANDARD_INFO, FILE_TYPE_DISK, FileIdInfo,
    GetFileInformationByHandle, GetFileInformationByHandleEx, GetFileType,
};
use windows_sys::Win32::System::SystemServices::IO_REPARSE_TAG_AF_UNIX;

use super::information::get;
use super::system_time;
use crate::sys::{EntryKind, Identity, Stat};

/// Of the file that the path leads to, through links. One that is removed, and only has its name until the last handle
/// closes, is an error: it cannot be opened any more, or says so itself.
pub(crate) fn id_of_path(path: &Path) -> io::Result<Identity> {
    let file = opened_to_ask(path)?;
    let id = super::identity_of(&file)?;
    let information: FILE_STANDARD_INFO = super::information::get(&file.into())?;
    if information.DeletePending { Err(io::ErrorKind::NotFound.into()) } else { Ok(id) }
}

/// No right at all is needed to ask, so no other handle's sharing mode is in the way.
fn opened_to_ask(path: &Path) -> io::Result<File> {
    File::options().access_mode(0).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)
}

/// How many names the file has that the path leads to, through links.
pub(crate) fn names_at(path: &Path) -> io::Result<u64> {
    super::names_of(&opened_to_ask(path)?)
}

/// Which file or folder it is. `None` for a pipe or a device.
pub(crate) fn regular_file(file: impl AsHandle) -> Option<Identity> {
    let file = file.as_handle();
    // SAFETY: the handle is open while it is borrowed.
    if unsafe { GetFileType(file.as_raw_handle()) } != FILE_TYPE_DISK {
        return None;
    }
    let mut id = FILE_ID_INFO::default();
    // SAFETY: the structure is the one of its class, `size_of` bytes long, and this function's to be written.
    let got = unsafe {
        GetFileInformationByHandleEx(
            file.as_raw_handle(),
            FileIdInfo,
            (&raw mut id).cast(),
            size_of::<FILE_ID_INFO>() as u32,
        )
    };
    if got != 0 {
        return Some(Identity { volume: id.VolumeSerialNumber, file: u128::from_le_bytes(id.FileId.Identifier) });
    }
    let info = information(file)?;
    Some(Identity {
        volume: info.dwVolumeSerialNumber.into(),
        file: u128::from(info.nFileIndexHigh) << 32 | u128::from(info.nFileIndexLow),
    })
}

pub(super) fn information(file: BorrowedHandle<'_>) -> Option<BY_HANDLE_FILE_INFORMATION> {
    let mut info = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open while it is borrowed, and the call writes the structure that it is given.
    (unsafe { GetFileInformationByHandle(file.as_raw_handle(), &mut info) } != 0).then_some(info)
}

/// Which regular file `path` leads to, where that can be told without opening it: not here.
pub(crate) fn file_at(_path: &Path) -> Option<Identity> {
    None
}

/// What kind of thing an open handle is, and its attributes.
pub(super) fn kind(file: &OwnedHandle) -> io::Result<(EntryKind, u32)> {
    let FILE_ATTRIBUTE_TAG_INFO { FileAttributes: attributes, ReparseTag: tag } = get(file)?;
    Ok((kind_of(attributes, tag), attributes))
}

pub(super) fn kind_of(attributes: u32, tag: u32) -> EntryKind {
    /// The bit of a tag that says: this stands for another file, so that following it leads elsewhere.
    const NAME_SURROGATE: u32 = 0x2000_0000;
    /// FIFOs and devices that the Linux subsystem has made.
    const LX_FIFO: u32 = 0x8000_0024;
    const LX_CHR: u32 = 0x8000_0025;
    const LX_BLK: u32 = 0x8000_0026;
    if attributes & FILE_ATTRIBUTE_REPARSE_POINT != 0 {
        match tag {
            _ if tag & NAME_SURROGATE != 0 => return EntryKind::Symlink,
            IO_REPARSE_TAG_AF_UNIX | LX_FIFO | LX_CHR | LX_BLK => return EntryKind::Other,
            // Compressed, in a cloud, deduplicated: a file or folder like others.
            _ => {}
        }
    }
    if attributes & FILE_ATTRIBUTE_DIRECTORY != 0 { EntryKind::Folder } else { EntryKind::File }
}

/// Of what is at `path`. A link is not followed.
pub(crate) fn stat_source(path: &Path) -> io::Result<Stat> {
    let how = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT;
    let file = std::fs::OpenOptions::new().access_mode(FILE_READ_ATTRIBUTES).custom_flags(how).open(path)?;
    stat(&file.into())
}

pub(crate) fn stat(file: &OwnedHandle) -> io::Result<Stat> {
    let (kind, attributes) = kind(file)?;
    let basic: FILE_BASIC_INFO = get(file)?;
    let standard: FILE_STANDARD_INFO = get(file)?;
    let len = u64::try_from(standard.EndOfFile).unwrap_or(0);
    Ok(Stat {
        kind,
        identity: identity(file)?,
        len,
        links: u64::from(standard.NumberOfLinks),
        mode: match (kind, attributes & FILE_ATTRIBUTE_READONLY != 0) {
            (EntryKind::Folder, _) => 0o777,
            (_, true) => 0o444,
            (_, false) => 0o666,
        },
        owner: (0, 0),
        modified: system_time(basic.LastWriteTime),
        changed: system_time(basic.ChangeTime),
        accessed: system_time(basic.LastAccessTime),
        allocated: u64::try_from(standard.AllocationSize).unwrap_or(0),
        spare: false, // What is reserved is given back when the file is closed.
        sparse: attributes & FILE_ATTRIBUTE_SPARSE_FILE != 0
            && u64::try_from(standard.AllocationSize).is_ok_and(|allocated| allocated < len),
    })
}

/// Which file it is.
pub(crate) fn identity_of(file: &std::fs::File) -> io::Result<Identity> {
    identity(&file.try_clone()?.into())
}

/// Which file it is, and when it was made: the time tells a file from an earlier one that had its number.
pub(crate) fn identity_and_birth(file: &std::fs::File) -> io::Result<(Identity, Option<std::time::SystemTime>)> {
    Ok((identity_of(file)?, file.metadata()?.created().ok()))
}

/// Of 128 bits where the file system has them; the older call cuts them to 64.
pub(super) fn identity(file: &OwnedHandle) -> io::Result<Identity> {
    if let Ok(FILE_ID_INFO { VolumeSerialNumber: volume, FileId: id }) = get(file) {
        return Ok(Identity { volume, file: u128::from_le_bytes(id.Identifier) });
    }
    let mut info = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open while `file` is borrowed, and the call writes the struct that it is given.
    match unsafe { GetFileInformationByHandle(file.as_raw_handle(), &mut info) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(Identity {
            volume: info.dwVolumeSerialNumber.into(),
            file: u128::from(info.nFileIndexHigh) << 32 | u128::from(info.nFileIndexLow),
        }),
    }
}

/// How many names the open file has. 0: it was removed.
pub(crate) fn names_of(file: &File) -> io::Result<u64> {
    let information: FILE_STANDARD_INFO = super::information::get(&file.try_clone()?.into())?;
    Ok(if information.DeletePending { 0 } else { u64::from(information.NumberOfLinks) })
}

/// One number for all: nothing here depends on it, since no file system is synced as a whole.
pub(crate) fn file_system_of(_file: &File) -> io::Result<u64> {
    Ok(0)
}

#[cfg(test)]
mod tests {
    use windows_sys::Win32::System::SystemServices::{
        IO_REPARSE_TAG_CLOUD, IO_REPARSE_TAG_MOUNT_POINT, IO_REPARSE_TAG_SYMLINK, IO_REPARSE_TAG_WOF,
    };

    use super::*;

    #[test]
    fn what_leads_elsewhere_is_a_link_and_what_is_only_stored_otherwise_is_not() {
        let reparse = FILE_ATTRIBUTE_REPARSE_POINT;
        for (attributes, tag, kind) in [
            (0, 0, EntryKind::File),
            (FILE_ATTRIBUTE_DIRECTORY, 0, EntryKind::Folder),
            (reparse, IO_REPARSE_TAG_SYMLINK, EntryKind::Symlink),
            (reparse | FILE_ATTRIBUTE_DIRECTORY, IO_REPARSE_TAG_SYMLINK, EntryKind::Symlink),
            (reparse | FILE_ATTRIBUTE_DIRECTORY, IO_REPARSE_TAG_MOUNT_POINT, EntryKind::Symlink),
            (reparse, 0xa000_001d, EntryKind::Symlink), // of the Linux subsystem
            (reparse, IO_REPARSE_TAG_AF_UNIX, EntryKind::Other),
            (reparse, IO_REPARSE_TAG_WOF, EntryKind::File),
            (reparse | FILE_ATTRIBUTE_DIRECTORY, IO_REPARSE_TAG_CLOUD, EntryKind::Folder),
        ] {
            assert_eq!(kind_of(attributes, tag), kind, "{attributes:x} {tag:x}");
        }
    }
}
