//! [`Options`]: how a [`TreeWriter`](super::TreeWriter) is to write.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::digest::{Digest, NewDigest};
use super::outcome::{Entry, OnEntry};
use crate::sys::Keep;

/// What to do with an entry whose name is taken: a file, a link or a device. A folder that exists is never a conflict,
/// and a folder is never replaced by something else: that is a failure, unless the entry is skipped or gets another
/// name.
///
/// Whatever is written over or replaced hands its permissions on, and its owner where that is allowed, unless
/// [`Metadata`](super::Metadata) gives others. A copy of a file that would take the place of that very file, under
/// whatever name, is a failure.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum OnConflict {
    /// Leave what is there and report the entry as a failure. It costs nothing: the open that creates the file tells.
    #[default]
    Error,
    /// Leave what is there, and count the entry as skipped.
    Skip,
    /// Leave what is there if it has the same bytes, holes read as zeros, or is the same link or device; else write as
    /// [`Overwrite`](OnConflict::Overwrite) does. Metadata that was given and differs is set, so that a second run
    /// changes nothing. 5.8 times as fast as truncating where nothing changed (ext4). What comes through
    /// [`create`](super::TreeWriter::create) and is longer than 256 KiB or has bytes left out is compared when it is
    /// there.
    SkipIdentical,
    /// Write over the old bytes, then cut to length: 4.7 times as fast as truncating first on ext4. A crash or a reader
    /// meanwhile may see old and new bytes mixed.
    ///
    /// Replaced instead, as [`Replace`](OnConflict::Replace) does, is a symbolic link or a file with other hard links,
    /// so that nothing outside the tree changes; a file that cannot be opened for writing; and whatever is in the way
    /// of a link, of content with holes, and of what comes through [`create`](super::TreeWriter::create) and is longer
    /// than 256 KiB or has bytes left out. A file does not take the place of a device, FIFO or socket: that is a
    /// failure.
    Overwrite,
    /// Write beside the old file and rename: readers see old or new, nothing between. Half as fast as creating.
    ///
    /// A process that is killed leaves a file `.manyfiles-…` beside. The next run that replaces something in that
    /// folder removes it: at once if both processes run in one container (or both in none) of one machine, and the
    /// machine was not started again meanwhile; else as soon as nothing changed the file for a day. An entry of the run
    /// that has such a name is an entry, and stays.
    Replace,
    /// Replace only what is older than the entry's modification time (a hard link's is that of the file that it leads
    /// to), as [`Replace`](OnConflict::Replace) does; else leave what is there, and count the entry as skipped. An
    /// entry without a time replaces.
    Newer,
    /// Keep both: write to `name (1).ext`, or the first number that is free; `name.tar.gz` becomes `name (1).tar.gz`.
    Rename,
    /// Ask, once per conflict, on a thread kept for it; the writing of other files goes on meanwhile.
    Ask(Arc<dyn Fn(&Path) -> Answer + Send + Sync>),
}

impl OnConflict {
    /// Whether it depends on what has a name, so that looking at it comes first where most names are taken.
    pub(super) fn looks_at_what_is_there(&self) -> bool {
        matches!(self, OnConflict::SkipIdentical | OnConflict::Overwrite | OnConflict::Replace | OnConflict::Newer)
    }
}

impl fmt::Debug for OnConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OnConflict::Error => "Error",
            OnConflict::Skip => "Skip",
            OnConflict::SkipIdentical => "SkipIdentical",
            OnConflict::Overwrite => "Overwrite",
            OnConflict::Replace => "Replace",
            OnConflict::Newer => "Newer",
            OnConflict::Rename => "Rename",
            OnConflict::Ask(_) => "Ask",
        })
    }
}

/// What [`OnConflict::Ask`] is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Report the entry as a failure.
    Error,
    /// Leave what is there.
    Skip,
    /// Replace it: write beside it and rename, as [`OnConflict::Replace`] does.
    Overwrite,
    /// Keep both.
    Rename,
}

/// When what is written is durable: on the disk, so that a power cut does not take it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// When the system has written it out, some seconds later, as with [`std::fs::write`].
    #[default]
    None,
    /// Each file is synced before it is closed, and before it replaces another; names are synced by
    /// [`finish`](super::TreeWriter::finish). A crash in between leaves a file that was to be replaced
    /// ([`Replace`](OnConflict::Replace), [`Newer`](OnConflict::Newer)) with its old bytes or the new ones, all of them;
    /// a file whose name was free may be there with a part of its bytes.
    EachFile,
    /// When [`finish`](super::TreeWriter::finish) has returned without an error: one sync of the whole file system
    /// where that can be trusted (Linux 5.8 and later on ext4, XFS, btrfs, F2FS and tmpfs), and as
    /// [`EachFile`](Durability::EachFile) elsewhere, below mount points in the tree, and for files that replace others.
    /// The sync also waits for what other programs have written there. 14 times as fast as a sync of each file on ext4.
    AtFinish,
}

