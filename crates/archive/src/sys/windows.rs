use std::borrow::Cow;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::Left;

/// Makes a path of an archive's bytes. Names on Windows are Unicode. False if the bytes are not; then they are replaced
/// by text that can be shown.
pub(crate) fn make_representable(bytes: &mut Vec<u8>) -> bool {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(_) => true,
        Cow::Owned(shown) => {
            *bytes = shown.into_bytes();
            false
        }
    }
}

/// The path with these bytes, which are [representable](make_representable).
pub(crate) fn path(bytes: &[u8]) -> &Path {
    // Parts of such bytes, cut at slashes, are text too.
    Path::new(std::str::from_utf8(bytes).unwrap_or("\u{fffd}"))
}

/// Whether a name can only be Unicode.
pub(crate) const NAMES_ARE_UNICODE: bool = true;

/// The mode of a file with DOS's read-only bit, which is one of this system's own.
pub(crate) const READ_ONLY: Option<u32> = Some(0o444);

pub(crate) fn read_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    file.seek_read(buffer, position)
}

/// Reads a file's bytes only to know whether they can be read. The system has nothing for that.
#[derive(Default)]
pub(crate) struct Fetcher {}

impl Fetcher {
    /// How many bytes were read. After 0, reading says why.
    pub(crate) fn fetch(&mut self, _file: &File, _position: u64, _len: u64) -> u64 {
        0
    }
}

pub(crate) fn read_exact_at(file: &File, mut buffer: &mut [u8], mut position: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match read_at(file, buffer, position)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                buffer = &mut buffer[read..];
                position += read as u64;
            }
        }
    }
    Ok(())
}

/// The permissions of a file: here it has none that an archive could keep.
pub(crate) fn mode_of(_metadata: &Metadata) -> Option<u32> {
    None
}

/// The bytes of a path, as archives have them, with slashes. `None`: it is not Unicode.
pub(crate) fn bytes_of(path: &Path) -> Option<Vec<u8>> {
    Some(path.to_str()?.replace('\\', "/").into_bytes())
}

const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
const FILE_ATTRIBUTE_REPARSE_POINT: u32 = 0x400;

/// Opens a file to be read, but follows no link.
pub(crate) fn open_source(path: &Path) -> io::Result<File> {
    let open = |flags| File::options().read(true).custom_flags(flags).open(path);
    let itself = open(FILE_FLAG_OPEN_REPARSE_POINT)?;
    let found = itself.metadata()?;
    // Stored otherwise, compressed or in a cloud for instance: its content comes when it is opened as usual.
    let is_stored_otherwise = found.file_attributes() & FILE_ATTRIBUTE_REPARSE_POINT != 0 && found.is_file();
    if is_stored_otherwise { open(0) } else { Ok(itself) }
}

/// The system tells the identity of a file only to those who open it: nothing is known here. Another file of the same
/// name is noticed by its length and time.
pub(crate) fn is_same_file(_one: &Metadata, _other: &Metadata) -> bool {
    true
}

/// Keeps a file that was just made, and is open still, from [`remove_left`]: any open handle does. This one outlives that
/// of the writer.
pub(crate) fn hold(_file: &File, path: &Path) -> io::Result<Option<Option<File>>> {
    open_source(path).map(|hold| Some(Some(hold)))
}

/// Removes a file that is [held](hold), and of which no other handle is open. Where it has been let go of, another run may
/// remove it first, and make one of its own that stays.
pub(crate) fn remove_held(hold: &mut Option<File>, path: &Path) {
    hold.take();
    drop(remove_left(path));
}

/// Removes a file of which nobody has a handle: it is opened for nobody else to open, and goes when that handle is
/// closed. So no other file that has its name by then can go.
pub(crate) fn remove_left(path: &Path) -> io::Result<Left> {
    const DELETE: u32 = 0x0001_0000;
    const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
    const ERROR_SHARING_VIOLATION: i32 = 32;
    // A scanner has it open for a moment.
    const WAITS: u32 = 10;
    let mut options = File::options();
    options.access_mode(DELETE).share_mode(0).custom_flags(FILE_FLAG_DELETE_ON_CLOSE | FILE_FLAG_OPEN_REPARSE_POINT);
    for _ in 0..WAITS {
        match options.open(path) {
            Ok(left) => {
                drop(left);
                return Ok(Left::Gone);
            }
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Left::Gone),
            Err(cause) if cause.raw_os_error() == Some(ERROR_SHARING_VIOLATION) => {
                thread::sleep(Duration::from_millis(10));
            }
            // It has the attributes of the archive that it was to replace.
            Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
                let mut permissions = match fs::symlink_metadata(path) {
                    Ok(there) if there.permissions().readonly() => there.permissions(),
                    _ => return Err(cause),
                };
                #[allow(
                    clippy::permissions_set_readonly_false,
                    reason = "a Windows attribute: it gives nobody rights"
                )]
                permissions.set_readonly(false);
                fs::set_permissions(path, permissions)?;
            }
            Err(cause) => return Err(cause),
        }
    }
    Ok(Left::Held)
}

/// The standard library does not tell it here.
pub(crate) fn changed(_metadata: &Metadata) -> Option<(i64, i64)> {
    None
}

/// The number of handles has no limit that a process comes to.
pub(crate) fn is_out_of_handles(_error: &io::Error) -> bool {
    false
}

/// See [`is_out_of_handles`].
pub(crate) fn has_handles(_number: usize) -> bool {
    true
}

/// Holes are not looked for here.
pub(crate) fn may_have_holes(_metadata: &Metadata) -> bool {
    false
}

/// See [`may_have_holes`].
pub(crate) fn data_of(_file: &File, _len: u64) -> Option<Vec<(u64, u64)>> {
    None
}

/// Users are not told apart here: a folder of several users is rare.
pub(crate) fn is_own(_metadata: &Metadata, _archive: Option<&Metadata>) -> bool {
    true
}

/// Who may read a new file is said by its folder.
pub(crate) fn create_like(_replaced: Option<&Metadata>) -> OpenOptions {
    File::options()
}

/// Not at once: the standard library's renaming replaces what is there.
pub(crate) fn rename_new(_from: &Path, _to: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A pipe is written to as a device is.
pub(crate) fn is_fifo(_metadata: &Metadata) -> bool {
    false
}

/// See [`is_fifo`].
pub(crate) fn open_fifo(path: &Path) -> io::Result<Option<File>> {
    File::options().write(true).open(path).map(Some)
}

/// See [`is_fifo`].
pub(crate) fn write_within(mut file: &File, _time: Duration, bytes: &[u8]) -> io::Result<usize> {
    io::Write::write(&mut file, bytes)
}

/// Users have no numbers here.
pub(crate) fn user_id(_name: &str) -> Option<u32> {
    None
}

pub(crate) fn group_id(_name: &str) -> Option<u32> {
    None
}

pub(crate) fn user_name(_id: u32) -> Option<String> {
    None
}

pub(crate) fn group_name(_id: u32) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_shown_and_said_to_be_none() {
        let mut name = b"caf\xe9/x".to_vec();
        assert!(!make_representable(&mut name));
        assert_eq!(path(&name), Path::new("caf\u{fffd}/x"));
        let mut name = "grüße/你好".as_bytes().to_vec();
        assert!(make_representable(&mut name));
        assert_eq!(path(&name), Path::new("grüße/你好"));
    }
}
