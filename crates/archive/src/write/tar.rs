//! Lays a batch out as a piece of a tar.

use std::io;

use manyfiles::{Error, Operation};

use super::entry::{Head, Item};
use super::report::{Counts, count};
use super::tar_head::{Kind, head};
use crate::sys;
use crate::tar_header::BLOCK;

/// What ends a tar.
pub(super) const END: [u8; 2 * BLOCK] = [0; 2 * BLOCK];

/// How many bytes a part has at least, so that reading one small entry does not decode megabytes
/// (docs/measurements.md, "Frames of a .tar.zst").
const PART: usize = 256 << 10;

/// Appends the bytes of a batch to `tar`. The places between two entries where a part of it may end, which is to be
/// compressed by itself, are added to `ends`; the last is the end of all.
pub(super) fn lay(
    items: &[Item],
    tar: &mut Vec<u8>,
    ends: &mut Vec<usize>,
    counts: &Counts,
    failures: &mut Vec<Error>,
    is_wanted: &dyn Fn() -> bool,
) {
    for item in items {
        let mut failure = None;
        let laid = one(tar, item, counts, &mut failure, is_wanted);
        failures.extend(failure);
        failures.extend(laid.err());
        if tar.len() - ends.last().unwrap_or(&0) >= PART {
            ends.push(tar.len());
        }
    }
    if ends.last().unwrap_or(&0) != &tar.len() {
        ends.push(tar.len());
    }
}

fn one(
    tar: &mut Vec<u8>,
    item: &Item,
    counts: &Counts,
    failure: &mut Option<Error>,
    is_wanted: &dyn Fn() -> bool,
) -> Result<(), Error> {
    match item {
        Item::Folder(entry) => {
            tar.extend(header(entry, Kind::Folder)?);
            count(&counts.folders);
        }
        Item::Symlink(entry, target) => {
            tar.extend(header(entry, Kind::SymbolicLink { target })?);
            count(&counts.symlinks);
        }
        Item::HardLink(entry, target) => {
            tar.extend(header(entry, Kind::HardLink { target })?);
            count(&counts.hard_links);
        }
        Item::Node(entry, node) => {
            tar.extend(header(entry, Kind::Node(*node))?);
            count(&counts.nodes);
        }
        Item::Bytes(entry, bytes) => {
            tar.extend(header(entry, Kind::File { size: bytes.len() as u64 })?);
            tar.extend_from_slice(bytes);
            tar.resize(tar.len() + padding(bytes.len() as u64), 0);
            file(counts, bytes.len() as u64);
        }
        Item::Small(entry, source, len) => {
            let handle = source.open_found(is_wanted)?;
            let found = source.attributes(&handle, counts)?;
            let with_found = found.as_ref().map(|found| entry.with_found(found));
            let entry = with_found.as_ref().unwrap_or(entry);
            let start = tar.len();
            tar.extend(header(entry, Kind::File { size: *len })?);
            let content = tar.len();
            if let Err(error) = source.read(&handle, tar, failure) {
                tar.truncate(start);
                return Err(error);
            }
            let got = (tar.len() - content) as u64;
            if got != *len {
                // A header of another small size has the same length.
                tar[start..content].copy_from_slice(&header(entry, Kind::File { size: got })?);
            }
            tar.resize(tar.len() + padding(got), 0);
            file(counts, got);
        }
        Item::Begin(entry, opened) => {
            let kind = match &opened.data {
                None => Kind::File { size: opened.len() },
                Some(pieces) => Kind::Sparse { size: opened.len(), pieces },
            };
            tar.extend(header(entry, kind)?);
            count(&counts.files);
        }
        Item::Piece(opened, offset, len) => {
            opened.read(*offset, *len, tar, failure);
            counts.read(*len);
        }
        Item::End(opened) => {
            tar.resize(tar.len() + padding(opened.stored()), 0);
            opened.check(failure);
            counts.read(opened.len() - opened.stored());
        }
    }
    Ok(())
}

fn file(counts: &Counts, bytes: u64) {
    count(&counts.files);
    counts.read(bytes);
}

fn header(entry: &Head, kind: Kind) -> Result<Vec<u8>, Error> {
    head(entry, kind).ok_or_else(|| {
        let why = io::Error::new(io::ErrorKind::FileTooLarge, "no tar can hold a file of this kind, size or number");
        Error::new(Operation::Write, sys::path(&entry.path), why)
    })
}

fn padding(len: u64) -> usize {
    (len.next_multiple_of(BLOCK as u64) - len) as usize
}
