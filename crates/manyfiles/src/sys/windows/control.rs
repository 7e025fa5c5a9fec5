//! Control codes of file systems.

use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr::{null, null_mut};

use windows_sys::Win32::Foundation::ERROR_MORE_DATA;
use windows_sys::Win32::System::IO::DeviceIoControl;
use windows_sys::Win32::System::Ioctl::{
    FILE_ALLOCATED_RANGE_BUFFER, FSCTL_QUERY_ALLOCATED_RANGES, FSCTL_SET_REPARSE_POINT, FSCTL_SET_SPARSE,
};

/// Sends `code` with `input` to the file system, and returns how many bytes of `output` it filled.
///
/// # Safety
/// `output` may be filled with what `code` gives.
unsafe fn control<I: ?Sized, O>(
    file: &OwnedHandle,
    code: u32,
    input: Option<&I>,
    output: &mut [O],
) -> io::Result<usize> {
    let mut filled = 0;
    // SAFETY: both buffers are as long as they are said to be and live until the call returns; the first is only read,
    // and the second may be filled, as the caller promises.
    let done = unsafe {
        DeviceIoControl(
            file.as_raw_handle(),
            code,
            input.map_or(null(), |input| (&raw const *input).cast()),
            input.map_or(0, |input| size_of_val(input) as u32),
            if output.is_empty() { null_mut() } else { output.as_mut_ptr().cast() },
            size_of_val(output) as u32,
            &mut filled,
            null_mut(),
        )
    };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(filled as usize) }
}

/// Lets what is never written take no space.
pub(super) fn make_sparse(file: &OwnedHandle) -> io::Result<()> {
    // SAFETY: the code gives nothing.
    unsafe { control::<[u8], u8>(file, FSCTL_SET_SPARSE, None, &mut []) }.map(drop)
}

/// Makes an empty file or folder what `data` says: a link.
pub(super) fn set_reparse_point(file: &OwnedHandle, data: &[u8]) -> io::Result<()> {
    // SAFETY: the code gives nothing.
    unsafe { control::<[u8], u8>(file, FSCTL_SET_REPARSE_POINT, Some(data), &mut []) }.map(drop)
}

/// The first stretch of `file` between `from` and `to` that takes space: where it begins and ends.
pub(super) fn first_allocated(file: &OwnedHandle, from: u64, to: u64) -> io::Result<Option<(u64, u64)>> {
    let asked = FILE_ALLOCATED_RANGE_BUFFER { FileOffset: from as i64, Length: to.saturating_sub(from) as i64 };
    let mut found = [FILE_ALLOCATED_RANGE_BUFFER::default()];
    // SAFETY: the code gives such structures.
    let filled = unsafe { control(file, FSCTL_QUERY_ALLOCATED_RANGES, Some(&asked), &mut found) };
    match filled {
        Ok(0) => Ok(None),
        Err(error) if error.raw_os_error() != Some(ERROR_MORE_DATA as i32) => Err(error),
        // There may be more of them than were asked for.
        Ok(_) | Err(_) => {
            let [FILE_ALLOCATED_RANGE_BUFFER { FileOffset: start, Length: len }] = found;
            Ok(Some((start as u64, (start + len) as u64)))
        }
    }
}