/// How a [`TreeWriter`](super::TreeWriter) is to write: choices, to be followed by [`open`](Options::open).
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) on_conflict: OnConflict,
    pub(super) threads: Option<usize>,
    pub(super) bytes_in_flight: usize,
    pub(super) exact_permissions: bool,
    pub(super) keep: Keep,
    pub(super) durability: Durability,
    pub(super) last_wins: bool,
    pub(super) on_entry: Option<OnEntry>,
    pub(super) digest: Option<NewDigest>,
    pub(super) publish: bool,
    pub(super) resume: bool,
    pub(super) follow_folder_links: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            on_conflict: OnConflict::Error,
            threads: None,
            bytes_in_flight: 32 << 20,
            exact_permissions: false,
            keep: Keep::default(),
            durability: Durability::None,
            last_wins: false,
            on_entry: None,
            digest: None,
            publish: false,
            resume: false,
            follow_folder_links: false,
        }
    }
}

impl Options {
    /// What to do with a file whose name is taken. Default: [`OnConflict::Error`].
    #[must_use]
    pub fn on_conflict(mut self, on_conflict: OnConflict) -> Self {
        self.on_conflict = on_conflict;
        self
    }

    /// How many threads write while the file system is fast. Default: one per core, at least two. Where its calls wait
    /// (a network file system, a virus scanner), more threads than that join, and leave when the calls are fast again;
    /// with 1 none joins.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// How many bytes may be handed over and not yet written, before the caller has to wait. Default: 32 MiB. One file
    /// larger than this is taken alone.
    #[must_use]
    pub fn bytes_in_flight(mut self, bytes: usize) -> Self {
        self.bytes_in_flight = bytes.max(1);
        self
    }

    /// Set permission bits that are given exactly as they are given, whatever the process's umask or a folder's default
    /// access control list says. Default: these apply, as they do to every file for which no bits are given.
    #[must_use]
    pub fn exact_permissions(mut self, exact: bool) -> Self {
        self.exact_permissions = exact;
        self
    }

    /// What [copies of files](super::Content::copy_of) take from their source besides bytes, permissions and time, on
    /// the handle that is open for the bytes. What [`Metadata`](super::Metadata) gives counts instead. Default:
    /// nothing more.
    ///
    /// Of attributes and owners that are given, it says whether one that cannot be set is a failure of its entry: all
    /// are but those that [`Keep::everything`] has for as far as they can be kept. What those lose is in
    /// [`Report::not_kept`](super::Report::not_kept).
    ///
    /// Entries without content get what [`Metadata::attributes_of`](super::Metadata::attributes_of) has read.
    /// Immutable and append-only files become so by [`finish`](super::TreeWriter::finish), when all else is done.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let temp = tempfile::tempdir()?;
    /// # let (source, target) = (temp.path().join("source"), temp.path().join("target"));
    /// # std::fs::create_dir(&source)?;
    /// # std::fs::write(source.join("file"), "")?;
    /// use manyfiles::tree::{Content, Keep, Metadata, TreeWriter};
    /// let keep = Keep::everything();
    /// let tree = TreeWriter::options().keep(keep).exact_permissions(true).open(&target)?;
    /// tree.folder(".", Metadata::default().mode(0o755).attributes_of(&source, keep)?)?;
    /// tree.file("file", Content::copy_of(source.join("file")))?;
    /// let report = tree.finish()?;
    /// println!("{} entries had what could not be kept", report.not_kept.entries);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// Of several entries of one path the last one is what remains, whatever [`on_conflict`](Options::on_conflict)
    /// says: that then is only about what was there before. It is how archives are meant, where a later entry takes the
    /// place of an earlier one. Takes some 20 bytes of memory for each entry. Default: false, and what this tree wrote
    /// is as what was there.
    #[must_use]
    pub fn last_wins(mut self, last_wins: bool) -> Self {
        self.last_wins = last_wins;
        self
    }

