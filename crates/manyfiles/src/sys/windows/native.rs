//! The native calls: they open by a name in a folder that is open, which the Windows calls above them cannot.
//!
//! Each gives a status. It becomes the number that the Windows call would have given ([`Status::into`]).

use std::ffi::OsStr;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::null;

use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem::{
    FILE_INFORMATION_CLASS, FILE_OPEN_REPARSE_POINT, FILE_RENAME_INFORMATION, FILE_SYNCHRONOUS_IO_NONALERT,
    NTCREATEFILE_CREATE_DISPOSITION, NTCREATEFILE_CREATE_OPTIONS, NtCreateFile, NtSetInformationFile,
};
use windows_sys::Win32::Foundation::{
    ERROR_DELETE_PENDING, ERROR_DIRECTORY_NOT_SUPPORTED, ERROR_FILENAME_EXCED_RANGE, HANDLE, NTSTATUS,
    OBJ_CASE_INSENSITIVE, OBJ_DONT_REPARSE, RtlNtStatusToDosError, STATUS_ACCESS_DENIED, STATUS_DELETE_PENDING,
    STATUS_FILE_IS_A_DIRECTORY, STATUS_INVALID_DEVICE_REQUEST, STATUS_INVALID_INFO_CLASS, STATUS_INVALID_PARAMETER,
    STATUS_NAME_TOO_LONG, STATUS_NOT_IMPLEMENTED, STATUS_NOT_SUPPORTED, STATUS_SHARING_VIOLATION, UNICODE_STRING,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ACCESS_RIGHTS, FILE_FLAGS_AND_ATTRIBUTES, FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, SYNCHRONIZE,
};
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;

/// Why a native call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status(pub(super) NTSTATUS);

impl Status {
    /// Whether the file system, or this Windows, does not know the call at all.
    pub(super) fn is_unknown_call(self) -> bool {
        matches!(
            self.0,
            STATUS_INVALID_INFO_CLASS
                | STATUS_INVALID_PARAMETER
                | STATUS_NOT_IMPLEMENTED
                | STATUS_NOT_SUPPORTED
                | STATUS_INVALID_DEVICE_REQUEST
        )
    }
}

impl From<Status> for io::Error {
    fn from(status: Status) -> io::Error {
        let number = match status.0 {
            // These two would be told as "access denied".
            STATUS_FILE_IS_A_DIRECTORY => ERROR_DIRECTORY_NOT_SUPPORTED,
            STATUS_DELETE_PENDING => ERROR_DELETE_PENDING,
            STATUS_NAME_TOO_LONG => ERROR_FILENAME_EXCED_RANGE,
            // SAFETY: a number goes in and one comes out.
            status => unsafe { RtlNtStatusToDosError(status) },
        };
        io::Error::from_raw_os_error(number as i32)
    }
}

/// A name as the system takes it.
pub(super) fn wide(name: &OsStr) -> Vec<u16> {
    name.encode_wide().collect()
}

/// Whether links on the way to the last component of a path are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// The name is a single component, so that there are none.
    OneComponent,
    /// Any is an error.
    Refuse,
}

/// How something is opened. What has the name is opened itself, if it is a link. Others may read, write, rename and
/// remove it meanwhile.
pub(super) struct Open {
    pub(super) access: FILE_ACCESS_RIGHTS,
    /// Of what is created.
    pub(super) attributes: FILE_FLAGS_AND_ATTRIBUTES,
    pub(super) disposition: NTCREATEFILE_CREATE_DISPOSITION,
    pub(super) options: NTCREATEFILE_CREATE_OPTIONS,
    pub(super) links: Links,
}

impl Open {
    /// Opens or creates `name` in `folder`. An empty name is the folder itself.
    pub(super) fn at(&self, folder: &OwnedHandle, name: &[u16]) -> Result<OwnedHandle, Status> {
        let bytes = u16::try_from(size_of_val(name)).map_err(|_| Status(STATUS_NAME_TOO_LONG))?;
        let name = UNICODE_STRING { Length: bytes, MaximumLength: bytes, Buffer: name.as_ptr().cast_mut() };
        let links = if self.links == Links::Refuse { OBJ_DONT_REPARSE } else { 0 };
        let object = OBJECT_ATTRIBUTES {
            Length: size_of::<OBJECT_ATTRIBUTES>() as u32,
            RootDirectory: folder.as_raw_handle(),
            ObjectName: &name,
            Attributes: OBJ_CASE_INSENSITIVE | links,
            SecurityDescriptor: null(),
            SecurityQualityOfService: null(),
        };
        let mut handle: HANDLE = std::ptr::null_mut();
        let mut outcome = IO_STATUS_BLOCK::default();
        // SAFETY: `handle` and `outcome` are written; `object`, and the name that it points to, are read and live until
        // the call returns, and nothing writes to the name; no extended attributes are passed.
        let status = unsafe {
            NtCreateFile(
                &mut handle,
                self.access | SYNCHRONIZE,
                &object,
                &mut outcome,
                null(),
                self.attributes,
                FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                self.disposition,
                self.options | FILE_OPEN_REPARSE_POINT | FILE_SYNCHRONOUS_IO_NONALERT,
                null(),
                0,
            )
        };
        if status < 0 {
            return Err(Status(status));
        }
        // SAFETY: the call succeeded, so this is a new handle that nothing else owns.
        Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
    }
}

