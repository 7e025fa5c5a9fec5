//! [`Appender`]: the handle that programs hold.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::appender::commit::group::Group;
use crate::appender::commit::state::State;
use crate::appender::opening;
use crate::appender::options::Options;
use crate::appender::position::Position;
use crate::appender::receipt::Receipt;
use crate::appender::recovery::Recovery;
use crate::appender::storage::{FileSystem, Storage};
use crate::error::print_last_resort;
use crate::origin::leave;
use crate::{Error, Operation, Result, Written};

/// Appends records to one file from many threads. Threads that wait share syncs.
///
/// Share it by reference, or in an [`Arc`]. One appender at a time has a file; [`Options::open`] refuses the second.
///
/// A forked child has a copy that cannot write: its calls fail, and its drop changes nothing. A program that goes on in
/// the child (a daemon, say) opens the log there.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let temp = tempfile::tempdir()?;
/// # let path = temp.path().join("orders");
/// use manyfiles::appender::{Appender, Records};
///
/// let appender = Appender::options().framed(true).open(&path)?;
/// std::thread::scope(|scope| {
///     for thread in 0..8 {
///         let appender = &appender;
///         scope.spawn(move || appender.append_durable(format!("order of thread {thread}").as_bytes()));
///     }
/// });
/// let written = appender.close()?;
/// assert_eq!((written.bytes, written.durable), (8 * 17, 8 * 17));
///
/// let records: Vec<Vec<u8>> = Records::open(&path)?.collect::<Result<_, _>>()?;
/// assert_eq!(records.len(), 8);
/// # Ok(()) }
/// ```
pub struct Appender {
    pub(super) group: Arc<Group>,
    path: PathBuf,
    recovery: Recovery,
    is_closed: bool,
}

impl Appender {
    /// Opens the file, or makes it, with the default [`Options`]: no framing, no rotation.
    pub fn open(path: impl AsRef<Path>) -> Result<Appender> {
        Appender::options().open(path)
    }

    /// What can be chosen.
    pub fn options() -> Options {
        Options::default()
    }

    pub(super) fn new(path: &Path, options: Options, storage: Arc<dyn Storage>) -> Result<Appender> {
        // Keyed at random: no two files have the same salt but by chance.
        let salt = RandomState::new().hash_one(path) as u32;
        let (files, beginning) = opening::open(path, &options, Arc::clone(&storage), salt)?;
        let begun = storage.now();
        let state = State::new(beginning.header, beginning.end, begun, beginning.age);
        let group = Arc::new(Group::new(state, files, options, storage));
        Ok(Appender { group, path: path.to_owned(), recovery: beginning.recovery, is_closed: false })
    }

    /// Takes a record, and returns at once unless the buffers are full: then it waits for a write, or makes one. The
    /// record's bytes are one piece in the file, behind those of every append that returned before. Nothing is put
    /// between records but [frames](Options::framed), if they were asked for.
    ///
    /// The receipt says when it is written, or durable. A buffered record stays so until a call asks for it to be
    /// written: see [`State::Buffered`](super::State::Buffered).
    ///
    /// Fails if an earlier write, sync or close failed, or this write. A record too long for framing is refused
    /// (`InvalidInput`), and nothing else happens.
    pub fn append(&self, record: &[u8]) -> Result<Receipt> {
        let taken = self.group.append(record)?;
        let position = taken.position.map(Position);
        Ok(Receipt { group: Arc::clone(&self.group), record: taken.number, position })
    }

    /// [`append`](Appender::append) and [`wait_durable`](Receipt::wait_durable).
    pub fn append_durable(&self, record: &[u8]) -> Result<()> {
        self.group.append_durable(record)
    }

    /// Returns when every record appended so far is with the operating system. A crash of the machine may still take
    /// them.
    pub fn flush(&self) -> Result<()> {
        self.group.check_call(Operation::Write)?;
        self.group.wait_written(self.group.appended())
    }

    /// Returns when every record appended so far is durable.
    pub fn sync(&self) -> Result<()> {
        self.group.check_call(Operation::Sync)?;
        self.group.wait_durable(self.group.appended())
    }

