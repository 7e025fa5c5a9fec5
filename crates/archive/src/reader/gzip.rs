//! gzip with places to begin at: between two blocks of deflate, with the 32 KiB before that the next block may refer
//! to. The way of zlib's example `zran.c` (Mark Adler).
//!
//! `miniz_oxide` is slower than the decoder that unpacks, but it is the one that stops between blocks.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::Crc;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_HAS_MORE_INPUT, TINFL_FLAG_STOP_ON_BLOCK_BOUNDARY, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{BlockBoundaryState, DecompressorOxide, decompress};

use super::chunks::Chunk;
use crate::error::ErrorKind;
use crate::limits::{Limits, check_ratio};

/// How much of the tar is at least between two places.
const SPACING: u64 = 1 << 20;
/// How far back deflate refers.
const WINDOW: usize = 32 << 10;
const OUTPUT: usize = 256 << 10;
const INPUT: usize = 64 << 10;

/// What a decoder knows between two blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// How many bits of the byte before belong to the next block, and these.
    pub bits: u8,
    pub bit_buffer: u8,
    /// The last bytes that were decoded, compressed by zstd.
    pub window: Vec<u8>,
}

/// What the one that opens the archive wants to know of an [`Inflater`] on another thread.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub places: Vec<Chunk>,
    /// Why it has failed.
    pub failure: Option<ErrorKind>,
}

/// Decodes a gzip file.
pub(super) struct Inflater<R> {
    source: R,
    input: Vec<u8>,
    start: usize,
    /// How much of the file has been taken.
    used: u64,
    state: Box<DecompressorOxide>,
    /// What was decoded, the [`WINDOW`] before what is to be handed out included.
    output: Vec<u8>,
    end: usize,
    handed_out: usize,
    /// How much was decoded.
    unpacked: u64,
    is_in_member: bool,
    has_ended: bool,
    /// The checksum of a member that was decoded from its beginning.
    crc: Option<Crc>,
    record: Option<(Arc<Mutex<Found>>, Limits)>,
}

impl<R: Read> Inflater<R> {
    /// From the beginning of a file on. Where decoding can begin, and how it ended, is put into `found`.
    pub(super) fn new(source: R, limits: Limits, found: Arc<Mutex<Found>>) -> Inflater<R> {
        let mut inflater = Inflater::at(source, 0);
        inflater.record = Some((found, limits));
        inflater
    }

    /// From a place on, which is at byte `used` of the file, where `source` is.
    pub(super) fn resume(source: R, used: u64, state: &Option<State>) -> io::Result<Inflater<R>> {
        let mut inflater = Inflater::at(source, used);
        if let Some(state) = state {
            let mut boundary = BlockBoundaryState::default();
            (boundary.num_bits, boundary.bit_buf) = (state.bits & 7, state.bit_buffer);
            *inflater.state = DecompressorOxide::from_block_boundary_state(&boundary);
            let window = zstd::bulk::decompress(&state.window, WINDOW)?;
            inflater.output[..window.len()].copy_from_slice(&window);
            (inflater.end, inflater.handed_out) = (window.len(), window.len());
            inflater.is_in_member = true;
        }
        Ok(inflater)
    }

    fn at(source: R, used: u64) -> Inflater<R> {
        Inflater {
            source,
            input: Vec::new(),
            start: 0,
            used,
            state: Box::default(),
            output: vec![0; WINDOW + OUTPUT],
            end: 0,
            handed_out: 0,
            unpacked: 0,
            is_in_member: false,
            has_ended: false,
            crc: None,
            record: None,
        }
    }

