//! The directory of a 7z: its streams, how they are coded, and the files in them. No number in it is believed before
//! there are as many bytes as it needs.

use crate::Limit;
use crate::error::{ErrorKind, Position, Result};
use crate::limits::Limits;

/// More coders than this no program writes for one block.
const MOST_CODERS: usize = 32;

const END: u64 = 0x00;
const PROPERTIES: u64 = 0x02;
const ADDITIONAL: u64 = 0x03;
const STREAMS: u64 = 0x04;
const FILES: u64 = 0x05;
const PACKED: u64 = 0x06;
const BLOCKS: u64 = 0x07;
const PARTS: u64 = 0x08;
const SIZES: u64 = 0x09;
const SUMS: u64 = 0x0a;
const BLOCK: u64 = 0x0b;
const BLOCK_SIZES: u64 = 0x0c;
const COUNTS: u64 = 0x0d;
const EMPTY: u64 = 0x0e;
const EMPTY_FILES: u64 = 0x0f;
const ANTI: u64 = 0x10;
const NAMES: u64 = 0x11;
const MODIFIED: u64 = 0x14;
const ATTRIBUTES: u64 = 0x15;

/// One step of decoding.
#[derive(Clone, Debug, Default)]
pub(super) struct Coder {
    pub id: u64,
    /// How many streams it reads. It makes one.
    pub inputs: usize,
    pub properties: Vec<u8>,
}

/// What is decoded together: the content of several files, one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub coders: Vec<Coder>,
    /// Which input is the output of which coder.
    pub bound: Vec<(usize, usize)>,
    /// Which input is which of the packed streams.
    pub packed: Vec<usize>,
    /// How much each coder makes.
    pub sizes: Vec<u64>,
    pub crc: Option<u32>,
    /// The number of its first packed stream.
    pub first: usize,
    /// The length and the checksum of each file in it.
    pub parts: Vec<(u64, Option<u32>)>,
}

impl Block {
    /// The coder that makes the content.
    pub(super) fn main(&self) -> usize {
        (0..self.coders.len()).find(|coder| self.bound.iter().all(|(_, output)| output != coder)).unwrap_or(0)
    }

    fn size(&self) -> u64 {
        self.sizes[self.main()]
    }
}

#[derive(Debug, Default)]
pub(super) struct Streams {
    /// Where each packed stream begins, from the beginning of the archive, and its length.
    pub packed: Vec<(u64, u64)>,
    pub blocks: Vec<Block>,
}

/// What the directory says of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Item {
    /// `None`: it is not Unicode.
    pub name: Option<String>,
    pub has_stream: bool,
    pub is_folder: bool,
    /// That it is to be removed: of an archive that is an update.
    pub is_anti: bool,
    /// In steps of 100 ns since 1601.
    pub modified: Option<u64>,
    pub attributes: u32,
}

/// What a directory is: itself, or where it is coded.
pub(super) enum Header {
    Plain(Streams, Vec<Item>),
    Coded(Streams),
}

/// At most as many things as `limits` allow entries are made room for: a directory that is compressed well could ask for
/// a thousand times the memory that the archive takes.
pub(super) fn parse(bytes: &[u8], archive_len: u64, limits: &Limits) -> Result<Header, ErrorKind> {
    let most = usize::try_from(limits.entries).unwrap_or(usize::MAX);
    let mut from = Source { bytes, most, has_too_many: false };
    let parsed = match from.number() {
        Some(0x01) => from.header(archive_len).map(|(streams, items)| Header::Plain(streams, items)),
        Some(0x17) => from.streams(archive_len).map(Header::Coded),
        _ => None,
    };
    parsed.ok_or_else(|| match from.has_too_many {
        true => ErrorKind::Limit { limit: Limit::Entries, value: limits.entries, entries: 0 },
        false => malformed("its directory is malformed"),
    })
}

pub(super) fn malformed(cause: &str) -> ErrorKind {
    ErrorKind::damaged(Position::Archive(12), cause)
}

/// Takes what is at the front of bytes. `None`: there are too few, or they are wrong.
struct Source<'a> {
    bytes: &'a [u8],
    /// The most of each kind of thing.
    most: usize,
    has_too_many: bool,
}

