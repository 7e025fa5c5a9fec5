//! A file's name without an allocation, as most are short.

use std::ffi::OsStr;
use std::fmt;
use std::ops::Deref;

use crate::sys::ShortName;

/// A name. Allocating one for each file, to be freed by another thread, costs as much as handing the file over.
pub(in crate::tree) enum Name {
    Short(ShortName),
    Long(Box<OsStr>),
}

impl From<&OsStr> for Name {
    fn from(name: &OsStr) -> Name {
        ShortName::new(name).map_or_else(|| Name::Long(name.into()), Name::Short)
    }
}

impl Deref for Name {
    type Target = OsStr;

    fn deref(&self) -> &OsStr {
        match self {
            Name::Short(name) => name.as_os_str(),
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
    fn names_of_every_length_come_back_as_they_were_and_take_four_words() {
        for len in [0, 1, 29, 30, 31, 255] {
            let name = "x".repeat(len);
            assert_eq!(&*Name::from(OsStr::new(&name)), &*name);
        }
        assert_eq!(size_of::<Name>(), 32);
    }
}
