//! What the commands that measure have in common: a file that is made first, and why there is nothing to tell.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use manyfiles_probe::Failure;

use crate::human::bytes;
use crate::report::{self, UNREADABLE};
use crate::stop::Stop;
use crate::terminal::Screen;

/// Files that results go to. Made before the measuring, so that a path that cannot be written fails first; those that got nothing
/// are removed.
#[derive(Default)]
pub struct Outputs(Vec<PathBuf>);

impl Outputs {
    /// Makes the file.
    pub fn make(&mut self, path: &Path) -> Result<(), String> {
        // Read before: what is there already is not ours to remove.
        let was_there = path.exists();
        File::create(path).map_err(|error| format!("cannot create {}: {error}", path.display()))?;
        if !was_there {
            self.0.push(path.to_path_buf());
        }
        Ok(())
    }

    /// There is nothing to write into them.
    pub fn remove(self) {
        for path in self.0 {
            // It was ours a moment ago; an empty file left there is no loss.
            drop(fs::remove_file(path));
        }
    }
}

/// The exit status of a command that measured nothing.
pub fn failed(stop: &Stop) -> u8 {
    stop.signal().map_or(UNREADABLE, |signal| 128 + signal as u8)
}

/// Says why nothing was measured, and what to do. `space` is the room that measuring needs.
pub fn lines(failure: &Failure, directory: &Path, space: &str) -> Vec<String> {
    match failure {
        Failure::Failed(error) => {
            let mut lines = vec![error.to_string()];
            match error.kind() {
                ErrorKind::PermissionDenied => lines.push("choose a folder that you may write to".into()),
                ErrorKind::ReadOnlyFilesystem => {
                    lines.push("the file system is mounted read-only; choose a folder on another".into());
                }
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                    lines.push(format!("the disk is full; free {space}, or choose a folder on another"));
                }
                ErrorKind::NotADirectory | ErrorKind::NotFound => {
                    lines.push("what is measured is a folder that is there".into());
                }
                _ => {}
            }
            lines
        }
        Failure::NoSpace(free) => vec![format!(
            "only {} are free on the file system of {}; measuring needs {space}",
            bytes(*free),
            directory.display()
        )],
        Failure::Stopped => vec!["interrupted: nothing is left behind".into()],
    }
}

/// Tells why nothing was measured, with this exit status.
pub fn tell(command: &str, screen: &Screen, json: bool, lines: &[String], code: u8) -> ExitCode {
    screen.say_all(lines);
    if !json {
        return code.into();
    }
    let status = if code == UNREADABLE { "not_begun" } else { "stopped" };
    let object = serde_json::json!({ "command": command, "status": status, "exit_code": code, "errors": lines });
    report::print_json(&object, code)
}
