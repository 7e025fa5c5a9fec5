//! One entry of a zip goes into the tree.

use std::io::{self, Write};
use std::path::Path;

use manyfiles::tree::{Refusal, TreeFile, TreeWriter};
use manyfiles::{Error, Operation};

use super::content::{Decoder, SMALL};
use super::directory::Record;
use super::entry::unreadable;
use crate::entry::{Entry, Kind};
use crate::error::Result;
use crate::gate::Gate;
use crate::sys;
use crate::tar::{Cancel, in_the_report};

/// The longest target of a symbolic link.
const LONGEST_TARGET: u64 = 64 << 10;

/// Calls `then` with the entry as it is to be written, its link's target read, unless it is not wanted.
pub(crate) fn with_entry<'a, T>(
    gate: &Gate,
    record: &Record<'_>,
    decoder: &mut Decoder<'a>,
    then: impl FnOnce(&mut Decoder<'a>, &mut Entry<'_>) -> T,
) -> Option<T> {
    let name = record.name();
    let wanted = gate.admit(record.entry(&name, Path::new("")))?;
    let mut target = Vec::new();
    let mut failure = None;
    if matches!(wanted.kind, Kind::Symlink(_)) && wanted.refusal.is_none() {
        if record.size > LONGEST_TARGET || record.packed > LONGEST_TARGET {
            failure =
                Some(unreadable(&wanted, io::ErrorKind::InvalidData, "the target of a symbolic link is too long"));
        } else {
            match decoder.whole(record) {
                Ok(content) => {
                    target = content;
                    if !sys::make_representable(&mut target) {
                        failure = Some(Error::refused(wanted.operation(), wanted.path, Refusal::NotUnicode));
                    }
                }
                Err(error) => failure = Some(Error::new(Operation::Read, wanted.path, error)),
            }
        }
    }
    let mut entry = wanted;
    if let Kind::Symlink(to) = &mut entry.kind {
        *to = sys::path(&target);
    }
    entry.refusal = entry.refusal.or(failure);
    Some(then(decoder, &mut entry))
}

/// Hands an entry over. What cannot be read or is not taken is in the tree's report; only a cancellation is an error.
pub(crate) fn deliver(
    gate: &Gate,
    record: &Record<'_>,
    decoder: &mut Decoder<'_>,
    tree: &TreeWriter,
    cancel: &Cancel,
) -> Result<()> {
    cancel.check()?;
    with_entry(gate, record, decoder, |decoder, entry| {
        if let Some(refusal) = entry.refusal.take() {
            tree.fail(refusal);
            return Ok(());
        }
        let (path, metadata) = (entry.path, entry.metadata());
        match entry.kind {
            Kind::File if record.size > SMALL || record.packed > SMALL => {
                return large(record, decoder, entry, tree, cancel);
            }
            Kind::File => match decoder.whole(record) {
                Ok(content) => tree.file_with(path, content, metadata),
                Err(error) => {
                    tree.fail(Error::new(Operation::Read, path, error));
                    Ok(())
                }
            },
            Kind::Folder => tree.folder(path, metadata),
            Kind::Symlink(target) => tree.symlink(path, target, metadata),
            Kind::Node(node) => tree.node(path, node, metadata),
            Kind::HardLink(_) | Kind::Other => Ok(()),
        }
        .unwrap_or_else(in_the_report);
        Ok(())
    })
    .unwrap_or(Ok(()))
}

fn large(
    record: &Record<'_>,
    decoder: &Decoder<'_>,
    entry: &Entry<'_>,
    tree: &TreeWriter,
    cancel: &Cancel,
) -> Result<()> {
    let mut file: TreeFile<'_> = match tree.create(entry.path, entry.metadata()) {
        Ok(file) => file,
        Err(error) => {
            in_the_report(error);
            return Ok(());
        }
    };
    let copied: io::Result<()> = decoder.pieces(record, |bytes| {
        cancel.check().map_err(|kind| crate::tar::entry_error(&kind))?;
        file.write_all(bytes)
    });
    match copied {
        Ok(()) => file.close().unwrap_or_else(in_the_report),
        Err(error) => file.abandon(error),
    }
    cancel.check()
}
