//! What can be chosen when a file is opened.

use std::fmt;
use std::sync::Arc;

use super::SyncPolicy;
use crate::close::Closer;

/// Options of a [`FileWriter`](super::FileWriter). The last call opens the file: [`create`](Options::create),
/// [`create_new`](Options::create_new), [`append`](Options::append), [`open_at`](Options::open_at), or takes what is
/// open already: [`from_file`](Options::from_file), [`from_writer`](Options::from_writer).
///
/// ```
/// # let temp = tempfile::tempdir()?;
/// # let path = temp.path().join("tiles");
/// use manyfiles::writer::{FileWriter, SyncPolicy};
///
/// let mut tiles = FileWriter::options().preallocate(64 << 10).sync(SyncPolicy::OnClose).create(&path)?;
/// for tile in 0..16u8 {
///     tiles.write_all(&[tile; 4096])?;
/// }
/// let written = tiles.close()?;
/// assert_eq!((written.bytes, written.durable), (64 << 10, 64 << 10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Options {
    pub(super) buffer_size: Option<usize>,
    pub(super) record_size: Option<usize>,
    pub(super) file_size: Option<u64>,
    pub(super) preallocate: Option<u64>,
    pub(super) second_thread: bool,
    pub(super) policy: SyncPolicy,
    pub(super) closer: Option<Arc<Closer>>,
}

impl Options {
    /// How many bytes are buffered, at most 1 GiB. 0: none, each write reaches the operating system before it returns. Default: 256
    /// KiB, less where [`file_size`](Options::file_size) says that less will do, and none where
    /// [`record_size`](Options::record_size) says that no record would use it.
    #[must_use]
    pub fn buffer_size(mut self, bytes: usize) -> Options {
        self.buffer_size = Some(bytes);
        self
    }

    /// A hint: so long are most records.
    #[must_use]
    pub fn record_size(mut self, bytes: usize) -> Options {
        self.record_size = Some(bytes);
        self
    }

    /// A hint: about so many bytes will be written. They may be more or fewer.
    #[must_use]
    pub fn file_size(mut self, bytes: u64) -> Options {
        self.file_size = Some(bytes);
        self
    }

    /// Reserves room for so many bytes from where the writing begins, where the file system can: then a full disk is an
    /// error when the file is opened, and the file lies in fewer pieces. It is not longer for that. What is not needed
    /// is given back when the file closes, so no other process may lengthen the file at that moment; after a crash it
    /// stays reserved. Also a hint for [`file_size`](Options::file_size). Nothing to a file that is appended to.
    #[must_use]
    pub fn preallocate(mut self, bytes: u64) -> Options {
        self.preallocate = Some(bytes);
        self
    }

    /// Whether full buffers are written by a second thread, started when the first one is full. Worth it where the
    /// program computes its records on a core of its own: up to four buffers are on their way then. A failure is told
    /// by one of the calls that follow, at the latest by [`flush`](super::FileWriter::flush),
    /// [`sync`](super::FileWriter::sync) or [`close`](super::FileWriter::close). If no thread can be started, it works
    /// as without. Default: no.
    #[must_use]
    pub fn second_thread(mut self, second_thread: bool) -> Options {
        self.second_thread = second_thread;
        self
    }

    /// When the writer syncs by itself. Default: [`SyncPolicy::Never`].
    #[must_use]
    pub fn sync(mut self, policy: SyncPolicy) -> Options {
        self.policy = policy;
        self
    }

    /// The closer that closes the file and keeps the error if the writer is dropped. Default: the
    /// [global closer](crate::close::wait).
    #[must_use]
    pub fn closer(mut self, closer: Arc<Closer>) -> Options {
        self.closer = Some(closer);
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { buffer_size, record_size, file_size, preallocate, second_thread, policy, closer } = self;
        f.debug_struct("Options")
            .field("buffer_size", buffer_size)
            .field("record_size", record_size)
            .field("file_size", file_size)
            .field("preallocate", preallocate)
            .field("second_thread", second_thread)
            .field("policy", policy)
            .field("closer", closer)
            .finish()
    }
}
