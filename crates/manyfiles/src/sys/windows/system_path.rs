//! The path by which the system knows an open file or folder, whatever path it was opened by.

use windows_sys::Win32::Globalization::{CSTR_EQUAL, CompareStringOrdinal};

/// A path on its volume, without the volume, which takes more calls to find out. A file has one such path whatever path
/// it was opened by: relative, through a link or a drive's other letter, or with a short name (8.3) on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SystemPath(Vec<u16>);

impl SystemPath {
    pub(super) fn new(path: Vec<u16>) -> SystemPath {
        SystemPath(path)
    }

    /// Whether names in it may be short ones (8.3).
    pub(super) fn may_be_short(&self) -> bool {
        self.0.contains(&u16::from(b'~'))
    }

    /// Whether its last name is this one, and not a short or a longer one of the same file.
    pub(super) fn ends_in(&self, name: &[u16]) -> bool {
        are_equal(self.0.rsplit(|unit| *unit == u16::from(b'\\')).next().unwrap_or_default(), name)
    }

    /// Whether this is the path of `folder`, or of something in it. Names are compared as the system compares them,
    /// without regard to case: two names that differ in case alone cost one more wait for a close, which does no harm.
    pub(crate) fn is_at_or_below(&self, folder: &SystemPath) -> bool {
        /// What ends a component: the last one begins the name of a stream.
        const ENDS: [u16; 3] = [b'\\' as u16, b'/' as u16, b':' as u16];
        let Some((begin, rest)) = self.0.split_at_checked(folder.0.len()) else { return false };
        let ends = |unit: Option<&u16>| unit.is_some_and(|unit| ENDS.contains(unit));
        (rest.is_empty() || ends(rest.first()) || ends(folder.0.last())) && are_equal(begin, &folder.0)
    }

    /// Whether this is the path of an entry of `folder`.
    pub(crate) fn is_entry_of(&self, folder: &SystemPath) -> bool {
        let is_separator = |unit: &u16| [u16::from(b'\\'), u16::from(b'/')].contains(unit);
        let below = self.0.get(folder.0.len()..).unwrap_or_default();
        let below = below.strip_prefix(&[u16::from(b'\\')]).unwrap_or(below);
        self.is_at_or_below(folder) && !below.is_empty() && !below.iter().any(is_separator)
    }
}

/// As the system folds names: each unit for itself, by its table of upper case.
fn are_equal(one: &[u16], other: &[u16]) -> bool {
    let [one_len, other_len] = [one, other].map(|name| i32::try_from(name.len()).unwrap_or(i32::MAX));
    // SAFETY: both are as long as they are said to be, and only read.
    one == other || unsafe { CompareStringOrdinal(one.as_ptr(), one_len, other.as_ptr(), other_len, 1) } == CSTR_EQUAL
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_at_or_below(path: &str, folder: &str) -> bool {
        let [path, folder] = [path, folder].map(|text| SystemPath(text.encode_utf16().collect()));
        path.is_at_or_below(&folder)
    }

    #[test]
    fn a_path_is_at_or_below_itself_its_folders_and_the_file_it_is_a_stream_of() {
        for (path, folder, is) in [
            (r"\a\b", r"\a\b", true),
            (r"\a\b", r"\a", true),
            (r"\a\b", r"\", true),
            (r"\A\Ärger", r"\a\äRGER", true),
            (r"\a\b.txt:stream", r"\a\b.txt", true),
            (r"\a\bc", r"\a\b", false),
            (r"\a", r"\a\b", false),
            (r"\b\a", r"\a", false),
            // A final sigma is no other letter to NTFS than the one that stands inside of a word.
            ("\\ΟΔΟΣ", "\\οδοσ", true),
            ("\\ΟΔΟΣ\\a", "\\οδοσ", true),
        ] {
            assert_eq!(is_at_or_below(path, folder), is, "{path} {folder}");
        }
    }

    #[test]
    fn a_path_of_32_767_units_has_room() {
        let long = format!("\\{}", "x\\".repeat(16_383));
        assert_eq!(long.encode_utf16().count(), 32_767);
        assert!(is_at_or_below(&long, &long) && is_at_or_below(&long, r"\x\x"));
    }
}
