//! Programs that wine does not start.

use std::io;
use std::time::Duration;

/// What `start` returns: that of [`Command::spawn`](std::process::Command::spawn) or
/// [`Command::output`](std::process::Command::output), say. On Windows `start` is called again, up to ten times, while its
/// error is an "internal error" of the system: wine has it now and then for a program like others before it.
/// [`Command::status`](std::process::Command::status) of a program that ran is never such an error.
pub fn started<T>(mut start: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    const INTERNAL_ERROR: i32 = 1359;
    for _ in 0..10 {
        match start() {
            Err(error) if cfg!(windows) && error.raw_os_error() == Some(INTERNAL_ERROR) => {
                println!("started once more: wine could not start a program");
                std::thread::sleep(Duration::from_millis(100));
            }
            result => return result,
        }
    }
    start()
}
