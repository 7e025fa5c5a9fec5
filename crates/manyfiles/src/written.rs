//! What the end of one file returns.

/// What the `close` of one file returns: how many bytes it took. Which bytes count, and what is known of them, each
/// `close` says: [`FileWriter::close`](crate::writer::FileWriter::close),
/// [`TreeFile::close`](crate::tree::TreeFile::close), [`Appender::close`](crate::appender::Appender::close).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Bytes that were given to the operating system. What was replaced while it was still buffered counts once.
    pub bytes: u64,
    /// How many of them, counted in the order in which they were written, are known to be on the disk: those before a
    /// sync that succeeded. If the file was synced when it was closed, all.
    pub durable: u64,
}
