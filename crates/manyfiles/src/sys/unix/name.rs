//! Which names the system can hold.

use crate::sys::Refusal;

/// Whether `byte` ends a component of a path.
pub(crate) const fn is_separator(byte: u8) -> bool {
    byte == b'/'
}

/// Whether a path has its separators as `Path` joins them.
pub(crate) const fn has_usual_separators(_path: &[u8]) -> bool {
    true
}

/// Why a component of a path, neither `.` nor `..`, means something else than a file of that name. Nothing does here: what
/// cannot be held is an error of the call.
pub(crate) const fn refusal_of_name(_name: &[u8]) -> Option<Refusal> {
    None
}
