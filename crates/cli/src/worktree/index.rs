//! git's index: which files a checkout has, and what they looked like when git last saw that they are what it says.
//!
//! Read as git writes it (versions 2 to 4, SHA-1 and SHA-256), and changed only where an entry's numbers from `lstat`
//! stand, so that all else in it stays as git wrote it. A whole index is never made here.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use manyfiles::tree::EntryStat;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::human::since_1970;

/// Numbers of `lstat`, 4 bytes each: ctime and mtime with their nanoseconds, device, inode, mode, user, group, size.
const STAT: usize = 40;
const MODE: usize = 24;

const EXTENDED: u16 = 0x4000;
const ASSUME_UNCHANGED: u16 = 0x8000;
const STAGE: u16 = 0x3000;

/// An index file in memory.
pub(super) struct Index {
    data: Vec<u8>,
    entries: Vec<Entry>,
    names: Vec<u8>,
    hash: usize,
    /// Whole seconds of the time when it was written.
    written: i64,
}

pub(super) struct Entry {
    at: usize,
    name: Range<usize>,
    pub(super) mode: u32,
    /// Whether there is nothing special about it: no conflict, nothing that keeps git from looking at the file.
    pub(super) is_plain: bool,
}

impl Index {
    /// `hash` is the length of the repository's object names in bytes.
    pub(super) fn read(path: &Path, hash: usize) -> io::Result<Index> {
        let mut file = File::open(path)?;
        // Of the open file: another may have the name by now.
        let written = file.metadata()?.mtime();
        let mut data = Vec::new();
        file.read_to_end(&mut data)?;
        parse(data, hash, written).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))
    }

    /// In the order of their paths.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn path(&self, entry: &Entry) -> &[u8] {
        &self.names[entry.name.clone()]
    }

    pub(super) fn object(&self, entry: &Entry) -> &[u8] {
        &self.data[entry.at + STAT..][..self.hash]
    }

    /// Whether the file has not been touched since git saw that it is what the entry says: all numbers are the same, and
    /// the file is older than the index. A file written in the second in which the index was may have been written
    /// after it, with the same numbers.
    pub(super) fn is_untouched(&self, entry: &Entry, file: &Metadata) -> bool {
        let number = |n: usize| number(&self.data, entry.at + 4 * n);
        let is_empty = |object: &[u8]| EMPTY.iter().any(|empty| object.starts_with(empty));
        // git stores a length of 0 for what it could not be sure of.
        let is_sure = number(9) != 0 || is_empty(self.object(entry));
        // The device is left out, as in git: its number may be another one after the system was started again.
        is_sure
            && file.mtime() < self.written
            && number(0) == file.ctime() as u32
            && number(1) == file.ctime_nsec() as u32
            && number(2) == file.mtime() as u32
            && number(3) == file.mtime_nsec() as u32
            && number(5) == file.ino() as u32
            && number(7) == file.uid()
            && number(8) == file.gid()
            && number(9) == file.size() as u32
    }

    /// Notes that the file of this entry is there and is what the entry says.
    pub(super) fn set(&mut self, entry: usize, stat: &EntryStat) {
        let at = self.entries[entry].at;
        let times = [stat.changed, stat.modified].map(|time| since_1970(time).unwrap_or_default());
        let [(changed, changed_nanos), (modified, modified_nanos)] = times;
        let before =
            [changed as u32, changed_nanos, modified as u32, modified_nanos, stat.device as u32, stat.inode as u32];
        let after = [stat.owner.0, stat.owner.1, stat.len as u32];
        let bytes = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<_>>();
        self.data[at..at + MODE].copy_from_slice(&bytes(&before));
        self.data[at + MODE + 4..at + STAT].copy_from_slice(&bytes(&after));
    }

    /// The file, with its sum.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        let end = self.data.len() - self.hash;
        let (content, sum) = self.data.split_at_mut(end);
        match self.hash {
            20 => sum.copy_from_slice(&Sha1::digest(&*content)),
            _ => sum.copy_from_slice(&Sha256::digest(&*content)),
        }
        self.data
    }
}

/// How the names of the object without bytes begin, in both kinds of repositories.
const EMPTY: [[u8; 8]; 2] =
    [[0xe6, 0x9d, 0xe2, 0x9b, 0xb2, 0xd1, 0xd6, 0x43], [0x47, 0x3a, 0x0f, 0x4c, 0x3b, 0xe8, 0xa9, 0x36]];

fn number(data: &[u8], at: usize) -> u32 {
    data.get(at..at + 4).map_or(0, |bytes| u32::from_be_bytes(bytes.try_into().expect("they are four")))
}

