//! One 512-byte block as a tar header: v7, ustar and GNU.

/// The size of a header, and what content is padded to.
pub(crate) const BLOCK: usize = 512;

/// A block of zeros, of which two end an archive.
pub(crate) type Block = [u8; BLOCK];

/// The fields of a header. What is in them has not been checked.
#[derive(Clone, Copy)]
pub(crate) struct Header<'a>(&'a Block);

impl<'a> Header<'a> {
    pub fn new(block: &'a Block) -> Header<'a> {
        Header(block)
    }

    pub fn is_zero(self) -> bool {
        // Nearly every block that is no header's end has a name: look at one byte before looking at all.
        self.0[0] == 0 && self.0.iter().all(|&byte| byte == 0)
    }

    pub fn has_magic(self) -> bool {
        self.0[257..].starts_with(b"ustar")
    }

    /// Whether the bytes add up to the checksum field. Some old tars added signed bytes.
    pub fn checksum_matches(self) -> bool {
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

    pub fn kind(self) -> u8 {
        self.0[156]
    }

    pub fn name(self) -> &'a [u8] {
        text(&self.0[..100])
    }

    pub fn link_name(self) -> &'a [u8] {
        text(&self.0[157..257])
    }

    /// What goes before the name, with a slash between. Only POSIX headers have one; star's is shorter, with times behind it.
    pub fn prefix(self) -> &'a [u8] {
        if &self.0[257..263] != b"ustar\0" {
            return b"";
        }
        let is_star = &self.0[508..512] == b"tar\0";
        text(&self.0[345..if is_star { 476 } else { 500 }])
    }

    /// `None` if the header gives none.
    pub fn mode(self) -> Option<u32> {
        given(&self.0[100..108])
    }

    /// `None` if the header does not give both.
    pub fn owner(self) -> Option<(u32, u32)> {
        Some((given(&self.0[108..116])?, given(&self.0[116..124])?))
    }

    /// `None` if the field is no number, or no possible size.
    pub fn size(self) -> Option<u64> {
        u64::try_from(number(&self.0[124..136])?).ok()
    }

    pub fn modified(self) -> Option<i64> {
        number(&self.0[136..148])
    }

    pub fn device(self) -> Option<(u32, u32)> {
        Some((u32::try_from(number(&self.0[329..337])?).ok()?, u32::try_from(number(&self.0[337..345])?).ok()?))
    }

    /// Old GNU sparse files: offset and length of the first pieces.
    pub fn sparse_pieces(self) -> &'a [u8] {
        &self.0[386..386 + 4 * 24]
    }

    /// Old GNU sparse files: whether blocks with more pieces follow.
    pub fn sparse_continues(self) -> bool {
        self.0[482] != 0
    }

    /// Old GNU sparse files: the size with the holes.
    pub fn sparse_size(self) -> Option<u64> {
        u64::try_from(number(&self.0[483..495])?).ok()
    }
}

/// A field up to its first NUL.
pub(crate) fn text(field: &[u8]) -> &[u8] {
    &field[..field.iter().position(|&byte| byte == 0).unwrap_or(field.len())]
}

/// A numeric field: octal digits, or GNU's big-endian two's complement marked by the first bit. A blank field is 0.
pub(crate) fn number(field: &[u8]) -> Option<i64> {
    let first = *field.first()?;
    if first & 0x80 == 0 {
        return octal(field);
    }
    // The mark is the first bit; the second is the sign.
    let negative = first & 0x40 != 0;
    let mut value: i64 = if negative { -1 } else { 0 };
    for (at, &byte) in field.iter().enumerate() {
        let byte = if at == 0 && !negative { byte & 0x7f } else { byte };
        value = value.checked_mul(256)?.checked_add(i64::from(byte))?;
    }
    // Sign extension of the first byte was counted twice: -1 * 256 + 0xff is -1 again, so nothing is to be done.
    Some(value)
}

/// A number that the field must hold to mean one: a blank field is not 0, which would be no rights, or root's.
fn given(field: &[u8]) -> Option<u32> {
    if field.iter().all(|byte| matches!(byte, b' ' | 0)) {
        return None;
    }
    u32::try_from(number(field)?).ok()
}

fn octal(field: &[u8]) -> Option<i64> {
    let blank = |byte: &u8| matches!(byte, b' ' | 0);
    let start = field.iter().position(|byte| !blank(byte)).unwrap_or(field.len());
    let digits = &field[start..];
    let end = digits.iter().position(blank).unwrap_or(digits.len());
    let mut value: i64 = 0;
    for &digit in &digits[..end] {
        if !(b'0'..=b'7').contains(&digit) {
            return None;
        }
        value = value.checked_mul(8)? | i64::from(digit - b'0');
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_octal_or_base_256() {
        assert_eq!(number(b"0000644\0"), Some(0o644));
        assert_eq!(number(b"    644 "), Some(0o644));
        assert_eq!(number(b"77777777777\0"), Some(0o77777777777));
        assert_eq!(number(b"777777777777"), Some(0o777777777777), "no room for an end mark");
        assert_eq!(number(b"        "), Some(0));
        assert_eq!(number(b"\0\0\0\0\0\0\0\0"), Some(0));
        assert_eq!(number(b"\x80\0\0\0\0\0\0\0\0\0\0\x05"), Some(5));
        assert_eq!(number(b"\x80\0\0\0\0\0\0\x02\0\0\0\0"), Some(2 << 32));
        assert_eq!(number(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe"), Some(-2));
        assert_eq!(number(b"\xff\xff\xff\xff\xff\xff\xff\xff"), Some(-1));
    }

    #[test]
    fn numbers_that_are_none_or_too_large_are_not_guessed() {
        assert_eq!(number(b"0000648\0"), None);
        assert_eq!(number(b"-1\0\0\0\0\0\0"), None);
        assert_eq!(number(b"\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), None);
        assert_eq!(number(b"\xbf\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), None);
        assert_eq!(number(b"\xc0\0\0\0\0\0\0\0\0\0\0\0"), None);
        assert_eq!(number(b""), None);
    }

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
