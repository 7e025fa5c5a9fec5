//! The command line. This one definition feeds the parser, `--help`, the man page and the completions.

mod amount;
mod bench;
mod cat;
mod explain;
mod glob;
mod keeping;
mod list;
mod log;
#[cfg(target_os = "linux")]
mod mount;
mod options;
mod pack;
mod reading;
mod remove;
mod test;
mod unlock;
#[cfg(unix)]
mod worktree;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

pub(crate) use amount::{Count, Size};
pub(crate) use bench::Bench;
pub(crate) use cat::Cat as ArchiveCat;
pub(crate) use explain::Explain;
pub(crate) use glob::Pattern;
pub(crate) use keeping::Keeping;
pub(crate) use list::List;
pub(crate) use log::{Cat, Check, Form, Log, LogCommand, Repair, Tail};
#[cfg(target_os = "linux")]
pub(crate) use mount::Mount;
pub(crate) use options::{Conflict, Options, Progress};
pub(crate) use pack::Pack;
pub(crate) use reading::Reading;
pub(crate) use remove::Remove;
pub(crate) use test::Test;
pub(crate) use unlock::Unlock;
#[cfg(unix)]
pub(crate) use worktree::Worktree;

/// Write many files fast on every file system, and hear about every byte that did not arrive.
#[derive(Parser, Debug)]
#[command(name = "manyfiles", version, subcommand_required = true, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    #[command(visible_aliases = ["x", "extract"])]
    Unpack(Unpack),
    #[command(visible_alias = "cp")]
    Copy(Copy),
    #[command(visible_alias = "rm")]
    Remove(Remove),
    Pack(Pack),
    #[command(visible_alias = "ls")]
    List(List),
    Test(Test),
    Cat(ArchiveCat),
    #[cfg(target_os = "linux")]
    Mount(Mount),
    #[cfg(unix)]
    Worktree(Worktree),
    Explain(Explain),
    Probe(Probe),
    Bench(Bench),
    Log(Log),
    Completions(Completions),
    Man(Man),
}

/// Unpack archives into a folder.
///
/// Archives are recognised by their content, not by their names: tar (ustar, GNU, pax) and cpio, plain or compressed with
/// gzip, zstd, xz, bzip2, lz4, lzma, lzip or compress(1) (so .crate files too), zip and 7z, encrypted or not, iso (images of
/// CDs), ar, and the files of .deb and .rpm packages. A single compressed file (notes.txt.gz) becomes a file with its name
/// (notes.txt). Of a split zip give the last part, NAME.zip; of a file that was cut into pieces the first, NAME.001; the
/// others are beside it. Entries that would land outside the folder are refused, and
/// each entry that did not arrive is named on standard error.
#[derive(Args, Debug)]
#[command(after_help = UNPACK_EXAMPLES, after_long_help = UNPACK_EXAMPLES_AND_EXIT)]
pub(crate) struct Unpack {
    /// Archives to unpack, one after the other; '-' is one on standard input, of any kind but zip, 7z and iso
    #[arg(value_name = "ARCHIVE", required = true, value_hint = ValueHint::FilePath)]
    pub archives: Vec<PathBuf>,

    /// Folder to unpack into; made, with those above it, if it isn't there
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,

    /// Get what can be had of damaged archives: go on behind damage, and keep what there is of damaged files
    ///
    /// Each damage is named, and the exit status is 1. A tar goes on at the next entry that is found; a compressed one
    /// ends where the compressed data is damaged. A zip whose directory is missing is read by its entries' own headers,
    /// which do not tell links and permissions. A file of which only a part can be had is kept, and named: what has no
    /// checksum may have wrong bytes.
    #[arg(long, conflicts_with = "dry_run")]
    pub salvage: bool,

    /// Take absolute paths as if they were relative, and say how many there were; they are refused otherwise
    ///
    /// They lose the slashes before them, on Windows also drive and server; paths of hard links alike. A path with '..'
    /// is refused either way, and what symbolic links say stays as it is.
    #[arg(long)]
    pub strip_root: bool,

    /// Write entries through symbolic links to folders that are in DIR already; they are refused otherwise
    ///
    /// As GNU tar's option of this name: the links stay, and what they lead to gets the entries, also outside DIR, and
    /// keeps its own permissions and times. A link that an archive of this run has made is never followed, by whatever
    /// path, and neither is one that was made or changed since the run began. Not on Windows.
    #[arg(long)]
    pub keep_directory_symlink: bool,

