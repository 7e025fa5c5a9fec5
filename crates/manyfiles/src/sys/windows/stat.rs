//! What is asked about a name or a file.

use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_READONLY, FILE_ATTRIBUTE_REPARSE_POINT,
    FILE_ATTRIBUTE_SPARSE_FILE, FILE_ATTRIBUTE_TAG_INFO, FILE_BASIC_INFO, FILE_ID_INFO, FILE_INFO_BY_HANDLE_CLASS,
    FILE_STANDARD_INFO, FileAttributeTagInfo, FileBasicInfo, FileIdInfo, FileStandardInfo, GetFileInformationByHandle,
    GetFileInformationByHandleEx, SetFileInformationByHandle,
};
use windows_sys::Win32::System::SystemServices::IO_REPARSE_TAG_AF_UNIX;

use super::{EntryKind, Identity, Stat};

/// A structure that goes with one class of information.
///
/// # Safety
/// The type is the structure that the system reads and writes for `CLASS`, and all zeros are valid for it.
pub(super) unsafe trait Information: Default {
    const CLASS: FILE_INFO_BY_HANDLE_CLASS;
}

// SAFETY: so says the documentation of GetFileInformationByHandleEx.
unsafe impl Information for FILE_BASIC_INFO {
    const CLASS: FILE_INFO_BY_HANDLE_CLASS = FileBasicInfo;
}

// SAFETY: as above.
unsafe impl Information for FILE_STANDARD_INFO {
    const CLASS: FILE_INFO_BY_HANDLE_CLASS = FileStandardInfo;
}

// SAFETY: as above.
unsafe impl Information for FILE_ATTRIBUTE_TAG_INFO {
    const CLASS: FILE_INFO_BY_HANDLE_CLASS = FileAttributeTagInfo;
}

// SAFETY: as above.
unsafe impl Information for FILE_ID_INFO {
    const CLASS: FILE_INFO_BY_HANDLE_CLASS = FileIdInfo;
}

pub(super) fn get<T: Information>(file: &OwnedHandle) -> io::Result<T> {
    let mut information = T::default();
    // SAFETY: the structure is the one of its class, `size_of` bytes long, and this function's to be written.
    let got = unsafe {
        GetFileInformationByHandleEx(
            file.as_raw_handle(),
            T::CLASS,
            (&raw mut information).cast(),
            size_of::<T>() as u32,
        )
    };
    if got == 0 { Err(io::Error::last_os_error()) } else { Ok(information) }
}

pub(super) fn set<T: Information>(file: &OwnedHandle, information: &T) -> io::Result<()> {
    // SAFETY: the structure is the one of its class, `size_of` bytes long, and only read.
    let set = unsafe {
        SetFileInformationByHandle(
            file.as_raw_handle(),
            T::CLASS,
            (&raw const *information).cast(),
            size_of::<T>() as u32,
        )
    };
    if set == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What kind of thing an open handle is, and its attributes.
pub(super) fn kind(file: &OwnedHandle) -> io::Result<(EntryKind, u32)> {
    let FILE_ATTRIBUTE_TAG_INFO { FileAttributes: attributes, ReparseTag: tag } = get(file)?;
    Ok((kind_of(attributes, tag), attributes))
}

fn kind_of(attributes: u32, tag: u32) -> EntryKind {
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
        sparse: attributes & FILE_ATTRIBUTE_SPARSE_FILE != 0
            && u64::try_from(standard.AllocationSize).is_ok_and(|allocated| allocated < len),
    })
}

/// Which file it is.
pub(crate) fn identity_of(file: &std::fs::File) -> io::Result<Identity> {
    identity(&file.try_clone()?.into())
}

/// Of 128 bits where the file system has them; the older call cuts them to 64.
fn identity(file: &OwnedHandle) -> io::Result<Identity> {
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

/// 1601 is this much before 1970.
const EPOCH: Duration = Duration::from_secs(11_644_473_600);

/// Units of 100 ns since 1601, not before its first.
pub(super) fn file_time(time: SystemTime) -> i64 {
    let since_1601 = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => EPOCH.saturating_add(after),
        Err(before) => EPOCH.saturating_sub(before.duration()),
    };
    // Zero would mean "as it is".
    i64::try_from(since_1601.as_nanos() / 100).unwrap_or(i64::MAX).max(1)
}

pub(super) fn system_time(time: i64) -> SystemTime {
    let time = u64::try_from(time).unwrap_or(0);
    let since_1601 = Duration::new(time / 10_000_000, (time % 10_000_000) as u32 * 100);
    let base = UNIX_EPOCH.checked_sub(EPOCH).unwrap_or(UNIX_EPOCH);
    base.checked_add(since_1601).unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use windows_sys::Win32::System::SystemServices::{
        IO_REPARSE_TAG_CLOUD, IO_REPARSE_TAG_MOUNT_POINT, IO_REPARSE_TAG_SYMLINK, IO_REPARSE_TAG_WOF,
    };

    #[test]
    fn times_come_back_as_they_were_and_none_means_unchanged() {
        let milli = Duration::from_millis(1500);
        for time in [UNIX_EPOCH, UNIX_EPOCH - milli, UNIX_EPOCH + milli, UNIX_EPOCH + Duration::from_secs(1 << 33)] {
            assert_eq!(system_time(file_time(time)), time);
        }
        assert_eq!(file_time(UNIX_EPOCH), 116_444_736_000_000_000);
        assert_eq!(file_time(system_time(0)), 1);
    }

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
