//! 7z: the directory at its end is read whole, then the blocks of content are decoded in their order.
//!
//! Why not a crate: those that there are allocate what a directory only claims to have, which ends the process, and lose
//! files of blocks that empty files stand between. The decoders are those that zips and tars have.

mod bcj2;
mod decode;
mod header;

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use flate2::Crc;
use manyfiles::tree::{Node, Refusal};
use manyfiles::{Error, Operation};

use crate::cancel::Cancel;
use crate::entry::{Entry, Kind, time};
use crate::entry_filter::EntryFilter;
use crate::error::{ErrorKind, Position, Result};
use crate::give::Giver;
use crate::joined::Joined;
use crate::limits::{Limits, Meter};
use crate::password::{CLOSED, Password, Secret, Unlocked, WRONG};
use crate::progress::InputProgress;
use crate::reader::Place;
use crate::target::Target;
use decode::Keys;
use header::{Block, Header, Item, Streams};

/// Where packed streams begin.
const START: u64 = 32;
/// A directory for some ten million entries: a limit on memory.
const LARGEST: u64 = 1 << 30;
/// The longest target of a symbolic link.
const LONGEST_TARGET: u64 = 64 << 10;
/// How much is decoded to see whether a password is right.
const TRIED: u64 = 1 << 20;
/// How often a directory may be coded in a directory that is coded.
const MOST_CODED: usize = 4;

/// An open file that is to be a 7z.
pub(crate) struct Archive<'a> {
    pub path: &'a Path,
    pub file: &'a Joined,
    pub secret: &'a Secret,
    pub limits: &'a Limits,
    pub filter: &'a EntryFilter,
    pub progress: &'a InputProgress,
}

/// Reads a 7z. `spool`: where an index is to find the content.
pub(crate) fn read(
    archive: &Archive<'_>,
    meter: &mut Meter,
    target: &mut Target<'_>,
    cancel: &Cancel,
    spool: Option<&mut dyn Write>,
) -> Result<(), ErrorKind> {
    let (streams, items, mut keys) = directory(archive)?;
    let is_list = matches!(target, Target::List(_));
    let mut closed = None;
    if let Some(block) = streams.blocks.iter().find(|block| is_encrypted(block) && !block.parts.is_empty())
        && keys.password().is_none()
    {
        match (archive.secret, is_list) {
            (Secret::None, _) => closed = Some(CLOSED),
            // A list needs no content.
            (Secret::Asked(_), true) => {}
            (secret, _) => {
                match secret.unlock(archive.path, |password| Ok(opens(archive, &streams, block, password)))? {
                    Unlocked::Right(password) => keys = Keys::new(Some(password)),
                    Unlocked::Closed => closed = Some(CLOSED),
                    Unlocked::Wrong => closed = Some(WRONG),
                }
            }
        }
    }
    let len = archive.file.len();
    let giver = Giver { filter: archive.filter, limits: archive.limits, meter, target, cancel, len };
    let mut reading = Reading { archive, streams: &streams, keys: &keys, closed, giver, spool, spooled: 0 };
    reading.all(&items)?;
    archive.progress.advance(len);
    archive.file.check()
}

fn is_encrypted(block: &Block) -> bool {
    block.coders.iter().any(|coder| coder.id == decode::AES)
}

/// Reads the directory, with the password that opens it, if it needs one.
fn directory(archive: &Archive<'_>) -> Result<(Streams, Vec<Item>, Keys), ErrorKind> {
    let file = archive.file;
    let damaged = |at: u64, cause: &str| ErrorKind::damaged(Position::Archive(at), cause);
    let mut start = [0; START as usize];
    if file.len() < START {
        return Err(damaged(file.len(), "it is cut short"));
    }
    file.fill(&mut start, 0)?;
    let number = |at: usize| u64::from_le_bytes(start[at..at + 8].try_into().expect("eight bytes"));
    let sum = |at: usize| u32::from_le_bytes(start[at..at + 4].try_into().expect("four bytes"));
    if start[6] != 0 {
        return Err(ErrorKind::Unsupported(format!("a 7z of version {}, which is not known", start[6])));
    }
    if crc(&start[12..]) != sum(8) {
        return Err(damaged(8, "the header at its beginning has another checksum than it says"));
    }
    let (offset, len) = (number(12), number(20));
    if len == 0 {
        return Ok((Streams::default(), Vec::new(), Keys::new(None)));
    }
    let at = offset.checked_add(START).filter(|at| at.checked_add(len).is_some_and(|end| end <= file.len()));
    let Some(at) = at else {
        return Err(damaged(file.len(), "the directory at its end is missing, so it is cut short"));
    };
    if len > LARGEST {
        return Err(damaged(at, "its directory is larger than 1 GiB"));
    }
    let mut bytes = vec![0; len as usize];
    file.fill(&mut bytes, at)?;
    if crc(&bytes) != sum(28) {
        return Err(damaged(at, "its directory has another checksum than it says"));
    }
    let mut keys = Keys::new(None);
    for _ in 0..MOST_CODED {
        match header::parse(&bytes, at, archive.limits)? {
            Header::Plain(streams, items) => return Ok((streams, items, keys)),
            Header::Coded(streams) => (bytes, keys) = decoded(archive, &streams, keys)?,
        }
    }
    Err(header::malformed("its directory is coded too often"))
}

