//! Files under temporary names that ended processes left.

use std::io;

use crate::appender::file::note;
use crate::appender::file::temporary::is_temporary;
use crate::appender::log::header::begins_with_magic;
use crate::appender::log::packed;
use crate::appender::log::series::Series;
use crate::appender::storage::{Storage, StoredFile};

/// Removes what ended processes left. Called by an appender that has the log for itself. A leftover does no harm, so
/// one that cannot be removed stays for the next time.
pub(in crate::appender) fn remove(storage: &dyn Storage, series: &Series) {
    let name = series.base().file_name().unwrap_or_default();
    for other in storage.list(series.folder()).unwrap_or_default() {
        if is_temporary(&other, name) {
            remove_one(storage, &series.folder().join(other)).unwrap_or(());
        }
    }
}

fn remove_one(storage: &dyn Storage, path: &std::path::Path) -> io::Result<()> {
    // Refused while another appender has it locked.
    let file = storage.open(path)?;
    if begins_as_ours(&*file)? && file.is_at(path)? {
        storage.remove(path)?;
    }
    file.close()
}

/// Whether a file begins as one of records does, or as the end of a file without frames, or with nothing: what a crash
/// may leave.
fn begins_as_ours(file: &dyn StoredFile) -> io::Result<bool> {
    let mut first = [0; note::TAIL_HEADER];
    let has = file.read_full(&mut first, 0)?;
    let first = &first[..has];
    let is_empty = first.iter().all(|&byte| byte == 0);
    Ok(is_empty || begins_with_magic(first) || note::is_tail(first) || first.starts_with(&packed::MAGIC))
}
