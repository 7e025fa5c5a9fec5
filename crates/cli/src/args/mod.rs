//! What can be said on the command line. This one definition feeds the parser, `--help`, the man page and the completions.

mod amount;
mod glob;
mod options;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use manyfiles_archive::Limits;

pub use amount::{Count, Size};
pub use glob::Pattern;
pub use options::{Conflict, Options, Progress};

/// Write many files fast on every file system, and hear about every byte that did not arrive.
#[derive(Parser, Debug)]
#[command(name = "manyfiles", version, subcommand_required = true, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    Unpack(Unpack),
    Copy(Copy),
    Completions(Completions),
    Man(Man),
}

/// Unpack archives into a folder.
///
/// Archives are recognised by their content, not by their names: tar (ustar, GNU, pax), plain or compressed with gzip, zstd,
/// xz, bzip2 or lz4 (so .crate files too), and zip. Entries that would land outside the folder are refused, and each entry
/// that did not arrive is named on standard error.
#[derive(Args, Debug)]
#[command(after_help = UNPACK_EXAMPLES, after_long_help = UNPACK_EXAMPLES_AND_EXIT)]
pub struct Unpack {
    /// Archives to unpack, one after the other; '-' is a tar, compressed or not, on standard input
    #[arg(value_name = "ARCHIVE", required = true)]
    pub archives: Vec<PathBuf>,

    /// Folder to unpack into; made, with those above it, if it isn't there
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,

    #[command(flatten)]
    pub options: Options,

    /// Stop at an archive that has more entries than this ('none': no limit)
    #[arg(long, value_name = "N", default_value_t = Count(Limits::default().entries), help_heading = "Limits, for each archive")]
    pub max_entries: Count,

    /// Stop when the content is larger than this; K, M, G, T stand for powers of 1024, KB, MB, GB, TB of 1000
    #[arg(long, value_name = "SIZE", default_value_t = Size(Limits::default().bytes), help_heading = "Limits, for each archive")]
    pub max_bytes: Size,

    /// Stop when the content is more than this many times larger than the archive
    #[arg(long, value_name = "N", default_value_t = Count(Limits::default().ratio), help_heading = "Limits, for each archive")]
    pub max_ratio: Count,
}

/// Copy files and folders, with all they hold.
///
/// As with 'cp -a': if DST is a folder, each SRC goes into it under its own name; if DST isn't there, it becomes the copy of
/// the one SRC; 'SRC/.' stands for the content of the folder SRC. Permissions, modification times, symbolic links (as links),
/// hard links among what is copied and holes of sparse files are kept. Where the file system can share blocks between files,
/// files are cloned. Not copied: extended attributes and access control lists.
#[derive(Args, Debug)]
#[command(after_help = COPY_EXAMPLES, after_long_help = COPY_EXAMPLES_AND_EXIT)]
pub struct Copy {
    /// Files and folders to copy; all are checked before the first is copied
    #[arg(value_name = "SRC", required = true)]
    pub sources: Vec<PathBuf>,

    /// Where to: a folder, or the name of the copy
    #[arg(value_name = "DST", required = true)]
    pub destination: PathBuf,

    #[command(flatten)]
    pub options: Options,

    /// Stop when there are more entries than this
    #[arg(long, value_name = "N", default_value_t = Count::NONE, help_heading = "Limits")]
    pub max_entries: Count,

    /// Stop when the files are larger than this together; K, M, G, T stand for powers of 1024, KB, MB, GB, TB of 1000
    #[arg(long, value_name = "SIZE", default_value_t = Size::NONE, help_heading = "Limits")]
    pub max_bytes: Size,
}

/// Print a script that completes this command's options in a shell.
#[derive(Args, Debug)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub struct Completions {
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Print the manual page (roff), with all subcommands.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  manyfiles man | man -l -")]
pub struct Man {}

const EXAMPLES: &str = "\
Examples:
  manyfiles unpack linux.tar.xz -C src    unpack into src/
  manyfiles copy photos /mnt/backup       copy to /mnt/backup/photos
  manyfiles help unpack                   all that unpack can do

Exit status:
  0    all entries are written
  1    some failed or were refused; each is named on standard error
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
  manyfiles copy src/. mirror --on-conflict skip-identical --exclude target"
    };
}

macro_rules! exit_status {
    ($two:literal) => {
        concat!(
            "\n
Exit status:
  0    all entries are written, or were skipped as asked
  1    some entries failed or were refused; each is named on standard error
  2    wrong usage, or ",
            $two,
            "
  130  stopped by Ctrl-C or the answer 'q'; what was half-written is removed
  143  the same by SIGTERM"
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
        "a source that cannot be read (nothing is written then), or a\n       limit that was reached (what came before stays)"
    )
);

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
        assert_eq!(copy.sources, [PathBuf::from("a"), PathBuf::from("b")]);
        assert_eq!(copy.destination, PathBuf::from("c"));
        assert!(Cli::try_parse_from(["manyfiles", "copy", "a"]).is_err());
    }
}
