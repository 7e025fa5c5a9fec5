//! [`Summary`]: the entries and bytes of an archive that were read, and the bytes that were not.

use std::fmt;

use crate::format::Format;

/// The figures of an archive that was read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// What it is.
    pub format: Format,
    /// Entries that were read, the left out ones included.
    pub entries: u64,
    /// Entries that were left out: not selected, or without a name after stripping.
    pub left_out: u64,
    /// Entries that were left out because stripping left no name.
    pub stripped: u64,
    /// Bytes of content in the others, holes of sparse files included.
    pub bytes: u64,
    /// Entries that had extended attributes or access control lists that were not unpacked. Zips are not asked.
    pub with_attributes: u64,
    /// Entries whose absolute paths were taken as relative ones: see [`Options::strip_root`](crate::Options::strip_root).
    pub rooted: u64,
    /// What followed the archive and was not read. Its text is a warning.
    pub trailing: Option<Trailing>,
}

/// What followed an archive, or stood before it, and was not read, shown as a sentence for its user. Padding does not
/// count: zeros fill up a tar's last record, and may fill up compressed data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trailing {
    /// Another tar. [`Options::ignore_zeros`](crate::Options::ignore_zeros) reads it.
    Tar,
    /// Bytes after the end of the tar that are no tar.
    AfterTar,
    /// Another cpio archive. [`Options::ignore_zeros`](crate::Options::ignore_zeros) reads it.
    Cpio,
    /// Bytes after the end of the cpio archive that are no such archive.
    AfterCpio,
    /// More zeros after the end of the tar than a tar is filled up with. What follows them was not looked at.
    Zeros,
    /// Bytes after the compressed data that are not compressed data of the same kind.
    AfterCompressed,
    /// Bytes after the end of the zip and its comment.
    AfterZip,
    /// Entries of a zip before the first one that its directory has, for example those of another zip (`cat a b`).
    BeforeZip,
}

impl fmt::Display for Trailing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trailing::Tar => f.write_str(
                "another tar follows the end of the first one and was not read; if the two were joined, read both \
                 with --ignore-zeros",
            ),
            Trailing::AfterTar => f.write_str(
                "bytes that are no tar follow the end of the tar, and were not read; the tar itself was \
                 whole",
            ),
            Trailing::Cpio => f.write_str(
                "another cpio archive follows the end of the first one, as in an initramfs, and was not read; read both \
                 with --ignore-zeros",
            ),
            Trailing::AfterCpio => f.write_str(
                "bytes that are no cpio archive follow the end of the archive, and were not read (an initramfs may have \
                 a compressed archive there); the archive itself was whole",
            ),
            Trailing::Zeros => f.write_str(
                "more than 1 MiB of zeros follows the end of the tar, where a download may have reserved space for \
                 what has not \
                 come; see whether all of it is there, or read on behind them with --ignore-zeros",
            ),
            Trailing::AfterZip => f.write_str(
                "bytes that belong to no entry follow the end of the zip, and were not read; the zip itself was whole",
            ),
            Trailing::BeforeZip => f.write_str(
                "entries that the directory of the zip does not have stand before its first one, and were not read; if \
                 two zips were joined, cut them apart, or see whether `zip -FF` finds the first",
            ),
            Trailing::AfterCompressed => f.write_str(
                "bytes that are no compressed data follow the compressed data, and were not read; what was read was \
                 whole",
            ),
        }
    }
}
