//! Where the bytes of files come from.

use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use super::chunks::Chunks;
use super::index::{Index, Node};
use super::recent::Recent;
use crate::error::ErrorKind;
use crate::joined::Joined;
use crate::password::Password;
use crate::sys;
use crate::zip::{Directory, Opened, Stored};

/// How many entries of a zip are kept half decoded, for the read that goes on where the last one ended.
const MOST_STREAMS: usize = 16;

/// How content is read.
#[derive(Debug)]
pub(super) enum Content {
    /// The archive is a tar.
    Plain,
    /// The tar, as a file without a name.
    Unpacked(File),
    Chunks(Chunks),
    Zip(Box<Zip>),
}

#[derive(Debug)]
pub(super) struct Zip {
    file: Arc<Joined>,
    directory: Directory,
    password: Option<Password>,
    /// Small entries that were read in part.
    recent: Recent,
    streams: Mutex<Vec<Stream>>,
}

impl Zip {
    pub(super) fn new(opened: Opened) -> Zip {
        let Opened { file, directory, password } = opened;
        Zip { file: Arc::new(file), directory, password, recent: Recent::default(), streams: Mutex::default() }
    }
}

/// An entry of a zip that is being decoded.
struct Stream {
    record: u32,
    at: u64,
    decoder: Box<dyn Read + Send>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").field("record", &self.record).field("at", &self.at).finish_non_exhaustive()
    }
}

impl Content {
    /// An error if a part of the archive was changed that is not the file that it was opened by.
    pub(super) fn check(&self) -> Result<(), ErrorKind> {
        match self {
            Content::Zip(zip) if !zip.file.is_one() => zip.file.check(),
            _ => Ok(()),
        }
    }

    /// Reads from a file's `offset` on until the buffer is full or the file ends.
    pub(super) fn read_at(
        &self,
        file: &Arc<File>,
        index: &Index,
        node: &Node,
        buffer: &mut [u8],
        offset: u64,
    ) -> io::Result<usize> {
        let len = node.size.saturating_sub(offset).min(buffer.len() as u64) as usize;
        let buffer = &mut buffer[..len];
        if len == 0 {
            return Ok(0);
        }
        if let Content::Zip(zip) = self {
            return zip.read_at(node, buffer, offset);
        }
        if !node.is_sparse {
            self.tar(file, buffer, node.place + offset)?;
            return Ok(len);
        }
        buffer.fill(0);
        let pieces = index.pieces(node);
        let end = offset + len as u64;
        let first = pieces.partition_point(|piece| piece.offset + piece.len <= offset);
        for piece in pieces[first..].iter().take_while(|piece| piece.offset < end) {
            let (from, to) = (piece.offset.max(offset), (piece.offset + piece.len).min(end));
            let part = &mut buffer[(from - offset) as usize..(to - offset) as usize];
            self.tar(file, part, piece.position + (from - piece.offset))?;
        }
        Ok(len)
    }

    /// Fills the buffer from a position of the tar on.
    fn tar(&self, file: &Arc<File>, buffer: &mut [u8], position: u64) -> io::Result<()> {
        match self {
            Content::Plain => sys::read_exact_at(file, buffer, position),
            Content::Unpacked(unpacked) => sys::read_exact_at(unpacked, buffer, position),
            Content::Chunks(chunks) => match chunks.read_at(file, buffer, position)? {
                len if len == buffer.len() => Ok(()),
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            },
            Content::Zip(_) => unreachable!("a zip is no tar"),
        }
    }

    /// All of a file.
    pub(super) fn read(&self, file: &Arc<File>, index: &Index, node: &Node) -> io::Result<Vec<u8>> {
        if let Content::Zip(zip) = self {
            return zip.read(node);
        }
        let mut content = Vec::new();
        grow(&mut content, node.size, |part, at| self.read_at(file, index, node, part, at).map(drop))?;
        Ok(content)
    }
}

/// Reads the end of an entry, where its checksum is compared.
fn expect_end(stream: &mut impl Read) -> io::Result<()> {
    match stream.read(&mut [0])? {
        0 => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it is longer than it was said to be")),
    }
}

/// Fills `content` up to `size` in steps that become longer, so that a size that is only claimed costs no memory.
fn grow(content: &mut Vec<u8>, size: u64, mut read: impl FnMut(&mut [u8], u64) -> io::Result<()>) -> io::Result<()> {
    let mut step = 1 << 20;
    while (content.len() as u64) < size {
        let at = content.len();
        let len = (size - at as u64).min(step) as usize;
        content.try_reserve_exact(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
        content.resize(at + len, 0);
        read(&mut content[at..], at as u64)?;
        step *= 2;
    }
    Ok(())
}

impl Zip {
    fn entry(&self, node: &Node) -> Stored<'_> {
        let record = self.directory.record(node.place as usize);
        Stored { record, file: &self.file, password: self.password.as_ref() }
    }

    fn read(&self, node: &Node) -> io::Result<Vec<u8>> {
        let entry = self.entry(node);
        if entry.is_small() {
            return entry.whole();
        }
        let (mut content, mut stream) = (Vec::new(), entry.stream()?);
        grow(&mut content, node.size, |part, _| stream.read_exact(part))?;
        expect_end(&mut stream)?;
        Ok(content)
    }

    fn read_at(&self, node: &Node, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let entry = self.entry(node);
        if entry.is_small() {
            let content = self.recent.get(node.place, || entry.whole())?;
            buffer.copy_from_slice(&content[offset as usize..][..buffer.len()]);
            return Ok(buffer.len());
        }
        if let Some(start) = entry.uncompressed_at()? {
            self.file.read_exact_at(buffer, start + offset)?;
            return Ok(buffer.len());
        }
        let record = node.place as u32;
        let kept = {
            let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
            let before =
                streams.iter().enumerate().filter(|(_, stream)| stream.record == record && stream.at <= offset);
            let nearest = before.max_by_key(|(_, stream)| stream.at).map(|(place, _)| place);
            nearest.map(|place| streams.remove(place))
        };
        let mut stream = match kept {
            Some(stream) => stream,
            None => Stream { record, at: 0, decoder: entry.stream()? },
        };
        let skip = offset - stream.at;
        let skipped = io::copy(&mut (&mut stream.decoder).take(skip), &mut io::sink())?;
        if skipped < skip {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        stream.decoder.read_exact(buffer)?;
        stream.at = offset + buffer.len() as u64;
        if stream.at == node.size {
            expect_end(&mut stream.decoder)?;
        } else {
            let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
            if streams.len() == MOST_STREAMS {
                streams.remove(0);
            }
            streams.push(stream);
        }
        Ok(buffer.len())
    }
}
