//! What the end of one file returns.

/// What a [`close`](crate::writer::FileWriter::close) returns: all bytes are written, and the file is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Bytes that were given to the operating system. What was replaced while it was still buffered counts once.
    pub bytes: u64,
    /// How many of them, counted in the order in which they were written, are known to be on the disk: those before a
    /// sync that succeeded. If the file was synced when it was closed, all.
    pub durable: u64,
}
