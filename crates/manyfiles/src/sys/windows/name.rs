//! Which names a system takes.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use crate::sys::Refusal;

/// The path that has these bytes, which are to be UTF-8.
pub(crate) fn path_from_bytes(bytes: Vec<u8>) -> io::Result<PathBuf> {
    let text = String::from_utf8(bytes);
    text.map(PathBuf::from).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the URI's path is not UTF-8"))
}

/// Whether `byte` ends a component of a path.
pub(crate) const fn is_separator(byte: u8) -> bool {
    byte == b'/' || byte == b'\\'
}

/// Whether a path has its separators as `Path` joins them.
pub(crate) fn has_usual_separators(path: &[u8]) -> bool {
    !path.contains(&b'/')
}

/// Why a component of a path, neither `.` nor `..`, means something else than a file of that name.
pub(crate) fn refusal_of_name(name: &[u8]) -> Option<Refusal> {
    if name.contains(&b':') {
        return Some(Refusal::Stream);
    }
    if is_device(name) {
        return Some(Refusal::Device);
    }
    let forbidden = |&byte: &u8| byte < b' ' || b"<>\"|?*".contains(&byte);
    if name.iter().any(forbidden) || matches!(name.last(), Some(b'.' | b' ')) {
        return Some(Refusal::NotAName);
    }
    None
}

/// `NUL`, `com1.txt`, `Lpt¹ .x`: a device has the name with any extension, and in any folder.
fn is_device(name: &[u8]) -> bool {
    let stem = name.split(|&byte| byte == b'.').next().unwrap_or_default().trim_ascii_end();
    let is = |device: &str| stem.eq_ignore_ascii_case(device.as_bytes());
    if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].into_iter().any(is) {
        return true;
    }
    let Some((port, number)) = stem.split_at_checked(3) else { return false };
    let numbers = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³"];
    (port.eq_ignore_ascii_case(b"COM") || port.eq_ignore_ascii_case(b"LPT"))
        && numbers.into_iter().any(|known| known.as_bytes() == number)
}

/// Windows has no such names: a removed file keeps its own until it is closed.
pub(crate) fn is_stand_in(_name: &OsStr) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_streams_and_what_windows_would_change_are_refused() {
        for (refusal, names) in [
            (
                Some(Refusal::Device),
                &["CON", "nul", "Aux.txt", "com1", "LPT9.tar.gz", "nul .txt", "COM¹", "conin$"][..],
            ),
            (Some(Refusal::Stream), &["a:b", "C:", ":", "a::$DATA"]),
            (Some(Refusal::NotAName), &["a.", "a ", "...", " ", "a?", "a*b", "<", ">", "\"", "a|b", "a\nb", "\x1f"]),
            (None, &["a", ".a", "a.b", " a", "console", "com", "com10", "lpt", "nulls.txt", "grüße – 你好", "co", "¹"]),
        ] {
            for name in names {
                assert_eq!(refusal_of_name(name.as_bytes()), refusal, "{name:?}");
            }
        }
    }
}
