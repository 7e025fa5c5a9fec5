//! A file's name without an allocation, as most are short.

use std::ffi::OsStr;
use std::fmt;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;

/// With its length it fills four words. Of the names in the Linux source 99 % fit.
const SHORT: usize = 30;

/// A name. Allocating one for each file, to be freed by another thread, costs as much as handing the file over.
pub(in crate::tree) enum Name {
    Short(u8, [u8; SHORT]),
    Long(Box<OsStr>),
}

impl From<&OsStr> for Name {
    fn from(name: &OsStr) -> Name {
        let bytes = name.as_bytes();
        if bytes.len() > SHORT {
            return Name::Long(name.into());
        }
        let mut short = [0; SHORT];
        short[..bytes.len()].copy_from_slice(bytes);
        Name::Short(bytes.len() as u8, short)
    }
}

impl Deref for Name {
    type Target = OsStr;

    fn deref(&self) -> &OsStr {
        match self {
            Name::Short(len, bytes) => OsStr::from_bytes(&bytes[..usize::from(*len)]),
            Name::Long(name) => name,
        }
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_length_come_back_as_they_were() {
        for len in [0, 1, SHORT - 1, SHORT, SHORT + 1, 255] {
            let bytes: Vec<u8> = (0..len).map(|n| n as u8 ^ 0xa5).collect();
            let name = OsStr::from_bytes(&bytes);
            assert_eq!(&*Name::from(name), name);
        }
    }
}
