//! What is refused because something is in use.

use std::io;
use std::path::Path;
use std::time::Duration;

use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_DELETE_ON_CLOSE;

use super::may_be_for_an_open_file;

/// The flag of a file that the system removes when it is closed.
pub(crate) const DELETE_ON_CLOSE: u32 = FILE_FLAG_DELETE_ON_CLOSE;

/// Tries again for up to a second while another program has a file open in a way that forbids what `work` does with
/// `paths`: virus scanners and indexers do so for a moment with every new file. What no open file explains is returned
/// at once.
pub(crate) fn while_in_use<T>(paths: &[&Path], mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut pause = Duration::from_millis(1);
    loop {
        match work() {
            Err(error) if pause.as_millis() <= 512 && may_be_for_an_open_file(&error, paths) => {
                std::thread::sleep(pause);
                pause *= 2;
            }
            result => return result,
        }
    }
}
