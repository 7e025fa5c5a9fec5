//! [`Archive`]: an archive as it is named on a command line: a file, a pipe with a name, or `-`.

use std::fs::File;
use std::path::{Path, PathBuf};

use manyfiles_archive::{Input, Summary};

use crate::stop::{Interruptible, Stop};
use crate::sys;
use crate::words::CannotBegin;

/// An archive that is there and can be opened.
pub(crate) struct Archive {
    pub path: PathBuf,
    /// How many bytes it has, if it is a file.
    pub size: Option<u64>,
}

/// Why the archives cannot all be read, if standard input is more than one of them.
pub(crate) fn read_twice(paths: &[PathBuf]) -> Option<String> {
    let stdins = paths.iter().filter(|path| is_stdin(path)).count();
    (stdins > 1).then(|| "standard input ('-') can be read once only".into())
}

impl Archive {
    /// All of them, or all that can be said against them without reading them.
    pub(crate) fn check_all(paths: &[PathBuf]) -> Result<Vec<Archive>, CannotBegin> {
        let (mut archives, mut wrong) = (Vec::new(), Vec::new());
        for path in paths {
            match Archive::check(path) {
                Ok(archive) => archives.push(archive),
                Err(why) => wrong.push(why),
            }
        }
        wrong.extend(read_twice(paths));
        if wrong.is_empty() { Ok(archives) } else { Err(CannotBegin(wrong)) }
    }

    /// What can be said against it without reading it.
    pub(crate) fn check(path: &Path) -> Result<Archive, String> {
        let mut archive = Archive { path: path.to_path_buf(), size: None };
        if is_stdin(path) {
            return match std::io::IsTerminal::is_terminal(&std::io::stdin()) {
                true => {
                    Err("'-' reads an archive from standard input, which is a terminal; pipe one in, or name a file"
                        .into())
                }
                false => Ok(archive),
            };
        }
        let metadata =
            std::fs::metadata(path).map_err(|error| archive.cannot(format_args!("cannot read it: {error}")))?;
        if metadata.is_dir() {
            return Err(archive.cannot("this is a folder, not an archive; 'manyfiles copy' copies folders"));
        }
        if metadata.is_file() {
            archive.size = Some(metadata.len());
            // A pipe is not opened twice: its writer would see the first reader go.
            File::open(path).map_err(|error| archive.cannot(format_args!("cannot open it: {error}")))?;
            if metadata.len() == 0 {
                return Err(archive.cannot("the file is empty, not an archive; get it anew if it was downloaded"));
            }
        }
        Ok(archive)
    }

    pub(crate) fn open(&self, stop: &Stop) -> std::io::Result<Input> {
        let stream = match (is_stdin(&self.path), self.size) {
            (true, _) => Interruptible::stdin(stop.clone())?,
            (false, None) => Interruptible::new(sys::open_to_read(&self.path)?, stop.clone()),
            (false, Some(_)) => return Ok(Input::File(self.path.clone())),
        };
        Ok(Input::Stream(Box::new(stream)))
    }

    /// That something followed the archive and was not read.
    pub(crate) fn warning(&self, summary: &Summary) -> Option<String> {
        summary.trailing.map(|trailing| self.cannot(format_args!("warning: {trailing}")))
    }

    pub(crate) fn cannot(&self, why: impl std::fmt::Display) -> String {
        format!("{}: {why}", self.name())
    }

    /// What it is called in messages.
    pub(crate) fn name(&self) -> String {
        if is_stdin(&self.path) { "standard input".into() } else { self.path.display().to_string() }
    }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}