fn parse(data: Vec<u8>, hash: usize, written: i64) -> Result<Index, &'static str> {
    const CUT: &str = "it ends too early";
    let (version, count) = (number(&data, 4), number(&data, 8) as usize);
    if !data.starts_with(b"DIRC") {
        return Err("it does not begin as an index");
    }
    if !(2..=4).contains(&version) {
        return Err("this version of the index is not known");
    }
    let end = data.len().checked_sub(hash).ok_or(CUT)?;
    let (mut at, mut entries, mut names) = (12, Vec::new(), Vec::new());
    let mut previous = 0..0;
    for _ in 0..count {
        let flags = data.get(at + STAT + hash..at + STAT + hash + 2).ok_or(CUT)?;
        let flags = u16::from_be_bytes(flags.try_into().expect("they are two"));
        let is_extended = flags & EXTENDED != 0;
        // The second flags are: the file is left out of the checkout, and: it is only meant to be added.
        let more = if is_extended { data.get(at + STAT + hash + 2..at + STAT + hash + 4).ok_or(CUT)? } else { &[] };
        let is_plain = flags & (STAGE | ASSUME_UNCHANGED) == 0 && more.iter().all(|&byte| byte == 0);
        let mut name = at + STAT + hash + 2 + more.len();
        let start = names.len();
        if version == 4 {
            let dropped = offset(&data[..end], &mut name).ok_or(CUT)?;
            let kept = previous.len().checked_sub(dropped).ok_or("a name drops more than there is")?;
            names.extend_from_within(previous.start..previous.start + kept);
        }
        let rest = data.get(name..end).ok_or(CUT)?;
        let len = rest.iter().position(|&byte| byte == 0).ok_or(CUT)?;
        names.extend_from_slice(&rest[..len]);
        previous = start..names.len();
        entries.push(Entry { at, name: previous.clone(), mode: number(&data, at + MODE), is_plain });
        at = match version {
            4 => name + len + 1,
            _ => at + ((name + len - at + 8) & !7),
        };
    }
    while at < end {
        let (signature, len) = (data.get(at..at + 4).ok_or(CUT)?, number(&data, at + 4) as usize);
        if signature == b"link" {
            return Err("it is split in two (core.splitIndex)");
        }
        if !signature[0].is_ascii_uppercase() && signature != b"sdir" {
            return Err("it has an extension that is not known");
        }
        at = at.checked_add(8 + len).filter(|&at| at <= end).ok_or(CUT)?;
    }
    if at != end {
        return Err(CUT);
    }
    Ok(Index { data, entries, names, hash, written })
}

/// A number of variable length.
fn offset(data: &[u8], at: &mut usize) -> Option<usize> {
    let mut value = 0_usize;
    for n in 0..5 {
        let byte = *data.get(*at)?;
        *at += 1;
        value = (value + usize::from(n > 0)) << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of version 2 with a file of each name.
    fn index(names: &[&str]) -> Vec<u8> {
        let mut data = b"DIRC\0\0\0\x02".to_vec();
        data.extend((names.len() as u32).to_be_bytes());
        for name in names {
            let start = data.len();
            data.extend([0; MODE]);
            data.extend(0o100_644_u32.to_be_bytes());
            data.extend([0; STAT - MODE - 4 + 20]);
            data.extend((name.len() as u16).to_be_bytes());
            data.extend(name.as_bytes());
            let len = (data.len() - start + 8) & !7;
            data.resize(start + len, 0);
        }
        data.extend(Sha1::digest(&data));
        data
    }

    #[test]
    fn what_is_written_is_what_was_read_but_for_the_numbers_that_were_set() {
        let data = index(&["a", "b/c", "b/longer name"]);
        let parsed = parse(data.clone(), 20, 0).unwrap();
        let names: Vec<_> = parsed.entries().iter().map(|entry| parsed.path(entry).to_vec()).collect();
        assert_eq!(names, [&b"a"[..], b"b/c", b"b/longer name"]);
        assert_eq!(parsed.into_bytes(), data);
    }

    #[test]
    fn no_index_that_is_cut_or_changed_makes_it_panic_or_take_what_is_only_claimed() {
        let data = index(&["a", "b/c", "b/longer name"]);
        for len in 0..data.len() {
            drop(parse(data[..len].to_vec(), 20, 0));
        }
        for at in 0..data.len() {
            for byte in [0, 1, 4, 0x7f, 0x80, 0xff] {
                for version in [2, 3, 4] {
                    let mut changed = data.clone();
                    changed[7] = version;
                    changed[at] = byte;
                    drop(parse(changed, 20, 0));
                }
            }
        }
    }
}