    /// Removes the files of a framed log that have no record at or behind this position: what a checkpoint has made
    /// needless. Returns how many that were. The file that is written to stays; how much goes at once is how often
    /// files are [begun](super::Options::rotate_bytes).
    ///
    /// The oldest goes first, durably, before the next: a crash leaves no gap. Fails with the first that cannot be
    /// removed, which changes nothing for records. Without framing there are no positions: `InvalidInput`.
    ///
    /// ```
    /// # let temp = tempfile::tempdir()?;
    /// # let path = temp.path().join("wal");
    /// use manyfiles::appender::{Appender, Records};
    ///
    /// let wal = Appender::options().framed(true).rotate_bytes(1_000).open(&path)?;
    /// let receipts = (0..100).map(|n| wal.append(format!("change {n}").as_bytes())).collect::<Result<Vec<_>, _>>()?;
    /// wal.sync()?;
    /// // All changes before number 80 are where they belong.
    /// let checkpoint = receipts[80].position().expect("it is framed");
    /// assert!(wal.remove_before(checkpoint)? > 0);
    /// assert_eq!(Records::open_at(&path, checkpoint)?.next().expect("there is one")?, b"change 80");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_before(&self, position: Position) -> Result<u64> {
        self.group.remove_before(position.0)
    }

    /// Makes every record durable and closes the file. Receipts stay good.
    ///
    /// Returns how many bytes the records have that this appender took, in whichever files, and all of them are
    /// durable: [`bytes`](Written::bytes) and [`durable`](Written::durable) are the same number. Frames are not
    /// counted.
    ///
    /// Fails with the first failure that there was, of this call or before it.
    pub fn close(mut self) -> Result<Written> {
        self.is_closed = true;
        self.group.check_origin(Operation::Close)?;
        let closed = self.group.close();
        print_last_resort(&self.group.upkeep.take_errors());
        closed
    }

    /// What went wrong since the last call of this with files that are not written to any more: one that could not be
    /// [removed](super::Options::keep_files) or compressed, say. No record is lost by it, and no other call fails. Of
    /// very many errors the first 64 are kept. Errors that were not taken when the appender is closed or dropped are
    /// printed to standard error.
    pub fn take_upkeep_errors(&self) -> Vec<Error> {
        if self.group.check_call(Operation::Write).is_err() {
            return Vec::new();
        }
        self.group.upkeep.take_errors()
    }

    /// What opening found.
    pub fn recovery(&self) -> Recovery {
        self.recovery.clone()
    }

    /// The path that it was opened with.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Options {
    /// Opens the log, or makes it, durably. The folder must be there, and writable.
    ///
    /// Appending goes on where the log ends. If it was not closed in order, the page cache may show what the disk does
    /// not have, so:
    ///
    /// - with [framing](Options::framed), in a next file with a number behind the name, which begins with the records
    ///   that are not known to be durable. The old file is left as it is, with what a crash tore of it;
    ///   [`recovery`](Appender::recovery) says how much that is. Every record that was found is durable when this
    ///   returns;
    /// - without framing, in the file, after its end was written again and synced (at most about 1 MiB, after a power
    ///   cut more). `NAME.manyfiles-open` lies beside the file while it is open, and `NAME.manyfiles-tail` for a
    ///   moment: leave both to the next opening;
    /// - with rotation and without framing, in a new file at every opening.
    ///
    /// **Other programs may move the file**, as logrotate does, if it has neither framing nor rotation. Each write asks
    /// for its length and, once a second at most, whether it still has its name. What comes after a move goes to the
    /// file that has the name then, or to a new one; what was written before is made durable first, where it is, so
    /// that each receipt is true of the file that has its record. After a cut (`copytruncate`) records go behind what
    /// is left: what was written between the other program's copy and its cut is gone, whatever its receipt says, and a
    /// write at the very moment of the cut may leave a hole, so `create` is the better way.
    ///
    /// Symbolic links are followed now: a log's files are beside each other, wherever the link is. A log's file should
    /// have no second name by a hard link: after an unclean end the log would go on beside the name that it is opened
    /// by.
    ///
    /// Only the last file is read: damage in earlier ones is told by [`Records`](super::Records).
    ///
    /// Fails, and leaves everything as it is, if
    ///
    /// - the path is no regular file (`InvalidInput`, or what the system says);
    /// - another appender has the file open, or begins one at this moment (`ResourceBusy`; known where the file system
    ///   has locks);
    /// - framing is asked for and the file is none of framed records, or the other way round (`InvalidData`);
    /// - the file is damaged before its end (`InvalidData`; see [`on_damage`](Options::on_damage));
    /// - another program's file has the name of a note that lies beside a log without frames (`InvalidData`);
    /// - it is to be rotated without framing and there is a file of that name without a number (`AlreadyExists`).
    pub fn open(self, path: impl AsRef<Path>) -> Result<Appender> {
        Appender::new(path.as_ref(), self, Arc::new(FileSystem::new()))
    }
}

impl Drop for Appender {
    /// Does what [`close`](Appender::close) does, and blocks as long. A failure that no call has told of is printed to
    /// standard error.
    fn drop(&mut self) {
        // A forked child's is a copy; the file, and the note beside it, are the other process's.
        if self.group.origin.is_a_parent() {
            return leave(&self.group);
        }
        if self.is_closed {
            return;
        }
        let was_told = self.group.is_told();
        if let Err(error) = self.group.close()
            && !was_told
        {
            print_last_resort([&error]);
        }
        print_last_resort(&self.group.upkeep.take_errors());
    }
}

impl fmt::Debug for Appender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.group.lock();
        f.debug_struct("Appender")
            .field("path", &self.path)
            .field("appended", &state.progress.appended())
            .field("written", &state.progress.written())
            .field("durable", &state.progress.durable())
            .field("failure", &state.progress.failure())
            .finish_non_exhaustive()
    }
}
