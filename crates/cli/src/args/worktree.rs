//! The arguments of `worktree`.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueHint};

use super::{Pattern, Progress};

/// Make a git worktree out of a checkout that is there already.
///
/// As with 'git worktree add': NEW becomes a worktree of REPO, at COMMIT-ISH or on a new branch named after the last
/// part of NEW, and git registers it and runs the hook post-checkout. But files that REPO's checkout has unmodified, and
/// that are the same in the wanted commit, are cloned or copied from there, with their times; git checks out the rest:
/// what differs, what was changed, and what filters, line ends or encodings are made for. The index knows each file, so
/// that the first 'git status' reads none. Interrupted, nothing of NEW stays; killed, the next run of it begins anew.
///
/// Needs git 2.36 or later.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES_AND_EXIT)]
pub(crate) struct Worktree {
    /// A checkout of the repository: its main worktree or another one, whose files are used; or a bare repository
    #[arg(value_name = "REPO", value_hint = ValueHint::DirPath)]
    pub repository: PathBuf,

    /// Folder to make
    #[arg(value_name = "NEW", value_hint = ValueHint::DirPath)]
    pub new: PathBuf,

    /// What to check out, as for 'git worktree add': a branch, a tag, a commit
    #[arg(value_name = "COMMIT-ISH")]
    pub commit: Option<String>,

    /// Make this branch, and be on it
    #[arg(short, long, value_name = "NAME", conflicts_with = "detach")]
    pub branch: Option<String>,

    /// Be on no branch
    #[arg(short, long)]
    pub detach: bool,

    /// Clone ignored files and folders too that match, such as node_modules or target; may be given several times
    ///
    /// Of what git ignores in REPO's checkout. Their times are kept, so that what was built counts as fresh. A GLOB
    /// without '/' matches a name at any depth; one with '/' matches the whole path below REPO. '*' and '?' match within
    /// one name, '**' any number of folders, '[a-z]' one of a set, '{a,b}' either.
    #[arg(long, value_name = "GLOB")]
    pub with: Vec<Pattern>,

    /// Threads that write while the file system is fast (0: one per core, at least two)
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,

    /// Say what was not taken from REPO, and why
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
    /// Its keys: command, status (complete, incomplete, stopped), exit_code, worktree, source (the checkout whose files
    /// were used, or null), commit, branch (or null), files (taken from there), cloned (those that share blocks with
    /// it), by_git (files that git checked out), with (files and links of --with), notes (why git did more), failures
    /// (each with path, operation, error and os_error), errors (what else went wrong), signal, seconds. If nothing could be begun: status not_begun, and
    /// errors.
    #[arg(long)]
    pub json: bool,
}

macro_rules! examples {
    () => {
        "\
Examples:
  manyfiles worktree . ../fix                on a new branch 'fix'
  manyfiles worktree . ../v2 v2.0 --detach   at a tag
  manyfiles worktree app ../app-2 -b topic --with node_modules --with target"
    };
}

const EXAMPLES: &str = examples!();
const EXAMPLES_AND_EXIT: &str = concat!(
    examples!(),
    "\n
Exit status:
  0    the worktree is there, as 'git worktree add' would have made it
  1    the worktree is there, but not all of --with, or the hook failed, as
       standard error tells
  2    wrong usage, or git refused; nothing is there then
  130  stopped by Ctrl-C: the worktree, and a branch made for it, are removed
  143  the same by SIGTERM; 129: by SIGHUP, as when the terminal is closed"
);
