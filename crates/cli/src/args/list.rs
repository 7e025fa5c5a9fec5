//! The arguments of `list`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};

use super::{Pattern, Progress, Reading, Unlock};

/// List the entries of archives.
///
/// Each entry is a line with its name as the archive has it, in the archive's order; a folder ends with '/'. Archives
/// are recognised and read as by 'manyfiles unpack', and nothing is written. The content of files is not checked:
/// 'manyfiles test' does that. Of several archives each has its name above its entries.
///
/// On a terminal, control characters in names are escaped. In a pipe names are printed byte by byte; a name may then
/// hold a newline, and --null and --json tell names apart whatever they hold.
#[derive(Args, Debug)]
#[command(
    after_help = EXAMPLES,
    after_long_help = EXAMPLES_AND_EXIT,
    group(ArgGroup::new("by_folder").args(["tree", "sizes"]))
)]
pub(crate) struct List {
    /// Archives to list, one after the other; '-' is one on standard input, of any kind but zip, 7z and iso
    #[arg(value_name = "ARCHIVE", required = true, value_hint = ValueHint::FilePath)]
    pub archives: Vec<PathBuf>,

    /// List only entries that match; may be given several times
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

    /// Show permissions, owner, size, time and name of each entry, and where links lead
    ///
    /// The owner is the user's and the group's name, or the number where the archive has no name. The size is in bytes; of
    /// a device it is its major and minor number. The time is that of the last modification, in this computer's time zone.
    /// A '?' or '-' stands for what the archive does not say. Behind an entry that 'manyfiles unpack' would refuse, the
    /// reason is given.
    #[arg(short, long, help_heading = "What is printed", conflicts_with_all = ["by_folder", "null", "json"])]
    pub long: bool,

    /// Show the entries as a tree of folders, sorted by name
    #[arg(long, help_heading = "What is printed", conflicts_with_all = ["null", "json"])]
    pub tree: bool,

    /// Show how many bytes and entries each folder has, with all that is below it, the largest first
    ///
    /// Bytes are those of the content of files, unpacked, with the holes of sparse files. '.' is the whole archive.
    #[arg(long, help_heading = "What is printed", conflicts_with = "null")]
    pub sizes: bool,

    /// With --tree or --sizes: show this many levels of folders (default: all)
    #[arg(long, value_name = "N", help_heading = "What is printed", requires = "by_folder")]
    pub depth: Option<usize>,

    /// End each name with a zero byte, as 'xargs -0' reads them, and print nothing else
    ///
    /// A name that has a zero byte in it, which no file can have, is left out, and that is an error (status 1).
    #[arg(short = '0', long, help_heading = "What is printed")]
    pub null: bool,

    /// Print a JSON object for each entry, one a line
    ///
    /// Its keys: archive, path, kind (file, folder, symlink, hard_link, fifo, char_device, block_device, other), bytes
    /// (of content), mode (octal digits, as a string), modified (in UTC, such as 2026-11-22T10:12:06Z), user, group
    /// (numbers), user_name, group_name, xattrs (name and value_hex of each extended attribute), acl and default_acl
    /// (access control lists, as the archive has them), target (of links), major and minor (of devices), encrypted (true,
    /// if its content is), refused (why 'manyfiles unpack' would not write it).
    /// Keys whose value the archive does not have are left out. With --sizes an object is a folder: archive, folder,
    /// bytes, entries. An archive that cannot be read to its end ends with an object with archive and error.
    ///
    /// Paths are strings. One that is not UTF-8 has U+FFFD for what could not be read, and beside it a key that ends in
    /// _hex with its bytes in hexadecimal.
    #[arg(long, help_heading = "What is printed", conflicts_with = "null")]
    pub json: bool,

    #[command(flatten)]
    pub reading: Reading,

    #[command(flatten)]
    pub unlock: Unlock,

    /// Show how much of the archives is read on standard error
    #[arg(long, value_name = "WHEN", default_value_t = Progress::Auto, value_enum)]
    pub progress: Progress,
}

macro_rules! examples {
    () => {
        "\
Examples:
  manyfiles list linux.tar.xz                the names, one a line
  manyfiles list -l photos.zip --include '*.jpg'
  manyfiles list --sizes --depth 2 backup.tar.zst | head
  curl -L https://example.org/x.tgz | manyfiles list - --tree
  manyfiles list --json site.tar | jq -r 'select(.bytes > 1000000) | .path'
  manyfiles list -0 a.tar | xargs -0 -n 1 basename"
    };
}

const EXAMPLES: &str = examples!();
const EXAMPLES_AND_EXIT: &str = concat!(
    examples!(),
    "\n
Exit status:
  0    all entries are listed, or the reader of the list has closed the pipe
  1    an --include matched nothing, or the list could not be printed
  2    wrong usage, or an archive that cannot be read, or not to its end; what
       comes before the damage is listed"
);
