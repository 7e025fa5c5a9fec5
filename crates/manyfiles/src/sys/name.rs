//! Parts of an [`OsStr`], which std takes apart on Unix only.

use std::ffi::OsStr;

use super::is_separator;

/// What is before the last separator, and what is behind it.
pub(crate) fn split_at_last_separator(path: &OsStr) -> (&OsStr, &OsStr) {
    let bytes = path.as_encoded_bytes();
    let (before, behind) = match bytes.iter().rposition(|&byte| is_separator(byte)) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (&b""[..], bytes),
    };
    // SAFETY: both are cut from encoded bytes right beside a separator, which is ASCII.
    unsafe { (OsStr::from_encoded_bytes_unchecked(before), OsStr::from_encoded_bytes_unchecked(behind)) }
}

/// With its length, and a tag beside it, it fills four words. Of the names in the Linux source 99 % fit.
const SHORT: usize = 30;

/// A short string that is not allocated.
pub(crate) struct ShortName {
    len: u8,
    bytes: [u8; SHORT],
}

impl ShortName {
    /// `None` if it is too long for that.
    pub(crate) fn new(name: &OsStr) -> Option<ShortName> {
        let encoded = name.as_encoded_bytes();
        let mut bytes = [0; SHORT];
        bytes.get_mut(..encoded.len())?.copy_from_slice(encoded);
        Some(ShortName { len: encoded.len() as u8, bytes })
    }

    pub(crate) fn as_os_str(&self) -> &OsStr {
        // SAFETY: these are the encoded bytes of the whole string that `new` was given.
        unsafe { OsStr::from_encoded_bytes_unchecked(&self.bytes[..usize::from(self.len)]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_length_come_back_as_they_were() {
        for len in [0, 1, SHORT - 1, SHORT, SHORT + 1, 255] {
            let name = "äöü".chars().cycle().take(len / 2).chain("x".repeat(len % 2).chars()).collect::<String>();
            assert_eq!(name.len(), len);
            let short = ShortName::new(OsStr::new(&name));
            assert_eq!(short.is_some(), len <= SHORT);
            assert!(short.is_none_or(|short| short.as_os_str() == &*name));
        }
    }
}
