//! One name a line, or with zero bytes between them.

use manyfiles_archive::Entry;

use super::form::{Form, is_folder_without_slash, shown};
use crate::archive::Archive;
use crate::report::Lines;

/// How names are written.
pub(super) enum Names<'a> {
    /// For a person.
    Escaped,
    /// For a program that reads lines: byte by byte.
    Bytes,
    /// For a program that reads up to a zero byte: the names of this archive.
    Null(&'a Archive),
}

impl Form for Names<'_> {
    fn entry(&mut self, entry: &Entry<'_>, out: &mut Lines) {
        if let Names::Escaped = self {
            return out.print(format!("{}\n", shown(entry)));
        }
        let name = entry.path.as_os_str().as_encoded_bytes();
        if let Names::Null(archive) = self
            && name.contains(&0)
        {
            // Its reader would take it for two names. No system has a file of such a name, so 'unpack' makes none.
            let why = "left out, because it has a zero byte in it; --json shows it";
            return out.leave_out(archive.cannot(format_args!("{}: {why}", entry.path.display())));
        }
        out.print(name);
        if is_folder_without_slash(entry) {
            out.print("/");
        }
        out.print(if let Names::Null(_) = self { "\0" } else { "\n" });
    }
}