    /// Keep all that an archive has of each entry, as far as it can be kept here
    ///
    /// That is --preserve-permissions, --same-owner, --set-id, --special-files, --xattrs and --acls: with files that run
    /// with the rights of their owner, and devices. So use it as root with archives that you trust. What this user may
    /// not keep, or the file system does not have, is lost and counted: a line at the end tells how many entries lost
    /// something. Where an owner is lost, set-id bits are dropped. To count what is asked for by its own option
    /// (--xattrs, --acls, --same-owner) as failed, give both. File flags (chattr) of tars are kept on Linux, immutable and
    /// append-only as root. Times of access are not.
    #[arg(short = 'a', long, help_heading = "What entries keep")]
    pub archive: bool,

    /// Keep the extended attributes of tars: those of users, and for root also capabilities and trusted ones
    ///
    /// Labels of SELinux, the seals of EVM and what overlayfs writes are of use only where they were made, and are never
    /// kept. An entry whose attributes cannot be set is not unpacked, and named; -a counts it instead. How many entries
    /// lost attributes or a list that were not to be kept is told at the end.
    #[arg(long, help_heading = "What entries keep")]
    pub xattrs: bool,

    /// Keep the access control lists of tars, as GNU tar, star and bsdtar write them
    ///
    /// Users and groups in a list are looked for by name, then by the number that star and bsdtar write beside it. An
    /// entry is not unpacked, and named, if its list is for somebody who is not known here, cannot be understood, or
    /// cannot be set; -a counts it instead. An entry without a list gets none from the folder that it comes into. Lists
    /// of Solaris, NFSv4 and Windows are not kept, and counted.
    #[arg(long, help_heading = "What entries keep")]
    pub acls: bool,

    /// Take owners by number, whatever names the archive has for them; also those in access control lists
    ///
    /// For the tree of another system, or of a container: the names are those of this one.
    #[arg(long, help_heading = "What entries keep")]
    pub numeric_owner: bool,

    #[command(flatten)]
    pub options: Options,

    #[command(flatten)]
    pub reading: Reading,

    #[command(flatten)]
    pub unlock: Unlock,
}

/// Copy files and folders, with all they hold.
///
/// As with 'cp -a': if DST is a folder, each SRC goes into it under its own name; if DST isn't there, it becomes the
/// copy of the one SRC; 'SRC/.' stands for the content of the folder SRC. Permissions, modification times, symbolic
/// links (as links), hard links among what is copied and holes of sparse files are kept. Where the file system can
/// share blocks between files, files are cloned. With -a all else is kept that can be kept. Without it the copies belong
/// to this user, have no extended attributes and no access control lists, and get what a default list of the target's
/// folder gives to every new file. A file that changes while it is copied counts as failed, and no copy of it stays.
#[derive(Args, Debug)]
#[command(
    override_usage = "manyfiles copy [OPTIONS] <SRC>... <DST>",
    after_help = COPY_EXAMPLES,
    after_long_help = COPY_EXAMPLES_AND_EXIT
)]
pub(crate) struct Copy {
    /// Files and folders to copy, and last where to: a folder, or the name of the copy. All are checked before the
    /// first is copied
    // One list: of two, the first ends at an option between them.
    #[arg(value_name = "SRC|DST", required = true, value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,

    /// Make the folders above DST too, if they are not there: without this, a mistyped path is an error
    #[arg(long)]
    pub make_parents: bool,

