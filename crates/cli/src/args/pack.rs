//! `manyfiles pack`.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum, ValueHint};
use manyfiles::tree::Keep;
use manyfiles_archive::{Compression, Format};

use super::{Keeping, Pattern, Progress};

/// Pack files and folders into one archive.
///
/// The archive's name tells its format: .tar, .tar.gz (.tgz), .tar.zst (.tzst), .tar.xz (.txz), .tar.bz2 (.tbz2),
/// .tar.lz4 or .zip. It is written beside that name, and gets the name when it is whole: whatever happens, there is
/// never half an archive. While it is written it is called '.ARCHIVE.partial', in the same folder. One that a killed run
/// has left is removed by the next run that makes this archive; a file of that name that begins as no archive stays, and
/// is an error. Files are read and compressed on all processors, and the same entries give the same bytes.
///
/// Entries have the paths that the sources are given by, without '/' and '..' before them, folder by folder in the
/// order of their names. Permissions, times and owners (by number) are kept; symbolic links as links; a tar also keeps
/// hard links, holes of sparse files, devices and FIFOs. Not packed: sockets, extended attributes, access control
/// lists. No link is followed. A file that cannot be read is named and left out. A file that is written to meanwhile is
/// named, and the archive has what was read of it.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "manyfiles pack [OPTIONS] <SRC>... <ARCHIVE>",
    after_help = EXAMPLES,
    after_long_help = EXAMPLES_AND_EXIT
)]
pub(crate) struct Pack {
    /// Files and folders to pack, and last the archive; '-' writes it to standard output, and needs --format
    #[arg(value_name = "SRC|ARCHIVE", required = true, value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,

    /// Folder that the sources are in: their paths, and those in the archive, begin there
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,

    /// Format of the archive, whatever its name says
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<PackFormat>,

    /// How hard to compress: gzip and zip 0 to 9 (default 6), zstd -7 to 22 (3), xz 0 to 9 (6), bzip2 1 to 9 (9)
    #[arg(short, long, value_name = "N", allow_hyphen_values = true)]
    pub level: Option<i32>,

    /// Threads that read and compress (0: one per core)
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,

    /// Replace an archive that is there already, once the new one is whole
    #[arg(short, long)]
    pub force: bool,

    /// Pack only entries that match; may be given several times
    ///
    /// A GLOB without '/' matches a name at any depth; one with '/' matches the whole path in the archive. '*' and '?'
    /// match within one name, '**' any number of folders, '[a-z]' one of a set, '{a,b}' either. A folder that matches
    /// stands for all that is below it. Case matters. A GLOB that matches nothing is an error (status 1).
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

    /// Leave out what git ignores there, and '.git' itself
    ///
    /// By the .gitignore files in the sources and in the folders above them up to the top of their repository, and by
    /// its .git/info/exclude. What is ignored by the user's own settings is packed.
    #[arg(long)]
    pub gitignore: bool,

    /// Make the same bytes from the same names and content everywhere
    ///
    /// Times are all SOURCE_DATE_EPOCH (seconds since 1970) if that is set, else the start of 1980, the oldest that a
    /// zip can have. Owners are 0. Files may be read by all, and be executed by all if their owner may. Hard links and
    /// holes are packed as files that have neither: copies of a folder may have lost them. The version of this program,
    /// and the level, have to be the same.
    #[arg(long)]
    pub reproducible: bool,

    /// Also pack the paths that this file lists, one a line, with all that is in them; '-' is standard input
    ///
    /// They are as paths of the command line: below --directory, and each must be there.
    #[arg(short = 'T', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files_from: Option<PathBuf>,

    /// The paths in the file of --files-from end with a zero byte each, as those of 'find -print0'
    #[arg(short = '0', long, requires = "files_from")]
    pub null: bool,

    /// Keep all that a tar can have: --xattrs and --acls, as far as they can be read
    ///
    /// An entry that has what cannot be read is packed, and counted; with --xattrs or --acls beside it, it is a failure.
    /// File flags (chattr) are kept on Linux, as bsdtar writes them; times of access are not. Owners, set-id bits, devices
    /// and FIFOs always are.
    #[arg(short = 'a', long, conflicts_with = "reproducible", help_heading = "What entries keep")]
    pub archive: bool,

