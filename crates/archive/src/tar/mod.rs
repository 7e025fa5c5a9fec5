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
mod keeper;
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
use crate::entry::{Attribute, Kind};
use crate::entry_filter::EntryFilter;
use crate::error::{ErrorKind, Result};
use crate::limits::Meter;
use crate::reader::Place;
use crate::summary::Trailing;
use crate::target::Target;
use keeper::Keeper;
use missing::{Missing, Why};

pub(crate) use body::Body;
pub(crate) use file::FileSource;
pub(crate) use member::{Class, Member};
#[cfg(test)]
pub(crate) use pax::Pax;
pub(crate) use scan::{LONGEST_EXTENSION, Scanner};
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
    let mut seen = Seen { missing: Missing::default(), keeper: Keeper::new(filter) };
    let mut read = || {
        loop {
            cancel.check()?;
            let step = match walk.next(&mut member) {
                Ok(true) => one(&mut walk, &member, filter, &mut seen, meter, target, cancel).map(|()| true),
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

/// What is known of the entries so far.
struct Seen<'a> {
    missing: Missing,
    keeper: Keeper<'a>,
}

fn one<W: Walk>(
    scanner: &mut W,
    member: &Member,
    filter: &EntryFilter,
    Seen { missing, keeper }: &mut Seen<'_>,
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
    meter.rooted += u64::from(filter.strips_root_of(path));
    entry.owner = keeper.owner(member);
    let mode = entry.mode;
    let metadata = keeper.metadata(member, &mut entry, meter);
    entry.check_target();
    if entry.refusal.is_none() {
        missing.check_link(link, filter.strip, &mut entry);
    }
    match entry.refusal {
        Some(_) => missing.add(path, Why::Refused),
        None => missing.remove(path),
    }
    if entry.kind == Kind::File && entry.refusal.is_none() {
        meter.content(member.size)?;
    }
    match target {
        Target::Tree(tree) => deliver::deliver(scanner, member, &entry, metadata, tree, false, cancel),
        Target::Salvage(tree, _) => deliver::deliver(scanner, member, &entry, metadata, tree, true, cancel),
        Target::List(visit) => {
            entry.mode = mode; // Beside its list, which is shown.
            entry.check_paths();
            visit(&entry);
            Ok(())
        }
        Target::Index(builder) => {
            let position = scanner.source().position();
            check::sum(scanner, member, cancel)?;
            let mut attributes = keeper.lists(member, &mut entry).0;
            if !attributes.is_empty() {
                attributes.splice(..0, member.attributes.iter().cloned());
                Attribute::tidy(&mut attributes);
                entry.attributes = &attributes;
            }
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
