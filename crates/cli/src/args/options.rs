//! The options that `unpack` and `copy` share.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum, ValueHint};

use super::Pattern;
use crate::filter::Filter;

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Threads that write while the file system is fast (0: one per core, at least two)
    ///
    /// Where its calls wait (a network file system), more threads join by themselves, except with 1.
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,

    /// What to do with a file if its name is taken (default: error; on a terminal: ask)
    #[arg(long, value_name = "WHAT")]
    pub on_conflict: Option<Conflict>,

    /// Leave out this many leading parts of each path; entries that have no more than these are left out
    ///
    /// When copying, of the path below DST.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub strip_components: usize,

    /// Write only entries that match; may be given several times
    ///
    /// A GLOB without '/' matches a name at any depth; one with '/' matches the whole path: in the archive, or below
    /// the SRC that it is copied from, before --strip-components. '*' and '?' match within one name, '**' any number of
    /// folders, '[a-z]' one of a set, '{a,b}' either. A folder that matches stands for all that is below it. Case
    /// matters. A GLOB that matches nothing is an error (status 1).
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<Pattern>,

    /// Leave out entries that match, even if they match --include too; may be given several times
    ///
    /// A folder that is left out is left out with all that is below it. For GLOB see --include.
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<Pattern>,

    /// Take more patterns for --include from this file, one a line; '-' is standard input
    ///
    /// Empty lines and those that begin with '#' are no patterns ('\#' begins one).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub include_from: Vec<PathBuf>,

    /// Take more patterns for --exclude from this file, as --include-from does
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub exclude_from: Vec<PathBuf>,

    /// Return only when everything is on the disk, so that a power cut takes nothing
    ///
    /// One sync for all where the file system can (ext4, XFS, btrfs, F2FS), else one for each file. It waits for what
    /// other programs have written there, too.
    #[arg(long)]
    pub fsync: bool,

    /// List what would be done, entry by entry, and touch nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Keep permissions as they are, whatever the umask (default for copy, and for root)
    #[arg(short, long, overrides_with = "no_preserve_permissions", help_heading = "What entries keep")]
    pub preserve_permissions: bool,

    /// Apply the umask to permissions (default for unpack, but for root)
    #[arg(long, overrides_with = "preserve_permissions", help_heading = "What entries keep")]
    pub no_preserve_permissions: bool,

    /// Keep user and group; needs privileges
    ///
    /// 'unpack' takes the names that a tar has, and the numbers for names that are not known here: see --numeric-owner.
    /// 'copy' keeps the numbers.
    #[arg(long, help_heading = "What entries keep")]
    pub same_owner: bool,

    /// Keep set-user-id and set-group-id bits, which are dropped otherwise
    #[arg(long, help_heading = "What entries keep")]
    pub set_id: bool,

    /// Make devices and FIFOs, which are refused otherwise; devices need privileges. Sockets are skipped either way
    #[arg(long, help_heading = "What entries keep")]
    pub special_files: bool,

    /// Print the report as one JSON object on standard output
    ///
    /// Its keys: command, status (complete, incomplete, stopped, unreadable), exit_code, destination, archives or
    /// sources (each with path, error, warning, and damage: how many places --salvage went on behind), files, cloned and
    /// shared (those of files that share blocks with their source, or are it under another name), folders, symlinks,
    /// hard_links, nodes, bytes, skipped, resumed, resumed_bytes and partial (as --resume tells), not_written, renamed
    /// (from, to), failures (path, operation, error, os_error, refusal), sockets (path: of those skipped), other_owners (how many entries had others),
    /// with_attributes (how many had attributes that are not kept), not_kept (how many lost what could not be kept:
    /// entries, and of these xattrs, acls, owners, flags, space), rooted (how many lost a root by --strip-root),
    /// unmatched (each --include that matched nothing),
    /// signal, seconds, seconds_asking (how much of that waiting for answers took), seconds_by_operation, peak_threads.
    /// Every entry is in one of the counts, or a failure, or a socket. If nothing could be begun: status not_begun, and
    /// errors. With --dry-run: status dry_run, actions (how many of each), unmatched, and entries (action, path, kind,
    /// bytes, why).
    ///
    /// Paths are strings. One that is not UTF-8 has U+FFFD for what could not be read, and beside it a key that ends in
    /// _hex with its bytes in hexadecimal. Paths of entries are below the destination.
    #[arg(long, help_heading = "What is told")]
    pub json: bool,

    /// Print errors only
    #[arg(short, long, conflicts_with = "verbose", help_heading = "What is told")]
    pub quiet: bool,

    /// Say how the time was spent, and name each failure; twice: name each entry too
    #[arg(short, long, action = ArgAction::Count, help_heading = "What is told")]
    pub verbose: u8,

    /// Show entries, bytes, rate and time left on standard error
    #[arg(long, value_name = "WHEN", default_value_t = Progress::Auto, value_enum, help_heading = "What is told")]
    pub progress: Progress,
}

impl Options {
    /// Which entries are written.
    pub(crate) fn filter(&self) -> Result<Filter, String> {
        Filter::listed((&self.include, &self.include_from), (&self.exclude, &self.exclude_from))
    }
}

/// What to do with a file if its name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Conflict {
    /// Leave the old file; the entry counts as failed
    Error,
    /// Leave the old file
    Skip,
    /// Leave the old file if it has the same content, else overwrite it
    SkipIdentical,
    /// Write into the old file, and cut it to length; one that has other names, or that is to get holes, is replaced
    Overwrite,
    /// Write beside the old file ('.manyfiles-…'), then rename: readers see old or new, nothing between
    Replace,
    /// Replace the old file only if it is older than the entry
    Newer,
    /// Keep both: 'name (1).txt'
    Rename,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    /// If standard error is a terminal, and the work takes more than half a second
    Auto,
    /// Also where standard error is no terminal: a line every second
    Always,
    Never,
}
