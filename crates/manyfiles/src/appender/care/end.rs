//! How a log ends: what its last file has, and whether an appender can go on there.

use crate::appender::file::files::Files;
use crate::appender::log::ending;
use crate::appender::log::header::Header;
use crate::appender::log::losses::Damage;
use crate::appender::log::opened::not_framed;
use crate::appender::log::scan::{Break, Found, Scanner, Start};
use crate::appender::options::OnDamage;
use crate::appender::storage::StoredFile;
use crate::{Operation, Result};

/// How a log ends in which an appender can go on.
pub(in crate::appender) struct End {
    pub(in crate::appender) header: Header,
    pub(in crate::appender) len: u64,
    pub(in crate::appender) found: Inspection,
}

/// Looks at the last file, which is locked. Opening does this, and a repair before it says that the log can be opened.
/// `None` if it is the only one, and nothing was ever written to it.
pub(in crate::appender) fn find_end(files: &Files, file: &dyn StoredFile, on_damage: OnDamage) -> Result<Option<End>> {
    let numbers = files.series.numbers(&*files.storage)?;
    if let Some(error) = ending::misfit(&*files.storage, &files.series, &numbers)? {
        return Err(error);
    }
    let len = file.len().map_err(|cause| files.error(Operation::Open, cause))?;
    let header = match Scanner::start(file, len).map_err(|cause| files.error(Operation::Read, cause))? {
        Start::Header(_, Some(damage)) if on_damage != OnDamage::GoOn => {
            return Err(files.error(Operation::Open, damage.into()));
        }
        Start::Header(header, _) => header,
        Start::Unfinished => return Ok(None),
        Start::Foreign => return Err(files.error(Operation::Open, not_framed())),
    };
    let found = inspect(files, file, header, len, on_damage)?;
    if !found.is_clean {
        files.series.next(files.number)?;
    }
    Ok(Some(End { header, len, found }))
}

/// What is in the last file.
pub(in crate::appender) struct Inspection {
    pub(in crate::appender) records: u64,
    pub(in crate::appender) torn_bytes: u64,
    /// It was closed in order, or never written to: the disk has what is shown.
    pub(in crate::appender) is_clean: bool,
    /// Up to here the disk is known to have it.
    pub(in crate::appender) durable: u64,
    pub(in crate::appender) records_end: u64,
}

fn inspect(files: &Files, file: &dyn StoredFile, header: Header, len: u64, on_damage: OnDamage) -> Result<Inspection> {
    let read = |cause| files.error(Operation::Read, cause);
    let mut scanner = Scanner::new(header, len);
    let (mut records, mut torn_bytes, mut damaged_until) = (0, 0, 0);
    loop {
        match scanner.next(file).map_err(read)? {
            Found::Record(_) => records += 1,
            Found::End => break,
            Found::Broken => match scanner.explain(file).map_err(read)? {
                Break::Torn { until } => {
                    torn_bytes = until - scanner.position();
                    break;
                }
                Break::Damaged { until } if on_damage == OnDamage::GoOn => {
                    damaged_until = until;
                    scanner.go_to(until);
                }
                Break::Damaged { until } => {
                    let damage = Damage { offset: scanner.position(), bytes: until - scanner.position() };
                    return Err(files.error(Operation::Open, damage.into()));
                }
            },
        }
    }
    Ok(Inspection {
        records,
        torn_bytes,
        is_clean: scanner.is_clean_end(),
        durable: scanner.durable().max(damaged_until),
        records_end: scanner.records_end(),
    })
}
