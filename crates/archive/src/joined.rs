//! [`Joined`]: the files of an archive that comes in parts, read by position as if they were one.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use crate::error::{ErrorKind, Result};
use crate::stamp::Stamp;
use crate::{read_at, sys};

/// One file, or several that follow each other.
#[derive(Debug)]
pub(crate) struct Joined {
    /// The first begins at 0; none is empty.
    parts: Vec<Part>,
    len: u64,
    /// Whether the archive knows of its parts, and counts positions from the beginning of each.
    is_spanned: bool,
    /// What is strange about the parts, to be told with damage.
    pub remark: Option<String>,
}

#[derive(Debug)]
struct Part {
    file: File,
    stamp: Stamp,
    start: u64,
}

impl Joined {
    pub(crate) fn one(file: File, stamp: Stamp) -> Joined {
        Joined { parts: vec![Part { file, stamp, start: 0 }], len: stamp.len, is_spanned: false, remark: None }
    }

    /// The files in their order. An empty one cannot be told from one that is missing, so the caller has none.
    pub(crate) fn of(files: Vec<(File, Stamp)>, is_spanned: bool) -> Joined {
        let mut joined = Joined { parts: Vec::new(), len: 0, is_spanned, remark: None };
        for (file, stamp) in files {
            joined.parts.push(Part { file, stamp, start: joined.len });
            joined.len = joined.len.saturating_add(stamp.len);
        }
        joined
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Where each part begins, if the archive counts from there.
    pub(crate) fn disks(&self) -> Option<Vec<u64>> {
        self.is_spanned.then(|| self.parts.iter().map(|part| part.start).collect())
    }

    pub(crate) fn is_one(&self) -> bool {
        self.parts.len() == 1
    }

    /// The only file, or the last.
    pub(crate) fn into_last(mut self) -> (File, Stamp) {
        let last = self.parts.pop().expect("there is one");
        (last.file, last.stamp)
    }

    pub(crate) fn last(&self) -> &File {
        &self.parts.last().expect("there is one").file
    }

    /// Reads at most to the end of the part.
    pub(crate) fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let number = self.parts.partition_point(|part| part.start <= position) - 1;
        let part = &self.parts[number];
        let there = part.stamp.len.saturating_sub(position - part.start);
        let len = there.min(buffer.len() as u64) as usize;
        sys::read_at(&part.file, &mut buffer[..len], position - part.start)
    }

    pub(crate) fn read_exact_at(&self, mut buffer: &mut [u8], mut position: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read_at(buffer, position) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(len) => {
                    buffer = &mut buffer[len..];
                    position += len as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Fills all of the buffer with bytes that are known to be there. If there are fewer, a file was cut short.
    pub(crate) fn fill(&self, buffer: &mut [u8], position: u64) -> Result<(), ErrorKind> {
        self.read_exact_at(buffer, position).map_err(read_at::error)
    }

    /// An error if another process has changed one of the files.
    pub(crate) fn check(&self) -> Result<(), ErrorKind> {
        self.parts.iter().try_for_each(|part| part.stamp.check(&part.file))
    }
}

/// Some of it, from front to back.
pub(crate) struct Range<'a> {
    joined: &'a Joined,
    at: u64,
    end: u64,
}

impl Joined {
    pub(crate) fn range(&self, at: u64, len: u64) -> Range<'_> {
        Range { joined: self, at, end: at.saturating_add(len) }
    }
}

impl Read for Range<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = self.end.saturating_sub(self.at).min(into.len() as u64) as usize;
        let len = self.joined.read_at(&mut into[..most], self.at)?;
        self.at += len as u64;
        Ok(len)
    }
}

/// All of it, from front to back.
pub(crate) struct Reader {
    joined: Arc<Joined>,
    at: u64,
}

impl Reader {
    pub(crate) fn new(joined: Joined) -> Reader {
        Reader { joined: Arc::new(joined), at: 0 }
    }
}

impl Read for Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = self.joined.read_at(into, self.at)?;
        self.at += len as u64;
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_lies_in_several_files_is_read_as_from_one() {
        let whole: Vec<u8> = (0..100).collect();
        let files = [0..10, 10..11, 11..60, 60..100].map(|range| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&whole[range]).unwrap();
            let stamp = Stamp::of(&file).unwrap();
            (file, stamp)
        });
        let joined = Joined::of(files.into(), true);
        assert_eq!((joined.len(), joined.disks()), (100, Some(vec![0, 10, 11, 60])));
        for start in 0..100 {
            for end in start..=100 {
                let mut bytes = vec![0; end - start];
                joined.read_exact_at(&mut bytes, start as u64).unwrap();
                assert_eq!(bytes, &whole[start..end], "{start}..{end}");
            }
        }
        assert_eq!(joined.read_exact_at(&mut [0; 2], 99).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(joined.read_at(&mut [0; 2], 500).unwrap(), 0);
        let mut all = Vec::new();
        Reader::new(joined).read_to_end(&mut all).unwrap();
        assert_eq!(all, whole);
    }
}
