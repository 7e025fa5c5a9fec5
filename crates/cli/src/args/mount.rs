//! The arguments of `mount`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{Progress, Reading, Unlock};

/// Show an archive as a read-only folder, until Ctrl-C or 'umount'.
///
/// For programs that want paths: nothing is unpacked. The folder is made if it isn't there, and removed in the end.
/// Entries are those that 'manyfiles unpack' would write; hard links, symbolic links, holes, permissions, times and a
/// tar's extended attributes are those of the archive, owners only if root mounts. Only you can look into the folder,
/// and you can read all of it.
///
/// A tar is gone through once, a compressed one is decompressed. What was learned is kept in the user's cache, so that
/// the next mount of it is there at once: see --no-cache. A tar that is compressed with xz, bzip2 or lz4, or with zstd
/// in one piece, is decompressed into a temporary file each time.
///
/// An archive that is changed while it is mounted gives errors (EIO) for what was not read before; one that is replaced
/// by another file is shown as it was.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES_AND_EXIT)]
pub(crate) struct Mount {
    /// Archive to show: a file
    #[arg(value_name = "ARCHIVE", value_hint = ValueHint::FilePath)]
    pub archive: PathBuf,

    /// Folder to show it as: one that is empty, or not there yet
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,

    /// Let other users in, as far as the entries' permissions do; unless root mounts, /etc/fuse.conf must have
    /// 'user_allow_other'
    #[arg(long)]
    pub allow_other: bool,

    /// Neither take nor keep an index in the cache
    #[arg(long)]
    pub no_cache: bool,

    #[command(flatten)]
    pub reading: Reading,

    #[command(flatten)]
    pub unlock: Unlock,

    /// Say nothing but errors
    #[arg(short, long)]
    pub quiet: bool,

    /// Show how much of the archive is read on standard error
    #[arg(long, value_name = "WHEN", default_value_t = Progress::Auto, value_enum)]
    pub progress: Progress,
}

macro_rules! examples {
    () => {
        "\
Examples:
  manyfiles mount linux.tar.xz linux         and in another terminal:
  grep -r TODO linux/ ; umount linux
  manyfiles mount photos.zip /mnt/photos --allow-other &"
    };
}

const EXAMPLES: &str = examples!();
const EXAMPLES_AND_EXIT: &str = concat!(
    examples!(),
    "\n
Exit status:
  0    it was mounted, and Ctrl-C, SIGTERM, SIGHUP or 'umount' has ended that
  1    it was mounted, and serving it has failed
  2    wrong usage, an archive that cannot be read, or a folder that cannot be
       mounted on

Killed (kill -9), it leaves a folder that nobody answers for: 'umount DIR', or
'fusermount3 -u DIR' without root's rights, takes it away."
);
