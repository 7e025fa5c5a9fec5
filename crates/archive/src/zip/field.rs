//! Little-endian fields of zip's records. Reading past the end is a bug: the caller checks the length before.

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// The extra fields of a record, each with its number. Ends without a word where they are malformed: they are extra.
pub(crate) fn extra_fields(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (head, rest) = bytes.split_at_checked(4)?;
        let (field, rest) = rest.split_at_checked(u16_at(head, 2).into())?;
        bytes = rest;
        Some((u16_at(head, 0), field))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_fields_end_where_they_are_malformed() {
        let fields: Vec<_> = extra_fields(b"\x01\0\x02\0ab\x07\0\0\0\x09\0\xff\0rest").collect();
        assert_eq!(fields, [(1, &b"ab"[..]), (7, &b""[..])]);
        assert_eq!(extra_fields(b"\x01").count(), 0);
    }
}