    /// Make the folder DST equal to the folder SRC: what is only in DST is removed
    ///
    /// DST itself becomes equal, whether or not it is there. A file counts as the same if its length and its time are.
    /// All that is new or changed is written first; then what is only in DST is removed, and only if nothing failed.
    /// Files that changed are replaced: readers see old or new. What is of another kind is replaced then too, and takes
    /// room beside it until then; if it holds something that is excluded, that is a failure. What --exclude names is
    /// neither copied nor removed. A SRC with nothing in it but what is left out, beside a DST that has something, is
    /// refused: a disk that is not mounted looks like that. So is one in the other, also by a mount. What is mounted in
    /// DST is neither written nor removed: unless excluded, it is a failure, and nothing is removed. With --dry-run
    /// each difference is listed, and nothing is touched: '+' is new, '>' has another content, 'p' permissions, owner
    /// or time, 'l' becomes a link, '!' replaces something of another kind, '-' is removed.
    #[arg(
        long,
        conflicts_with_all = ["on_conflict", "strip_components", "include", "include_from", "no_preserve_permissions",
            "max_entries", "max_bytes", "link"],
        help_heading = "Mirror"
    )]
    pub mirror: bool,

    /// Touch nothing if more names than this would be removed, those in folders included; they are counted again before
    /// the first is removed
    #[arg(long, value_name = "N", requires = "mirror", help_heading = "Mirror")]
    pub max_delete: Option<u64>,

    /// Compare files of one length by their bytes, whatever their times say
    #[arg(long, requires = "mirror", help_heading = "Mirror")]
    pub by_content: bool,

    /// Copy files that have another path in SRC by now, in place of renaming them: then neither is read to be compared
    #[arg(long, requires = "mirror", help_heading = "Mirror")]
    pub copy_moved: bool,

    /// Leave out what is mounted in SRC
    #[arg(long, requires = "mirror", help_heading = "Mirror")]
    pub one_file_system: bool,

    /// Share with the sources what the file system can, instead of copying
    ///
    /// What cannot be shared is copied; the summary says how many files were cloned and shared. Whoever writes into a
    /// file that is shared ('auto' where the file system cannot clone, 'hard') changes the source as well: for files
    /// that are only ever replaced, such as those of a package store. A file that is to differ from its source in
    /// permissions or owner gets its own content.
    #[arg(
        long,
        value_name = "HOW",
        require_equals = true,
        num_args = 0..=1,
        default_missing_value = "auto",
        conflicts_with = "mirror"
    )]
    pub link: Option<Link>,

    /// Go on with large files that an earlier run has begun, and leave what has arrived if this one is stopped
    ///
    /// For files from 8 MiB on. Both runs need it. What is not complete stays in the folder of its copy as
    /// '.manyfiles-resume-…', also after an error or Ctrl-C, until a run with --resume copies that file again; remove
    /// it if none is to. What is there is compared with the source and kept up to the first difference. It is begun
    /// anew if the source was changed or replaced meanwhile. Files that are complete are left to --on-conflict:
    /// 'skip-identical' or 'newer'. Not gone on with are files that are cloned, and what is copied to a file system
    /// without locks.
    #[arg(long, conflicts_with = "link")]
    pub resume: bool,

    #[command(flatten)]
    pub options: Options,

    #[command(flatten)]
    pub keeping: Keeping,

    /// Stop when there are more entries than this
    #[arg(long, value_name = "N", default_value_t = Count::NONE, help_heading = "Limits")]
    pub max_entries: Count,

    /// Stop when the files are larger than this together; K, M, G, T stand for powers of 1024, KB, MB, GB, TB of 1000
    #[arg(long, value_name = "SIZE", default_value_t = Size::NONE, help_heading = "Limits")]
    pub max_bytes: Size,
}

/// What copies share with their sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Link {
    /// Clone where the file system can (btrfs, XFS), else give the same file another name
    Auto,
    /// Clone, also what is small; a change of one does not show in the other
    Reflink,
    /// Give the same file another name
    Hard,
}

/// Measure the cost of writing many files in a folder, and say what is slow there and what helps.
///
/// Writes some thousand small files in a folder of its own below DIR, with one thread and with many, times every open,
/// write, close, rename and sync, and removes them again, also when it is interrupted. Needs an eighth of the free
/// space at most, and never more than 100 MB.
#[derive(Args, Debug)]
#[command(after_help = PROBE_EXAMPLES)]
pub(crate) struct Probe {
    /// Folder to measure in: its file system is measured
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,

    /// How long to measure; tidying up afterwards comes on top
    #[arg(long, value_name = "N", default_value = "5", value_parser = seconds)]
    pub seconds: Duration,

    /// Draw the histograms into this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,

    /// Print one JSON object in place of the table
    ///
    /// Its keys: command, folder, file_system, source, mount_point, mount_options, free_bytes, remarks, taken_by_others
    /// (the share of the time in which other programs had the processor), series (step, threads, files, seconds, and
    /// operations, each with operation, count, mean, median, p90, p99, max and a histogram: how many calls took less
    /// than 'below' and not less than the bucket before), advice (slow, use, factor). Times are in seconds.
    #[arg(long)]
    pub json: bool,

    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "give a number of seconds, such as 5 or 0.5".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if (0.1..=600.0).contains(&seconds) => Ok(time),
        _ => Err("give 0.1 to 600 seconds".into()),
    }
}

/// Print a script that completes this command's options in a shell.
#[derive(Args, Debug)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct Completions {
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Print the manual page (roff), with all subcommands.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  manyfiles man | man -l -")]
pub(crate) struct Man {}