/// Decodes a directory.
fn decoded(archive: &Archive<'_>, streams: &Streams, mut keys: Keys) -> Result<(Vec<u8>, Keys), ErrorKind> {
    let [block] = &streams.blocks[..] else { return Err(header::malformed("its directory is malformed")) };
    let size = block.parts.iter().map(|part| part.0).fold(0, u64::saturating_add);
    crate::limits::check_ratio(archive.limits, size, archive.file.len())?;
    let decode = |keys: &Keys| -> io::Result<Vec<u8>> {
        let &[(size, crc)] = &block.parts[..] else { return Err(io::ErrorKind::InvalidData.into()) };
        let mut content = Content {
            block: &mut Decoding::new(archive.file, streams, block, keys),
            at: 0,
            left: size,
            crc,
            sum: Crc::new(),
        };
        let mut bytes = Vec::new();
        if size > LARGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is larger than 1 GiB"));
        }
        content.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let says = |cause: io::Error| header::malformed(&format!("its directory cannot be decoded: {cause}"));
    if !is_encrypted(block) || keys.password().is_some() {
        return decode(&keys).map(|bytes| (bytes, keys)).map_err(says);
    }
    let mut bytes = Vec::new();
    let right = |password: &Password| {
        keys = Keys::new(Some(password.clone()));
        match decode(&keys) {
            Ok(decoded) => bytes = decoded,
            Err(error) if error.kind() == io::ErrorKind::Unsupported => return Err(says(error)),
            Err(_) => return Ok(false),
        }
        Ok(true)
    };
    let unlocked = archive.secret.unlock(archive.path, right)?;
    match unlocked {
        Unlocked::Right(_) => Ok((bytes, keys)),
        Unlocked::Closed => Err(ErrorKind::Unsupported(format!("not even its names can be read: {CLOSED}"))),
        Unlocked::Wrong => Err(ErrorKind::Unsupported(format!("not even its names can be read: {WRONG}"))),
    }
}

/// Whether a password opens a block, as far as its first file tells.
fn opens(archive: &Archive<'_>, streams: &Streams, block: &Block, password: &Password) -> bool {
    let keys = Keys::new(Some(password.clone()));
    let (size, crc) = block.parts[0];
    let mut decoding = Decoding::new(archive.file, streams, block, &keys);
    let content = Content { block: &mut decoding, at: 0, left: size, crc, sum: Crc::new() };
    match io::copy(&mut content.take(TRIED), &mut io::sink()) {
        // Another reason than the password is told when it is read.
        Err(error) => error.kind() == io::ErrorKind::Unsupported,
        Ok(_) => true,
    }
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// A block that is being decoded, from its beginning.
struct Decoding<'a> {
    make: Box<dyn Fn() -> io::Result<Box<dyn Read + 'a>> + 'a>,
    decoder: Option<Box<dyn Read + 'a>>,
    at: u64,
    is_encrypted: bool,
    failed: Option<(io::ErrorKind, String)>,
}