/// Sets `information`, which has the layout that goes with `class`.
///
/// # Safety
/// `information` is the structure that the system expects for `class`, whole and valid.
pub(super) unsafe fn set_information<T: ?Sized>(
    file: &OwnedHandle,
    class: FILE_INFORMATION_CLASS,
    information: &T,
) -> Result<(), Status> {
    let mut outcome = IO_STATUS_BLOCK::default();
    // SAFETY: the structure is `size_of_val` bytes long, valid as the caller promises, and only read.
    let status = unsafe {
        NtSetInformationFile(
            file.as_raw_handle(),
            &mut outcome,
            (&raw const *information).cast(),
            size_of_val(information) as u32,
            class,
        )
    };
    if status < 0 { Err(Status(status)) } else { Ok(()) }
}

/// What the handle may be used for.
pub(super) fn granted_access(file: &std::fs::File) -> io::Result<u32> {
    use windows_sys::Wdk::Storage::FileSystem::{
        FILE_ACCESS_INFORMATION, FileAccessInformation, NtQueryInformationFile,
    };
    let mut outcome = IO_STATUS_BLOCK::default();
    let mut information = FILE_ACCESS_INFORMATION::default();
    // SAFETY: `outcome` and `information` are written, the latter has the layout that goes with its class, and the size
    // is its.
    let status = unsafe {
        NtQueryInformationFile(
            file.as_raw_handle(),
            &mut outcome,
            (&raw mut information).cast(),
            size_of::<FILE_ACCESS_INFORMATION>() as u32,
            FileAccessInformation,
        )
    };
    if status < 0 { Err(Status(status).into()) } else { Ok(information.AccessFlags) }
}

/// Gives `file` the name `name` in `folder`: `class` says whether as its only one or as one more. The structures for
/// both, and for both of their generations, are the same.
pub(super) fn set_name(
    file: &OwnedHandle,
    class: FILE_INFORMATION_CLASS,
    flags: u32,
    folder: &OwnedHandle,
    name: &[u16],
) -> Result<(), Status> {
    const NAME: usize = std::mem::offset_of!(FILE_RENAME_INFORMATION, FileName);
    let len = NAME + size_of_val(name);
    // Words, so that it is aligned as the structure must be; some file systems want it to be no shorter than that.
    let mut buffer = vec![0_u64; len.max(size_of::<FILE_RENAME_INFORMATION>()).div_ceil(8)];
    let information: *mut FILE_RENAME_INFORMATION = buffer.as_mut_ptr().cast();
    // SAFETY: the buffer is aligned, at least as long as the structure, and has room for the name from `FileName` on.
    unsafe {
        (*information).Anonymous.Flags = flags;
        (*information).RootDirectory = folder.as_raw_handle();
        (*information).FileNameLength = size_of_val(name) as u32;
        let place = information.cast::<u8>().add(NAME).cast::<u16>();
        place.copy_from_nonoverlapping(name.as_ptr(), name.len());
    }
    // SAFETY: it is the structure for all classes that this is called with.
    unsafe { set_information(file, class, buffer.as_slice()) }
}

/// Tries again for up to a second while another program has the file open in a way that forbids what `work` does, or a
/// removed file of that name is not closed yet: virus scanners and indexers do so for a moment with every new file.
pub(super) fn while_in_use<T>(work: impl FnMut() -> Result<T, Status>) -> Result<T, Status> {
    while_in_use_or_denied(|| false, work)
}

/// The same where the system says "access denied" of a file that is open, too. `may_be_open` tells whether there is no
/// other reason for that.
pub(super) fn while_in_use_or_denied<T>(
    may_be_open: impl Fn() -> bool,
    mut work: impl FnMut() -> Result<T, Status>,
) -> Result<T, Status> {
    let mut pause = std::time::Duration::from_millis(1);
    loop {
        let result = work();
        let is_in_use = match &result {
            Err(Status(STATUS_SHARING_VIOLATION | STATUS_DELETE_PENDING)) => true,
            Err(Status(STATUS_ACCESS_DENIED)) => may_be_open(),
            _ => false,
        };
        if !is_in_use || pause.as_millis() > 512 {
            return result;
        }
        std::thread::sleep(pause);
        pause *= 2;
    }
}