    /// The next `count` bytes of the file without taking them; fewer only at its end.
    fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.input.len() - self.start < count {
            self.input.drain(..self.start);
            self.start = 0;
            let old = self.input.len();
            self.input.resize(old + INPUT, 0);
            let read = loop {
                match self.source.read(&mut self.input[old..]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    read => break read,
                }
            };
            self.input.truncate(old + *read.as_ref().unwrap_or(&0));
            if read? == 0 {
                break;
            }
        }
        let there = &self.input[self.start..];
        Ok(&there[..there.len().min(count)])
    }

    fn take(&mut self, count: usize) {
        self.start += count;
        self.used += count as u64;
    }

    fn byte(&mut self) -> io::Result<u8> {
        let byte = *self.peek(1)?.first().ok_or_else(cut_short)?;
        self.take(1);
        Ok(byte)
    }

    /// Goes behind the header of the next member: RFC 1952, 2.3. `false`: none follows.
    fn header(&mut self) -> io::Result<bool> {
        while self.used > 0 && self.peek(1)? == [0] {
            self.take(1);
        }
        if self.peek(2)? != [0x1f, 0x8b] {
            return Ok(false);
        }
        let fixed: [u8; 10] = self.peek(10)?.try_into().map_err(|_| cut_short())?;
        self.take(10);
        let [_, _, method, flags, ..] = fixed;
        if method != 8 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the method of compression is unknown"));
        }
        if flags & 4 != 0 {
            let len = u16::from_le_bytes([self.byte()?, self.byte()?]);
            for _ in 0..len {
                self.byte()?;
            }
        }
        // A name and a comment, each ended by a zero; a checksum of the header.
        for flag in [8, 16] {
            while flags & flag != 0 && self.byte()? != 0 {}
        }
        if flags & 2 != 0 {
            self.byte()?;
            self.byte()?;
        }
        Ok(true)
    }

    fn step(&mut self) -> io::Result<()> {
        if !self.is_in_member {
            let packed = self.used;
            if !self.header()? {
                self.has_ended = true;
                return Ok(());
            }
            (self.end, self.handed_out, self.is_in_member) = (0, 0, true);
            *self.state = DecompressorOxide::new();
            self.crc = Some(Crc::new());
            self.place(packed, None);
        }
        if self.end == self.output.len() {
            self.output.copy_within(self.end - WINDOW.., 0);
            (self.end, self.handed_out) = (WINDOW, WINDOW);
        }
        let is_at_end = self.peek(1)?.is_empty();
        let boundaries = if self.record.is_some() { TINFL_FLAG_STOP_ON_BLOCK_BOUNDARY } else { 0 };
        let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF | TINFL_FLAG_HAS_MORE_INPUT | boundaries;
        let input = &self.input[self.start..];
        let (status, used, made) = decompress(&mut self.state, input, &mut self.output, self.end, flags);
        if let Some(crc) = &mut self.crc {
            crc.update(&self.output[self.end..self.end + made]);
        }
        self.take(used);
        self.end += made;
        self.unpacked += made as u64;
        match status {
            TINFLStatus::Done => self.trailer()?,
            TINFLStatus::BlockBoundary => self.boundary()?,
            TINFLStatus::NeedsMoreInput if is_at_end => return Err(cut_short()),
            TINFLStatus::NeedsMoreInput | TINFLStatus::HasMoreOutput => {}
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "the deflate stream is corrupt")),
        }
        if let Some((found, limits)) = &self.record
            && let Err(kind) = check_ratio(limits, self.unpacked, self.used)
        {
            found.lock().unwrap_or_else(PoisonError::into_inner).failure = Some(kind);
            return Err(io::Error::other("a limit"));
        }
        Ok(())
    }

    fn trailer(&mut self) -> io::Result<()> {
        let trailer: [u8; 8] = self.peek(8)?.try_into().map_err(|_| cut_short())?;
        self.take(8);
        self.is_in_member = false;
        match self.crc.take() {
            Some(crc) if [crc.sum().to_le_bytes(), crc.amount().to_le_bytes()].concat() != trailer => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "the content has another checksum than the gzip says"))
            }
            _ => Ok(()),
        }
    }

    /// Between two blocks: perhaps a place to begin at.
    fn boundary(&mut self) -> io::Result<()> {
        let Some((found, _)) = &self.record else { return Ok(()) };
        let last = found.lock().unwrap_or_else(PoisonError::into_inner).places.last().map_or(0, |last| last.start);
        if self.unpacked - last < SPACING {
            return Ok(());
        }
        if let Some(boundary) = self.state.block_boundary_state() {
            let window = &self.output[self.end.saturating_sub(WINDOW)..self.end];
            let window = zstd::bulk::compress(window, 1)?;
            self.place(self.used, Some(State { bits: boundary.num_bits, bit_buffer: boundary.bit_buf, window }));
        }
        Ok(())
    }

    /// A place to begin at. A member without content has none that is of use, so the next one takes its place.
    fn place(&mut self, packed: u64, state: Option<State>) {
        let Some((found, _)) = &self.record else { return };
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        let is_near = found.places.last().is_some_and(|last| self.unpacked - last.start < SPACING && state.is_none());
        if found.places.last().is_some_and(|last| last.start == self.unpacked) {
            found.places.pop();
        } else if is_near && self.unpacked > 0 {
            // Members may be small. The decoder goes from one to the next.
            return;
        }
        found.places.push(Chunk { packed, start: self.unpacked, state });
    }
}

impl<R: Read> Read for Inflater<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.handed_out == self.end && !self.has_ended && !into.is_empty() {
            if let Err(error) = self.step() {
                if let Some((found, _)) = &self.record {
                    let kind = match error.raw_os_error() {
                        Some(_) => ErrorKind::Read(io::Error::new(error.kind(), error.to_string())),
                        None => ErrorKind::damaged(crate::error::Position::Archive(self.used), error.to_string()),
                    };
                    found.lock().unwrap_or_else(PoisonError::into_inner).failure.get_or_insert(kind);
                }
                return Err(error);
            }
        }
        let len = (self.end - self.handed_out).min(into.len());
        into[..len].copy_from_slice(&self.output[self.handed_out..self.handed_out + len]);
        self.handed_out += len;
        Ok(len)
    }
}

fn cut_short() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "it is cut short")
}
