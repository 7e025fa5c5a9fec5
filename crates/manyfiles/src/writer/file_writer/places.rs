//! What needs a file with places: writing here and there, reading back, another length.

use std::io::{self, SeekFrom};

use super::FileWriter;
use crate::writer::check_offset;
use crate::{Operation, Result, sys};

impl FileWriter {
    /// Takes all of `bytes`, for `offset`, and leaves the position of the next [`write_all`](FileWriter::write_all) as
    /// it is.
    ///
    /// Pieces that follow one another are gathered in the buffer like records, whichever call they came by; a piece
    /// elsewhere first sends the buffer on its way. A piece that lies in the buffer is replaced there.
    ///
    /// # Errors
    /// `Unsupported` in a file that is appended to, in a pipe, a terminal and the like; `InvalidInput` for an offset
    /// beyond what a file can have (2^63 - 1).
    pub fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        self.check_places(Operation::Write)?;
        self.check(Operation::Write, check_offset(offset))?;
        if bytes.is_empty() {
            return self.attempt(|_| Ok(()));
        }
        if let Some(buffered) = self.buffered_at(offset, bytes.len()) {
            buffered.copy_from_slice(bytes);
            return Ok(());
        }
        let position = self.position();
        self.attempt(|writer| {
            writer.elsewhere = Some(offset);
            let taken = writer.take(bytes);
            writer.elsewhere = (position != writer.behind_buffer()).then_some(position);
            taken
        })
    }

    /// Cuts the file to this length, or lengthens it by a hole, and leaves the position of the next write as it is.
    /// What is buffered is written before.
    ///
    /// # Errors
    /// as [`write_at`](FileWriter::write_at).
    pub fn set_len(&mut self, len: u64) -> Result<()> {
        self.check_places(Operation::Write)?;
        self.check(Operation::Write, check_offset(len))?;
        self.attempt(|writer| {
            writer.core.write_out()?;
            writer.core.with_target(|target| target.set_len(len)).map(drop)
        })
    }

    /// Reads back from `offset` on until `bytes` is full or the file ends, and says how much that was. What is buffered
    /// is written before. The position of the next write stays as it is.
    ///
    /// # Errors
    /// `Unsupported` as [`write_at`](FileWriter::write_at). A read that fails leaves the writer as it is; a failed
    /// write before it does not.
    pub fn read_at(&mut self, bytes: &mut [u8], offset: u64) -> Result<usize> {
        self.check_places(Operation::Read)?;
        self.check(Operation::Read, check_offset(offset))?;
        self.flush()?;
        if self.reader.is_none() {
            let mut opened = None;
            self.attempt(|writer| {
                opened = writer.core.with_target(|target| Ok(target.open_again()))?;
                Ok(())
            })?;
            self.reader = opened.transpose()?;
        }
        let Some(reader) = &self.reader else { return Ok(0) };
        let mut done = 0;
        while done < bytes.len() {
            match sys::read_at(reader, &mut bytes[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(more) => done += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return self.check(Operation::Read, Err(cause)),
            }
        }
        Ok(done)
    }

    /// Moves to where the next write goes. Nothing is written by that, nor by moving back. Beyond the end it leaves a
    /// hole, if something is written there.
    ///
    /// # Errors
    /// `Unsupported` and `InvalidInput` as with [`write_at`](FileWriter::write_at). [`SeekFrom::End`] flushes first,
    /// and fails as that does.
    pub fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.check_places(Operation::Seek)?;
        let target = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(by) => self.position().checked_add_signed(by),
            SeekFrom::End(by) => self.len()?.checked_add_signed(by),
        };
        let before_start = || io::Error::new(io::ErrorKind::InvalidInput, "a place before the file's beginning");
        let target = self.check(Operation::Seek, target.ok_or_else(before_start))?;
        self.check(Operation::Seek, check_offset(target))?;
        self.attempt(|writer| {
            writer.elsewhere = (target != writer.behind_buffer()).then_some(target);
            Ok(())
        })?;
        Ok(target)
    }

    /// Where the next write goes, from the file's beginning; counted from where this writer began, in what has no
    /// offsets.
    pub fn position(&self) -> u64 {
        self.elsewhere.unwrap_or(self.behind_buffer())
    }

    fn len(&mut self) -> Result<u64> {
        self.flush()?;
        let mut len = None;
        self.attempt(|writer| {
            len = writer.core.with_target(|target| target.len())?;
            Ok(())
        })?;
        Ok(len.unwrap_or(0))
    }

    fn check_places(&self, operation: Operation) -> Result<()> {
        let unsupported = || io::Error::new(io::ErrorKind::Unsupported, "bytes can only be added at the end here");
        self.check(operation, if self.has_places { Ok(()) } else { Err(unsupported()) })
    }
}
