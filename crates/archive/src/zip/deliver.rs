//! One entry of a zip goes into the tree: decoded by any thread, handed over when its turn comes.

use std::io::{self, Write};
use std::path::Path;

use manyfiles::tree::{Refusal, TreeFile, TreeWriter};
use manyfiles::{Error, Operation};

use super::content::{Decoder, SMALL};
use super::directory::Record;
use crate::cancel::Cancel;
use crate::entry::{Entry, Kind};
use crate::entry_filter::EntryFilter;
use crate::error::{ErrorKind, Result};
use crate::sys;
use crate::target::{in_the_report, keep_part};

/// The longest target of a symbolic link.
const LONGEST_TARGET: u64 = 64 << 10;

/// The decoded content of an entry.
pub(super) enum Decoded {
    /// There is nothing to decode, or the entry is not wanted.
    Nothing,
    /// The content of a file, or what a symbolic link says.
    Bytes(Vec<u8>),
    Failed(io::Error),
}

impl Decoded {
    /// How much memory it keeps.
    pub(super) fn len(&self) -> usize {
        match self {
            Decoded::Bytes(bytes) => bytes.len(),
            Decoded::Nothing | Decoded::Failed(_) => 0,
        }
    }
}

/// Whether an entry's content, if it has any, is too long to be decoded before its turn.
pub(super) fn is_long(record: &Record<'_>) -> bool {
    record.size > SMALL || record.packed > SMALL
}

/// Whether an entry is a file that is wanted, and [long](is_long).
pub(super) fn is_long_file(filter: &EntryFilter, record: &Record<'_>) -> bool {
    is_long(record) && wanted_kind(filter, record) == Some(Kind::File)
}

/// Whether an entry is a file that is wanted.
pub(super) fn is_file(filter: &EntryFilter, record: &Record<'_>) -> bool {
    wanted_kind(filter, record) == Some(Kind::File)
}

/// Whether an error of decoding is that of the archive's bytes.
fn is_damage(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData
}

/// Calls `then` with the path of an entry after stripping, if stripping leaves one.
pub(super) fn with_path<T>(filter: &EntryFilter, record: &Record<'_>, then: impl FnOnce(&[u8]) -> T) -> Option<T> {
    let name = record.name();
    let entry = filter.reduce(record.entry(&name, Path::new("")))?;
    Some(then(entry.path.as_os_str().as_encoded_bytes()))
}

/// The kind of entry to decode: a file or a symbolic link. `None`: nothing of the entry is decoded.
fn wanted_kind(filter: &EntryFilter, record: &Record<'_>) -> Option<Kind<'static>> {
    let name = record.name();
    let entry = filter.reduce(record.entry(&name, Path::new("")))?;
    match entry.kind {
        Kind::File if entry.refusal.is_none() => Some(Kind::File),
        Kind::Symlink(_) if entry.refusal.is_none() => Some(Kind::Symlink(Path::new(""))),
        _ => None,
    }
}

/// Decodes an entry that is not [long](is_long_file). With `links_only`, the content of files is not wanted.
pub(super) fn decode(
    filter: &EntryFilter,
    record: &Record<'_>,
    decoder: &mut Decoder<'_>,
    links_only: bool,
) -> Decoded {
    match wanted_kind(filter, record) {
        Some(Kind::Symlink(_)) if record.size > LONGEST_TARGET || record.packed > LONGEST_TARGET => {
            let cause = "the target of a symbolic link is too long";
            Decoded::Failed(io::Error::new(io::ErrorKind::InvalidData, cause))
        }
        Some(Kind::File) if links_only => Decoded::Nothing,
        Some(_) => decoder.whole(record).map_or_else(Decoded::Failed, Decoded::Bytes),
        None => Decoded::Nothing,
    }
}

/// Calls `then` with the entry as it is to be written, and a file's content.
pub(super) fn with_entry<T>(
    filter: &EntryFilter,
    record: &Record<'_>,
    decoded: Decoded,
    then: impl FnOnce(&mut Entry<'_>, Vec<u8>) -> T,
) -> Option<T> {
    let name = record.name();
    let wanted = filter.reduce(record.entry(&name, Path::new("")))?;
    let (mut content, mut failure) = (Vec::new(), None);
    match decoded {
        Decoded::Nothing => {}
        Decoded::Bytes(bytes) => content = bytes,
        Decoded::Failed(cause) => failure = Some(Error::new(Operation::Read, wanted.path, cause)),
    }
    let mut target;
    let mut entry = wanted;
    if let Kind::Symlink(to) = &mut entry.kind {
        target = std::mem::take(&mut content);
        if !sys::make_representable(&mut target) {
            failure = failure.or(Some(Error::refused(Operation::Symlink, entry.path, Refusal::NotUnicode)));
        }
        *to = sys::path(&target);
    }
    entry.refusal = entry.refusal.or(failure);
    entry.check_target();
    Some(then(&mut entry, content))
}

/// Hands an entry over. Entries that cannot be read or are not taken are in the tree's report.
pub(super) fn hand_over(filter: &EntryFilter, record: &Record<'_>, decoded: Decoded, tree: &TreeWriter) {
    with_entry(filter, record, decoded, |entry, content| {
        if let Some(refusal) = entry.refusal.take() {
            tree.fail(refusal);
            return;
        }
        let (path, metadata) = (entry.path, entry.metadata());
        match entry.kind {
            Kind::File => tree.file_with(path, content, metadata),
            Kind::Folder => tree.folder(path, metadata),
            Kind::Symlink(target) => tree.symlink(path, target, metadata),
            Kind::Node(node) => tree.node(path, node, metadata),
            Kind::HardLink(_) | Kind::Other => Ok(()),
        }
        .unwrap_or_else(in_the_report);
    });
}

/// Writes a file of [long](is_long) content while the content is decoded. The end of the writing decides the file's
/// place among other entries of its path. `keeps_part`: what there is of content that is damaged stays.
pub(super) fn stream(
    filter: &EntryFilter,
    record: &Record<'_>,
    decoder: &mut Decoder<'_>,
    tree: &TreeWriter,
    keeps_part: bool,
    cancel: &Cancel,
) -> Result<(), ErrorKind> {
    with_entry(filter, record, Decoded::Nothing, |entry, _| {
        let mut file: TreeFile = match tree.create(entry.path, entry.metadata()) {
            Ok(file) => file,
            Err(error) => return in_the_report(error),
        };
        let copied: io::Result<()> = decoder.pieces(record, |bytes| {
            cancel.check().map_err(|kind| kind.of_entry())?;
            file.write_all(bytes)
        });
        match copied {
            Ok(()) => file.close().map_or_else(in_the_report, |_| ()),
            Err(error) if keeps_part && is_damage(&error) => keep_part(file, error, entry, tree),
            Err(error) => file.abandon(error),
        }
    });
    cancel.check()
}
