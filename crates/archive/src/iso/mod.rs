//! Images of CDs and DVDs: ISO 9660 with Rock Ridge or Joliet, read by position.
//!
//! What Rock Ridge says is believed first (names, permissions, links, devices, folders that were moved up because they
//! were too deep), then Joliet's long names, then the plain ones. A folder is read once, wherever it is named, so that
//! no walk goes in a circle. Content lies in one piece, so that a read of a file is a read of the image.

mod record;
mod rock_ridge;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;

use manyfiles::tree::{Node, Refusal};

use crate::cancel::Cancel;
use crate::entry::{Entry, Kind};
use crate::entry_filter::EntryFilter;
use crate::error::{ErrorKind, Position, Result};
use crate::give::Giver;
use crate::joined::Joined;
use crate::limits::{Limits, Meter};
use crate::progress::InputProgress;
use crate::reader::Place;
use crate::sys;
use crate::target::Target;
use crate::zip::unreadable;
use record::Record;
use rock_ridge::RockRidge;

/// Where the descriptors of the image begin, and how long each is.
const DESCRIPTORS: u64 = 0x8000;
const SECTOR: u64 = 2048;
/// More descriptors than this have no meaning.
const MOST_DESCRIPTORS: u64 = 64;
/// The longest folder that is read: some million entries.
const LARGEST_FOLDER: u64 = 256 << 20;
/// What a folder and a file have without Rock Ridge: nobody else may read them, as bsdtar has it.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o400;

/// An open file that is to be an image.
pub(crate) struct Archive<'a> {
    pub file: &'a Joined,
    pub limits: &'a Limits,
    pub filter: &'a EntryFilter,
    pub progress: &'a InputProgress,
}

/// Whether a file is an image of a CD or DVD. An error: one of reading, or that it is one of UDF alone.
pub(crate) fn is_image(file: &Joined) -> Result<bool, ErrorKind> {
    let mut has_udf = false;
    for number in 0..MOST_DESCRIPTORS {
        let mut begin = [0; 7];
        let at = DESCRIPTORS + number * SECTOR;
        if at + SECTOR > file.len() {
            break;
        }
        file.fill(&mut begin, at)?;
        match &begin[1..6] {
            b"CD001" if number == 0 => return Ok(true),
            b"NSR02" | b"NSR03" => has_udf = true,
            b"CD001" | b"BEA01" | b"TEA01" | b"BOOT2" | b"CDW02" => {}
            _ => break,
        }
    }
    if has_udf {
        let cause = "an image of a DVD or a disk by UDF alone, which is not read; mount it, or try `7zz x`";
        return Err(ErrorKind::Unsupported(cause.into()));
    }
    Ok(false)
}

/// Which names are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Plain,
    Joliet,
    /// With how many bytes to pass over before what it says.
    RockRidge(usize),
}

/// How an image is laid out.
struct Image {
    block: u64,
    root: Record,
    names: Names,
}

/// A folder that is to be read.
struct Folder {
    /// Its path, with a slash at the end; empty: the root.
    path: Vec<u8>,
    at: u64,
    len: u64,
}

/// Reads an image.
pub(crate) fn read(
    archive: &Archive<'_>,
    meter: &mut Meter,
    target: &mut Target<'_>,
    cancel: &Cancel,
) -> Result<(), ErrorKind> {
    let image = descriptors(archive.file)?;
    let len = archive.file.len();
    let giver = Giver { filter: archive.filter, limits: archive.limits, meter, target, cancel, len };
    let mut reading = Reading { file: archive.file, image, giver, seen: HashSet::new(), names: HashMap::new() };
    reading.all()?;
    archive.progress.advance(len);
    archive.file.check()
}

fn descriptors(file: &Joined) -> Result<Image, ErrorKind> {
    let damaged = |at: u64, cause: &str| Err(ErrorKind::damaged(Position::Archive(at), cause));
    let (mut primary, mut joliet) = (None, None);
    for number in 0..MOST_DESCRIPTORS {
        let at = DESCRIPTORS + number * SECTOR;
        let mut bytes = vec![0; SECTOR as usize];
        if at + SECTOR > file.len() {
            return damaged(file.len(), "it is cut short within its descriptors");
        }
        file.fill(&mut bytes, at)?;
        // The list may lack its end.
        if &bytes[1..6] != b"CD001" || bytes[0] == 255 {
            break;
        }
        let is_joliet = bytes[0] == 2 && matches!(&bytes[88..91], b"%/@" | b"%/C" | b"%/E");
        if (bytes[0] == 1 && primary.is_none()) || (is_joliet && joliet.is_none()) {
            let block = u64::from(u16::from_le_bytes([bytes[128], bytes[129]]));
            let root = Record::parse(&bytes[156..190]);
            let (Some(root), 512 | 1024 | 2048) = (root, block) else {
                return damaged(at, "the descriptor of its root is damaged");
            };
            *if is_joliet { &mut joliet } else { &mut primary } = Some((block, root));
        }
    }
    let Some((block, root)) = primary else { return damaged(DESCRIPTORS, "it has no primary descriptor") };
    // What the root says of itself tells whether there is Rock Ridge.
    let mut own = vec![0; SECTOR as usize];
    let at = root.extent * block;
    if at.saturating_add(SECTOR) > file.len() {
        return damaged(file.len(), "its root folder is behind its end, so it is cut short");
    }
    file.fill(&mut own, at)?;
    let skip = Record::parse(&own).and_then(|own| rock_ridge::begin(&own.system));
    Ok(match (skip, joliet) {
        (Some(skip), _) => Image { block, root, names: Names::RockRidge(skip) },
        (None, Some((block, root))) => Image { block, root, names: Names::Joliet },
        (None, None) => Image { block, root, names: Names::Plain },
    })
}

