//! Tar: v7, ustar, GNU and pax, from a file or a stream.
//!
//! One thread goes from header to header ([`scan`]) and hands content over: windows of the mapped file, or bytes that
//! another thread has decompressed. Why not the `tar` crate's iteration: it knows neither pax sparse files nor global
//! pax headers nor times before 1970, and it does not tell at which byte of the file an entry's content is, once its
//! reader is buffered.

mod body;
mod check;
mod deliver;
mod end;
mod file;
mod member;
mod missing;
mod pax;
mod scan;
mod source;
mod sparse;
mod stream;
mod walk;

use std::path::Path;

use crate::cancel::Cancel;
use crate::entry::Kind;
use crate::entry_filter::EntryFilter;
use crate::error::{ErrorKind, Result};
use crate::limits::Meter;
use crate::reader::Place;
use crate::summary::Trailing;
use crate::target::Target;
use missing::{Missing, Why};

pub(crate) use body::Body;
pub(crate) use file::FileSource;
pub(crate) use member::{Class, Member};
#[cfg(test)]
pub(crate) use pax::Pax;
pub(crate) use scan::Scanner;
pub(crate) use source::Source;
pub(crate) use stream::StreamSource;
pub(crate) use walk::Walk;

/// Reads an archive to its end, or with `ignore_zeros` all archives of its kind that follow each other. `meter` also
/// counts the entries before an error.
pub(crate) fn read<W: Walk>(
    mut walk: W,
    filter: &EntryFilter,
    ignore_zeros: bool,
    meter: &mut Meter,
    target: &mut Target<'_>,
    cancel: &Cancel,
) -> (W::Source, Result<Option<Trailing>, ErrorKind>) {
    let mut member = Member::default();
    let mut missing = Missing::default();
    let mut read = || {
        loop {
            cancel.check()?;
            let step = match walk.next(&mut member) {
                Ok(true) => one(&mut walk, &member, filter, &mut missing, meter, target, cancel).map(|()| true),
                // Whether another archive follows.
                Ok(false) => walk.go_on(ignore_zeros, cancel),
                Err(kind) => Err(kind),
            };
            if let Target::Test(test) = &mut *target {
                walk.note(test, ignore_zeros);
            }
            match (step, target.tolerant()) {
                (Ok(true), _) => {}
                (Ok(false), _) => break,
                (Err(kind), Some(test)) => {
                    test.damage(kind)?;
                    // Compressed data may be damaged there, too. Then the archive has ended.
                    while let Err(kind) = walk.find_next(cancel) {
                        test.damage(kind)?;
                    }
                }
                (Err(kind), None) => return Err(kind),
            }
        }
        match (walk.source_mut().finish(), target.tolerant()) {
            (Ok(()), _) => {}
            (Err(kind), Some(test)) => test.damage(kind)?,
            (Err(kind), None) => return Err(kind),
        }
        if let Target::Test(test) = target {
            walk.check_end(test);
        }
        Ok(walk.trailing())
    };
    let read = read();
    (walk.into_source(), read)
}

fn one<W: Walk>(
    scanner: &mut W,
    member: &Member,
    filter: &EntryFilter,
    missing: &mut Missing,
    meter: &mut Meter,
    target: &mut Target<'_>,
    cancel: &Cancel,
) -> Result<(), ErrorKind> {
    meter.entry()?;
    let whole = member.entry();
    let path = whole.path;
    if let Target::Test(test) = target {
        meter.content(member.size)?;
        return check::content(scanner, member, test, cancel);
    }
    if !filter.selects(path) {
        missing.add(path, Why::NotSelected);
        meter.left_out += 1;
        return Ok(());
    }
    let link = match whole.kind {
        Kind::HardLink(existing) => existing,
        _ => Path::new(""),
    };
    let Some(mut entry) = filter.reduce(whole) else {
        meter.stripped();
        return Ok(());
    };
    entry.check_target();
    if entry.refusal.is_none() {
        missing.check_link(link, filter.strip, &mut entry);
    }
    match entry.refusal {
        Some(_) => missing.add(path, Why::Refused),
        None => missing.remove(path),
    }
    let mut metadata = entry.metadata();
    let keeps = filter.xattrs.is_some() && meter.may_keep_xattrs(&entry);
    let mut lost = member.has_attributes && (!keeps || member.has_other_attributes || entry.attributes.is_empty());
    for attribute in entry.attributes.iter().filter(|_| keeps) {
        if filter.keeps(attribute) {
            metadata = metadata.xattr(&attribute.name, &attribute.value);
        } else {
            lost = true;
        }
    }
    meter.with_attributes += u64::from(lost);
    if entry.kind == Kind::File && entry.refusal.is_none() {
        meter.content(member.size)?;
    }
    match target {
        Target::Tree(tree) => deliver::deliver(scanner, member, &entry, metadata, tree, false, cancel),
        Target::Salvage(tree, _) => deliver::deliver(scanner, member, &entry, metadata, tree, true, cancel),
        Target::List(visit) => {
            entry.check_paths();
            visit(&entry);
            Ok(())
        }
        Target::Index(builder) => {
            let position = scanner.source().position();
            check::sum(scanner, member, cancel)?;
            match &member.pieces {
                None => builder.add(&entry, Place::Tar(position)),
                Some(pieces) => {
                    let mut pieces = pieces.iter().map(|piece| (piece.offset, piece.len));
                    builder.add(&entry, Place::Sparse(position, &mut pieces))
                }
            }
        }
        Target::Test(_) => Ok(()),
    }
}
