//! [`Step`]: what is done to a file.

/// What is done to each file of 4 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Created, written, closed.
    New,
    /// Opened with truncation, written again, closed.
    Truncated,
    /// Opened as it is, written over, cut to length, closed.
    InPlace,
    /// Opened, appended to, closed.
    Appended,
    /// Given another name in its folder.
    Renamed,
    /// Created, written, synced, closed.
    Synced,
    /// Created, written and closed, and synced with all others at the end, by
    /// [`SyncBatch`](manyfiles::sync::SyncBatch).
    Batch,
    /// Removed.
    Removed,
    /// Created and written by one thread, and closed by a [`Closer`](manyfiles::close::Closer) as it comes, which is
    /// what [`FastClose`](manyfiles::close::FastClose) has as well; until all are closed.
    HandedOver,
    /// Written by a [`TreeWriter`](manyfiles::tree::TreeWriter) into many folders, until it has finished.
    Tree,
}

impl Step {
    /// As tables show it.
    pub fn name(self) -> &'static str {
        match self {
            Step::New => "new file",
            Step::Truncated => "overwritten, truncated first",
            Step::InPlace => "overwritten in place",
            Step::Appended => "appended to",
            Step::Renamed => "renamed",
            Step::Synced => "new file, synced",
            Step::Batch => "new files, synced as a batch",
            Step::Removed => "removed",
            Step::HandedOver => "new files, FastClose",
            Step::Tree => "new files, TreeWriter",
        }
    }

    /// Whether it leaves files of its own.
    pub(crate) fn makes_files(self) -> bool {
        matches!(self, Step::New | Step::Synced | Step::Batch | Step::HandedOver | Step::Tree)
    }

    /// Its calls, in their order.
    pub(crate) fn operations(self) -> &'static [&'static str] {
        match self {
            Step::New | Step::Truncated | Step::Appended => &["open", "write", "close"],
            Step::InPlace => &["open", "write", "cut to length", "close"],
            Step::Renamed => &["rename"],
            Step::Synced => &["open", "write", "sync", "close"],
            Step::Batch | Step::HandedOver | Step::Tree => &[],
            Step::Removed => &["remove"],
        }
    }
}
