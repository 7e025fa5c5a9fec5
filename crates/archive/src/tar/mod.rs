//! Tar: v7, ustar, GNU and pax, from a file or a stream.
//!
//! One thread goes from header to header ([`scan`]) and hands content over: windows of the mapped file, or bytes that another
//! thread has decompressed. Why not the `tar` crate's iteration: it knows neither pax sparse files nor global pax headers nor
//! times before 1970, and it does not tell at which byte of the file an entry's content is, once its reader is buffered.

mod deliver;
mod file;
pub(crate) mod header;
mod pax;
mod scan;
mod source;
mod sparse;
mod stream;

use manyfiles::tree::TreeWriter;

use crate::entry::{Entry, Kind};
use crate::error::Result;
use crate::gate::Gate;
use crate::limits::Meter;

pub(crate) use deliver::in_the_report;
pub(crate) use file::{FileSource, read_at};
pub(crate) use source::{Cancel, Source, entry_error};
pub(crate) use stream::StreamSource;

/// Where entries go.
pub(crate) enum Target<'a> {
    Tree(&'a TreeWriter),
    List(&'a mut dyn FnMut(&Entry<'_>)),
}

/// Reads a tar to its end. `meter` counts also what was read before an error.
pub(crate) fn read<S: Source>(
    source: S,
    gate: &Gate,
    meter: &mut Meter,
    left_out: &mut u64,
    target: &mut Target<'_>,
    cancel: &Cancel,
) -> (S, Result<()>) {
    let mut scanner = scan::Scanner::new(source);
    let mut member = scan::Member::default();
    let mut read = || {
        while scanner.next(&mut member)? {
            cancel.check()?;
            meter.entry()?;
            let Some(mut entry) = gate.admit(member.entry()) else {
                *left_out += 1;
                continue;
            };
            if entry.kind == Kind::File && entry.refusal.is_none() {
                meter.content(member.size)?;
            }
            match target {
                Target::Tree(tree) => deliver::deliver(&mut scanner, &member, &entry, tree, cancel)?,
                Target::List(visit) => {
                    entry.check_paths();
                    visit(&entry);
                }
            }
        }
        scanner.source_mut().finish()
    };
    let read = read();
    (scanner.into_source(), read)
}
