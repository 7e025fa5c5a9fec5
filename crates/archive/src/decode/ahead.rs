//! Compressed data that is decoded by several threads: blocks of bzip2, frames of zstd that say how much is in them,
//! members of gzip that say how long they are (BGZF, which `bgzip` writes).
//!
//! The end of such a unit is known without decoding it. Each is decoded by a thread, and handed over in its turn. It
//! counts only if it is sound to its end. At the first that is not, the plain decoder begins where that unit does, and
//! says what is wrong, and where. So this file needs no errors of its own.
//!
//! Where no thread can be had, the reader decodes a unit when its turn comes. bzip2 is read by units even then: where its
//! plain decoder notices damage depends on how many bits it has in hand, and so on where it began. This way it begins
//! at the same place whatever the number of threads.
//!
//! Memory: each thread and its reader have one unit in hand, of [`MOST`] bytes at most, packed and unpacked; the packed
//! bytes are in the input's buffer too, until their turn has come.
//!
//! The threads end when the reader is gone, at the latest when they have decoded the unit that they are at.

use std::collections::VecDeque;
use std::io::{self, BufRead, Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;

use manyfiles::threads::spawn_quiet;

use super::bzip2::{self, Bridge};
use super::head;
use super::input::Input;
use super::lz4::is_skippable;
use super::members::Members;
use crate::format::Compression;
use crate::progress::InputProgress;

/// A longer unit is decoded as it comes.
const MOST: usize = 8 << 20;
/// Frames and members that are shorter are decoded together.
const LEAST: usize = 128 << 10;
/// More than a block of bzip2 takes.
const LONGEST_BLOCK: usize = 2 << 20;
const MOST_THREADS: usize = 16;

/// What is to be decoded, and who waits for it.
struct Job {
    packed: Vec<u8>,
    /// How long the content is, if that is known.
    holds: usize,
    /// Memory for the content.
    content: Vec<u8>,
    to: SyncSender<Done>,
}

/// A unit that a thread has had.
struct Done {
    /// It was sound, and not too long.
    is_whole: bool,
    /// Its memory, to be used again: the system takes as long to give new memory as zstd takes to fill it.
    packed: Vec<u8>,
    content: Vec<u8>,
}

/// A unit that is being decoded. Positions are in bits, from where [`Ahead`] began.
struct Unit {
    end: u64,
    kind: Kind,
    decoded: Decoded,
}

enum Decoded {
    Here(Done),
    /// A thread will send it.
    Awaited(Receiver<Done>),
    /// The thread has panicked.
    Never,
}

enum Kind {
    /// The lengths of frames or members, in bytes, and that of all their content, where frames say it.
    Members(Vec<usize>, usize),
    Block {
        level: u8,
        checksum: u32,
        /// The checksum of its stream, which ends behind it, and the stream's end in bits.
        last: Option<(u32, u64)>,
    },
}

/// Where decoding by units has ended.
pub(super) enum Left {
    /// Behind a member.
    Between,
    /// Where a member begins, which is for the plain decoder.
    Before,
    /// Inside a stream of bzip2: after so many bytes of content, the plain decoder gets to where this has ended.
    Inside(usize),
}

pub(super) struct Ahead {
    compression: Compression,
    /// Whether it is to be decoded by units at all.
    has_units: bool,
    /// How many threads may run, and do.
    threads: usize,
    running: usize,
    jobs: Sender<Job>,
    queue: Arc<Mutex<Receiver<Job>>>,
    units: VecDeque<Unit>,
    /// Bytes of the input that were taken.
    taken: u64,
    /// The bit where the next unit is looked for, how far behind its byte its end was, and the digit of its stream.
    next: u64,
    searched: usize,
    level: u8,
    /// A stream of bzip2 begins there, rather than another block.
    finds_head: bool,
    /// The bit that everything before was handed over of, and the checksum of the stream that it is in the middle of.
    at: u64,
    inside: Option<(u8, u32)>,
    /// No more units are to be found; one was not sound.
    is_last: bool,
    has_failed: bool,
    content: Vec<u8>,
    given: usize,
    /// Memory of units that were handed over: packed, and content.
    spare: (Vec<Vec<u8>>, Vec<Vec<u8>>),
    /// Decodes where there is no thread.
    decoder: UnitDecoder,
}

/// What was found of the next unit.
enum Found {
    Unit(Vec<u8>, u64, Kind),
    /// It has not been read to its end.
    Part,
    None,
}

impl Ahead {
    pub(super) fn new(compression: Compression, threads: usize) -> Ahead {
        let (jobs, queue) = channel();
        Ahead {
            compression,
            has_units: match compression {
                Compression::Bzip2 => true,
                Compression::Gzip | Compression::Zstd => threads > 1,
                Compression::Xz | Compression::Lz4 => false,
                Compression::Lzma | Compression::Lzip | Compression::Compress => false,
            },
            // One thread would only wait for the other.
            threads: if threads > 1 { threads.min(MOST_THREADS) } else { 0 },
            running: 0,
            jobs,
            queue: Arc::new(Mutex::new(queue)),
            units: VecDeque::new(),
            taken: 0,
            next: 0,
            searched: 0,
            level: 0,
            finds_head: true,
            at: 0,
            inside: None,
            is_last: false,
            has_failed: false,
            content: Vec::new(),
            given: 0,
            spare: Default::default(),
            decoder: UnitDecoder::new(compression),
        }
    }

    /// Leaves all to the plain decoder.
    pub(super) fn never() -> Ahead {
        Ahead { has_units: false, ..Ahead::new(Compression::Gzip, 1) }
    }

    /// Begins with the member that `input` is at. `false`: it is for the plain decoder.
    pub(super) fn begin(&mut self, input: &mut Input) -> io::Result<bool> {
        if !self.has_units {
            return Ok(false);
        }
        input.peek(18)?;
        (self.taken, self.next, self.searched, self.at) = (0, 0, 0, 0);
        (self.inside, self.finds_head, self.is_last, self.has_failed) = (None, true, false, false);
        // A single unit is as well decoded as it comes.
        let mut found = Vec::new();
        while found.len() < 2 {
            match self.find(input, false) {
                Found::Unit(packed, end, kind) => found.push((packed, end, kind)),
                Found::Part if input.grow() => {}
                _ => return Ok(false),
            }
        }
        for (packed, end, kind) in found {
            self.decode(packed, end, kind);
        }
        Ok(true)
    }

    /// Decoded bytes. None: see [`left`](Ahead::left).
    pub(super) fn read(&mut self, input: &mut Input, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.given < self.content.len() {
                let len = (&self.content[self.given..]).read(into)?;
                self.given += len;
                return Ok(len);
            }
            if self.has_failed {
                return Ok(0);
            }
            self.look_ahead(input);
            let Some(unit) = self.units.pop_front() else { return Ok(0) };
            let done = match unit.decoded {
                Decoded::Here(done) => Some(done),
                Decoded::Awaited(from) => from.recv().ok(),
                Decoded::Never => None,
            };
            match done {
                Some(Done { is_whole: true, packed, content }) => {
                    self.spare.0.push(packed);
                    self.spare.1.push(std::mem::replace(&mut self.content, content));
                    self.given = 0;
                    self.accept(input, unit.end, unit.kind)?;
                }
                _ => self.has_failed = true,
            }
        }
    }

    /// Where it has ended, to which `input` is taken.
    pub(super) fn left(&mut self, input: &mut Input) -> io::Result<Left> {
        // What is behind a failure is not wanted.
        self.units.clear();
        let Some((level, combined)) = self.inside else {
            return Ok(if self.has_failed { Left::Before } else { Left::Between });
        };
        let Bridge { bytes, rest: (last, bits), content } = bzip2::bridge(level, combined, (self.at % 8) as u32)?;
        input.put_before(bytes, last, bits);
        Ok(Left::Inside(content))
    }

    /// Finds units and has them decoded, as long as there is a thread for them. Waits for input only if nothing is
    /// ready.
    fn look_ahead(&mut self, input: &mut Input) {
        while !self.is_last && self.units.len() <= self.threads {
            match self.find(input, false) {
                Found::Unit(packed, end, kind) => self.decode(packed, end, kind),
                Found::None => self.is_last = true,
                Found::Part => {
                    if self.units.front_mut().is_some_and(Unit::is_ready) {
                        return;
                    }
                    if !input.grow() {
                        match self.find(input, true) {
                            Found::Unit(packed, end, kind) => self.decode(packed, end, kind),
                            _ => self.is_last = true,
                        }
                    }
                }
            }
        }
    }

    /// Has a unit decoded, by a thread if there is one.
    fn decode(&mut self, packed: Vec<u8>, end: u64, kind: Kind) {
        if self.running < self.threads {
            let (queue, mut decoder) = (Arc::clone(&self.queue), UnitDecoder::new(self.compression));
            let work = move || {
                loop {
                    let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(Job { packed, holds, content, to }) = job else { return };
                    // After a panic the plain decoder says the same, and where. An error of sending says that nobody
                    // waits for it.
                    match catch_unwind(AssertUnwindSafe(|| decoder.decode(packed, holds, content))) {
                        Ok(done) => drop(to.send(done)),
                        Err(_) => decoder = UnitDecoder::new(decoder.compression),
                    }
                }
            };
            match spawn_quiet(Builder::new().name("decode unit".into()), work) {
                Ok(_) => self.running += 1,
                // Fewer threads do the same.
                Err(_) => self.threads = self.running,
            }
        }
        let holds = if let Kind::Members(_, holds) = kind { holds } else { 0 };
        let content = self.spare.1.pop().unwrap_or_default();
        let decoded = if self.running == 0 {
            Decoded::Here(self.decoder.decode(packed, holds, content))
        } else {
            let (to, from) = sync_channel(1);
            // The queue is never closed while this type lives.
            drop(self.jobs.send(Job { packed, holds, content, to }));
            Decoded::Awaited(from)
        };
        self.units.push_back(Unit { end, kind, decoded });
    }

    /// A unit is handed over: takes its bytes.
    fn accept(&mut self, input: &mut Input, end: u64, kind: Kind) -> io::Result<()> {
        self.at = end;
        match kind {
            Kind::Members(lengths, _) => {
                for len in lengths {
                    head::look(self.compression, input)?;
                    input.consume(len);
                    self.taken += len as u64;
                }
            }
            Kind::Block { level, checksum, last } => {
                let combined = bzip2::combine(self.inside.map_or(0, |(_, combined)| combined), checksum);
                self.inside = Some((level, combined));
                match last {
                    Some((sum, end)) if sum == combined => (self.at, self.inside) = (end, None),
                    // The plain decoder says that it is wrong.
                    Some(_) => self.has_failed = true,
                    None => {}
                }
                input.consume((self.at / 8 - self.taken) as usize);
                self.taken = self.at / 8;
            }
        }
        Ok(())
    }

    /// The next unit. `is_all`: nothing follows what is there.
    fn find(&mut self, input: &Input, is_all: bool) -> Found {
        let bytes = &input.buffered()[(self.next / 8 - self.taken) as usize..];
        let found = match self.compression {
            Compression::Bzip2 => self.find_block(bytes, is_all),
            compression => match find_members(compression, bytes, is_all) {
                Ok((len, lengths, holds)) => {
                    let mut packed = self.spare.0.pop().unwrap_or_default();
                    packed.clear();
                    packed.extend_from_slice(&bytes[..len]);
                    Found::Unit(packed, self.next + len as u64 * 8, Kind::Members(lengths, holds))
                }
                Err(found) => found,
            },
        };
        if let Found::Unit(_, end, kind) = &found {
            let last = if let Kind::Block { last, .. } = kind { *last } else { None };
            self.next = last.map_or(*end, |(_, end)| end);
            self.searched = 0;
            self.finds_head = last.is_some();
        }
        found
    }

    fn find_block(&mut self, bytes: &[u8], is_all: bool) -> Found {
        let part = if is_all { Found::None } else { Found::Part };
        let base = self.next / 8 * 8;
        let mut from = (self.next - base) as usize;
        if self.finds_head {
            if bytes.len() < 10 {
                return part;
            }
            let Some(level) = bzip2::level(bytes) else { return Found::None };
            self.level = level;
            from += bzip2::HEAD_BITS;
        }
        let Some((to, is_end)) = bzip2::find(bytes, self.searched.max(from + 1)) else {
            // A magic may be there in part.
            self.searched = (bytes.len() * 8).saturating_sub(64);
            return if bytes.len() > LONGEST_BLOCK { Found::None } else { part };
        };
        let (Some(checksum), Some(packed)) =
            (bzip2::checksum(bytes, from), bzip2::reframe(bytes, self.level, from, to))
        else {
            return part;
        };
        let last = if is_end {
            let Some(sum) = bzip2::checksum(bytes, to) else { return part };
            // The next stream begins at a byte.
            Some((sum, base + ((to + bzip2::END_BITS).div_ceil(8) * 8) as u64))
        } else {
            None
        };
        Found::Unit(packed, base + to as u64, Kind::Block { level: self.level, checksum, last })
    }
}

