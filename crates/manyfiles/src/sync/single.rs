//! One file, one folder.

use std::fs::File;
use std::path::Path;

use crate::{Error, Operation, Result, sys};

/// Makes the bytes of `file`, its length, and where on the disk they are, durable. When this returns `Ok`, everything
/// written to the file before, through any handle, survives a power cut. Its times and permissions may not.
///
/// | system | what is called | what that means |
/// |---|---|---|
/// | Linux, ext4, XFS, btrfs, F2FS | `fdatasync` | on the disk, the drive's cache emptied |
/// | Linux, NFS | `fdatasync` | the server has said that it is on its disk; unless it exports `async` |
/// | Linux, FUSE | `fdatasync` | whatever the program behind it does |
/// | macOS | `fcntl(F_FULLFSYNC)` | as Linux. On SMB and the like `fsync`: the server has it |
/// | Windows | `FlushFileBuffers` | on the disk, the drive's cache emptied unless the volume's settings forbid it. Needs a handle that may write |
/// | other Unix | `fdatasync` | the system's word |
///
/// A new file is durable once its name is too: [`sync_folder`].
///
/// # Errors
/// Those of the system, without a path. `EIO`, `ENOSPC` and `EDQUOT` say that bytes were lost, perhaps of writes that
/// had succeeded long before. An interrupted call (`EINTR`) is an error too: it is not made again, for a second call is
/// not told what the first one had found.
///
/// ```
/// # let temp = tempfile::tempdir()?;
/// use std::io::Write;
/// use manyfiles::sync::{sync_data, sync_folder};
///
/// let mut file = std::fs::File::create(temp.path().join("ledger"))?;
/// file.write_all(b"paid 5")?;
/// sync_data(&file)?;
/// sync_folder(temp.path())?; // or the file may have no name after a power cut
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sync_data(file: &File) -> Result<()> {
    sys::sync_data(file).map_err(|cause| Error::without_path(Operation::Sync, cause))
}

/// [`sync_data`], and the file's times, permissions and owner as well (`fsync` where that is not the same call). Costs
/// one more write in the journal when only the time has changed.
pub fn sync_all(file: &File) -> Result<()> {
    sys::sync_all(file).map_err(|cause| Error::without_path(Operation::Sync, cause))
}

/// Makes the names in the folder durable: files made, renamed and removed there before this call. Says nothing of the
/// files' bytes, nor of folders below or above; a new folder's own name is in its parent.
///
/// | system | what is called | what that means |
/// |---|---|---|
/// | Linux and other Unix | `fsync` of the folder | on the disk. A file system that refuses it for folders (`EINVAL`, `EBADF`: some network and shared folders) is left to its own ways, without an error |
/// | macOS | `fcntl(F_FULLFSYNC)` of the folder | as above |
/// | Windows | `FlushFileBuffers` of the folder | NTFS writes its log. Where a folder can't be opened for that (FAT, no right to write) names are the file system's own affair, without an error |
///
/// # Errors
/// Those of the system with the folder's path; a path that is not a folder is one.
pub fn sync_folder(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    sys::sync_folder(path).map_err(|cause| Error::new(Operation::Sync, path, cause))
}
