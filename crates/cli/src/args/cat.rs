//! The arguments of `cat`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{Progress, Reading, Unlock};

/// Print files of an archive, without unpacking it.
///
/// Their bytes go to standard output, one file after the other. Paths are those that the files would have below the
/// folder that the archive is unpacked into; symbolic links are followed, inside of the archive.
///
/// A single compressed file (notes.txt.gz) is printed without a PATH.
///
/// A tar is gone through once, a compressed one is decompressed. What was learned is kept in the user's cache, so that
/// the next time takes no longer than reading a file: see --no-cache.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES_AND_EXIT)]
pub(crate) struct Cat {
    /// Archive to read from: a file
    #[arg(value_name = "ARCHIVE", value_hint = ValueHint::FilePath)]
    pub archive: PathBuf,

    /// Files in it; none is needed where the archive is a single compressed file (notes.txt.gz)
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Neither take nor keep an index in the cache
    #[arg(long)]
    pub no_cache: bool,

    #[command(flatten)]
    pub reading: Reading,

    #[command(flatten)]
    pub unlock: Unlock,

    /// Show how much of the archive is read on standard error
    #[arg(long, value_name = "WHEN", default_value_t = Progress::Auto, value_enum)]
    pub progress: Progress,
}

macro_rules! examples {
    () => {
        "\
Examples:
  manyfiles cat linux.tar.xz linux-6.1/README
  manyfiles cat logs.zip monday.log tuesday.log | grep error
  manyfiles cat package.crate serde-1.0.0/Cargo.toml | head
  manyfiles cat notes.txt.xz"
    };
}

const EXAMPLES: &str = examples!();
const EXAMPLES_AND_EXIT: &str = concat!(
    examples!(),
    "\n
Exit status:
  0    all files are printed, or the reader has closed the pipe
  1    a file is not there or cannot be read, or standard output cannot be
       written to; the other files are printed
  2    wrong usage, or an archive that cannot be read"
);
