//! Calls that several files make.

use std::io;
use std::path::Path;

use crate::appender::storage::StoredFile;
use crate::{Error, Operation, Result};

/// Another appender was faster.
pub(in crate::appender) fn busy(path: &Path) -> Error {
    let cause = io::Error::new(
        io::ErrorKind::ResourceBusy,
        "another appender has just begun or ended a file of this log; open it again",
    );
    Error::new(Operation::Open, path, cause)
}

pub(in crate::appender) fn write_all(
    file: &dyn StoredFile,
    path: &Path,
    mut bytes: &[u8],
    mut offset: u64,
) -> Result<()> {
    while !bytes.is_empty() {
        let written = match file.write_at(bytes, offset) {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            other => other,
        };
        let n = written.map_err(|cause| Error::new(Operation::Write, path, cause))?;
        bytes = &bytes[n..];
        offset += n as u64;
    }
    Ok(())
}
