//! Which kind of archive a file is, by its first bytes alone: names lie.

use std::fmt;
use std::path::Path;

use crate::cpio;
use crate::error::{ErrorKind, Position, Result};
use crate::single::{Named, Single};
use crate::tar_header::Header;

/// What an archive or a single file is compressed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
    /// xz.
    Xz,
    /// bzip2.
    Bzip2,
    /// LZ4 frames.
    Lz4,
    /// LZMA alone, as `lzma` wrote it before there was xz.
    Lzma,
    /// lzip.
    Lzip,
    /// compress(1).
    Compress,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Xz => "xz",
            Compression::Bzip2 => "bzip2",
            Compression::Lz4 => "lz4",
            Compression::Lzma => "lzma",
            Compression::Lzip => "lzip",
            Compression::Compress => "compress(1)",
        })
    }
}

/// The format of an archive; shown as the usual name ending: `tar`, `tar.gz`, `zip`, `gz`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A tar, compressed or not.
    Tar(Option<Compression>),
    /// A zip.
    Zip,
    /// A cpio archive, compressed or not.
    Cpio(Option<Compression>),
    /// An ar archive that is no package.
    Ar,
    /// A package of Debian: the files that it installs.
    Deb,
    /// A package of rpm: the files that it installs.
    Rpm,
    /// A single compressed file that is no archive.
    Single(Compression),
    /// A 7z. Read with the feature `sevenz`, and not written.
    SevenZ,
    /// An image of a CD or DVD, by ISO 9660. Not written.
    Iso,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (container, compression) = match self {
            Format::Tar(compression) => ("tar", *compression),
            Format::Cpio(compression) => ("cpio", *compression),
            Format::Single(compression) => return f.write_str(compression.ending()),
            Format::Zip => ("zip", None),
            Format::Ar => ("ar", None),
            Format::Deb => ("deb", None),
            Format::Rpm => ("rpm", None),
            Format::SevenZ => ("7z", None),
            Format::Iso => ("iso", None),
        };
        f.write_str(container)?;
        match compression {
            None => Ok(()),
            Some(compression) => write!(f, ".{}", compression.ending()),
        }
    }
}

impl Compression {
    /// What names of files end with that are compressed so.
    fn ending(self) -> &'static str {
        match self {
            Compression::Gzip => "gz",
            Compression::Zstd => "zst",
            Compression::Xz => "xz",
            Compression::Bzip2 => "bz2",
            Compression::Lz4 => "lz4",
            Compression::Lzma => "lzma",
            Compression::Lzip => "lz",
            Compression::Compress => "Z",
        }
    }
}

impl Format {
    /// The endings of names that [`of_name`](Format::of_name) knows.
    pub const ENDINGS: &str =
        ".tar, .tar.gz (.tgz), .tar.zst (.tzst), .tar.xz (.txz), .tar.bz2 (.tbz2), .tar.lz4 and .zip";

    /// What it is compressed with as a whole.
    pub fn compression(self) -> Option<Compression> {
        match self {
            Format::Tar(compression) | Format::Cpio(compression) => compression,
            Format::Single(compression) => Some(compression),
            Format::Zip | Format::SevenZ | Format::Iso | Format::Ar | Format::Deb | Format::Rpm => None,
        }
    }

    /// Whether its content is decoded, or parts of it are.
    pub(crate) fn is_packed(self) -> bool {
        self.compression().is_some() || matches!(self, Format::Deb | Format::Rpm)
    }

    /// The format that a new archive of this name is to have, whatever the case of its letters. `None`: the name's
    /// ending says none. The format of an archive that is there is seen by its content alone.
    pub fn of_name(path: impl AsRef<Path>) -> Option<Format> {
        let name = path.as_ref().file_name()?.to_string_lossy().to_ascii_lowercase();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        Some(match () {
            () if ends(&[".tar"]) => Format::Tar(None),
            () if ends(&[".tar.gz", ".tgz"]) => Format::Tar(Some(Compression::Gzip)),
            () if ends(&[".tar.zst", ".tzst"]) => Format::Tar(Some(Compression::Zstd)),
            () if ends(&[".tar.xz", ".txz"]) => Format::Tar(Some(Compression::Xz)),
            () if ends(&[".tar.bz2", ".tbz2", ".tbz"]) => Format::Tar(Some(Compression::Bzip2)),
            () if ends(&[".tar.lz4"]) => Format::Tar(Some(Compression::Lz4)),
            () if ends(&[".zip"]) => Format::Zip,
            () => return None,
        })
    }
}

/// Whether this is what a package has its files in. None at all: what is wrong is told where it is read.
pub(crate) fn check_package(format: Format, content: &[u8]) -> Result<(), ErrorKind> {
    let damaged = |cause| Err(ErrorKind::damaged(Position::Unpacked(0), cause));
    match format {
        _ if content.is_empty() => Ok(()),
        Format::Deb if !is_tar(content) => damaged("what should be the tar with its files is no tar"),
        Format::Rpm if content.starts_with(b"07070X") => Err(ErrorKind::Unsupported(
            "an rpm package with files of 4 GiB or more, which it does not have in a cpio archive; `rpm2archive` makes a \
             tar of it"
                .into(),
        )),
        Format::Rpm if !cpio::begins(content) => damaged("what should be the archive with its files is no cpio archive"),
        _ => Ok(()),
    }
}

