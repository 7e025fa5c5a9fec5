//! [`Call`]: one system call that returned, as every format's reader hands it to the analysis.

use crate::open_file::OpenFile;

/// What a call is for. Chart colours and the "file time" go by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Opens or makes a file.
    Open,
    /// Reads from a file.
    Read,
    /// Writes to a file, or sets its length.
    Write,
    /// Closes a handle.
    Close,
    /// Waits until bytes are on the disk.
    Sync,
    /// Makes, lists, renames or removes names: folders, links, files.
    Names,
    /// Asks for or sets what is known of a file: size, times, permissions.
    Metadata,
    /// Waits for something that is no file: a child, a lock, a timer, a socket.
    Wait,
    /// All else: memory, processes, signals, the registry.
    Other,
}

impl Kind {
    /// All kinds, in the order in which they are shown.
    pub const ALL: [Kind; 9] = [
        Kind::Open,
        Kind::Read,
        Kind::Write,
        Kind::Close,
        Kind::Sync,
        Kind::Names,
        Kind::Metadata,
        Kind::Wait,
        Kind::Other,
    ];

    /// Whether the call is work on files.
    pub fn is_file(self) -> bool {
        self < Kind::Wait
    }

    /// Its name, in the report and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Open => "open",
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Close => "close",
            Kind::Sync => "sync",
            Kind::Names => "names",
            Kind::Metadata => "metadata",
            Kind::Wait => "wait",
            Kind::Other => "other",
        }
    }
}

/// A system call that returned.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    /// Its name: `openat`, `CloseFile`.
    pub operation: &'a [u8],
    pub kind: Kind,
    pub thread: ThreadId,
    /// The program's name, where the trace tells.
    pub program: &'a [u8],
    /// When it began, in nanoseconds since the trace did.
    pub start: Option<u64>,
    /// How long it took, in nanoseconds.
    pub duration: Option<u64>,
    /// It said that it failed.
    pub failed: bool,
    /// The file or folder it was about.
    pub path: Option<&'a [u8]>,
    /// The open file it was about.
    pub file: Option<&'a OpenFile>,
    pub effect: Effect,
}

/// The process and the thread that made the call. 0: the trace doesn't tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ThreadId {
    pub process: u32,
    pub thread: u32,
}

/// What a call did, as far as it matters to a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// `Call::file` was opened.
    Opened,
    Read(u64),
    /// Bytes written, and where, unless at the file's position.
    Wrote {
        bytes: u64,
        at: Option<u64>,
    },
    /// The position was set: the next write doesn't begin where the last one ended.
    Moved,
    Synced,
    /// What was written before went to the system, or on its way to the disk: a buffer would have been emptied.
    WrittenBack,
    /// One handle of `Call::file` was closed.
    Closed,
    /// A folder was to be made, and was there.
    FolderWasThere,
    /// Work was handed over that no call shows.
    HandedOver,
    /// `Call::file` was mapped.
    Mapped {
        to_write: bool,
    },
}