    /// Keep extended attributes: those of users, and for root also capabilities and trusted ones; not in a zip
    ///
    /// Labels of SELinux, the seals of EVM and what overlayfs writes are of use only where they were made, and are never
    /// kept. Without this and -a nothing is told of attributes: to look at each entry would cost a call.
    #[arg(long, conflicts_with = "reproducible", help_heading = "What entries keep")]
    pub xattrs: bool,

    /// Keep access control lists, as GNU tar and bsdtar read them; not in a zip
    ///
    /// Without it, a file that has such a list gets the permissions of its owner, of its group and of all others, and
    /// not what the list lets anybody do at most.
    #[arg(long, conflicts_with = "reproducible", help_heading = "What entries keep")]
    pub acls: bool,

    /// Leave out the names of users and groups, and store their numbers alone
    #[arg(long, help_heading = "What entries keep")]
    pub numeric_owner: bool,

    /// Read the archive back before it gets its name, and compare every byte with what was packed
    #[arg(long)]
    pub verify: bool,

    /// Return only when the archive is on the disk, so that a power cut does not take it
    ///
    /// If only the folder that it is in could not be brought to the disk, the archive is there, and the status is 1.
    #[arg(long)]
    pub fsync: bool,

    /// Print the report as one JSON object on standard output
    ///
    /// Its keys: command, status (complete, incomplete, stopped, not_written), exit_code, archive, format, files,
    /// folders, symlinks, hard_links, nodes, bytes (of content), archive_bytes, failures (path, operation, error,
    /// os_error, refusal), sockets (path: of those left out), not_kept (how many entries have attributes that are not
    /// kept, of those that were looked at: see --xattrs), ignored (how many entries --gitignore left out),
    /// unmatched (each --include that matched nothing), signal, seconds. If nothing could be begun: status not_begun,
    /// and errors.
    #[arg(long, help_heading = "What is told")]
    pub json: bool,

    /// Print errors only
    #[arg(short, long, conflicts_with = "verbose", help_heading = "What is told")]
    pub quiet: bool,

    /// Name each failure; twice: name each entry too
    #[arg(short, long, action = ArgAction::Count, help_heading = "What is told")]
    pub verbose: u8,

    /// Show entries, bytes and rate on standard error
    #[arg(long, value_name = "WHEN", default_value_t = Progress::Auto, value_enum, help_heading = "What is told")]
    pub progress: Progress,
}

impl Pack {
    /// What is kept of files beside permissions, times and owners.
    pub(crate) fn keep(&self) -> Keep {
        let &Pack { archive, xattrs, acls, .. } = self;
        Keeping { archive, xattrs, acls }.keep(false)
    }
}

/// A format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PackFormat {
    Tar,
    #[value(name = "tar.gz", alias = "tgz")]
    TarGz,
    #[value(name = "tar.zst", alias = "tzst")]
    TarZst,
    #[value(name = "tar.xz", alias = "txz")]
    TarXz,
    #[value(name = "tar.bz2", alias = "tbz2")]
    TarBz2,
    #[value(name = "tar.lz4")]
    TarLz4,
    Zip,
}

impl From<PackFormat> for Format {
    fn from(format: PackFormat) -> Format {
        match format {
            PackFormat::Tar => Format::Tar(None),
            PackFormat::TarGz => Format::Tar(Some(Compression::Gzip)),
            PackFormat::TarZst => Format::Tar(Some(Compression::Zstd)),
            PackFormat::TarXz => Format::Tar(Some(Compression::Xz)),
            PackFormat::TarBz2 => Format::Tar(Some(Compression::Bzip2)),
            PackFormat::TarLz4 => Format::Tar(Some(Compression::Lz4)),
            PackFormat::Zip => Format::Zip,
        }
    }
}

macro_rules! examples {
    () => {
        "\
Examples:
  manyfiles pack photos photos.tar.zst
  manyfiles pack -C /home/me documents photos /mnt/backup/me.zip --verify
  manyfiles pack . ../src.tar.gz --gitignore --reproducible
  manyfiles pack logs - --format tar.zst | ssh host 'manyfiles unpack -'
  manyfiles pack project project.tar.xz --level 9 --exclude target"
    };
}

const EXAMPLES: &str = examples!();
const EXAMPLES_AND_EXIT: &str = concat!(
    examples!(),
    "\n
Exit status:
  0    everything is in the archive
  1    the archive is there, but entries are not in it or were changed
       meanwhile, as is told, or an --include matched nothing, or a power
       cut may take it in spite of --fsync
  2    wrong usage, or no archive could be written: what had its name stays
  130  interrupted (other signals: 128 and their number): no archive was written"
);
