//! Whether a file has the bytes already: both are read, holes as zeros.

use std::io;

use super::copy::BUFFER;
use super::lane::{Lane, OpenFolder};
use super::placement::{Opened, Placement};
use crate::sys::{self, EntryKind, Handle, Stat};
use crate::tree::content::{Bytes, Content, Kind};

/// What a file is compared with.
enum Other<'a> {
    Bytes(&'a Bytes),
    /// The next piece that begins at or behind the place that was read up to, and those that follow.
    Sparse(u64, &'a [(u64, Bytes)]),
    File(&'a Handle),
}

impl Lane {
    /// Whether `file` has just these bytes. What cannot be read has not: it is written, and shows then what is wrong.
    pub(super) fn has_content(
        &mut self,
        file: &Handle,
        content: &Content,
        source: Option<&(Handle, Stat)>,
    ) -> io::Result<bool> {
        let other = match (&content.0, source) {
            (Kind::Bytes(bytes), _) => Other::Bytes(bytes),
            (Kind::Sparse { len, pieces }, _) => Other::Sparse(*len, pieces),
            (Kind::CopyOf(_), Some((source, _))) => Other::File(source),
            (Kind::CopyOf(_), None) => return Ok(false),
        };
        let same = self.is_same(file, other).unwrap_or(false);
        if let (false, Some((source, _))) = (same, source) {
            sys::seek(source, 0)?;
        }
        Ok(same)
    }

    /// Whether a stream that is complete, under a temporary name, has the bytes and was given the metadata of what it was to
    /// replace.
    pub(super) fn was_there(&mut self, at: &OpenFolder, opened: &Opened) -> bool {
        let Placement::Beside { temporary, old: Some(old) } = &opened.target.placement else { return false };
        // What is no stream was compared before it was written.
        if self.in_place {
            return false;
        }
        let mut compare = || {
            let there = at.dir.open_to_read(&opened.name)?;
            let now = sys::stat(&there)?;
            if now.kind != EntryKind::File
                || now.identity != old.identity
                || now.len != sys::stat(&opened.target.file)?.len
            {
                return Ok(false);
            }
            let written = at.dir.open_to_read(temporary)?;
            Ok::<_, io::Error>(
                self.is_same(&there, Other::File(&written))? && self.settle(at, &there, &now, &opened.metadata)?,
            )
        };
        compare().unwrap_or(false)
    }

    fn is_same(&mut self, file: &Handle, mut other: Other<'_>) -> io::Result<bool> {
        if self.buffer.is_empty() {
            self.buffer = vec![0; BUFFER];
        }
        let (ours, theirs) = self.buffer.split_at_mut(BUFFER / 2);
        let mut at = 0;
        loop {
            let read = read_full(file, ours)?;
            let theirs = &mut theirs[..read];
            if !other.read(at, theirs)? || ours[..read] != *theirs {
                return Ok(false);
            }
            at += read as u64;
            if read < BUFFER / 2 {
                return other.ends_at(at);
            }
        }
    }
}

impl Other<'_> {
    /// Fills `to` with what is at `at`. False if there is not as much, or it cannot be read.
    fn read(&mut self, at: u64, to: &mut [u8]) -> io::Result<bool> {
        match self {
            Other::File(file) => Ok(read_full(file, to)? == to.len()),
            Other::Bytes(bytes) => Ok(usize::try_from(at).is_ok_and(|at| bytes.copy_to(at, to))),
            Other::Sparse(len, pieces) => {
                let end = at + to.len() as u64;
                if end > *len {
                    return Ok(false);
                }
                to.fill(0);
                while let Some(((offset, bytes), rest)) = pieces.split_first() {
                    let piece_end = offset + bytes.len() as u64;
                    let (from, until) = (at.max(*offset), end.min(piece_end));
                    if from < until {
                        let to = &mut to[(from - at) as usize..(until - at) as usize];
                        if !bytes.copy_to((from - offset) as usize, to) {
                            return Ok(false);
                        }
                    }
                    if piece_end > end {
                        break;
                    }
                    *pieces = rest;
                }
                Ok(true)
            }
        }
    }

    fn ends_at(&self, at: u64) -> io::Result<bool> {
        match self {
            Other::Bytes(bytes) => Ok(bytes.len() as u64 == at),
            Other::Sparse(len, _) => Ok(*len == at),
            Other::File(file) => Ok(sys::read(file, &mut [0])? == 0),
        }
    }
}

/// Fills the buffer, unless the file ends before.
fn read_full(file: &Handle, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match sys::read(file, &mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}
