//! Windows: the volume's own answers, and whether the usual scanner runs.
#![expect(unsafe_code, reason = "the system's calls")]

use std::fs::File;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, GetDiskFreeSpaceExW, GetDriveTypeW, GetVolumeInformationW, GetVolumePathNameW,
};
use windows_sys::Win32::System::IO::DeviceIoControl;
use windows_sys::Win32::System::Ioctl::{FILE_FS_PERSISTENT_VOLUME_INFORMATION, FSCTL_QUERY_PERSISTENT_VOLUME_STATE};
use windows_sys::Win32::System::Services::{
    CloseServiceHandle, OpenSCManagerW, OpenServiceW, QueryServiceStatus, SC_MANAGER_CONNECT, SERVICE_QUERY_STATUS,
    SERVICE_RUNNING, SERVICE_STATUS,
};

use super::Place;

/// `PERSISTENT_VOLUME_STATE_DEV_VOLUME` and `…_TRUSTED_VOLUME` of ntifs.h.
const DEV_VOLUME: u32 = 0x2000;
const TRUSTED_VOLUME: u32 = 0x4000;

pub(super) fn describe(folder: PathBuf) -> Place {
    let wide = wide(&folder);
    let mut place = Place { folder, ..Place::default() };
    let mut free = 0;
    // SAFETY: the path ends in a zero, and `free` is where the answer may be written.
    if unsafe { GetDiskFreeSpaceExW(wide.as_ptr(), &mut free, null_mut(), null_mut()) } != 0 {
        place.free_bytes = Some(free);
    }
    let mut root = [0; 1024];
    // SAFETY: as above, with the buffer's own length.
    if unsafe { GetVolumePathNameW(wide.as_ptr(), root.as_mut_ptr(), root.len() as u32) } == 0 {
        return place;
    }
    let mut name = [0; 64];
    // SAFETY: `root` ends in a zero; what is not asked for may be null; the buffer has its own length.
    let known = unsafe {
        let (serial, length, flags) = (null_mut(), null_mut(), null_mut());
        GetVolumeInformationW(root.as_ptr(), null_mut(), 0, serial, length, flags, name.as_mut_ptr(), name.len() as u32)
    };
    if known != 0 {
        place.file_system = Some(text(&name));
    }
    // SAFETY: `root` ends in a zero.
    place.source = match unsafe { GetDriveTypeW(root.as_ptr()) } {
        2 => Some("removable drive".into()),
        3 => Some("fixed drive".into()),
        4 => Some("network share".into()),
        6 => Some("RAM disk".into()),
        _ => None,
    };
    let root = PathBuf::from(text(&root));
    place.remarks.extend(dev_drive(&root));
    place.mount_point = Some(root);
    if runs("WinDefend") {
        place.remarks.push("Microsoft Defender's service runs; whether it scans this folder it does not say".into());
    }
    place
}

/// What the volume says of itself as a Dev Drive. Nothing, where the system doesn't know the question.
fn dev_drive(root: &Path) -> Option<String> {
    let volume = File::options().read(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(root).ok()?;
    let ask = FILE_FS_PERSISTENT_VOLUME_INFORMATION {
        VolumeFlags: 0,
        FlagMask: DEV_VOLUME | TRUSTED_VOLUME,
        Version: 1,
        Reserved: 0,
    };
    let mut answer = ask;
    let (size, mut returned) = (size_of_val(&ask) as u32, 0);
    // SAFETY: both structures are as large as is said, and outlive the call, which is not overlapped.
    let known = unsafe {
        let (ask, answer) = ((&raw const ask).cast(), (&raw mut answer).cast());
        let code = FSCTL_QUERY_PERSISTENT_VOLUME_STATE;
        DeviceIoControl(volume.as_raw_handle(), code, ask, size, answer, size, &mut returned, null_mut())
    };
    if known == 0 {
        return None;
    }
    Some(match (answer.VolumeFlags & DEV_VOLUME != 0, answer.VolumeFlags & TRUSTED_VOLUME != 0) {
        (true, true) => "a trusted Dev Drive: scanners look at files later, not at their close".into(),
        (true, false) => "a Dev Drive that is not trusted: scanners treat it as any other volume".into(),
        (false, _) => "not a Dev Drive".into(),
    })
}

/// Whether the service of this name runs, as far as this user may ask.
fn runs(service: &str) -> bool {
    let name = wide(Path::new(service));
    // SAFETY: names end in zeros or are null; each handle is used while it is open, and closed once.
    unsafe {
        let manager = OpenSCManagerW(null(), null(), SC_MANAGER_CONNECT);
        if manager.is_null() {
            return false;
        }
        let handle = OpenServiceW(manager, name.as_ptr(), SERVICE_QUERY_STATUS);
        let mut status: SERVICE_STATUS = std::mem::zeroed();
        let runs = !handle.is_null()
            && QueryServiceStatus(handle, &mut status) != 0
            && status.dwCurrentState == SERVICE_RUNNING;
        if !handle.is_null() {
            CloseServiceHandle(handle);
        }
        CloseServiceHandle(manager);
        runs
    }
}

fn wide(path: &Path) -> Vec<u16> {
    path.as_os_str().encode_wide().chain([0]).collect()
}

fn text(wide: &[u16]) -> String {
    let end = wide.iter().position(|&unit| unit == 0).unwrap_or(wide.len());
    String::from_utf16_lossy(&wide[..end])
}
