//! The arguments of `test`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{Progress, Reading, Unlock};

/// Read all of archives, and report what is damaged and what can still be had.
///
/// Every byte is decoded and compared with every checksum that the archive has: those of gzip, zstd, xz, bzip2,
/// lz4 and lzip; the sums of a tar's headers, and the blocks that end it; the sums of a cpio archive, if it has any; a zip's lengths and checksums, and the header of each
/// entry with the directory. Nothing is written. Each thing that is wrong is a line, with its byte and its entry, and
/// at the end a line says what 'manyfiles unpack' still gets.
///
/// Damage does not end a test where what is behind it can be found: the other entries of a zip, and those of a tar
/// that is not compressed. Behind damage of compressed data nothing can be read.
///
/// A tar without compression, and an image of a CD, have no checksums of what is in their files, so changed bytes there
/// cannot be noticed. Of compressed data that was made without checksums (lzma and compress(1) always, zstd, xz and lz4 if
/// so asked for) the last line says so. Checksums of a kind
/// that is not known count as wrong.
/// Bytes that follow an archive and are not read count as wrong. Encrypted entries without their password, and those of
/// a method that is not supported, count as wrong, because nothing can be said of them. Names are not judged: see 'manyfiles list --long'.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES_AND_EXIT)]
pub(crate) struct Test {
    /// Archives to test, one after the other; '-' is one on standard input, of any kind but zip, 7z and iso
    #[arg(value_name = "ARCHIVE", required = true, value_hint = ValueHint::FilePath)]
    pub archives: Vec<PathBuf>,

    #[command(flatten)]
    pub reading: Reading,

    #[command(flatten)]
    pub unlock: Unlock,

    /// Print one JSON object in place of the lines
    ///
    /// Its keys: command, status (sound, damaged, unreadable), exit_code, archives: each with path, status, error (why
    /// it could not be tested, or not to its end), format, entries (that were found), bytes (of content that were
    /// decoded), intact_entries and intact_bytes (those that 'manyfiles unpack' gets), unproven (whether a checksum of
    /// compressed data is wrong or missing, so that these may have wrong bytes), and findings: each with entry, byte
    /// (where it was noticed), in_the_tar (whether that counts from the start of the archive inside of a compressed file)
    /// and cause. Keys without a value are null. If nothing could be begun: status not_begun, and errors.
    #[arg(long)]
    pub json: bool,

    /// Say nothing of damage; the exit status tells
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,

    /// Show how much of the archives is read on standard error
    #[arg(long, value_name = "WHEN", default_value_t = Progress::Auto, value_enum)]
    pub progress: Progress,
}

macro_rules! examples {
    () => {
        "\
Examples:
  manyfiles test backup-*.tar.zst
  curl -L https://example.org/x.tgz | manyfiles test -
  manyfiles test -q download.zip || echo 'get it anew'
  manyfiles test --json photos.zip | jq '.archives[].findings[].entry'"
    };
}

const EXAMPLES: &str = examples!();
const EXAMPLES_AND_EXIT: &str = concat!(
    examples!(),
    "\n
Exit status:
  0    nothing is wrong with any of them
  1    something is wrong, as is told
  2    wrong usage, or what is given is no archive, or it cannot be read, or not
       to its end, or it goes over a limit"
);
