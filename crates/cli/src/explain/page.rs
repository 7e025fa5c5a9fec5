//! [`Page`]: a file that a form of the report goes to: the page with charts, or folded stacks.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::args;
use crate::sys;
use crate::words::CannotBegin;

/// A file that can be written to, which is checked before the trace is read. If the page is never written, an old file
/// stays as it was, and a new one is removed.
pub(super) struct Page {
    /// What it is called in messages.
    what: &'static str,
    path: PathBuf,
    file: File,
    /// The file is new and still empty.
    made: bool,
}

impl Page {
    /// The one that was asked for, if any.
    pub(super) fn wanted(args: &args::Explain, trace: Option<&Path>) -> Result<Option<Page>, CannotBegin> {
        match (&args.html, &args.folded) {
            (Some(path), _) => Page::open("the page", path, trace).map(Some),
            (None, Some(path)) => Page::open("the stacks", path, trace).map(Some),
            (None, None) => Ok(None),
        }
    }

    pub(super) fn what(&self) -> &'static str {
        self.what
    }

    /// `trace` is what will be read, and must not be written over.
    fn open(what: &'static str, path: &Path, trace: Option<&Path>) -> Result<Page, CannotBegin> {
        let cannot =
            |error: io::Error| CannotBegin::because(format_args!("{}: cannot write {what}: {error}", path.display()));
        let (file, made) = match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(file) => (file, true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                (OpenOptions::new().write(true).open(path).map_err(cannot)?, false)
            }
            Err(error) => return Err(cannot(error)),
        };
        let page = Page { what, path: path.into(), file, made };
        if let Some((trace, metadata)) = trace.and_then(|trace| Some((trace, fs::metadata(trace).ok()?))) {
            let own = sys::file_id(path, &page.file.metadata().map_err(cannot)?);
            if own.is_some() && own == sys::file_id(trace, &metadata) {
                return Err(CannotBegin::because(format_args!(
                    "{}: this is the trace; {what} would take its place",
                    path.display()
                )));
            }
        }
        Ok(page)
    }

    /// Writes it, and gives its path. What was in the file is gone then.
    pub(super) fn write(mut self, text: &str) -> Result<PathBuf, String> {
        let is_file = self.file.metadata().is_ok_and(|metadata| metadata.is_file());
        let cut = if is_file { self.file.set_len(0) } else { Ok(()) };
        match cut.and_then(|()| self.file.write_all(text.as_bytes())) {
            Ok(()) => {
                self.made = false;
                Ok(self.path.clone())
            }
            Err(error) => Err(format!("{}: cannot write {}: {error}", self.path.display(), self.what)),
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if self.made {
            // An empty or half-written file of ours that stays does no harm, and why there is no page was said already.
            let _left_behind = fs::remove_file(&self.path);
        }
    }
}
