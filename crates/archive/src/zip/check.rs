//! What a test does with a zip: each entry is decoded and compared with the directory, by several threads, and told in
//! the directory's order.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::content::Decoder;
use super::directory::{Directory, Record};
use super::order::Order;
use super::{Archive, Jobs, deliver, local, workers};
use crate::cancel::Cancel;
use crate::entry::Kind;
use crate::error::{ErrorKind, Position, Result};
use crate::limit::Limit;
use crate::limits::{Limits, check_ratio};
use crate::sys;
use crate::test::Test;

/// What a thread has found of an entry.
struct Checked {
    /// Why its content cannot be had.
    lost: Option<String>,
    /// What else is wrong.
    remarks: Vec<String>,
    /// The first byte behind it.
    end: Option<u64>,
    is_folder: bool,
}

pub(super) fn check(
    archive: &Archive<'_>,
    directory: &Directory,
    jobs: &Jobs,
    threads: usize,
    test: &mut Test<'_>,
    cancel: &Cancel,
) -> Result<(), ErrorKind> {
    let found = Mutex::new((test, Vec::new()));
    let tell = |place: usize, checked: Checked| {
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        let (test, extents) = &mut *found;
        let record = directory.record(jobs.wanted[place] as usize);
        let name = path_of(&record);
        let at = Some(Position::Archive(record.start));
        let is_intact = checked.lost.is_none();
        for cause in checked.lost.into_iter().chain(checked.remarks) {
            test.tell(Some(sys::path(&name)), at, cause);
        }
        test.entry(if is_intact && !checked.is_folder { record.size } else { 0 }, is_intact);
        if let Some(end) = checked.end {
            extents.push((record.start, end, place as u32));
        }
    };
    let order = Order::new(&tell);
    let decoded = Decoded { bytes: AtomicU64::new(0), limits: archive.limits, packed: archive.file.len() };
    workers(archive, directory, jobs, threads, &order, &|place, record, decoder| {
        cancel.check()?;
        Ok(order.ready(place, entry(archive, record, decoder, &decoded, cancel)?, 0))
    })?;
    let (test, mut extents) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    // A few bytes of the file that are the content of many entries are a bomb, and the work of no honest program.
    extents.sort_unstable();
    for pair in extents.windows(2) {
        let ((_, end, _), (start, _, place)) = (pair[0], pair[1]);
        if start < end {
            let record = directory.record(jobs.wanted[place as usize] as usize);
            let name = path_of(&record);
            let cause = "it begins inside of another entry";
            test.tell(Some(sys::path(&name)), Some(Position::Archive(start)), cause);
        }
    }
    if extents.len() == jobs.wanted.len() {
        for start in unlisted(archive, &extents, directory.start)? {
            let cause = "an entry stands here that the directory does not have, and was not read";
            test.tell(None, Some(Position::Archive(start)), cause);
        }
    }
    Ok(())
}

/// Where room that no entry of the directory takes begins as an entry does: with a zip before this one (`cat a b`), or
/// with an entry that only a program sees that reads from the front. Other bytes there may be anything, such as a
/// program that unpacks the archive, or a signature. `extents` are in order.
fn unlisted(archive: &Archive<'_>, extents: &[(u64, u64, u32)], directory: u64) -> Result<Vec<u64>, ErrorKind> {
    let mut found = Vec::new();
    let mut taken = 0;
    for (start, end) in extents.iter().map(|&(start, end, _)| (start, end)).chain([(directory, directory)]) {
        let mut signature = [0; 4];
        if start.saturating_sub(taken) >= local::LOCAL as u64 {
            archive.file.fill(&mut signature, taken)?;
            if signature == *b"PK\x03\x04" {
                found.push(taken);
            }
        }
        taken = taken.max(end);
    }
    Ok(found)
}

/// Counts what was decoded. The sizes of the directory are not believed: one that is damaged is to be told.
struct Decoded<'a> {
    bytes: AtomicU64,
    limits: &'a Limits,
    packed: u64,
}

impl Decoded<'_> {
    fn add(&self, bytes: u64) -> Result<(), ErrorKind> {
        let sum = self.bytes.fetch_add(bytes, Relaxed).saturating_add(bytes);
        if sum > self.limits.bytes {
            return Err(ErrorKind::Limit { limit: Limit::Bytes, value: self.limits.bytes, entries: 0 });
        }
        check_ratio(self.limits, sum, self.packed)
    }
}

/// What ended the decoding of an entry.
enum Failed {
    Entry(io::Error),
    Archive(ErrorKind),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        Failed::Entry(error)
    }
}

fn entry(
    archive: &Archive<'_>,
    record: &Record<'_>,
    decoder: &mut Decoder<'_>,
    counted: &Decoded<'_>,
    cancel: &Cancel,
) -> Result<Checked, ErrorKind> {
    let mut checked = Checked { lost: None, remarks: Vec::new(), end: None, is_folder: false };
    checked.remarks.extend(local::in_the_directory(record).map(String::from));
    if record.is_broken {
        checked.lost = Some("the archive's directory is damaged here".into());
        return Ok(checked);
    }
    // A folder is made all the same.
    let is_folder = record.entry(&record.name(), Path::new("")).kind == Kind::Folder;
    checked.is_folder = is_folder;
    if is_folder && record.size > 0 {
        checked.remarks.push("a folder has content, which no folder can keep".into());
    }
    match local::read(&archive.file, archive.file.len(), record) {
        Ok(Some(local)) => {
            checked.remarks.extend(local.differences);
            checked.end = Some(local.end);
        }
        Ok(None) => {}
        Err(error) => checked.lost = Some(format!("its header cannot be read: {error}")),
    }
    if record.encryption.is_some() && is_folder {
        return Ok(checked);
    }
    if let Some(why) = record.locked() {
        checked.lost = Some(why.into());
        return Ok(checked);
    }
    let decoded = if deliver::is_long(record) {
        decoder.pieces(record, |bytes| {
            cancel.check().and_then(|()| counted.add(bytes.len() as u64)).map_err(Failed::Archive)
        })
    } else {
        let whole = decoder.whole(record).map_err(Failed::Entry);
        whole.and_then(|content| counted.add(content.len() as u64).map_err(Failed::Archive))
    };
    match decoded {
        Ok(()) if decoder.unread > 0 => {
            checked.remarks.push("bytes stand behind its compressed content, and were not read".into());
        }
        Ok(()) => {}
        Err(Failed::Archive(kind)) => return Err(kind),
        Err(Failed::Entry(error)) => {
            let error = error.to_string();
            let cause = error.strip_prefix("the archive is damaged here: ").unwrap_or(&error).to_owned();
            if is_folder {
                checked.remarks.push(cause);
            } else {
                checked.lost = Some(cause);
            }
        }
    }
    Ok(checked)
}

/// The path of an entry, as it can be shown.
fn path_of(record: &Record<'_>) -> Vec<u8> {
    let mut name = record.name().into_owned();
    // What is no path here is shown all the same.
    sys::make_representable(&mut name);
    name
}
