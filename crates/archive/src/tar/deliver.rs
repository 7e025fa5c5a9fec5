//! One member of a tar goes into the tree.

use std::io::{self, Write};

use manyfiles::tree::{Content, Metadata, TreeFile, TreeWriter};
use manyfiles::{Error, Operation};

use super::member::Member;
use super::source::Source;
use super::sparse::Piece;
use super::walk::{SumDiffers, Walk};
use crate::cancel::Cancel;
use crate::entry::{Entry, Kind};
use crate::error::{ErrorKind, Result};
use crate::target::{in_the_report, keep_part};

/// The most pieces of a sparse file that is handed over whole: each is a mapping or a buffer of its own.
const MOST_PIECES: usize = 64;

/// Hands `entry` over, with this metadata. Entries that the tree does not take are in the tree's report; an error is one of the archive.
/// `keeps_part`: what there is of a file whose end is missing stays.
pub(crate) fn deliver<W: Walk>(
    scanner: &mut W,
    member: &Member,
    entry: &Entry<'_>,
    metadata: Metadata,
    tree: &TreeWriter,
    keeps_part: bool,
    cancel: &Cancel,
) -> Result<(), ErrorKind> {
    if let Some(refusal) = &entry.refusal {
        tree.fail(refusal.clone());
        return Ok(());
    }
    let path = entry.path;
    match entry.kind {
        Kind::File if keeps_part => return piece_by_piece(scanner, member, entry, metadata, tree, true, cancel),
        Kind::File => return file(scanner, member, entry, metadata, tree, cancel),
        Kind::Folder => tree.folder(path, metadata),
        Kind::Symlink(target) => tree.symlink(path, target, metadata),
        Kind::HardLink(existing) => tree.hard_link(path, existing),
        Kind::Node(node) => tree.node(path, node, metadata),
        Kind::Other => Ok(()),
    }
    .unwrap_or_else(in_the_report);
    Ok(())
}

fn file<W: Walk>(
    scanner: &mut W,
    member: &Member,
    entry: &Entry<'_>,
    metadata: Metadata,
    tree: &TreeWriter,
    cancel: &Cancel,
) -> Result<(), ErrorKind> {
    let pieces = member.pieces.as_deref();
    let whole = member.sum.is_none()
        && scanner.left() <= scanner.source().longest_content() as u64
        && pieces.is_none_or(|pieces| pieces.len() <= MOST_PIECES);
    if !whole {
        return piece_by_piece(scanner, member, entry, metadata, tree, false, cancel);
    }
    let content = match pieces {
        None => scanner.content(scanner.left() as usize),
        Some(pieces) => sparse(scanner, member.size, pieces),
    };
    match content {
        Ok(content) => tree.file_with(entry.path, content, metadata).unwrap_or_else(in_the_report),
        Err(error) => {
            tree.fail(Error::new(Operation::Read, entry.path, error.of_entry()));
            return Err(error);
        }
    }
    Ok(())
}

fn sparse<W: Walk>(scanner: &mut W, size: u64, pieces: &[Piece]) -> Result<Content, ErrorKind> {
    let pieces: Result<Vec<_>, ErrorKind> =
        pieces.iter().map(|piece| Ok((piece.offset, scanner.content(piece.len as usize)?))).collect();
    Ok(Content::sparse(size, pieces?))
}

fn piece_by_piece<W: Walk>(
    scanner: &mut W,
    member: &Member,
    entry: &Entry<'_>,
    metadata: Metadata,
    tree: &TreeWriter,
    keeps_part: bool,
    cancel: &Cancel,
) -> Result<(), ErrorKind> {
    let mut file = match tree.create(entry.path, metadata) {
        Ok(file) => file,
        Err(error) => {
            in_the_report(error);
            return Ok(());
        }
    };
    let all = [Piece { offset: 0, len: member.size }];
    let pieces = member.pieces.as_deref().unwrap_or(&all);
    let mut position = 0;
    for piece in pieces {
        if let Err(error) = file.skip(piece.offset - position) {
            file.abandon(error.into());
            return Ok(());
        }
        match copy(scanner, piece.len, &mut file, cancel) {
            Ok(()) => {}
            Err(Failed::Tree(error)) => {
                file.abandon(error);
                return Ok(());
            }
            Err(Failed::Archive(error @ ErrorKind::Damaged { .. })) if keeps_part => {
                keep_part(file, error.of_entry(), entry, tree);
                return Err(error);
            }
            Err(Failed::Archive(error)) => {
                file.abandon(error.of_entry());
                return Err(error);
            }
        }
        position = piece.offset + piece.len;
    }
    if let Err(SumDiffers) = scanner.check_sum(member) {
        let cause = io::Error::new(io::ErrorKind::InvalidData, SumDiffers::CAUSE);
        if keeps_part {
            keep_part(file, cause, entry, tree);
        } else {
            file.abandon(cause);
        }
        return Ok(());
    }
    if let Err(error) = file.skip(member.size - position) {
        file.abandon(error.into());
        return Ok(());
    }
    file.close().map_or_else(in_the_report, |_| ());
    Ok(())
}

/// Which side failed.
enum Failed {
    Archive(ErrorKind),
    Tree(io::Error),
}

fn copy<W: Walk>(scanner: &mut W, mut len: u64, file: &mut TreeFile, cancel: &Cancel) -> Result<(), Failed> {
    while len > 0 {
        cancel.check().map_err(Failed::Archive)?;
        let chunk = scanner.body_mut().chunk(len).map_err(Failed::Archive)?;
        if chunk.is_empty() {
            return Err(Failed::Archive(scanner.cut_short()));
        }
        len -= chunk.len() as u64;
        file.write_all(chunk).map_err(Failed::Tree)?;
    }
    Ok(())
}