impl Unit {
    fn is_ready(&mut self) -> bool {
        if let Decoded::Awaited(from) = &self.decoded {
            match from.try_recv() {
                Ok(done) => self.decoded = Decoded::Here(done),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => self.decoded = Decoded::Never,
            }
        }
        true
    }
}

/// Decodes whole units.
struct UnitDecoder {
    compression: Compression,
    /// Made when it is needed.
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl UnitDecoder {
    fn new(compression: Compression) -> UnitDecoder {
        UnitDecoder { compression, zstd: None }
    }

    fn decode(&mut self, packed: Vec<u8>, holds: usize, mut content: Vec<u8>) -> Done {
        content.clear();
        if self.compression == Compression::Zstd {
            let is_whole = self.frames(&packed, holds, &mut content).is_some();
            return Done { is_whole, packed, content };
        }
        let len = packed.len() as u64;
        let input = Input::new(Box::new(Cursor::new(packed)), InputProgress::default());
        let state = Arc::clone(&input.state);
        let read = Members::with(self.compression, input, Ahead::never())
            .and_then(|members| members.take(MOST as u64 + 1).read_to_end(&mut content));
        let is_whole = read.is_ok()
            && content.len() <= MOST
            && state.used.load(Relaxed) == len
            && !state.trailing_garbage.load(Relaxed)
            && !state.odd_padding.load(Relaxed);
        Done { is_whole, packed: Vec::new(), content }
    }

    fn frames(&mut self, packed: &[u8], holds: usize, content: &mut Vec<u8>) -> Option<()> {
        let zstd = match &mut self.zstd {
            Some(zstd) => zstd,
            None => self.zstd.insert(zstd::bulk::Decompressor::new().ok()?),
        };
        content.reserve(holds);
        let len = zstd.decompress_to_buffer(packed, content).ok()?;
        (len == holds).then_some(())
    }
}

/// Frames or members, one after the other, until they are worth a thread's while: how long they are together, each,
/// and their content, where that is known.
fn find_members(compression: Compression, bytes: &[u8], is_all: bool) -> Result<(usize, Vec<usize>, usize), Found> {
    let (mut lengths, mut len, mut content) = (Vec::new(), 0, 0);
    let is_cut = loop {
        if len >= LEAST || content >= LEAST as u64 * 2 {
            break false;
        }
        let member = match compression {
            Compression::Gzip => bgzf(&bytes[len..]).map(|len| len.map(|len| (len, 0))),
            _ => frame(&bytes[len..]),
        };
        match member {
            Some(Some((more, _))) if len + more > MOST => break false,
            Some(Some((more, _))) if len + more > bytes.len() => break true,
            Some(Some((more, holds))) if content + holds <= MOST as u64 => {
                lengths.push(more);
                len += more;
                content += holds;
            }
            Some(None) if bytes.len() - len < MOST => break true,
            _ => break false,
        }
    };
    match lengths.is_empty() {
        _ if is_cut && !is_all => Err(Found::Part),
        true => Err(Found::None),
        false => Ok((len, lengths, content as usize)),
    }
}

/// How long the member of gzip is that begins here, as BGZF has it. `Some(None)`: more must be read to know; `None`:
/// it does not say.
fn bgzf(bytes: &[u8]) -> Option<Option<usize>> {
    let head = bytes.get(..18);
    match (head, b"\x1f\x8b\x08\x04".starts_with(&bytes[..bytes.len().min(4)])) {
        // The extra field has one part, of which two bytes are the length less one.
        (Some(&[0x1f, 0x8b, 8, 4, _, _, _, _, _, _, 6, 0, b'B', b'C', 2, 0, low, high]), _) => {
            Some(Some(usize::from(u16::from_le_bytes([low, high])) + 1))
        }
        (None, true) => Some(None),
        _ => None,
    }
}

/// How long the frame of zstd is that begins here, and its content. `None` and `Some(None)` as for [`bgzf`].
fn frame(bytes: &[u8]) -> Option<Option<(usize, u64)>> {
    if bytes.len() < 18 {
        // A longer head, and the last frame of a file, need no thread.
        return (!bytes.is_empty()).then_some(None);
    }
    if is_skippable(bytes) {
        let len = bytes.get(4..8)?.try_into().ok()?;
        return Some(Some((8 + u32::from_le_bytes(len) as usize, 0)));
    }
    let head = head::zstd(bytes)?;
    let content = head.content?;
    if head.needs_dictionary || head.window > MOST as u64 || content > MOST as u64 {
        return None;
    }
    let mut at = head.len;
    loop {
        let Some(block) = bytes.get(at..at + 3) else { return Some(None) };
        let block = u32::from_le_bytes([block[0], block[1], block[2], 0]);
        at += 3 + match block >> 1 & 0b11 {
            1 => 1,
            3 => return None,
            _ => (block >> 3) as usize,
        };
        if block & 1 != 0 {
            return Some(Some((at + if head.has_checksum { 4 } else { 0 }, content)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::{Duration, Instant};

    use manyfiles_testkit::{Random, seeds};

    use super::*;

    /// Content of some blocks and frames, that neither repeats nor is noise.
    fn content() -> Vec<u8> {
        let mut state = 1_u64;
        let mut content = Vec::new();
        while content.len() < 800_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            writeln!(content, "line {} of {}", state >> 44, state >> 58).unwrap();
        }
        content
    }

    fn bzip2(content: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        ::bzip2::read::BzEncoder::new(content, ::bzip2::Compression::fast()).read_to_end(&mut packed).unwrap();
        packed
    }

    fn bgzf(content: &[u8]) -> Vec<u8> {
        let member = |content: &[u8]| {
            let mut packed = Vec::new();
            let extra = vec![b'B', b'C', 2, 0, 0, 0];
            let mut encoder = flate2::GzBuilder::new().extra(extra).read(content, flate2::Compression::fast());
            encoder.read_to_end(&mut packed).unwrap();
            let len = (packed.len() - 1) as u16;
            packed[16..18].copy_from_slice(&len.to_le_bytes());
            packed
        };
        content.chunks(60_000).chain([&[][..]]).flat_map(member).collect()
    }

    fn zstd(content: &[u8]) -> Vec<u8> {
        let frame = |content: &[u8]| {
            let mut compressor = ::zstd::bulk::Compressor::new(1).unwrap();
            compressor.set_parameter(::zstd::zstd_safe::CParameter::ChecksumFlag(true)).unwrap();
            compressor.compress(content).unwrap()
        };
        let skippable = b"\x5a\x2a\x4d\x18\x05\0\0\0skip!".to_vec();
        content.chunks(150_000).map(frame).chain([skippable]).flatten().collect()
    }

    /// Files of several units, each with the compression it has.
    fn originals() -> Vec<(Compression, Vec<u8>)> {
        let content = content();
        let parts = [&content[..50_000], &content[50_000..400_000], &[], &content[400_000..]];
        vec![
            (Compression::Bzip2, bzip2(&content)),
            (Compression::Bzip2, parts.iter().flat_map(|part| bzip2(part)).collect()),
            (Compression::Gzip, bgzf(&content)),
            (Compression::Zstd, zstd(&content)),
        ]
    }

    /// What a file decodes to, how that ended, where, and what was noticed.
    type Outcome = (Vec<u8>, String, u64, [bool; 4]);

    /// Reads all in blocks of one length, as the thread does that decodes: where zstd notices damage depends on the room
    /// that it is given.
    fn in_blocks(members: &mut Members, content: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let (start, mut filled) = (content.len(), 0);
            content.resize(start + (64 << 10), 0);
            let ended = loop {
                match members.read(&mut content[start + filled..]) {
                    Ok(0) => break Some(Ok(())),
                    Ok(len) => filled += len,
                    Err(error) => break Some(Err(error)),
                }
                if start + filled == content.len() {
                    break None;
                }
            };
            content.truncate(start + filled);
            if let Some(ended) = ended {
                return ended;
            }
        }
    }

    fn outcome(compression: Compression, packed: impl Read + Send + 'static, ahead: Ahead) -> Outcome {
        let input = Input::new(Box::new(packed), InputProgress::default());
        let state = Arc::clone(&input.state);
        let mut content = Vec::new();
        let end =
            Members::with(compression, input, ahead).and_then(|mut members| in_blocks(&mut members, &mut content));
        let end = end.map_or_else(|error| format!("{:?}: {error}", error.kind()), |_| "whole".to_owned());
        let noticed = [&state.failed, &state.trailing_garbage, &state.odd_padding, &state.unchecked];
        (content, end, state.used.load(Relaxed), noticed.map(|it| it.load(Relaxed)))
    }

    fn read(compression: Compression, packed: &[u8], threads: usize) -> Outcome {
        outcome(compression, Cursor::new(packed.to_vec()), Ahead::new(compression, threads))
    }

    /// A pipe, which gives as many bytes as it has.
    struct Pipe(Cursor<Vec<u8>>, Random);

    impl Read for Pipe {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let most = 1 + self.1.below(100_000).min(into.len() - 1);
            self.0.read(&mut into[..most])
        }
    }

    /// No thread can be had.
    fn alone(compression: Compression) -> Ahead {
        Ahead { threads: 0, ..Ahead::new(compression, 4) }
    }

    #[track_caller]
    fn assert_same(compression: Compression, packed: &[u8], what: &str) {
        let assert = |one: &Outcome, other: &Outcome, tolerance, how: &str| {
            assert_eq!((&one.1, one.3), (&other.1, other.3), "{compression} {what}, {how}");
            assert!(one.2.abs_diff(other.2) <= tolerance, "{compression} {what}, {how}: {} and {}", one.2, other.2);
            assert!(one.0 == other.0, "{compression} {what}, {how}: {} and {} bytes", one.0.len(), other.0.len());
        };
        let one = read(compression, packed, 1);
        assert(&one, &read(compression, packed, 4), 0, "four threads");
        assert(&one, &outcome(compression, Cursor::new(packed.to_vec()), alone(compression)), 0, "no thread");
        // Where bzip2's decoder notices damage, it has up to eight bytes in hand. How many depends on where it began, and
        // on how the bytes come.
        let tolerance = if compression == Compression::Bzip2 && one.1 != "whole" { 8 } else { 0 };
        let pipe = Pipe(Cursor::new(packed.to_vec()), Random::new(packed.len() as u64));
        assert(&one, &outcome(compression, pipe, Ahead::new(compression, 2)), tolerance, "two threads and a pipe");
        let plain = outcome(compression, Cursor::new(packed.to_vec()), Ahead::never());
        assert(&one, &plain, tolerance, "the plain decoder");
    }

    #[test]
    fn whole_files_are_decoded_by_units() {
        for (compression, packed) in originals() {
            let mut input = Input::new(Box::new(Cursor::new(packed.clone())), InputProgress::default());
            assert!(Ahead::new(compression, 2).begin(&mut input).unwrap(), "{compression}");
            assert!(read(compression, &packed, 4).0 == content());
            assert_same(compression, &packed, "whole");
        }
    }

    #[test]
    fn damage_is_told_as_by_the_plain_decoder() {
        let originals = originals();
        for seed in seeds(0, 80) {
            let mut random = Random::new(seed);
            let (compression, packed) = &originals[random.below(originals.len())];
            let at = random.below(packed.len());
            let mut damaged = packed.clone();
            match random.below(6) {
                0 => damaged.truncate(at),
                1 => drop(damaged.drain(at..packed.len().min(at + 100))),
                2 => drop(damaged.splice(at..at, [0; 9])),
                3 => drop(damaged.splice(at..at, *b"\x31\x41\x59\x26\x53\x59\x17\x72\x45\x38\x50\x90")),
                _ => damaged[at] ^= 1 << random.below(8),
            }
            assert_same(*compression, &damaged, &format!("seed {seed}, changed at {at} of {}", packed.len()));
        }
    }

    #[test]
    fn threads_end_when_nobody_reads_any_more() {
        for (compression, packed) in originals() {
            let mut input = Input::new(Box::new(Cursor::new(packed)), InputProgress::default());
            let mut ahead = Ahead::new(compression, 4);
            assert!(ahead.begin(&mut input).unwrap());
            assert!(ahead.read(&mut input, &mut [0; 100]).unwrap() > 0);
            assert!(ahead.running > 0);
            let held_by_threads = Arc::downgrade(&ahead.queue);
            drop(ahead);
            let begin = Instant::now();
            while held_by_threads.strong_count() > 0 {
                assert!(begin.elapsed() < Duration::from_secs(60), "{compression}");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    #[test]
    fn what_follows_and_what_ends_is_told_as_by_the_plain_decoder() {
        for (compression, packed) in originals() {
            for end in [1, 2, 4, 5, 8, 9, 12, 18] {
                assert_same(compression, &packed[..packed.len() - end], &format!("without its last {end} bytes"));
            }
            for end in [1, 5, 12, 40] {
                assert_same(compression, &packed[..end], &format!("its first {end} bytes"));
            }
            for after in [&b"garbage"[..], &[0; 700], b"\0\0BZh9", b"\x1f\x8b", &packed[..300], &packed] {
                assert_same(compression, &[&packed, after].concat(), &format!("and {} bytes", after.len()));
            }
        }
    }

    #[test]
    fn a_block_of_zeros_is_decoded_as_it_comes() {
        let content = [&vec![0; 12 << 20][..], &content()].concat();
        let packed = bzip2(&content);
        assert!(read(Compression::Bzip2, &packed, 4).0 == content);
        assert_same(Compression::Bzip2, &packed, "with zeros");
    }

    #[test]
    fn an_error_of_the_input_comes_behind_what_was_read() {
        struct Failing(Cursor<Vec<u8>>);
        impl Read for Failing {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                match self.0.read(into)? {
                    0 => Err(io::Error::from_raw_os_error(5)),
                    len => Ok(len),
                }
            }
        }
        for (compression, packed) in originals() {
            let half = packed[..packed.len() / 2].to_vec();
            let read = |threads| {
                let input = Input::new(Box::new(Failing(Cursor::new(half.clone()))), InputProgress::default());
                let input = input.with_threads(threads);
                let state = Arc::clone(&input.state);
                let mut content = Vec::new();
                let error = Members::new(compression, input).unwrap().read_to_end(&mut content).unwrap_err();
                (content, error.raw_os_error(), state.failed.load(Relaxed))
            };
            let plain = read(1);
            assert_eq!((plain.1, plain.2), (Some(5), true));
            assert!(plain == read(4), "{compression}");
        }
    }
}