impl<'a> Decoding<'a> {
    fn new(file: &'a Joined, streams: &'a Streams, block: &'a Block, keys: &'a Keys) -> Decoding<'a> {
        let make = Box::new(move || decode::decoder(file, streams, block, keys));
        Decoding { make, decoder: None, at: 0, is_encrypted: is_encrypted(block), failed: None }
    }

    /// Reads some bytes. What is damaged stays so.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some((kind, cause)) = &self.failed {
            return Err(io::Error::new(*kind, cause.clone()));
        }
        // The decoders of others have been fuzzed, and may panic all the same.
        let read = catch_unwind(AssertUnwindSafe(|| {
            let decoder = match &mut self.decoder {
                Some(decoder) => decoder,
                empty => empty.insert((self.make)()?),
            };
            decoder.read(into)
        }));
        let read = read.unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::InvalidData, "its decoder has given up")));
        match read {
            Ok(0) => Err(self.fail(io::ErrorKind::UnexpectedEof.into())),
            Ok(len) => {
                self.at += len as u64;
                Ok(len)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.read(into),
            Err(error) => Err(self.fail(error)),
        }
    }

    fn fail(&mut self, error: io::Error) -> io::Error {
        if error.raw_os_error().is_some() {
            return error;
        }
        let (kind, cause) = match error.kind() {
            kind @ (io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput) => (kind, error.to_string()),
            kind => {
                let cause = match kind {
                    io::ErrorKind::UnexpectedEof => "its content is cut short".into(),
                    _ => error.to_string(),
                };
                (io::ErrorKind::InvalidData, self.damage(&cause))
            }
        };
        self.failed = Some((kind, cause.clone()));
        io::Error::new(kind, cause)
    }

    fn damage(&self, cause: &str) -> String {
        let cause = cause.strip_prefix("the archive is damaged here: ").unwrap_or(cause);
        let or = if self.is_encrypted { "; or the password is wrong" } else { "" };
        format!("the archive is damaged here: {cause}{or}")
    }
}

/// The content of one file, which is decoded when it is read.
struct Content<'c, 'a> {
    block: &'c mut Decoding<'a>,
    /// Where it begins in the block.
    at: u64,
    left: u64,
    crc: Option<u32>,
    sum: Crc,
}

impl Read for Content<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 || into.is_empty() {
            return Ok(0);
        }
        while self.block.at < self.at {
            let mut skipped = [0; 16 << 10];
            let most = (self.at - self.block.at).min(skipped.len() as u64) as usize;
            self.block.read(&mut skipped[..most])?;
        }
        let most = self.left.min(into.len() as u64) as usize;
        let len = self.block.read(&mut into[..most])?;
        self.sum.update(&into[..len]);
        self.at += len as u64;
        self.left -= len as u64;
        if self.left == 0 && self.crc.is_some_and(|crc| self.sum.sum() != crc) {
            let cause = self.block.damage("its content has another checksum than the directory says");
            return Err(io::Error::new(io::ErrorKind::InvalidData, cause));
        }
        Ok(len)
    }
}

struct Reading<'r, 'a, 'g, 't, 's> {
    archive: &'r Archive<'a>,
    streams: &'r Streams,
    keys: &'r Keys,
    /// Why what is encrypted cannot be read.
    closed: Option<&'static str>,
    giver: Giver<'g, 't>,
    spool: Option<&'s mut dyn Write>,
    spooled: u64,
}