/// How many first bytes [`detect`] looks at.
pub(crate) const HEAD: usize = 1024;

/// The format that `head`, a file's first [`HEAD`] bytes or all it has, begins. `None` may still be a zip behind a
/// program that unpacks it.
pub(crate) fn detect(head: &[u8]) -> Option<Format> {
    let compression = match head {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
        // A frame to be skipped, with which both zstd and lz4 files may begin.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, rest @ ..] => match behind_skipped(rest).and_then(detect) {
            Some(Format::Tar(Some(Compression::Lz4))) => Compression::Lz4,
            // Most are of zstd: pzstd writes them, lz4's tools do not.
            _ => Compression::Zstd,
        },
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Bzip2,
        [0x04, 0x22, 0x4d, 0x18, ..] | [0x02, 0x21, 0x4c, 0x18, ..] => Compression::Lz4,
        [b'L', b'Z', b'I', b'P', 0 | 1, ..] => Compression::Lzip,
        [0x1f, 0x9d, ..] => Compression::Compress,
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] | [b'P', b'K', 7, 8, ..] => return Some(Format::Zip),
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] if cfg!(feature = "sevenz") => return Some(Format::SevenZ),
        [b'!', b'<', b'a', b'r', b'c', b'h', b'>', b'\n', rest @ ..] => {
            return Some(if rest.starts_with(b"debian-binary") { Format::Deb } else { Format::Ar });
        }
        [0xed, 0xab, 0xee, 0xdb, ..] => return Some(Format::Rpm),
        _ if is_tar(head) => return Some(Format::Tar(None)),
        _ if cpio::begins(head) => return Some(Format::Cpio(None)),
        _ if is_lzma(head) => Compression::Lzma,
        _ => return None,
    };
    Some(Format::Tar(Some(compression)))
}

/// What follows a frame to be skipped, of which `rest` is what stands behind its first four bytes.
fn behind_skipped(rest: &[u8]) -> Option<&[u8]> {
    let (len, rest) = rest.split_first_chunk()?;
    rest.get(u32::from_le_bytes(*len) as usize..)
}

/// A header with the right checksum, a damaged one that says it is one, or the zeros of an archive without entries.
fn is_tar(head: &[u8]) -> bool {
    is_empty_tar(head) || begins_tar(head)
}

/// The zeros of an archive without entries, with which other files may begin, too.
fn is_empty_tar(head: &[u8]) -> bool {
    head.len() >= HEAD && head[..HEAD].iter().all(|&byte| byte == 0)
}

fn begins_tar(head: &[u8]) -> bool {
    let Some(block) = head.first_chunk() else { return false };
    let header = Header::new(block);
    !header.is_zero() && (header.checksum_matches() || header.has_magic())
}

/// What stands in a file, decompressed.
#[derive(Debug)]
pub(crate) enum Inside {
    Tar,
    Cpio,
    Ar,
    Single(Single),
}

impl Inside {
    /// What a file of this `format` has in it. `head` is what its content begins with, `named` what its name says.
    /// What is none of these is taken for a tar, whose reader says that it is none.
    pub(crate) fn of(format: Format, head: &[u8], named: impl FnOnce(Compression) -> Named) -> Inside {
        let compression = match format {
            Format::Cpio(None) | Format::Rpm => return Inside::Cpio,
            Format::Ar => return Inside::Ar,
            Format::Tar(Some(_)) if cpio::begins(head) => return Inside::Cpio,
            _ => format.compression(),
        };
        match compression.map_or(Named::Archive, named) {
            // A file that begins with zeros may be any image.
            Named::Single(single) if !begins_tar(head) => Inside::Single(single),
            _ => Inside::Tar,
        }
    }

    /// What it is with its compression.
    pub(crate) fn format(&self, outside: Format) -> Format {
        match (self, outside.compression()) {
            (Inside::Cpio, compression) if outside != Format::Rpm => Format::Cpio(compression),
            (Inside::Single(_), Some(compression)) => Format::Single(compression),
            _ => outside,
        }
    }
}

/// LZMA alone has no magic. It is known as xz knows it: by properties that an encoder can have chosen, a dictionary that
/// is a power of two or one and a half of it, and a size that is unknown or some; and by the first byte of what is
/// encoded, which is zero.
fn is_lzma(head: &[u8]) -> bool {
    let Some((&[properties, a, b, c, d], rest)) = head.split_first_chunk() else { return false };
    let Some((size, [0, ..])) = rest.split_first_chunk() else { return false };
    let (literal_context, literal_position) = (properties % 9, properties / 9 % 5);
    let (dictionary, size) = (u32::from_le_bytes([a, b, c, d]), u64::from_le_bytes(*size));
    let is_usual =
        dictionary.count_ones() == 1 || (dictionary.count_ones() == 2 && (dictionary & dictionary << 1) != 0);
    properties < 225
        && literal_context + literal_position <= 4
        && dictionary >= 4096
        && (is_usual || dictionary == u32::MAX)
        && (size == u64::MAX || size < 1 << 38)
}

