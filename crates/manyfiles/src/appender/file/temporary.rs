//! Files under temporary names: how they are called, and how they are made.
//!
//! A file of a log has its name when it is whole on the disk. Until then it is called
//! `events.manyfiles-0123456789abcdef`, with a number of its own: no two appenders ever make the same one, so none
//! takes another's file for its own or for a leftover. The maker of the file holds its lock until the file has its
//! final name, or is removed. One that is not locked was left by a process that has ended; the next appender that has
//! the log for itself removes it.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use crate::appender::file::calls::busy;
use crate::appender::log::series::Series;
use crate::appender::storage::{Storage, StoredFile};
use crate::{Error, Operation, Result};

const MARK: &str = ".manyfiles-";
const DIGITS: usize = 16;
/// A number may be taken, or another appender may have removed the file as a leftover before it was locked. Then
/// another number is tried.
const TRIES: u32 = 100;

/// Makes a file that no other appender makes, opens or removes.
pub(in crate::appender) fn create(storage: &dyn Storage, series: &Series) -> Result<(PathBuf, Box<dyn StoredFile>)> {
    let error = |path: &PathBuf, cause| Error::new(Operation::Create, &**path, cause);
    for _ in 0..TRIES {
        let path = series.beside(&format!("{MARK}{:0DIGITS$x}", storage.unique()));
        match storage.create(&path) {
            // Between its making and its lock another appender may remove it as a leftover: then it has no name.
            Ok(file) if file.is_at(&path).map_err(|cause| error(&path, cause))? => return Ok((path, file)),
            Ok(_) => {}
            Err(cause) if matches!(cause.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::ResourceBusy) => {}
            Err(cause) => return Err(error(&path, cause)),
        }
    }
    Err(busy(series.base()))
}

/// Whether a name is that of a log's temporary file.
pub(in crate::appender) fn is_temporary(name: &OsStr, base: &OsStr) -> bool {
    let end = name.as_encoded_bytes().strip_prefix(base.as_encoded_bytes());
    let digits = end.and_then(|end| end.strip_prefix(MARK.as_bytes()));
    digits.is_some_and(|digits| {
        digits.len() == DIGITS && digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_of_this_log_are_temporary_ones() {
        for (name, is_ours) in [
            ("events.manyfiles-0123456789abcdef", true),
            ("events.manyfiles-0123456789abcde", false),
            ("events.manyfiles-0123456789abcdef0", false),
            ("events.manyfiles-0123456789ABCDEF", false),
            ("events.manyfiles-open", false),
            ("events.new", false),
            ("events", false),
            ("other.manyfiles-0123456789abcdef", false),
        ] {
            assert_eq!(is_temporary(OsStr::new(name), OsStr::new("events")), is_ours, "{name}");
        }
    }
}
