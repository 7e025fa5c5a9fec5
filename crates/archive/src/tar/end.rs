//! What follows the end of a tar: padding, another tar, or something else; and whether a file of zeros is a tar at all.

use super::source::Source;
use crate::cancel::Cancel;
use crate::error::{ErrorKind, Result};
use crate::format::zeros_look_like;
use crate::summary::Trailing;
use crate::tar_header::{BLOCK, Block, Header};

/// The most bytes of zeros that a tar is filled up with, or that an empty one consists of. Tars consist of whole
/// records: of 10 KiB, unless `tar -b` says something else; tapes are written with 64 to 512 KiB. 1 MiB is
/// `tar -b 2048`. More zeros than that are an image, or space that a download has reserved.
const MOST_ZEROS: u64 = 1 << 20;

/// The bytes after an end.
pub(super) enum Follows {
    /// Nothing, or padding.
    Nothing,
    /// A header of another tar.
    Tar(Box<Block>),
    /// Bytes that are not read.
    Unread(Trailing),
}

/// Looks at what follows the end of a tar, after `zeros` bytes that belong to it. `is_empty`: nothing came before. Does
/// not read on through more zeros than a tar has, which may be terabytes, unless `ignore_zeros` is set.
pub(super) fn follows(
    source: &mut impl Source,
    mut zeros: u64,
    is_empty: bool,
    ignore_zeros: bool,
    cancel: &Cancel,
) -> Result<Follows, ErrorKind> {
    let mut block: Block = [0; BLOCK];
    let no_archive = |zeros, then: &[u8]| {
        let looks_like = Some(zeros_look_like(zeros, then));
        Err(ErrorKind::NotAnArchive { looks_like, compression: None })
    };
    loop {
        let len = source.read(&mut block)?;
        let bytes = &block[..len];
        if bytes.iter().any(|&byte| byte != 0) {
            return if len == BLOCK && Header::new(&block).checksum_matches() {
                Ok(Follows::Tar(Box::new(block)))
            } else if is_empty {
                no_archive(zeros, bytes)
            } else {
                Ok(Follows::Unread(Trailing::AfterTar))
            };
        }
        zeros += len as u64;
        let has_ended = len < BLOCK;
        if zeros > MOST_ZEROS && (has_ended || !ignore_zeros) {
            return if is_empty { no_archive(zeros, &[]) } else { Ok(Follows::Unread(Trailing::Zeros)) };
        }
        if has_ended {
            return Ok(Follows::Nothing);
        }
        if zeros.is_multiple_of(MOST_ZEROS) {
            cancel.check()?;
        }
    }
}
