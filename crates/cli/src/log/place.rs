//! Which log a path means.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The log that a user's path stands for: the path itself, or, if it is a file with a number (`events.000003`), the
/// path without the number. If a path has files of its own with numbers, the path is a log, whatever its name looks
/// like.
pub(super) fn log_at(path: &Path) -> PathBuf {
    let name = path.file_name().and_then(without_number);
    match name {
        Some(name) if path.is_file() && !has_numbered_files(path) => path.with_file_name(name),
        _ => path.to_path_buf(),
    }
}

/// Of `events.000003` and `events.000003.zst`: `events`.
fn without_number(name: &OsStr) -> Option<&OsStr> {
    let name = Path::new(name);
    let name = if name.extension() == Some(OsStr::new("zst")) { Path::new(name.file_stem()?) } else { name };
    is_number(name.extension()?).then(|| name.file_stem())?
}

/// Whether a file of a log may have this behind its name.
fn is_number(text: &OsStr) -> bool {
    let text = text.as_encoded_bytes();
    text.len() >= 6 && text.iter().all(u8::is_ascii_digit)
}

fn has_numbered_files(path: &Path) -> bool {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| without_number(&entry.file_name()) == path.file_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_a_number_means_its_log_unless_it_is_one_itself() {
        let temp = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = temp.path().join(name);
            fs::write(&path, "").unwrap();
            path
        };
        let of = |name: &str| log_at(&temp.path().join(name)).file_name().unwrap().to_str().unwrap().to_owned();
        for name in
            ["a.000001", "a.000002", "a.000003.zst", "b", "b.000001", "b.00001", "b.log", "c.000001", "c.000001.000002"]
        {
            file(name);
        }
        for (given, log) in [
            ("a.000001", "a"),
            ("a.000003.zst", "a"),
            ("a", "a"),
            ("b", "b"),
            ("b.000001", "b"),
            ("b.00001", "b.00001"),
            ("b.log", "b.log"),
            ("c.000001", "c.000001"),
            ("c.000001.000002", "c.000001"),
            ("missing.000001", "missing.000001"),
        ] {
            assert_eq!(of(given), log, "{given}");
        }
    }
}
