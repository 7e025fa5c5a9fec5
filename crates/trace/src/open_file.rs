//! [`OpenFile`]: what a trace told about a file between its open and its close.

use std::cell::Cell;

use crate::handle::FileHandles;

/// A file that was opened and, as far as the trace says, not closed yet. Handles that were duplicated share it.
pub(crate) struct OpenFile {
    /// As the trace named it. `None`: a pipe, a socket, or opened before the trace began.
    pub path: Option<Box<[u8]>>,
    /// Known to be no file, but a pipe, a socket or the like: a read from it waits for another program.
    pub is_channel: bool,
    /// The trace has its open, so that it is known to be a file even without a name.
    pub opened: bool,
    /// Stands for bytes on a disk, so that a buffer, a batch or a kept handle may help.
    pub regular: bool,
    /// Opened to be written to.
    pub for_writing: bool,
    /// Each write waits until its bytes are on the disk.
    pub durable: bool,
    /// Every write goes to its end.
    pub appends: bool,
    /// It was empty when it was opened.
    pub was_empty: bool,
    /// The process that opened the file, or one that shares descriptors with that process: it could have kept the file
    /// open. 0: the trace doesn't tell.
    pub owner: u32,
    /// Where the analysis keeps what it counts by file and by folder.
    pub handles: Cell<FileHandles>,
    /// The time its open, writes and closes took.
    pub time: Cell<u64>,
    /// Bytes written since it was opened.
    pub written: Cell<u64>,
    /// A write was past the end that the file had.
    pub grew: Cell<bool>,
    /// Where the next write goes, counted from where the first did.
    pub position: Cell<u64>,
    pub synced: Cell<bool>,
    /// The writes since the last one that did not begin where the write before it ended.
    pub run: Cell<Run>,
}

/// Small writes, each beginning where the one before ended. No call between them would have emptied a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub calls: u64,
    pub bytes: u64,
    pub time: u64,
}

impl OpenFile {
    pub(crate) fn new(path: Option<&[u8]>, owner: u32) -> OpenFile {
        OpenFile {
            regular: path.is_some_and(is_on_a_disk),
            path: path.map(Box::from),
            is_channel: false,
            opened: false,
            for_writing: false,
            durable: false,
            appends: false,
            was_empty: false,
            owner,
            handles: Cell::default(),
            time: Cell::new(0),
            written: Cell::new(0),
            grew: Cell::new(false),
            position: Cell::new(0),
            synced: Cell::new(false),
            run: Cell::default(),
        }
    }

    /// A pipe, a socket or the like.
    pub(crate) fn channel(owner: u32) -> OpenFile {
        OpenFile { is_channel: true, ..OpenFile::new(None, owner) }
    }

    /// Whether it is a folder, as far as can be told: nothing else is opened to be read alone, and synced.
    pub(crate) fn seems_a_folder(&self) -> bool {
        self.opened && !self.for_writing && self.written.get() == 0
    }

    pub(crate) fn path(&self) -> Option<&[u8]> {
        self.path.as_deref()
    }
}

fn is_on_a_disk(path: &[u8]) -> bool {
    let elsewhere: [&[u8]; 4] = [b"/dev/", b"/proc/", b"/sys/", br"\\.\"];
    !elsewhere.iter().any(|prefix| path.starts_with(prefix)) || path.starts_with(b"/dev/shm/")
}