impl Reading<'_, '_, '_, '_, '_> {
    fn all(&mut self, items: &[Item]) -> Result<(), ErrorKind> {
        let mut parts = self.streams.blocks.iter().flat_map(|block| {
            let mut at = 0;
            block.parts.iter().map(move |&(size, crc)| {
                at += size;
                (block, at - size, size, crc)
            })
        });
        let mut decoding: Option<(*const Block, Decoding<'_>)> = None;
        let mut broken = HashSet::new();
        for item in items {
            if !item.has_stream {
                self.one(item, None)?;
                continue;
            }
            // There are as many as the directory was checked for.
            let Some((block, at, size, crc)) = parts.next() else { break };
            let id: *const Block = block;
            if decoding.as_ref().is_none_or(|(other, _)| *other != id) {
                let packed = &self.streams.packed[block.first..][..block.packed.len()];
                if packed.iter().any(|stream| stream.1 > 0 && !broken.insert(stream.0)) {
                    return Err(header::malformed("two blocks of it have the same bytes"));
                }
                decoding = Some((id, Decoding::new(self.archive.file, self.streams, block, self.keys)));
            }
            let (_, decoding) = decoding.as_mut().expect("it was made");
            let mut content = Content { block: decoding, at, left: size, crc, sum: Crc::new() };
            self.one(item, Some((&mut content, size, is_encrypted(block))))?;
        }
        Ok(())
    }

    fn one(&mut self, item: &Item, content: Option<(&mut Content<'_, '_>, u64, bool)>) -> Result<(), ErrorKind> {
        const WINDOWS_FOLDER: u32 = 0x10;
        const REPARSE: u32 = 0x400;
        const HAS_MODE: u32 = 0x8000;
        let mode = (item.attributes & HAS_MODE != 0).then_some(item.attributes >> 16);
        let (size, encrypted) = content.as_ref().map_or((0, false), |content| (content.1, content.2));
        let mut kind = match mode.map_or(0, |mode| mode & 0o170_000) {
            0o040_000 => Kind::Folder,
            _ if item.is_folder || (content.is_none() && item.attributes & WINDOWS_FOLDER != 0) => Kind::Folder,
            0o120_000 => Kind::Symlink(Path::new("")),
            0o010_000 if size == 0 => Kind::Node(Node::Fifo),
            0o100_000 | 0 => Kind::File,
            _ if size > 0 => Kind::File,
            _ => Kind::Other,
        };
        let mut failure = self.closed.filter(|_| encrypted).map(|why| (io::ErrorKind::Unsupported, why.to_owned()));
        if mode.is_none() && item.attributes & REPARSE != 0 {
            let cause = "it is a link of Windows, which is not supported; `7zz x` may make it there";
            failure = Some((io::ErrorKind::Unsupported, cause.into()));
        }
        if item.is_anti {
            let cause = "it says that a file is to be removed, which is not done";
            failure = Some((io::ErrorKind::Unsupported, cause.into()));
        }
        let mut target = Vec::new();
        let mut content = content.map(|(content, ..)| content);
        if matches!(kind, Kind::Symlink(_)) && failure.is_none() {
            let read = match content.as_mut() {
                Some(_) if size > LONGEST_TARGET => {
                    Err(io::Error::new(io::ErrorKind::InvalidData, "the target of a symbolic link is too long"))
                }
                Some(content) => content.read_to_end(&mut target).map(drop),
                None => Ok(()),
            };
            failure = read.err().map(|error| (error.kind(), error.to_string()));
        }
        let name = item.name.clone().unwrap_or_else(|| "?".into());
        let mut is_unicode = item.name.is_some();
        if let Kind::Symlink(to) = &mut kind {
            is_unicode &= crate::sys::make_representable(&mut target);
            *to = crate::sys::path(&target);
        }
        let is_read_only = mode.is_none() && item.attributes & 1 != 0 && kind == Kind::File;
        let mut entry = Entry {
            size: if kind == Kind::File { size } else { 0 },
            mode: mode.map(|mode| mode & 0o7777).or(crate::sys::READ_ONLY.filter(|_| is_read_only)),
            modified: item.modified.and_then(from_windows),
            is_encrypted: encrypted,
            ..Entry::plain(Path::new(&name), kind)
        };
        if let Some((kind, cause)) = failure {
            entry.refusal = Some(Error::new(Operation::Read, entry.path, io::Error::new(kind, cause)));
        }
        let entry = entry.unless((!is_unicode).then_some(Refusal::NotUnicode));
        let at = self.spooled;
        if let (Some(spool), Some(content), Kind::File, None) = (&mut self.spool, &mut content, kind, &entry.refusal) {
            // The limits are looked at before anything is written.
            let sum = self.spooled.saturating_add(size);
            crate::limits::check_ratio(self.archive.limits, sum, self.archive.file.len())?;
            if sum > self.archive.limits.bytes {
                let (limit, value) = (crate::Limit::Bytes, self.archive.limits.bytes);
                return Err(ErrorKind::Limit { limit, value, entries: self.giver.meter.entries });
            }
            let mut copied = 0;
            let mut buffer = vec![0; 128 << 10];
            loop {
                match content.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(len) => {
                        spool.write_all(&buffer[..len]).map_err(|error| {
                            let cause = format!("cannot write its content into a temporary file: {error}");
                            ErrorKind::Read(io::Error::new(error.kind(), cause))
                        })?;
                        copied += len as u64;
                    }
                    Err(error) => {
                        self.spooled += copied;
                        let refusal = Error::new(Operation::Read, entry.path, error);
                        let entry = Entry { refusal: Some(refusal), ..entry };
                        return self.giver.give(entry, Place::Tar(0), &mut io::empty());
                    }
                }
            }
            self.spooled += copied;
        }
        match content {
            Some(content) => self.giver.give(entry, Place::Tar(at), content),
            None => self.giver.give(entry, Place::Tar(at), &mut io::empty()),
        }
    }
}

/// Tenths of microseconds since 1601.
fn from_windows(ticks: u64) -> Option<std::time::SystemTime> {
    const SECONDS_TO_1970: i64 = 11_644_473_600;
    let seconds = i64::try_from(ticks / 10_000_000).ok()? - SECONDS_TO_1970;
    time(seconds, (ticks % 10_000_000) as u32 * 100)
}
