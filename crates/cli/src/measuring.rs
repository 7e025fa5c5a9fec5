//! Shared by the commands that measure: output files that are made first, and the reason if nothing was measured.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use manyfiles_probe::Failure;

use crate::human::{bytes, count};
use crate::report::{self, UNREADABLE};
use crate::stop::Stop;
use crate::terminal::Screen;

/// Files that results go to. They are made before the measuring, so that a path that cannot be written fails first.
/// Files that stay empty are removed.
#[derive(Default)]
pub(crate) struct Outputs(Vec<PathBuf>);

impl Outputs {
    /// Makes the file.
    pub(crate) fn make(&mut self, path: &Path) -> Result<(), String> {
        // Asked before the file is made: an old file must not be removed.
        let was_there = path.exists();
        File::create(path).map_err(|error| format!("cannot create {}: {error}", path.display()))?;
        if !was_there {
            self.0.push(path.to_path_buf());
        }
        Ok(())
    }

    /// There is nothing to write into them.
    pub(crate) fn remove(self) {
        for path in self.0 {
            // It was ours a moment ago; an empty file left there is no loss.
            drop(fs::remove_file(path));
        }
    }
}

/// The exit status of a command that measured nothing.
pub(crate) fn failed(stop: &Stop) -> u8 {
    stop.signal().map_or(UNREADABLE, |signal| 128 + signal as u8)
}

/// The reason why nothing was measured, and what to do. `space` is the room that measuring needs, in bytes.
pub(crate) fn lines(failure: &Failure, directory: &Path, space: u64) -> Vec<String> {
    match failure {
        Failure::Failed(error) => {
            let mut lines = vec![error.to_string()];
            match error.kind() {
                ErrorKind::PermissionDenied => lines.push("choose a folder that you may write to".into()),
                ErrorKind::ReadOnlyFilesystem => {
                    lines.push("the file system is mounted read-only; choose a folder on another".into());
                }
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                    lines.push(format!("the disk is full; free {}, or choose a folder on another", bytes(space)));
                }
                ErrorKind::NotADirectory | ErrorKind::NotFound => {
                    lines.push("what is measured is a folder that is there".into());
                }
                _ => {}
            }
            lines
        }
        Failure::NoSpace(free) => {
            let (free, needed) = apart(*free, space);
            let of = directory.display();
            vec![format!("only {free} are free on the file system of {of}; measuring needs {needed}")]
        }
        Failure::Stopped => vec!["interrupted: nothing is left behind".into()],
    }
}

/// Both as people read them, and to the byte where that would be the same.
fn apart(free: u64, needed: u64) -> (String, String) {
    match (bytes(free), bytes(needed)) {
        (same, also) if same == also => (format!("{} bytes", count(free)), format!("{} bytes", count(needed))),
        different => different,
    }
}

/// Tells why nothing was measured, with this exit status.
pub(crate) fn tell(command: &str, screen: &Screen, json: bool, lines: &[String], code: u8) -> ExitCode {
    screen.say_all(lines);
    if !json {
        return code.into();
    }
    let status = if code == UNREADABLE { "not_begun" } else { "stopped" };
    let object = serde_json::json!({ "command": command, "status": status, "exit_code": code, "errors": lines });
    report::print_json(&object, code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_is_told_in_the_units_of_what_is_needed_and_is_always_less() {
        let line = |free| lines(&Failure::NoSpace(free), Path::new("mnt"), manyfiles_works::SPACE).concat();
        assert_eq!(line(264_000_000), "only 264 MB are free on the file system of mnt; measuring needs 268 MB");
        let almost = line(manyfiles_works::SPACE - 1);
        assert!(almost.contains("268,435,455 bytes") && almost.contains("268,435,456 bytes"), "{almost}");
    }
}
