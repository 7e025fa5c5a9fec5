//! [`Source`]: the trace to read.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::stop::{Interruptible, Stop};
use crate::sys;
use crate::words::CannotBegin;

/// A trace that could be opened.
pub(super) struct Source {
    pub read: Box<dyn Read>,
    /// How many bytes it has, if it is a file.
    pub size: Option<u64>,
    /// What it is called in messages.
    pub name: String,
}

impl Source {
    pub(super) fn open(path: &Path, stop: &Stop) -> Result<Source, CannotBegin> {
        if path == Path::new("-") {
            let stdin = Interruptible::stdin(stop.clone())
                .map_err(|error| CannotBegin::because(format_args!("standard input: cannot read it: {error}")))?;
            return Ok(Source { read: Box::new(stdin), size: None, name: "standard input".into() });
        }
        let name = path.display().to_string();
        let cannot = |error| CannotBegin::because(format_args!("{name}: cannot read it: {error}"));
        let file = sys::open_to_read(path).map_err(cannot)?;
        if file.metadata().map_err(cannot)?.is_dir() {
            return Err(CannotBegin::because(format_args!(
                "{name}: this is a folder, not a trace; give a file that strace, perf trace or Process Monitor wrote"
            )));
        }
        Source::file(file, &name, stop)
    }

    pub(super) fn file(file: File, name: &str, stop: &Stop) -> Result<Source, CannotBegin> {
        let metadata =
            file.metadata().map_err(|error| CannotBegin::because(format_args!("{name}: cannot read it: {error}")))?;
        let size = metadata.is_file().then_some(metadata.len());
        Ok(Source { read: Box::new(Interruptible::new(file, stop.clone())), size, name: name.into() })
    }
}
