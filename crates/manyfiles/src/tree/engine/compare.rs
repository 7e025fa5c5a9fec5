//! Whether a file has the bytes already: both are read, but for what is a hole in both.

use std::io;

use super::folders::OpenFolder;
use super::lane::Lane;
use super::piece::BUFFER;
use super::placement::{Opened, Placement};
use crate::error::Cancelled;
use crate::sys::{self, EntryKind, Handle, Stat};
use crate::tree::content::{Bytes, Content, Kind};

/// What a file is compared with.
enum Other<'a> {
    Bytes(&'a Bytes),
    /// The next piece that begins at or behind the place that was read up to, and those that follow.
    Sparse(u64, &'a [(u64, Bytes)]),
    File(&'a Handle, &'a Stat),
}

impl Lane {
    /// Whether `file` has just these bytes. What cannot be read has not: it is written, and shows then what is wrong.
    /// An error is that the tree was cancelled meanwhile. The source is left at its beginning: whatever is found, it
    /// may have to be copied.
    pub(super) fn has_content(
        &mut self,
        (file, stat): (&Handle, &Stat),
        content: &Content,
        source: Option<&(Handle, Stat)>,
    ) -> io::Result<bool> {
        let other = match (&content.0, source) {
            (Kind::Bytes(bytes), _) => Other::Bytes(bytes),
            (Kind::Sparse { len, pieces }, _) => Other::Sparse(*len, pieces),
            (Kind::CopyOf(_), Some((source, stat))) => Other::File(source, stat),
            (Kind::CopyOf(_), None) => return Ok(false),
        };
        let same = self.is_same((file, stat), other);
        if let Some((source, _)) = source {
            sys::seek(source, 0)?;
        }
        match same {
            Err(_) if self.shared.is_cancelled() => Err(io::Error::other(Cancelled)),
            same => Ok(same.unwrap_or(false)),
        }
    }

    /// Whether a stream that is complete, under a temporary name, has the bytes and was given the metadata of what it
    /// was to replace.
    pub(super) fn was_there(&mut self, at: &OpenFolder, opened: &Opened) -> bool {
        let Placement::Beside { temporary, old: Some(old) } = &opened.target.placement else { return false };
        // What is no stream was compared before it was written.
        if self.in_place {
            return false;
        }
        let mut compare = || {
            let there = at.dir.open_to_read(&opened.name)?;
            let now = sys::stat(&there)?;
            let new = sys::stat(&opened.target.file)?;
            if now.kind != EntryKind::File || now.identity != old.identity || now.len != new.len {
                return Ok(false);
            }
            let written = at.dir.open_to_read(temporary)?;
            Ok::<_, io::Error>(
                self.is_same((&there, &now), Other::File(&written, &new))?
                    && self.settle(at, &there, &now, &opened.metadata)?,
            )
        };
        compare().unwrap_or(false) // what cannot be compared is replaced
    }

    fn is_same(&mut self, (file, stat): (&Handle, &Stat), mut other: Other<'_>) -> io::Result<bool> {
        if self.buffer.is_empty() {
            self.buffer = vec![0; BUFFER];
        }
        let (ours, theirs) = self.buffer.split_at_mut(BUFFER / 2);
        let mut at = 0;
        loop {
            if self.shared.is_cancelled() {
                return Err(io::Error::other(Cancelled));
            }
            if stat.sparse
                && let Some(data) = other.next_data(at)?
                && data > at
            {
                at = data.min(next_data(file, at, stat.len)?);
                sys::seek(file, at)?;
                other.seek(at)?;
            }
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

/// Where data begins, from `at` on, or where the file ends.
fn next_data(file: &Handle, at: u64, len: u64) -> io::Result<u64> {
    Ok(sys::next_data(file, at, len)?.map_or(len.max(at), |(start, _)| start))
}

impl Other<'_> {
    /// Where something begins, from `at` on, that is no hole. `None` if it has none.
    fn next_data(&self, at: u64) -> io::Result<Option<u64>> {
        match self {
            Other::File(file, stat) if stat.sparse => next_data(file, at, stat.len).map(Some),
            Other::Sparse(len, pieces) => Ok(Some(pieces.first().map_or(*len, |(offset, _)| *offset))),
            Other::File(..) | Other::Bytes(_) => Ok(None),
        }
    }

    fn seek(&self, to: u64) -> io::Result<()> {
        if let Other::File(file, _) = self { sys::seek(file, to) } else { Ok(()) }
    }

    /// Fills `to` with what is at `at`. False if there is not as much, or it cannot be read.
    fn read(&mut self, at: u64, to: &mut [u8]) -> io::Result<bool> {
        match self {
            Other::File(file, _) => Ok(read_full(file, to)? == to.len()),
            Other::Bytes(bytes) => Ok(usize::try_from(at).is_ok_and(|at| bytes.copy_to(at, to).is_ok())),
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
                        if bytes.copy_to((from - offset) as usize, to).is_err() {
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
            Other::File(file, _) => Ok(sys::read(file, &mut [0])? == 0),
        }
    }
}

/// Fills the buffer, unless the file ends before.
pub(in crate::tree) fn read_full(file: &Handle, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match sys::read(file, &mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Options;
    use crate::tree::engine::shared::Shared;

    #[test]
    fn a_cancellation_ends_a_comparison_and_leaves_the_source_at_its_beginning() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("f");
        std::fs::write(&path, "the same").unwrap();
        let open = || {
            let file = sys::open_source(&path).unwrap();
            let stat = sys::stat(&file).unwrap();
            (file, stat)
        };
        let (there, source) = (open(), open());
        let content = Content::copy_of(&path);
        let shared = Shared::open(&temp.path().join("root"), None, Options::default()).unwrap();
        let mut lane = Lane::new(shared.clone());
        assert!(lane.has_content((&there.0, &there.1), &content, Some(&source)).unwrap());
        let mut read = [0; 16];
        assert_eq!(sys::read(&source.0, &mut read).unwrap(), 8, "it can be copied still");
        shared.control().cancel();
        let error = lane.has_content((&there.0, &there.1), &content, Some(&source)).unwrap_err();
        assert!(error.get_ref().unwrap().is::<Cancelled>());
    }
}
