//! [`Written`]: what the close of a file returns.

/// What the `close` of a file returns when it brought no error: how much was written, and how much of that is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Bytes that this writer gave to the operating system. What was replaced while it was still buffered counts once. (A
    /// [`TreeFile`](crate::tree::TreeFile) of up to 256 KiB gives them to the tree's threads.)
    pub bytes: u64,
    /// How many of them, counted in the order in which they were written, are known to be on the disk: those that a sync came
    /// after. Under every [`SyncPolicy`](crate::writer::SyncPolicy) but `Never`, all. Of a file of a tree 0: its name is made
    /// durable by the end of the tree.
    pub durable: u64,
}