impl<'a> Source<'a> {
    fn bytes(&mut self, len: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.bytes.split_at_checked(usize::try_from(len).ok()?)?;
        self.bytes = rest;
        Some(bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    fn u32(&mut self) -> Option<u32> {
        self.bytes(4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")))
    }

    fn u64(&mut self) -> Option<u64> {
        self.bytes(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    /// A number in as many bytes as it needs: the first bits say how many follow.
    fn number(&mut self) -> Option<u64> {
        let first = self.byte()?;
        let more = first.leading_ones();
        let mut number = 0;
        for shift in 0..more {
            number |= u64::from(self.byte()?) << (8 * shift);
        }
        let high = if more >= 7 { 0 } else { u64::from(first & (0x7f >> more)) };
        Some(number | high << (8 * more).min(63))
    }

    /// A count of things, each of which takes at least one byte here.
    fn count(&mut self) -> Option<usize> {
        self.number().and_then(|count| usize::try_from(count).ok()).filter(|&count| count <= self.bytes.len())
    }

    /// A count of entries, or of what there is no more of than of entries.
    fn allows(&mut self, count: usize) -> Option<usize> {
        self.has_too_many |= count > self.most;
        (count <= self.most).then_some(count)
    }

    fn bits(&mut self, count: usize) -> Option<Vec<bool>> {
        let bytes = self.bytes(count.div_ceil(8) as u64)?;
        Some((0..count).map(|at| bytes[at / 8] & (0x80 >> (at % 8)) != 0).collect())
    }

    /// Bits, or one byte that stands for all of them.
    fn all_or_bits(&mut self, count: usize) -> Option<Vec<bool>> {
        if self.byte()? != 0 { Some(vec![true; count]) } else { self.bits(count) }
    }

    fn sums(&mut self, count: usize) -> Option<Vec<Option<u32>>> {
        let are_there = self.all_or_bits(count)?;
        are_there.into_iter().map(|is_there| if is_there { self.u32().map(Some) } else { Some(None) }).collect()
    }

    fn header(&mut self, archive_len: u64) -> Option<(Streams, Vec<Item>)> {
        let (mut streams, mut items) = (Streams::default(), Vec::new());
        let mut kind = self.number()?;
        if kind == PROPERTIES {
            while self.number()? != END {
                let len = self.number()?;
                self.bytes(len)?;
            }
            kind = self.number()?;
        }
        if kind == ADDITIONAL {
            return None;
        }
        if kind == STREAMS {
            streams = self.streams(archive_len)?;
            kind = self.number()?;
        }
        if kind == FILES {
            items = self.files()?;
            kind = self.number()?;
        }
        let parts: usize = streams.blocks.iter().map(|block| block.parts.len()).sum();
        let with_stream = items.iter().filter(|item| item.has_stream).count();
        (kind == END && parts == with_stream).then_some((streams, items))
    }

    fn streams(&mut self, archive_len: u64) -> Option<Streams> {
        let mut streams = Streams::default();
        let mut kind = self.number()?;
        if kind == PACKED {
            streams.packed = self.packed(archive_len)?;
            kind = self.number()?;
        }
        if kind == BLOCKS {
            streams.blocks = self.blocks(streams.packed.len())?;
            kind = self.number()?;
        }
        for block in &mut streams.blocks {
            block.parts = vec![(block.size(), block.crc)];
        }
        if kind == PARTS {
            self.parts(&mut streams.blocks)?;
            kind = self.number()?;
        }
        (kind == END).then_some(streams)
    }

    fn packed(&mut self, archive_len: u64) -> Option<Vec<(u64, u64)>> {
        let mut at = self.number()?.checked_add(super::START)?;
        let count = self.count()?;
        self.allows(count / MOST_CODERS)?;
        let mut packed = Vec::new();
        loop {
            match self.number()? {
                END => break,
                SIZES => {
                    for _ in 0..count {
                        let len = self.number()?;
                        packed.push((at, len));
                        at = at.checked_add(len).filter(|&end| end <= archive_len)?;
                    }
                }
                // The sums of packed streams: nobody writes them.
                SUMS => drop(self.sums(count)?),
                _ => return None,
            }
        }
        (packed.len() == count).then_some(packed)
    }

    fn blocks(&mut self, packed: usize) -> Option<Vec<Block>> {
        if self.number()? != BLOCK {
            return None;
        }
        let count = self.count().and_then(|count| self.allows(count))?;
        if self.byte()? != 0 {
            return None; // it is somewhere else
        }
        let mut first = 0;
        let mut blocks = Vec::new();
        for _ in 0..count {
            let mut block = self.block()?;
            block.first = first;
            first += block.packed.len();
            blocks.push(block);
        }
        if first > packed || self.number()? != BLOCK_SIZES {
            return None;
        }
        for block in &mut blocks {
            block.sizes = block.coders.iter().map(|_| self.number()).collect::<Option<_>>()?;
        }
        loop {
            match self.number()? {
                END => return Some(blocks),
                SUMS => {
                    let sums = self.sums(blocks.len())?;
                    blocks.iter_mut().zip(sums).for_each(|(block, crc)| block.crc = crc);
                }
                _ => return None,
            }
        }
    }

    fn block(&mut self) -> Option<Block> {
        let mut block = Block::default();
        let count = self.count().filter(|count| (1..=MOST_CODERS).contains(count))?;
        let mut inputs = 0;
        for _ in 0..count {
            let flags = self.byte()?;
            let id = self.bytes((flags & 0xf).into())?;
            if flags & 0xc0 != 0 || id.len() > 8 {
                return None;
            }
            let id = id.iter().fold(0, |id, &byte| id << 8 | u64::from(byte));
            let mut coder = Coder { id, inputs: 1, properties: Vec::new() };
            if flags & 0x10 != 0 {
                coder.inputs = self.count().filter(|count| (1..=MOST_CODERS).contains(count))?;
                if self.number()? != 1 {
                    return None; // of the first versions only
                }
            }
            if flags & 0x20 != 0 {
                let len = self.number()?;
                coder.properties = self.bytes(len)?.to_vec();
            }
            inputs += coder.inputs;
            block.coders.push(coder);
        }
        for _ in 1..count {
            let bound = (self.number()? as usize, self.number()? as usize);
            let is_taken = block.bound.iter().any(|other| other.0 == bound.0 || other.1 == bound.1);
            if bound.0 >= inputs || bound.1 >= count || is_taken {
                return None;
            }
            block.bound.push(bound);
        }
        let packed = inputs.checked_sub(count - 1).filter(|&packed| packed > 0)?;
        let is_bound = |input: &usize| block.bound.iter().any(|bound| bound.0 == *input);
        if packed == 1 {
            block.packed.extend((0..inputs).find(|input| !is_bound(input)));
        } else {
            for _ in 0..packed {
                let input = self.number()? as usize;
                if input >= inputs || is_bound(&input) || block.packed.contains(&input) {
                    return None;
                }
                block.packed.push(input);
            }
        }
        Some(block)
    }

    fn parts(&mut self, blocks: &mut [Block]) -> Option<()> {
        let mut kind = self.number()?;
        if kind == COUNTS {
            let mut all = 0_usize;
            for block in &mut *blocks {
                // All but the last have their length here.
                let count = self.number().and_then(|count| usize::try_from(count).ok())?;
                all = self.allows(count.saturating_sub(1).checked_add(all)?)?;
                if all > self.bytes.len() {
                    return None;
                }
                block.parts = vec![(0, None); count];
            }
            kind = self.number()?;
        }
        let mut take_sizes = |from: Option<&mut Self>| -> Option<()> {
            let mut from = from;
            for block in &mut *blocks {
                let mut left = block.size();
                let count = block.parts.len();
                for (number, part) in block.parts.iter_mut().enumerate() {
                    part.0 = match from.as_mut() {
                        Some(from) if number + 1 < count => from.number()?,
                        None if number + 1 < count => return None,
                        _ => left,
                    };
                    left = left.checked_sub(part.0)?;
                }
            }
            Some(())
        };
        if kind == SIZES {
            take_sizes(Some(self))?;
            kind = self.number()?;
        } else {
            take_sizes(None)?;
        }
        loop {
            match kind {
                END => break,
                SUMS => {
                    let unknown = |block: &Block| !(block.parts.len() == 1 && block.crc.is_some());
                    let count = blocks.iter().filter(|block| unknown(block)).map(|block| block.parts.len()).sum();
                    let mut sums = self.sums(count)?.into_iter();
                    for block in blocks.iter_mut().filter(|block| unknown(block)) {
                        block.parts.iter_mut().for_each(|part| part.1 = sums.next().flatten());
                    }
                }
                _ => return None,
            }
            kind = self.number()?;
        }
        for block in blocks {
            if let [part] = &mut block.parts[..]
                && block.crc.is_some()
            {
                part.1 = block.crc;
            }
        }
        Some(())
    }

    fn files(&mut self) -> Option<Vec<Item>> {
        // Each has the end of its name here.
        let count = self.count().filter(|count| *count <= self.bytes.len() / 2)?;
        let count = self.allows(count)?;
        let mut items = vec![Item { has_stream: true, ..Item::default() }; count];
        let (mut has_names, mut empty_files, mut anti) = (count == 0, None, None);
        loop {
            let kind = self.number()?;
            if kind == END {
                break;
            }
            let len = self.number()?;
            let mut from = Source { bytes: self.bytes(len)?, ..*self };
            let without = |items: &[Item]| items.iter().filter(|item| !item.has_stream).count();
            match kind {
                EMPTY => {
                    let empty = from.bits(count)?;
                    items.iter_mut().zip(empty).for_each(|(item, is_empty)| item.has_stream = !is_empty);
                }
                EMPTY_FILES => empty_files = Some(from.bits(without(&items))?),
                ANTI => anti = Some(from.bits(without(&items))?),
                NAMES => {
                    from.is_here()?;
                    for item in &mut items {
                        item.name = from.name()?;
                    }
                    has_names = true;
                }
                MODIFIED => {
                    let are_there = from.all_or_bits(count)?;
                    from.is_here()?;
                    for (item, _) in items.iter_mut().zip(are_there).filter(|(_, is_there)| *is_there) {
                        item.modified = Some(from.u64()?);
                    }
                }
                ATTRIBUTES => {
                    let are_there = from.all_or_bits(count)?;
                    from.is_here()?;
                    for (item, _) in items.iter_mut().zip(are_there).filter(|(_, is_there)| *is_there) {
                        item.attributes = from.u32()?;
                    }
                }
                // Other times, padding, and what is not known.
                _ => {}
            }
        }
        let without = items.iter_mut().filter(|item| !item.has_stream);
        for (number, item) in without.enumerate() {
            let at = |bits: &Option<Vec<bool>>| bits.as_ref().is_some_and(|bits| bits.get(number) == Some(&true));
            item.is_folder = !at(&empty_files);
            item.is_anti = at(&anti);
        }
        has_names.then_some(items)
    }

    /// That what follows is not in a stream of its own.
    fn is_here(&mut self) -> Option<()> {
        (self.byte()? == 0).then_some(())
    }

    /// A name of UTF-16. Outside: whether there is one.
    fn name(&mut self) -> Option<Option<String>> {
        let mut units = Vec::new();
        loop {
            let unit = self.bytes(2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))?;
            if unit == 0 {
                return Some(String::from_utf16(&units).ok());
            }
            units.push(unit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(bytes: &[u8]) -> Source<'_> {
        Source { bytes, most: 1000, has_too_many: false }
    }

    #[test]
    fn counts_that_overflow_are_refused() {
        // Two blocks of one coder each, the parts of which are together more than there can be.
        let block = Block { coders: vec![Coder::default()], sizes: vec![0], ..Block::default() };
        let most = [&[0xff][..], &[0xff; 8]].concat();
        let counts = [&[0x0d, 2], &most[..], &[9, 0]].concat();
        let mut all = Source { most: usize::MAX, ..source(&counts) };
        assert_eq!(all.parts(&mut [block.clone(), block]), None);
    }

    #[test]
    fn more_entries_than_are_allowed_get_no_memory_and_are_told_as_such() {
        let directory = [&[0x01, 0x05, 0xc0 | 0x01, 0x00, 0x00][..], &[0; 1 << 18]].concat();
        let allowed = |entries| parse(&directory, 1 << 20, &Limits::default().entries(entries)).err().unwrap();
        assert!(matches!(allowed(1000), ErrorKind::Limit { limit: Limit::Entries, value: 1000, .. }));
        assert!(!matches!(allowed(1 << 20), ErrorKind::Limit { .. }));
    }

    #[test]
    fn numbers_take_as_many_bytes_as_they_need() {
        for (bytes, number) in [
            (&[0x05][..], 5),
            (&[0x7f], 127),
            (&[0x81, 0x02], 0x102),
            (&[0xbf, 0xff], 0x3fff),
            (&[0xc1, 2, 3], 0x1_0302),
            (&[0xfe, 1, 2, 3, 4, 5, 6, 7], 0x07_0605_0403_0201),
            (&[0xff, 1, 2, 3, 4, 5, 6, 7, 8], 0x0807_0605_0403_0201),
        ] {
            assert_eq!(source(bytes).number(), Some(number), "{bytes:?}");
            assert_eq!(source(&bytes[..bytes.len() - 1]).number(), None);
        }
    }
}