/// What a file that is no archive looks like, with an article.
pub(crate) fn looks_like(head: &[u8]) -> Option<&'static str> {
    const CPIO: &str = "a cpio archive whose first header is damaged";
    const KNOWN: &[(&[u8], &str)] = &[
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive; `7zz x` unpacks it"),
        (b"Rar!\x1a\x07", "a rar archive; `unrar x` or `7zz x` unpacks it"),
        (b"PK\x03\x04", "a zip archive"),
        (b"PK\x05\x06", "a zip archive"),
        (b"070701", CPIO),
        (b"070702", CPIO),
        (b"070707", CPIO),
        (b"\xc7\x71", CPIO),
        (b"!<thin>\n", "a thin ar archive, which has the names of files and not the files"),
        (b"MSCF", "a cabinet"),
        (b"ISc(", "an InstallShield cabinet"),
        (b"xar!", "a xar archive"),
        (b"hsqs", "a squashfs image"),
        (b"\x1f\x9d", "a file that compress(1) has compressed"),
        (b"\x1f\x8b", "a gzip-compressed file"),
        (b"\xfd7zXZ\0", "an xz-compressed file"),
        (b"\x28\xb5\x2f\xfd", "a zstd-compressed file"),
        (b"BZh", "a bzip2-compressed file"),
        (b"LZIP", "an lzip-compressed file"),
        (b"\x5d\0\0", "an lzma-compressed file whose head is damaged"),
        (b"\x89LZO", "an lzop-compressed file; `lzop -d` makes a plain tar of a .tar.lzo"),
        (b"%PDF", "a PDF document"),
        (b"\x7fELF", "a program or a library"),
        (b"MZ", "a Windows program"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"version https://git-lfs", "a Git LFS pointer: fetch the file itself with `git lfs pull`"),
    ];
    if let Some((_, what)) = KNOWN.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Some(what);
    }
    // What a boot sector ends with, of a disk or of a file system of FAT or NTFS.
    if head.get(510..512) == Some(b"\x55\xaa") {
        return Some("an image of a disk; mount it, or try `7zz x`");
    }
    let text = head.trim_ascii_start();
    let begins = |tag: &[u8]| text.len() >= tag.len() && text[..tag.len()].eq_ignore_ascii_case(tag);
    if begins(b"<!doctype html") || begins(b"<html") {
        return Some("a web page: the download may have ended at a log-in or an error page");
    }
    if begins(b"<?xml") {
        return Some("an XML document");
    }
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..);
    (!head.is_empty() && head.iter().all(is_text)).then_some("text")
}

/// What a file that begins with `zeros` bytes of zeros looks like, by the bytes after them (none: there are none).
pub(crate) fn zeros_look_like(zeros: u64, then: &[u8]) -> &'static str {
    match (zeros, then) {
        (_, []) => "a file of zeros: space that a download has reserved and not filled, or an image of an empty disk",
        (0x8000, [_, b'C', b'D', b'0', b'0', b'1', ..]) => {
            "an ISO image of a CD or DVD, which is read from a file only; save it to one first"
        }
        _ => "an image of a disk or a file system, which begins with zeros; mount it, or try `7zz x`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_their_first_bytes() {
        assert_eq!(detect(b"\x1f\x8b\x08\0").unwrap().to_string(), "tar.gz");
        assert_eq!(detect(b"\x28\xb5\x2f\xfd").unwrap().to_string(), "tar.zst");
        assert_eq!(detect(b"BZh91AY&SY").unwrap().to_string(), "tar.bz2");
        assert_eq!(detect(b"PK\x03\x04").unwrap(), Format::Zip);
        let skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc";
        assert_eq!(detect(&[&skipped[..], skipped, b"\x04\x22\x4d\x18"].concat()).unwrap().to_string(), "tar.lz4");
        assert_eq!(detect(&[&skipped[..], b"\x28\xb5\x2f\xfd"].concat()).unwrap().to_string(), "tar.zst");
        assert_eq!(detect(skipped).unwrap().to_string(), "tar.zst");
        assert_eq!(detect(b"\x50\x2a\x4d\x18\xff\xff\xff\xff").unwrap().to_string(), "tar.zst");
        assert_eq!(detect(&[0; HEAD]).unwrap(), Format::Tar(None));
        assert_eq!(detect(&[0; 600]), None, "zeros that are no whole end of an archive");
        assert_eq!(detect(b""), None);
        assert_eq!(detect(b"hello"), None);
    }

    #[test]
    fn what_is_no_archive_is_called_by_its_name() {
        assert_eq!(looks_like(b"\n <!DOCTYPE HTML>").map(|what| &what[..10]), Some("a web page"));
        assert_eq!(looks_like(b"7z\xbc\xaf\x27\x1c\0\x04"), Some("a 7z archive; `7zz x` unpacks it"));
        assert_eq!(looks_like(b"just words\n"), Some("text"));
        assert_eq!(looks_like(&[1, 2, 3]), None);
        assert_eq!(looks_like(b""), None);
    }
}
