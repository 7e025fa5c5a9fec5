//! What two files of records have in common: a file and a copy of it, of which one may be older or longer.

use std::io;

use crate::appender::log::frame::FRAME;
use crate::appender::log::header::{HEADER, Header};
use crate::appender::log::scan::{Break, Found, Scanner};
use crate::appender::storage::ReadAt;

/// A file to compare.
#[derive(Clone, Copy)]
pub(in crate::appender) struct Side<'a> {
    pub(in crate::appender) file: &'a dyn ReadAt,
    pub(in crate::appender) header: Header,
    pub(in crate::appender) len: u64,
}

/// How much of one file is in another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::appender) struct Common {
    /// Behind the last record, counted from the first, that both have in the same place.
    pub(in crate::appender) end: u64,
    /// Whether the other file has every record that was asked for.
    pub(in crate::appender) is_all: bool,
}

/// Compares the whole records of a file that end at `until` or before with those of another one. What is damaged in
/// either, set aside or torn is no record. Marks are not compared: closing a file changes one.
pub(in crate::appender) fn end(of: Side<'_>, with: Side<'_>, until: u64) -> io::Result<Common> {
    let (mut ours, mut theirs) = (Scanner::new(of.header, of.len), Scanner::new(with.header, with.len));
    let mut end = HEADER as u64;
    let mut their = None;
    loop {
        let our = next(&mut ours, of.file)?.filter(|&(begin, ref content)| behind(begin, content) <= until);
        let Some((begin, content)) = our else { return Ok(Common { end, is_all: true }) };
        // Damage there may have been a record here.
        while their.as_ref().is_none_or(|&(at, _)| at < begin) {
            their = next(&mut theirs, with.file)?;
            if their.is_none() {
                return Ok(Common { end, is_all: false });
            }
        }
        if their.as_ref().is_none_or(|(at, other)| *at != begin || *other != content) {
            return Ok(Common { end, is_all: false });
        }
        end = behind(begin, &content);
    }
}

fn behind(begin: u64, content: &[u8]) -> u64 {
    begin + (FRAME + content.len()) as u64
}

/// The next whole record, and where it begins.
fn next(scanner: &mut Scanner, file: &dyn ReadAt) -> io::Result<Option<(u64, Vec<u8>)>> {
    loop {
        let content = match scanner.next(file)? {
            Found::Record(content) => Some(content.to_vec()),
            Found::End => return Ok(None),
            Found::Broken => None,
        };
        if let Some(content) = content {
            return Ok(Some((scanner.position() - (FRAME + content.len()) as u64, content)));
        }
        match scanner.explain(file)? {
            Break::Damaged { until } => scanner.go_to(until),
            Break::Torn { .. } => return Ok(None),
        }
    }
}
