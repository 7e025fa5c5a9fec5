//! One 512-byte block as a tar header: v7, ustar and GNU.

use crate::number::{number, octal};

/// The size of a header, and what content is padded to.
pub(crate) const BLOCK: usize = 512;

/// A block of zeros, of which two end an archive.
pub(crate) type Block = [u8; BLOCK];

/// The fields of a header. Their content has not been checked.
#[derive(Clone, Copy)]
pub(crate) struct Header<'a>(&'a Block);

impl<'a> Header<'a> {
    pub(crate) fn new(block: &'a Block) -> Header<'a> {
        Header(block)
    }

    pub(crate) fn is_zero(self) -> bool {
        // Nearly every block that is no header's end has a name: look at one byte before looking at all.
        self.0[0] == 0 && self.0.iter().all(|&byte| byte == 0)
    }

    pub(crate) fn has_magic(self) -> bool {
        self.0[257..].starts_with(b"ustar")
    }

    /// Whether the bytes add up to the checksum field. Some old tars added signed bytes.
    pub(crate) fn checksum_matches(self) -> bool {
        const FIELD: std::ops::Range<usize> = 148..156;
        let Some(expected) = octal(&self.0[FIELD]) else { return false };
        let blank = 8 * u32::from(b' ');
        let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u32::from(byte)).sum::<u32>();
        if i64::from(sum(self.0) - sum(&self.0[FIELD]) + blank) == expected {
            return true;
        }
        let signed = |bytes: &[u8]| bytes.iter().map(|&byte| i64::from(byte as i8)).sum::<i64>();
        signed(self.0) - signed(&self.0[FIELD]) + i64::from(blank) == expected
    }

    pub(crate) fn kind(self) -> u8 {
        self.0[156]
    }

    pub(crate) fn name(self) -> &'a [u8] {
        text(&self.0[..100])
    }

    pub(crate) fn link_name(self) -> &'a [u8] {
        text(&self.0[157..257])
    }

    /// What goes before the name, with a slash between. Only POSIX headers have one; star's is shorter, with times
    /// behind it.
    pub(crate) fn prefix(self) -> &'a [u8] {
        if &self.0[257..263] != b"ustar\0" {
            return b"";
        }
        let is_star = &self.0[508..512] == b"tar\0";
        text(&self.0[345..if is_star { 476 } else { 500 }])
    }

    /// `None` if the header gives none.
    pub(crate) fn mode(self) -> Option<u32> {
        given(&self.0[100..108])
    }

    /// `None` if the header does not give both.
    pub(crate) fn owner(self) -> Option<(u32, u32)> {
        Some((given(&self.0[108..116])?, given(&self.0[116..124])?))
    }

    /// The names of user and group; each may be empty. Old tars have none.
    pub(crate) fn owner_names(self) -> (&'a [u8], &'a [u8]) {
        if !self.has_magic() {
            return (b"", b"");
        }
        (text(&self.0[265..297]), text(&self.0[297..329]))
    }

    /// `None` if the field is no number, or no possible size.
    pub(crate) fn size(self) -> Option<u64> {
        u64::try_from(number(&self.0[124..136])?).ok()
    }

    pub(crate) fn modified(self) -> Option<i64> {
        number(&self.0[136..148])
    }

    pub(crate) fn device(self) -> Option<(u32, u32)> {
        Some((u32::try_from(number(&self.0[329..337])?).ok()?, u32::try_from(number(&self.0[337..345])?).ok()?))
    }

    /// Old GNU sparse files: offset and length of the first pieces.
    pub(crate) fn sparse_pieces(self) -> &'a [u8] {
        &self.0[386..386 + 4 * 24]
    }

    /// Old GNU sparse files: whether blocks with more pieces follow.
    pub(crate) fn sparse_continues(self) -> bool {
        self.0[482] != 0
    }

    /// Old GNU sparse files: the size with the holes.
    pub(crate) fn sparse_size(self) -> Option<u64> {
        u64::try_from(number(&self.0[483..495])?).ok()
    }
}

/// A field up to its first NUL.
pub(crate) fn text(field: &[u8]) -> &[u8] {
    &field[..field.iter().position(|&byte| byte == 0).unwrap_or(field.len())]
}

/// A number, or `None` for a blank field: a blank mode or owner is not 0, which would be no rights, or root.
fn given(field: &[u8]) -> Option<u32> {
    if field.iter().all(|byte| matches!(byte, b' ' | 0)) {
        return None;
    }
    u32::try_from(number(field)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_and_an_owner_that_are_not_there_are_none() {
        let mut block = [0; BLOCK];
        assert_eq!((Header::new(&block).mode(), Header::new(&block).owner()), (None, None));
        block[100..132].fill(b' ');
        assert_eq!((Header::new(&block).mode(), Header::new(&block).owner()), (None, None));
        block[100..124].copy_from_slice(b"0000000 0000000 0000000 ");
        assert_eq!((Header::new(&block).mode(), Header::new(&block).owner()), (Some(0), Some((0, 0))));
    }

    #[test]
    fn a_changed_bit_breaks_the_checksum() {
        let mut block = [0; BLOCK];
        block[..4].copy_from_slice(b"name");
        block[148..156].copy_from_slice(b"        ");
        let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        assert!(Header::new(&block).checksum_matches());
        block[0] ^= 1;
        assert!(!Header::new(&block).checksum_matches());
        assert!(!Header::new(&[0; BLOCK]).checksum_matches(), "zeros are no header");
    }
}
