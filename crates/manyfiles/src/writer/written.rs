//! What a closed writer has done.

/// What [`close`](super::FileWriter::close) says: all of it has been written, and closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Bytes that this writer gave to the operating system. What was replaced while it was still buffered counts once.
    pub bytes: u64,
    /// How many of them, counted in the order in which they were written, are known to be on the disk: those that a sync came
    /// after. Under every [`SyncPolicy`](super::SyncPolicy) but `Never`, all.
    pub durable: u64,
}
