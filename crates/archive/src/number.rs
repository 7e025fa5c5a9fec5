//! Numbers as the headers and records of a tar have them.

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
    // The first byte of a negative number stands for -1 already: -1 * 256 + 0xff is -1 again, so the loop may take that
    // byte as well.
    Some(value)
}

/// Octal digits between blanks and NULs.
pub(crate) fn octal(field: &[u8]) -> Option<i64> {
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

/// Decimal digits and nothing else: of pax records and sparse maps.
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &digit| {
        if !digit.is_ascii_digit() {
            return None;
        }
        value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
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
}
