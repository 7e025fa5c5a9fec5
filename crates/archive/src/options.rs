//! [`Options`]: how archives are to be unpacked.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use manyfiles::tree::Keep;

use crate::entry_filter::EntryFilter;
use crate::limits::Limits;
use crate::password::{Password, Secret};
use crate::progress::InputProgress;

/// How archives are to be unpacked: choices, to be followed by [`build`](Options::build).
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) filter: EntryFilter,
    pub(crate) ignore_zeros: bool,
    pub(crate) limits: Limits,
    pub(crate) threads: usize,
    pub(crate) progress: InputProgress,
    pub(crate) secret: Secret,
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
            secret: Secret::None,
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

    /// Gives entries the user and the group that the archive has for them. A tar has names beside numbers: a name that
    /// this system knows counts, as with tar, else the number. Default: no.
    ///
    /// Names are those of this system also where the tree is to be another system's: see
    /// [`numeric_owner`](Options::numeric_owner).
    #[must_use]
    pub fn ownership(mut self, ownership: bool) -> Self {
        self.filter.ownership = ownership;
        self
    }

    /// Takes owners, and users and groups in access control lists, by their numbers, whatever names the archive has:
    /// for the tree of another system. Default: no. (An entry of a list that has a name alone is found by that.)
    #[must_use]
    pub fn numeric_owner(mut self, numeric_owner: bool) -> Self {
        self.filter.numeric_owner = numeric_owner;
        self
    }

    /// Takes absolute paths, and those of hard links, as if they were relative: without the slashes before them, and on
    /// Windows without drive and server. Those that had a root are [counted](crate::Summary::rooted). Default: no, they
    /// are refused. A path with `..` is refused either way. What symbolic links say stays.
    #[must_use]
    pub fn strip_root(mut self, strip_root: bool) -> Self {
        self.filter.strip_root = strip_root;
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

    /// What else entries keep of what a tar has for them. Default: nothing. (Zips are read without attributes.)
    ///
    /// - *Extended attributes* as [`Keep::xattrs`] says. Those that no file of Linux can have are left out: a name longer
    ///   than 255 bytes, a value longer than 64 KiB.
    /// - *Access control lists* of Linux (POSIX.1e), from the text that GNU tar, star and bsdtar write. A user or group
    ///   in one is looked for by name, then by the number beside the name. Not those of Solaris and NFSv4.
    /// - *File flags* of files and folders, as bsdtar writes them, by [`Keep::everything`]. Immutable and append-only
    ///   come when all else is done.
    /// - *Owners*, as with [`ownership`](Options::ownership), by [`Keep::owners`].
    ///
    /// Give the tree the same by [its own option](manyfiles::tree::Options::keep): it decides what an attribute that
    /// cannot be set means. A list that cannot be understood, or that is for a user who is not known here, is a failure
    /// of its entry if lists were asked for by [`Keep::acls`]. Entries that lose something are
    /// [counted](crate::Summary::with_attributes). Where owners are kept, an entry without one loses set-id bits.
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.filter.keep = keep;
        self
    }

    /// The password of encrypted entries. Those that have another one fail. Default: none, and all of them fail.
    #[must_use]
    pub fn password(mut self, password: Password) -> Self {
        self.secret = Secret::Known(password);
        self
    }

    /// Asks `ask` for the password of an archive that needs one, and again as long as it is wrong: it is told the path of
    /// the archive, and how many it has given that were wrong, and ends it by `None`. It is not asked for a list of a zip, whose names are not
    /// encrypted. Called from the thread that called [`unpack`](crate::Unpacker::unpack).
    #[must_use]
    pub fn ask_password(mut self, ask: impl Fn(&Path, u32) -> Option<Password> + Send + Sync + 'static) -> Self {
        self.secret = Secret::Asked(Arc::new(ask));
        self
    }

    /// Counts the bytes that are read into `progress`.
    #[must_use]
    pub fn progress(mut self, progress: InputProgress) -> Self {
        self.progress = progress;
        self
    }
}
