use std::fs::{File, Metadata};
use std::io;
use std::os::windows::fs::MetadataExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;

use windows_sys::Win32::Foundation::{HANDLE_FLAG_PROTECT_FROM_CLOSE, SetHandleInformation};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_STANDARD_INFO, FileStandardInfo, GetFileInformationByHandle,
    GetFileInformationByHandleEx,
};
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, GenerateConsoleCtrlEvent};

use super::{Facts, link_target};
use crate::kind::Kind;

/// Permissions as a Unix system would show them. They follow from the read-only attribute alone.
pub(crate) fn facts(path: &Path, meta: &Metadata) -> io::Result<Facts> {
    let kind = match meta.file_type() {
        kind if kind.is_symlink() => link_target(path)?,
        kind if kind.is_dir() => Kind::Folder,
        _ => Kind::File { len: meta.len(), hash: 0 },
    };
    let mode = match (&kind, meta.permissions().readonly()) {
        (Kind::Folder, _) => 0o777,
        (_, true) => 0o444,
        (_, false) => 0o666,
    };
    // 100 ns since 1601.
    const UNIX_EPOCH: i64 = 116_444_736_000_000_000;
    let since_1970 = meta.last_write_time() as i64 - UNIX_EPOCH;
    let modified = (since_1970.div_euclid(10_000_000), since_1970.rem_euclid(10_000_000) * 100);
    let (mut shared, mut allocated) = (None, meta.len());
    if matches!(kind, Kind::File { .. }) {
        let file = File::open(path)?;
        let handle = file.as_raw_handle();
        let mut info = BY_HANDLE_FILE_INFORMATION::default();
        // SAFETY: the handle is open, and `info` is what this call writes.
        if unsafe { GetFileInformationByHandle(handle, &mut info) } == 0 {
            return Err(io::Error::last_os_error());
        }
        let number = u64::from(info.nFileIndexHigh) << 32 | u64::from(info.nFileIndexLow);
        shared = (info.nNumberOfLinks > 1).then_some((u64::from(info.dwVolumeSerialNumber), number));
        let mut standard = FILE_STANDARD_INFO::default();
        // SAFETY: the handle is open, and the length is that of the structure that goes with `FileStandardInfo`.
        let told = unsafe {
            GetFileInformationByHandleEx(
                handle,
                FileStandardInfo,
                (&raw mut standard).cast(),
                size_of::<FILE_STANDARD_INFO>() as u32,
            )
        };
        if told == 0 {
            return Err(io::Error::last_os_error());
        }
        allocated = standard.AllocationSize as u64;
    }
    Ok(Facts { kind, mode, modified, shared, allocated })
}

/// Sends Ctrl-Break to a child that was started in a process group of its own. Needs a console that both have.
pub fn send_ctrl_break(child: &std::process::Child) -> io::Result<()> {
    // SAFETY: two numbers go in; nothing else is touched.
    match unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, child.id()) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Makes every close of this handle fail with `ERROR_INVALID_HANDLE` (6). It stays open until the process ends.
pub fn protect_from_close(handle: &impl AsRawHandle) -> io::Result<()> {
    let flag = HANDLE_FLAG_PROTECT_FROM_CLOSE;
    // SAFETY: the handle is borrowed, so it is open; the flag decides only whether it can be closed.
    match unsafe { SetHandleInformation(handle.as_raw_handle(), flag, flag) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
