//! What can be chosen when an appender is opened.

use std::time::Duration;

/// Options of an [`Appender`](super::Appender); [`open`](Options::open) opens it.
///
/// ```
/// # let temp = tempfile::tempdir()?;
/// # let path = temp.path().join("events");
/// use manyfiles::appender::Appender;
/// use std::time::Duration;
///
/// let appender = Appender::options()
///     .framed(true)
///     .rotate_bytes(64 << 20)
///     .rotate_age(Duration::from_secs(24 * 60 * 60))
///     .open(&path)?;
/// appender.append_durable(b"started")?; // in the file events.000001
/// appender.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) capacity: usize,
    pub(super) framed: bool,
    pub(super) rotate_bytes: Option<u64>,
    pub(super) rotate_age: Option<Duration>,
    pub(super) keep: Keep,
    #[cfg(feature = "zstd")]
    pub(super) compress: bool,
    pub(super) max_delay: Option<Duration>,
    pub(super) flush_every: Option<Duration>,
    pub(super) on_damage: OnDamage,
}

/// How much of a log is kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Keep {
    pub(super) files: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) age: Option<Duration>,
}

/// What opening does when bytes of a framed log were durable once and are not what they were.
///
/// A last file in which no appender can go on, whatever its bytes, is a [`Misfit`](super::Misfit) (`InvalidData`):
/// opening fails with that and changes nothing, except with [`SetAside`](OnDamage::SetAside).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnDamage {
    /// Opening fails with a [`Damage`](super::Damage) (`InvalidData`), and nothing is changed.
    #[default]
    Refuse,
    /// Appending goes on behind what is whole. Nothing damaged is touched, so that [`Records`](super::Records) tells of
    /// it at every reading, in its place.
    GoOn,
    /// The damaged file is kept under another name, and one with what is whole of it takes its place, as
    /// [`repair`](crate::appender::repair) does, which mends a [`Misfit`](super::Misfit) too.
    /// [`Recovery::set_aside`](super::Recovery::set_aside) says what was found; no later reading tells of it. Only the
    /// end of the log is looked at: `repair` is for the other files.
    SetAside,
}

/// Larger writes are no faster (docs/measurements.md, "Records into one file").
const CAPACITY: usize = 256 << 10;

impl Default for Options {
    fn default() -> Options {
        Options {
            capacity: CAPACITY,
            framed: false,
            rotate_bytes: None,
            rotate_age: None,
            keep: Keep::default(),
            #[cfg(feature = "zstd")]
            compress: false,
            max_delay: None,
            flush_every: None,
            on_damage: OnDamage::default(),
        }
    }
}

impl Options {
    /// How many bytes of records are buffered before appending waits for a write. As many again may be on their way to
    /// the system. A record longer than a quarter of this is not copied: its append writes it. Default: 256 KiB. With
    /// 0, every append writes.
    #[must_use]
    pub fn capacity(mut self, bytes: usize) -> Options {
        self.capacity = bytes;
        self
    }

    /// Whether each record gets 8 bytes of length and checksum (CRC-32C), and each write a mark of 16 that says what
    /// was durable by then. [`Records`](super::Records) reads such a log, and what a crash tore is set aside. Up to 256
    /// KiB of zeros may be behind the last record while the log is open, so that syncs of small records take about half
    /// the time. A record may then have up to 4,294,967,293 bytes. Default: no; records are put one behind the other as
    /// they are, and may be of any length. A crash of the machine may then leave anything behind the last durable
    /// record.
    #[must_use]
    pub fn framed(mut self, framed: bool) -> Options {
        self.framed = framed;
        self
    }

    /// Begins a new file before a record that would make the file longer than this. A record is never split; one that
    /// is longer has a file of its own. Default: never.
    ///
    /// Files are then called as the path with a number behind: `events.000001`, `events.000002` and so on. Opening goes
    /// on with the highest number there is, or the next. What is no longer needed may be removed at any time, from the
    /// lowest number up, the highest excepted; [`keep_files`](Options::keep_files) and its like do that.
    ///
    /// A file that is left is durable, and the next one is, as an empty file, before a record goes to it. This costs
    /// some syncs at each new file, in whichever thread happens to write.
    /// It also reads the names in the log's folder twice, to find what another program has begun there. With 10,000
    /// files that takes some 6 ms; where files are never removed, larger ones are better.
    #[must_use]
    pub fn rotate_bytes(mut self, bytes: u64) -> Options {
        self.rotate_bytes = Some(bytes);
        self
    }

    /// Begins a new file before the first record that comes when the file is this old. Without records no file is made.
    /// See [`rotate_bytes`](Options::rotate_bytes) for names. Default: never.
    ///
    /// The age of a file that was there is what the file system says of its making; from then on a clock counts that
    /// cannot be set. A file that seems to come from the future counts as new.
    #[must_use]
    pub fn rotate_age(mut self, age: Duration) -> Options {
        self.rotate_age = Some(age);
        self
    }

