//! [`Options`]: how archives are to be unpacked.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use crate::entry_filter::{EntryFilter, Spaces};
use crate::limits::Limits;
use crate::progress::InputProgress;
use crate::sys;

/// How archives are to be unpacked: choices, to be followed by [`build`](Options::build).
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) filter: EntryFilter,
    pub(crate) ignore_zeros: bool,
    pub(crate) limits: Limits,
    pub(crate) threads: usize,
    pub(crate) progress: InputProgress,
}

impl Default for Options {
    /// Everything is unpacked but ownership, set-id bits, devices and FIFOs, within default [`Limits`].
    fn default() -> Self {
        Options {
            filter: EntryFilter::default(),
            ignore_zeros: false,
            limits: Limits::default(),
            threads: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            progress: InputProgress::default(),
        }
    }
}

impl Options {
    /// Leaves out the first `count` components of each path, as tar's option of this name does. An entry with only that
    /// many components is left out. A path that is absolute, or has a `..` among these components, is refused, not
    /// mended. Default: 0.
    #[must_use]
    pub fn strip_components(mut self, count: usize) -> Self {
        self.filter.strip = count;
        self
    }

    /// Unpacks only entries with a path for which `select` says `true`. The path is the archive's, before stripping,
    /// but without `./` before it and slashes behind it. May be called from several threads. Default: all.
    #[must_use]
    pub fn select(mut self, select: Arc<dyn Fn(&Path) -> bool + Send + Sync>) -> Self {
        self.filter.select = Some(select);
        self
    }

    /// The limits that stop a bomb. Default: [`Limits::default`].
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How many threads decode. Default: one per core. Several are of use for a zip, and for a tar that is compressed in
    /// parts that can be told without decoding: bzip2, xz of several blocks, zstd of several frames that say how much is
    /// in them, gzip as `bgzip` writes it. Any other is decoded by one thread, beside the one that reads entries.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Makes device nodes and FIFOs instead of refusing them. Default: no.
    #[must_use]
    pub fn special_files(mut self, special_files: bool) -> Self {
        self.filter.special_files = special_files;
        self
    }

    /// Gives entries the user and group numbers that the archive has for them. (Names of users are not looked at.)
    /// Default: no.
    #[must_use]
    pub fn ownership(mut self, ownership: bool) -> Self {
        self.filter.ownership = ownership;
        self
    }

    /// Reads on behind the end of a tar if another one follows, however many zeros are between: tars that were joined,
    /// as GNU tar's option of this name does. A cpio archive behind a cpio archive likewise. Default: no. Then the [`Summary`](crate::Summary) names the bytes that
    /// follow.
    #[must_use]
    pub fn ignore_zeros(mut self, ignore_zeros: bool) -> Self {
        self.ignore_zeros = ignore_zeros;
        self
    }

    /// Keeps set-user-id and set-group-id bits, of files and of folders. Default: no. (The sticky bit is always kept:
    /// it only takes rights away.)
    #[must_use]
    pub fn set_id(mut self, set_id: bool) -> Self {
        self.filter.set_id = set_id;
        self
    }

    /// Gives entries the extended attributes that a tar has for them: those that begin with `user.`, and as root also
    /// `security.` (capabilities) and `trusted.`. Not labels of SELinux, and not what overlayfs writes (`trusted.overlay.`,
    /// `user.overlay.`): they are of use only where they were made. An attribute that cannot be set is a failure of its
    /// entry. Attributes that no file of Linux can have are left out: a name longer than 255 bytes, a value longer than
    /// 64 KiB. Entries that lose one are [counted](crate::Summary::with_attributes). Default: no.
    #[must_use]
    pub fn xattrs(mut self, xattrs: bool) -> Self {
        let spaces = if sys::is_privileged() { Spaces::Privileged } else { Spaces::User };
        self.filter.xattrs = xattrs.then_some(spaces);
        self
    }

    /// Counts the bytes that are read into `progress`.
    #[must_use]
    pub fn progress(mut self, progress: InputProgress) -> Self {
        self.progress = progress;
        self
    }
}
