//! What a form of the list is, and what the forms have in common.

use manyfiles::tree::Refusal;
use manyfiles_archive::{Entry, Kind};

use crate::human::one_line;
use crate::report::Lines;

/// How the entries of one archive are printed.
pub(super) trait Form {
    /// The next entry.
    fn entry(&mut self, entry: &Entry<'_>, out: &mut Lines);

    /// The archive has ended, or cannot be read any further, for this reason.
    fn end(&mut self, _error: Option<&str>, _out: &mut Lines) {}
}

/// The name of an entry, a folder's with a slash at its end, on one line.
pub(super) fn shown(entry: &Entry<'_>) -> String {
    let name = entry.path.to_string_lossy();
    let slash = if is_folder_without_slash(entry) { "/" } else { "" };
    format!("{}{slash}", one_line(&name))
}

pub(super) fn is_folder_without_slash(entry: &Entry<'_>) -> bool {
    entry.kind == Kind::Folder && !entry.path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Why an entry would not be written.
pub(super) fn refusal(entry: &Entry<'_>) -> Option<String> {
    let error = entry.refusal.as_ref()?;
    if let (Kind::Node(_), Some(Refusal::UnwantedKind)) = (entry.kind, error.refusal()) {
        return Some("refused: only --special-files makes it".into());
    }
    Some(error.refusal().map_or_else(|| error.io_error().to_string(), |refusal| refusal.to_string()))
}