    /// Removes the oldest files while there are more than this many, the one that is written to included. Default: none
    /// is removed.
    ///
    /// This is done when a new file was begun and when the log is opened, in whichever thread that happens: not while
    /// nothing is appended. The oldest goes first, durably, before the next, so that a crash leaves no gap; what a
    /// crash has left undone the next opening does. The file that is written to is never removed. Of several limits
    /// each holds.
    ///
    /// What goes is gone for readers too: one that has the file open reads it to its end, and then, or if it comes
    /// later, is told of what is [`Missing`](super::Missing). A file that cannot be removed stays, and keeps those
    /// behind it; that is no failure of the log, and
    /// [`Appender::take_upkeep_errors`](super::Appender::take_upkeep_errors) tells of it. Copies of damaged files are
    /// not counted and not removed.
    ///
    /// Each unclean end makes a new file, too: where a program crashes again and again, few files soon hold few
    /// records, and [`keep_bytes`](Options::keep_bytes) keeps more of them.
    #[must_use]
    pub fn keep_files(mut self, files: u64) -> Options {
        self.keep.files = Some(files);
        self
    }

    /// Removes the oldest files while all files together, the one that is written to included, have more bytes than
    /// this. See [`keep_files`](Options::keep_files). While that one grows, there are up to
    /// [`rotate_bytes`](Options::rotate_bytes) more. Default: none is removed.
    #[must_use]
    pub fn keep_bytes(mut self, bytes: u64) -> Options {
        self.keep.bytes = Some(bytes);
        self
    }

    /// Removes the oldest files while they have not been written to for this long, by the time that the file system
    /// keeps. See [`keep_files`](Options::keep_files). Default: none is removed.
    #[must_use]
    pub fn keep_age(mut self, age: Duration) -> Options {
        self.keep.age = Some(age);
        self
    }

    /// Compresses files when they are not written to any more, by zstd: `events.000003` becomes `events.000003.zst`.
    /// Default: no. Needs the feature `zstd`, as reading does; [`Records`](super::Records) and all else that reads
    /// framed logs takes both kinds of files. A file without a number stays as it is.
    ///
    /// A thread does this, one file at a time, with some 5 MiB of memory. It is started when a file was begun and when
    /// the log is opened, and ends when nothing is left to do. The compressed file is read back, compared, and durable
    /// with its name before the plain one is removed: after a crash in between both are there, and the plain one
    /// counts. Closing the appender breaks off what is under way; the next one does it.
    ///
    /// Where this fails the plain file stays, and [`Appender::take_upkeep_errors`](super::Appender::take_upkeep_errors)
    /// tells of it; it is tried again at the next new file. A wrong byte in a compressed file costs all behind it in
    /// that file.
    #[cfg(feature = "zstd")]
    #[must_use]
    pub fn compress(mut self, compress: bool) -> Options {
        self.compress = compress;
        self
    }

    /// How long a sync may be put off so that more records share it. Default: half of what a sync takes. With zero, a
    /// sync begins as soon as a thread or a task waits and the last sync is done.
    ///
    /// Most threads that waited for a sync are back at once with their next record. The next sync waits for them, this
    /// long at most, and not at all while experience says that they do not come. A single thread never waits. Nothing
    /// is ever acknowledged before its sync, whatever this says.
    #[must_use]
    pub fn max_delay(mut self, delay: Duration) -> Options {
        self.max_delay = Some(delay);
        self
    }

    /// Writes buffered records when the oldest of them has been buffered for this long, though no thread waits for
    /// them. So other programs see them, and a crash of this process leaves them. A power cut may take them until they
    /// are [synced](super::Appender::sync). Default: buffered records stay so until a call asks for them to be written.
    ///
    /// A thread waits for that time. It is started by the first record that is buffered, and ends with the appender, or
    /// this long after everything was written. If no thread can be started, the append writes. A write that fails is
    /// told as every other failure: by the next call, and by all that follow it.
    #[must_use]
    pub fn flush_every(mut self, time: Duration) -> Options {
        self.flush_every = Some(time);
        self
    }

    /// What opening does where a framed log is damaged. Default: [`Refuse`](OnDamage::Refuse).
    #[must_use]
    pub fn on_damage(mut self, on_damage: OnDamage) -> Options {
        self.on_damage = on_damage;
        self
    }

    pub(super) fn rotates(&self) -> bool {
        self.rotate_bytes.is_some() || self.rotate_age.is_some()
    }

    /// Longer records are written by the thread that appends them.
    pub(super) fn largest_copy(&self) -> usize {
        self.capacity / 4
    }
}
