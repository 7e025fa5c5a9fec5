//! One name a line, or with zero bytes between them.

use manyfiles_archive::Entry;

use super::form::{Form, is_folder_without_slash, shown};
use crate::report::Lines;

/// How names are written.
pub(super) enum Names {
    /// For a person.
    Escaped,
    /// For a program that reads lines: byte by byte.
    Bytes,
    /// For a program that reads up to a zero byte.
    Null,
}

impl Form for Names {
    fn entry(&mut self, entry: &Entry<'_>, out: &mut Lines) {
        if let Names::Escaped = self {
            return out.print(format!("{}\n", shown(entry)));
        }
        out.print(entry.path.as_os_str().as_encoded_bytes());
        if is_folder_without_slash(entry) {
            out.print("/");
        }
        out.print(if let Names::Null = self { "\0" } else { "\n" });
    }
}