    /// Calls `told` for each entry when it is done with: written and closed, skipped, failed or cancelled. Once for
    /// each call that handed an entry over, on a thread of the tree's or on that of the call; several at a time. An
    /// entry whose file is still to be given its last time or permissions (a folder) has no
    /// [`EntryStat`](super::EntryStat).
    ///
    /// The threads wait for it: what takes long belongs in a channel. It may hand entries over, which then are taken
    /// without waiting for room; it must not [`finish`](super::TreeWriter::finish) a tree (that panics: the tree would
    /// wait for the very thread). A panic in it is a failure of the report, with the entry's path.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let temp = tempfile::tempdir()?;
    /// use std::sync::{Arc, Mutex};
    /// use manyfiles::tree::{Outcome, TreeWriter};
    ///
    /// let index = Arc::new(Mutex::new(Vec::new()));
    /// let entries = index.clone();
    /// let tree = TreeWriter::options()
    ///     .on_entry(move |entry| {
    ///         if let Outcome::Written { stat: Some(stat), .. } = &entry.outcome {
    ///             entries.lock().unwrap().push((entry.path.to_path_buf(), stat.len, stat.modified));
    ///         }
    ///     })
    ///     .open(temp.path())?;
    /// tree.file("a", "some bytes")?;
    /// tree.finish()?;
    /// assert_eq!(index.lock().unwrap()[0].1, 10);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn on_entry(mut self, told: impl Fn(&Entry<'_>) + Send + Sync + 'static) -> Self {
        self.on_entry = Some(OnEntry(Arc::new(told)));
        self
    }

    /// Makes a digest of each file's content while it is written, without reading anything again, for
    /// [`on_entry`](Options::on_entry) to tell. `new` is called for each file. What would be cloned or copied inside
    /// the kernel goes through memory for it.
    #[must_use]
    pub fn digest(mut self, new: impl Fn() -> Box<dyn Digest> + Send + Sync + 'static) -> Self {
        self.digest = Some(NewDigest(Arc::new(new)));
        self
    }

    /// When what is written is durable. Default: [`Durability::None`]. What is left as it was (skipped, or identical)
    /// is not synced for that. If the sync at the end fails, the report names the path `.`, and none of the files
    /// counts as durable.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// The tree appears whole: it is written in a folder `.manyfiles-…` beside the path that [`open`](Options::open) is
    /// given, the target. [`finish`](super::TreeWriter::finish) gives that folder the target's name if every entry is
    /// there: at one moment where the system can exchange two names (Linux, macOS), in two renames elsewhere. The
    /// folder that had the name before is removed then. Default: false, and entries are written below the path itself.
    ///
    /// Owner, permissions and access control list of the target's own folder stay, as far as this user may set them,
    /// and else become fewer. An owner or a mode that an entry for `.` gives counts instead. (On Windows the new folder
    /// has what it inherits.)
    ///
    /// If anything failed or was cancelled, or the tree is dropped without `finish`, the target stays as it was, and
    /// what was written is removed. So it is if the folder above the target was renamed or replaced meanwhile. Folders
    /// above the target that were missing are made by `open`, and stay. Failures that come after the new tree has the
    /// name say so by their paths: the old tree could not be removed, or the folders above could not be synced.
    ///
    /// What is mounted in the target is never removed: `open` and `finish` refuse a target that is a mount point or has
    /// one in it (Linux). What is mounted unnoticed stays, and the old tree is a failure that names it.
    ///
    /// In a container `finish` refuses a target that is a folder of the image
    /// ([`CrossesDevices`](std::io::ErrorKind::CrossesDevices)): its overlay renames none. A folder that was made in
    /// the container, or is on a volume, is replaced as everywhere.
    ///
    /// With a [`durability`](Options::durability) the tree is on the disk before it has the name. What a run that was
    /// killed has left beside the target is removed by the next run that publishes there: at once if it ran on this
    /// machine since that was started, whatever the container; else as soon as nothing in it changed for a day. For
    /// that a running one holds a lock (`flock`) of the folder that it writes in; on a file system without such locks a
    /// run in another container counts as one on another machine.
    #[must_use]
    pub fn publish(mut self, publish: bool) -> Self {
        self.publish = publish;
        self
    }

    /// Goes on with [copies](super::Content::copy_of) of large files that an earlier run has begun and not completed,
    /// and leaves those that this one does not complete, whether it fails, is cancelled or killed, to be gone on with.
    /// Large are files from [`RESUME_FROM`](super::RESUME_FROM) on. Default: false, and nothing of a file that fails
    /// stays.
    ///
    /// Such a file is written beside its name, as `.manyfiles-resume-…`, and gets its name when it is complete. What an
    /// earlier run left is compared with the source from the beginning, and kept up to the first difference: whatever
    /// happened to it, also in a power cut, the result is the source's bytes. It is begun anew if the source is another
    /// file since, or has another length or time. A file with that name that no such run has made is left alone, and so
    /// is one that another run is just writing: then this copy is made as without `resume`.
    ///
    /// It stays until a run with `resume` makes that very entry, or somebody removes it. Not gone on with are clones,
    /// which take no time, what gets another name ([`Rename`](OnConflict::Rename)), and a tree that is to be
    /// [published](Options::publish). Nor is anything where files cannot be locked, which includes Windows. On a file
    /// system without holes (FAT) such a file takes twice the time, as zeros are written first.
    ///
    /// [`Report::resumed`](super::Report::resumed) tells what was gone on with, and
    /// [`Report::partial`](super::Report::partial) what stays.
    #[must_use]
    pub fn resume(mut self, resume: bool) -> Self {
        self.resume = resume;
        self
    }

    /// Writes entries through symbolic links to folders, if these were below the root before the tree was opened: they
    /// stay, and what is below them in the path is written where they lead, wherever that is. The folder there keeps
    /// its permissions and times. Default: false, and such an entry is [refused](super::Refusal::ThroughSymlink).
    ///
    /// Never followed, nor gone through on the way that an older link leads, is a link that this tree has made, by
    /// whatever path it is found, and one that was made, replaced or renamed since the tree was opened. The last is
    /// told by the file system's times: where its clock is behind this machine's, another program that makes links
    /// below the root meanwhile may lead entries elsewhere. Not on Windows, where none is followed.
    #[must_use]
    pub fn follow_folder_links(mut self, follow: bool) -> Self {
        self.follow_folder_links = follow;
        self
    }
}
