//! What Windows tells and is told of an open file, by class of information.

use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};

use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_TAG_INFO, FILE_BASIC_INFO, FILE_ID_INFO, FILE_INFO_BY_HANDLE_CLASS, FILE_STANDARD_INFO,
    FileAttributeTagInfo, FileBasicInfo, FileIdInfo, FileStandardInfo, GetFileInformationByHandleEx,
    SetFileInformationByHandle,
};

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
