//! [`Batch`]: records that go to the system together.

use std::ops::Range;

use crate::appender::log::frame;
use crate::appender::log::header::Header;

/// Bytes of records, one behind the other, in pieces that each go to one place in one file with one call.
#[derive(Debug, Default)]
pub(in crate::appender) struct Batch {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
}

/// One write.
#[derive(Clone, Debug)]
pub(in crate::appender) struct Piece {
    /// Where in the batch it begins; it ends where the next begins.
    start: usize,
    /// Where in the file it goes.
    pub(in crate::appender) offset: u64,
    /// A new file that is to be begun first.
    pub(in crate::appender) new_file: Option<NewFile>,
    /// The number of its last record.
    pub(in crate::appender) last: u64,
    /// The file's salt, where room is left for a mark at the piece's beginning.
    mark: Option<u32>,
}

/// A file that is to be begun.
#[derive(Clone, Copy, Debug)]
pub(in crate::appender) struct NewFile {
    /// Means nothing without framing.
    pub(in crate::appender) header: Header,
    /// Where the one before it ends.
    pub(in crate::appender) old_end: u64,
}

impl Batch {
    pub(in crate::appender) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub(in crate::appender) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Begins a piece. With a salt, it begins with a mark.
    pub(in crate::appender) fn begin(&mut self, offset: u64, new_file: Option<NewFile>, mark: Option<u32>) {
        self.pieces.push(Piece { start: self.bytes.len(), offset, new_file, last: 0, mark });
        if mark.is_some() {
            self.bytes.extend_from_slice(&[0; frame::MARK]);
        }
    }

    /// Adds to the newest piece.
    #[inline]
    pub(in crate::appender) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The newest piece holds the records up to this one.
    #[inline]
    pub(in crate::appender) fn ends_with(&mut self, record: u64) {
        self.pieces.last_mut().expect("a piece was begun").last = record;
    }

    /// Fills in the marks: the file is durable up to `durable`. Only the first piece can have one.
    pub(in crate::appender) fn set_mark(&mut self, durable: u64) {
        if let Some(Piece { start, offset, mark: Some(salt), .. }) = self.pieces.first() {
            self.bytes[*start..*start + frame::MARK].copy_from_slice(&frame::mark(*salt, *offset, durable));
        }
    }

    /// The pieces, each with its bytes.
    pub(in crate::appender) fn pieces(&self) -> impl Iterator<Item = (&Piece, &[u8])> {
        self.pieces.iter().enumerate().map(|(n, piece)| {
            let end = self.pieces.get(n + 1).map_or(self.bytes.len(), |next| next.start);
            let range: Range<usize> = piece.start..end;
            (piece, &self.bytes[range])
        })
    }

    /// Empty again, with its memory, unless it has grown beyond `capacity`.
    pub(in crate::appender) fn clear(&mut self, capacity: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(capacity);
        self.pieces.clear();
    }
}
