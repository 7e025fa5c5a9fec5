//! Reading an archive's file by position.

use std::fs::File;
use std::io;

use crate::error::{ErrorKind, Result};
use crate::sys;

/// Fills all of the buffer with bytes that are known to be there. If there are fewer, the file was cut short.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], position: u64) -> Result<(), ErrorKind> {
    sys::read_exact_at(file, buffer, position).map_err(error)
}

/// The error of reading bytes that are known to be there.
pub(crate) fn error(error: io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            ErrorKind::Changed(io::Error::new(error.kind(), "it is shorter than when it was opened"))
        }
        _ => ErrorKind::Read(error),
    }
}