const EXAMPLES: &str = "\
Examples:
  manyfiles unpack linux.tar.xz -C src    unpack into src/
  manyfiles copy photos /mnt/backup       copy to /mnt/backup/photos
  manyfiles remove node_modules           all of it, and nothing that links lead to
  manyfiles pack photos photos.tar.zst    one archive of them, whole or not there
  manyfiles list linux.tar.xz             what is in it; --long, --tree, --sizes
  manyfiles test linux.tar.xz             whether all of it is sound
  manyfiles cat linux.tar.xz linux/README one file of it, nothing is unpacked
  manyfiles mount linux.tar.xz linux      as a folder, for programs that want paths
  manyfiles worktree . ../fix             a git worktree, its files cloned from here
  manyfiles probe /mnt/nas                what files cost there, what is slow, what helps
  manyfiles explain -- make               where its time goes, and what would save it
  manyfiles log tail -f events            what a program logs by manyfiles::appender
  manyfiles help unpack                   all that unpack can do

Exit status:
  0    all entries are written
  1    some failed or were refused, as standard error tells
  2    wrong usage, or an archive or source that cannot be read
  130  stopped by Ctrl-C";

macro_rules! unpack_examples {
    () => {
        "\
Examples:
  manyfiles unpack linux.tar.xz              into the current folder
  manyfiles unpack *.crate -C vendor         several archives into one folder
  curl -L https://example.org/x.tgz | manyfiles unpack - --strip-components 1
  manyfiles unpack site.tar.gz -C /srv/www --on-conflict newer
  manyfiles unpack photos.zip --include '*.jpg' --exclude raw --dry-run"
    };
}

macro_rules! copy_examples {
    () => {
        "\
Examples:
  manyfiles copy photos /mnt/backup          to /mnt/backup/photos
  manyfiles copy photos/. /mnt/backup        what is in photos, to /mnt/backup
  manyfiles copy project project.old         project.old becomes the copy
  manyfiles copy a.txt b.txt notes           two files into the folder notes
  manyfiles copy src/. mirror --on-conflict skip-identical --exclude target
  manyfiles copy --link store/pkg-1.2 vendor clones, or other names of the same files
  manyfiles copy --mirror photos /mnt/photos /mnt/photos becomes equal; --dry-run"
    };
}

macro_rules! exit_status {
    ($two:literal) => {
        concat!(
            "\n
Exit status:
  0    all entries are written, or were skipped as asked
  1    some entries failed or were refused, as standard error tells; or an
       --include matched nothing
  2    wrong usage, or ",
            $two,
            "
  130  stopped by Ctrl-C or the answer 'q'; what was half-written is removed,
       unless 'copy --resume' leaves it to be gone on with
  143  the same by SIGTERM
  129  the same by SIGHUP, as when the terminal is closed
  141  the same because the reader of the messages is gone, as with '| head'

Killed (kill -9) or without power, it can tidy up nothing: a new file may be
incomplete, and a file '.manyfiles-…' may stay beside one that was being
replaced. The next run that finds a name taken in that folder removes it, and
so may you."
        )
    };
}

const UNPACK_EXAMPLES: &str = unpack_examples!();
const UNPACK_EXAMPLES_AND_EXIT: &str = concat!(
    unpack_examples!(),
    exit_status!("an archive that cannot be read, or not to its end; what came\n       before the damage stays")
);
const COPY_EXAMPLES: &str = copy_examples!();
const COPY_EXAMPLES_AND_EXIT: &str = concat!(
    copy_examples!(),
    exit_status!(
        "a source that cannot be read (nothing is written then), or a\n       limit that was reached (what came \
         before stays)"
    )
);

const PROBE_EXAMPLES: &str = "\
Examples:
  manyfiles probe                            the current folder's file system
  manyfiles probe /mnt/nas --seconds 20 --svg nas.svg
  manyfiles probe D:\\ --json

Exit status:
  0    measured
  2    wrong usage, or the folder cannot be written to
  130  stopped by Ctrl-C
  143  the same by SIGTERM; 129: by SIGHUP, as when the terminal is closed";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  manyfiles completions bash > ~/.local/share/bash-completion/completions/manyfiles
  manyfiles completions zsh > ~/.zfunc/_manyfiles
  manyfiles completions fish > ~/.config/fish/completions/manyfiles.fish
  manyfiles completions powershell >> $PROFILE";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_last_path_of_copy_is_the_destination() {
        let Command::Copy(copy) = Cli::parse_from(["manyfiles", "copy", "a", "b", "c"]).command else { panic!() };
        assert_eq!(copy.paths, ["a", "b", "c"].map(PathBuf::from));
    }
}
