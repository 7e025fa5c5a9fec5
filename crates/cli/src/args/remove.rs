//! The arguments of `remove`.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueHint};

use super::{Pattern, Progress};

/// Remove files and folders, with all they hold.
///
/// As with 'rm -r': folders are emptied and removed, by many threads. A symbolic link is removed itself, and never what
/// it leads to; what is mounted in a folder stays, with the folders above it. Each thing that cannot be removed is named
/// on standard error, and the rest is removed all the same. All paths are looked at before anything is removed: if one
/// is not there, nothing is. The root, the current folder and those above it are refused.
///
/// What is removed cannot be had back, unless --trash is given.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES_AND_EXIT)]
pub(crate) struct Remove {
    /// Files, links and folders to remove
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,

    /// Take the rights that folders of yours forbid (mode 0500, say), and do not mind if a PATH is not there
    #[arg(short, long)]
    pub force: bool,

    /// Move to the trash of the desktop instead, where it can be had back
    ///
    /// On Linux that is the folder 'Trash' in $XDG_DATA_HOME, or '.Trash-UID' in the top folder of the file system that
    /// PATH is on. It is a rename, which takes no time and frees no space: what cannot be renamed to one of these stays,
    /// and is never copied, and so does what something is mounted in. On Windows it is the recycle bin.
    #[arg(long, conflicts_with_all = ["force", "across_mounts", "exclude", "jobs"])]
    pub trash: bool,

    /// Keep what matches, and the folders that it is in; may be given several times
    ///
    /// A GLOB without '/' matches a name at any depth; one with '/' matches the whole path below PATH. '*' and '?'
    /// match within one name, '**' any number of folders, '[a-z]' one of a set, '{a,b}' either. A folder that matches
    /// is kept with all that is in it. Case matters. A PATH itself is not matched.
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<Pattern>,

    /// Remove the files of what is mounted in folders, too
    ///
    /// The folder that something is mounted on stays, and counts as failed.
    #[arg(long)]
    pub across_mounts: bool,

    /// Print the path of all that would be removed, and touch nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,

    /// Threads that remove while the file system is fast (0: one per core, at least two)
    ///
    /// Where its calls wait (a network file system), more threads join by themselves, except with 1.
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,

    /// Name each failure (-v), and each thing that is removed, on standard error (-vv)
    ///
    /// Without it, many failures of one cause are named once and counted.
    #[arg(short, long, action = ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,

    /// Leave out the summary; failures are still named
    #[arg(short, long)]
    pub quiet: bool,

    /// Show how far it is on standard error
    #[arg(long, value_name = "WHEN", default_value_t = Progress::Auto, value_enum)]
    pub progress: Progress,

    /// Print one JSON object when it is over
    ///
    /// Its keys: command, status (complete, incomplete, stopped), exit_code, files, folders (removed), kept (by
    /// --exclude), trashed (paths moved to the trash), failures (each with path, operation, error and os_error), signal,
    /// seconds. If nothing could be begun: status not_begun, and errors.
    #[arg(long, conflicts_with = "dry_run")]
    pub json: bool,
}

macro_rules! examples {
    () => {
        "\
Examples:
  manyfiles remove target node_modules       two folders with all they hold
  manyfiles remove build --exclude '*.log'   all but the logs and their folders
  manyfiles remove --force ~/go/pkg/mod      also from folders that forbid it
  manyfiles remove --trash photos            to be had back
  manyfiles remove -n old | less             what would be removed"
    };
}

const EXAMPLES: &str = examples!();
const EXAMPLES_AND_EXIT: &str = concat!(
    examples!(),
    "\n
Exit status:
  0    all of it is removed, but for what --exclude keeps
  1    something could not be removed, as standard error tells
  2    wrong usage, or a PATH is not there or refused; nothing is removed then
  130  stopped by Ctrl-C; what is removed is removed
  143  the same by SIGTERM; 129: by SIGHUP, as when the terminal is closed"
);
