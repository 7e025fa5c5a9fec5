//! Where the bytes of a tar come from: a file, read by position, or a stream of blocks from another thread.

use std::io;

use manyfiles::tree::{Canceller, Content};

use crate::error::{ErrorKind, Result};

/// The bytes of a tar from front to back.
pub(crate) trait Source {
    /// How many bytes have been read or passed over.
    fn position(&self) -> u64;

    /// Fills `buffer`. Returns how many bytes there were: fewer only at the end.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize>;

    /// Passes over `len` bytes. Returns how many there were: fewer only at the end.
    fn skip(&mut self, len: u64) -> Result<u64>;

    /// The next bytes: at least one and at most `max`, or none at the end.
    fn chunk(&mut self, max: u64) -> Result<&[u8]>;

    /// The next `len` bytes as content, without a copy where that can be. `None` if the end comes before.
    fn content(&mut self, len: usize) -> Result<Option<Content>>;

    /// The longest content that is to be had in one piece.
    fn longest_content(&self) -> usize;

    /// Reads on to the end, where the tar has ended, and checks that all was as it should be.
    fn finish(&mut self) -> Result<()>;

    /// How damage at byte `position` of the tar is called.
    fn damage(&self, position: u64, cause: &str) -> ErrorKind;
}

/// Notices that the user wants no more, wherever a loop may be long.
#[derive(Clone, Default)]
pub(crate) struct Cancel(pub Option<Canceller>);

impl Cancel {
    pub fn check(&self) -> Result<()> {
        match &self.0 {
            Some(canceller) if canceller.is_cancelled() => Err(ErrorKind::Cancelled),
            _ => Ok(()),
        }
    }
}

/// What an entry is given up for when the archive, not the file system, is to blame.
pub(crate) fn entry_error(kind: &ErrorKind) -> io::Error {
    let told = |cause: String| io::Error::new(io::ErrorKind::InvalidData, cause);
    match kind {
        ErrorKind::Read(error) => match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        },
        ErrorKind::Cancelled => io::Error::new(io::ErrorKind::Interrupted, "cancelled"),
        ErrorKind::Damaged { cause, .. } => told(format!("the archive is damaged here: {cause}")),
        ErrorKind::Limit { limit, value, .. } => {
            told(format!("given up: with it the archive goes over the limit of {value} for the {limit}"))
        }
        ErrorKind::Changed(_) => told("the archive was changed or cut short while it was being unpacked".into()),
        other => told(other.to_string()),
    }
}