struct Reading<'r, 'g, 't> {
    file: &'r Joined,
    image: Image,
    giver: Giver<'g, 't>,
    /// Where the folders are that were read, or will be.
    seen: HashSet<u64>,
    /// The first name of content that has several.
    names: HashMap<u64, PathBuf>,
}

impl Reading<'_, '_, '_> {
    fn all(&mut self) -> Result<(), ErrorKind> {
        let root = &self.image.root;
        let folder = Folder { path: Vec::new(), at: root.extent * self.image.block, len: root.len };
        self.seen.insert(folder.at);
        let mut open = vec![folder];
        while let Some(folder) = open.pop() {
            let mut folders = self.folder(&folder)?;
            // The first of them is read next.
            folders.reverse();
            open.append(&mut folders);
        }
        Ok(())
    }

    /// Hands over what is in a folder, and returns the folders in it.
    fn folder(&mut self, folder: &Folder) -> Result<Vec<Folder>, ErrorKind> {
        let mut inside = Vec::new();
        let mut sector = vec![0; SECTOR as usize];
        let mut before: Option<Record> = None;
        for start in (0..folder.len).step_by(SECTOR as usize) {
            self.giver.cancel.check()?;
            let at = folder.at + start;
            let there = (folder.len - start).min(SECTOR) as usize;
            if at.saturating_add(there as u64) > self.file.len() {
                let cause = "a folder reaches past the end of the image, so it is cut short";
                self.damage(self.file.len(), cause)?;
                break;
            }
            self.file.fill(&mut sector[..there], at)?;
            let mut rest = &sector[..there];
            // No record crosses the end of a sector; zeros fill it up.
            while rest.first().is_some_and(|&len| len > 0) {
                let Some(mut record) = Record::parse(rest) else {
                    self.damage(at + (there - rest.len()) as u64, "a record of a folder is malformed")?;
                    break;
                };
                rest = &rest[usize::from(rest[0])..];
                if let Some(first) = before.take() {
                    // Several pieces of one file.
                    record.join(&first, self.image.block);
                }
                if record.has_more {
                    before = Some(record);
                } else if !record.is_dot() {
                    inside.extend(self.record(folder, record)?);
                }
            }
        }
        if before.is_some() {
            self.damage(folder.at, "the last piece of a file is missing")?;
        }
        Ok(inside)
    }

    /// Damage of the directory ends the reading, but where it is to be told and passed over.
    fn damage(&mut self, at: u64, cause: &str) -> Result<(), ErrorKind> {
        let damage = ErrorKind::damaged(Position::Archive(at), cause).after(self.giver.meter.entries);
        match self.giver.target.tolerant() {
            Some(test) => test.damage(damage),
            None => Err(damage),
        }
    }

    fn record(&mut self, folder: &Folder, record: Record) -> Result<Option<Folder>, ErrorKind> {
        let block = self.image.block;
        let rock_ridge = match self.image.names {
            Names::RockRidge(skip) => {
                let system = record.system.get(skip..).unwrap_or_default();
                match RockRidge::parse(system, self.file, block) {
                    Ok(rock_ridge) => rock_ridge,
                    Err(rock_ridge::Wrong::Read(kind)) => return Err(kind),
                    Err(rock_ridge::Wrong::Damage(cause)) => {
                        self.damage(record.extent * block, cause)?;
                        return Ok(None);
                    }
                }
            }
            _ => RockRidge::default(),
        };
        // It is told where it belongs.
        if rock_ridge.is_relocated {
            return Ok(None);
        }
        let mut name = match (&rock_ridge.name, self.image.names) {
            (Some(name), _) => name.clone(),
            (None, Names::Joliet) => joliet(&record.name),
            (None, _) => plain(&record.name),
        };
        let is_name = !name.is_empty() && !name.contains(&b'/') && sys::make_representable(&mut name);
        let path = [&folder.path[..], &name].concat();
        let (mut at, mut len) = (record.extent.saturating_mul(block), record.len);
        let mut is_folder = record.is_folder;
        if let Some(child) = rock_ridge.child {
            (is_folder, at) = (true, u64::from(child) * block);
            len = self.own_len(at)?;
        }
        let is_there = at.checked_add(len).is_some_and(|end| end <= self.file.len());
        let mut target = rock_ridge.target.clone().unwrap_or_default();
        let is_target = sys::make_representable(&mut target);
        let kind = match rock_ridge.mode.map_or(0, |mode| mode & 0o170_000) {
            _ if is_folder => Kind::Folder,
            0o120_000 => Kind::Symlink(sys::path(&target)),
            0o010_000 => Kind::Node(Node::Fifo),
            0o020_000 => Kind::Node(Node::CharDevice(rock_ridge.device.0, rock_ridge.device.1)),
            0o060_000 => Kind::Node(Node::BlockDevice(rock_ridge.device.0, rock_ridge.device.1)),
            0o140_000 => Kind::Other,
            _ => Kind::File,
        };
        let default = if is_folder { FOLDER_MODE } else { FILE_MODE };
        let mut entry = Entry {
            size: if kind == Kind::File { len } else { 0 },
            mode: Some(rock_ridge.mode.unwrap_or(default) & 0o7777),
            modified: rock_ridge.modified.or(record.modified),
            owner: rock_ridge.owner,
            ..Entry::plain(sys::path(&path), kind)
        };
        let first;
        if kind == Kind::File && rock_ridge.links > 1 && len > 0 {
            // Content of one place is one file: so are hard links written.
            match self.names.get(&at) {
                Some(name) => {
                    first = name.clone();
                    (entry.kind, entry.size) = (Kind::HardLink(&first), 0);
                }
                None => drop(self.names.insert(at, entry.path.to_path_buf())),
            }
        }
        let unsupported = |entry: &Entry<'_>, why| Some(unreadable(entry, io::ErrorKind::Unsupported, why));
        let invalid = |entry: &Entry<'_>, why| Some(unreadable(entry, io::ErrorKind::InvalidData, why));
        entry.refusal = match () {
            () if matches!(entry.kind, Kind::File | Kind::Folder | Kind::HardLink(_)) && !is_there => {
                invalid(&entry, "the archive is damaged here: its content reaches past the end of the image")
            }
            () if record.is_scattered => unsupported(&entry, "its pieces do not lie together, which is not supported"),
            () if record.is_interleaved => unsupported(&entry, "it is interleaved with others, which is not supported"),
            () if rock_ridge.is_compressed && kind == Kind::File => {
                unsupported(&entry, "it is compressed by zisofs, which is not supported; mount the image to read it")
            }
            () => None,
        };
        let no_unicode = (entry.refusal.is_none() && (!is_target || !is_name)).then_some(Refusal::NotUnicode);
        let entry = entry.unless(no_unicode);
        let is_read = is_folder && entry.refusal.is_none();
        let mut content = self.file.range(at, if entry.kind == Kind::File { entry.size } else { 0 });
        if is_read && !self.seen.insert(at) {
            let cause = format!("the folder {} is one that is somewhere else, too", entry.path.display());
            self.damage(at, &cause)?;
            return Ok(None);
        }
        self.giver.give(entry, Place::Tar(at), &mut content)?;
        if is_read && len > LARGEST_FOLDER {
            self.damage(at, "a folder says to be longer than 256 MiB")?;
            return Ok(None);
        }
        let mut path = path;
        path.push(b'/');
        Ok(is_read.then_some(Folder { path, at, len }))
    }

    /// How long a folder is, by what it says of itself.
    fn own_len(&mut self, at: u64) -> Result<u64, ErrorKind> {
        let mut own = vec![0; SECTOR as usize];
        if at.saturating_add(SECTOR) > self.file.len() {
            return Ok(u64::MAX);
        }
        self.file.fill(&mut own, at)?;
        Ok(Record::parse(&own).map_or(u64::MAX, |own| own.len))
    }
}

/// The name of a file by the standard alone: without its version.
fn plain(name: &[u8]) -> Vec<u8> {
    let end = name.iter().position(|&byte| byte == b';').unwrap_or(name.len());
    let name = &name[..end];
    name.strip_suffix(b".").unwrap_or(name).to_vec()
}

/// A name of UTF-16, the higher byte first. What is no character is shown as one that stands for those.
fn joliet(name: &[u8]) -> Vec<u8> {
    let units = name.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    let name: String = char::decode_utf16(units).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    match name.rsplit_once(';') {
        Some((name, version)) if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) => {
            name.into()
        }
        _ => name.into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_version() {
        assert_eq!(plain(b"README.TXT;1"), b"README.TXT");
        assert_eq!(plain(b"README.;1"), b"README");
        assert_eq!(joliet(b"\0a\0;\x001"), b"a");
        assert_eq!(joliet(b"\0a\0;\0b"), b"a;b");
        assert_eq!(joliet(b"\xd8\x3d\xde\x00"), "😀".as_bytes());
    }
}
