//! Logs to be read, and what went to standard output byte by byte.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use manyfiles::appender::{Appender, Options, Position};
use tempfile::TempDir;

use crate::common::BINARY;

/// Where a file's frames begin.
pub(crate) const HEADER: u64 = 96;
/// The length of a frame's head, before the record's bytes.
pub(crate) const FRAME: u64 = 8;

/// A folder with the log `events`.
pub(crate) struct Made {
    pub temp: TempDir,
    /// Where each record begins.
    pub positions: Vec<Position>,
}

pub(crate) fn framed() -> Options {
    Appender::options().framed(true)
}

/// Files of a few records each.
pub(crate) fn rotated() -> Options {
    framed().rotate_bytes(400)
}

/// `record 0`, `record 1`…
pub(crate) fn record(n: usize) -> String {
    format!("record {n}")
}

/// The lines of these records.
pub(crate) fn lines(records: std::ops::Range<usize>) -> String {
    records.map(|n| record(n) + "\n").collect()
}

impl Made {
    /// With these records, and closed in order.
    pub(crate) fn with(options: Options, records: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Made {
        let temp = tempfile::tempdir().unwrap();
        let appender = options.open(temp.path().join("events")).unwrap();
        let mut positions = Vec::new();
        for record in records {
            let receipt = appender.append(record.as_ref()).unwrap();
            positions.push(receipt.position().unwrap());
            // Each with a mark of its own: so that a damaged record is not mistaken for a torn one.
            receipt.wait_durable().unwrap();
        }
        appender.close().unwrap();
        Made { temp, positions }
    }

    /// With this many records.
    pub(crate) fn of(options: Options, records: usize) -> Made {
        Made::with(options, (0..records).map(record))
    }

    pub(crate) fn folder(&self) -> &Path {
        self.temp.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder().join("events")
    }

    /// Names of the log's files.
    pub(crate) fn files(&self) -> Vec<String> {
        crate::common::names(self.folder())
    }

    /// Changes a byte of the record, which is in the log's only file.
    pub(crate) fn damage(&self, n: usize) {
        let mut bytes = fs::read(self.path()).unwrap();
        bytes[(HEADER + self.positions[n].0 + FRAME) as usize] ^= 1;
        fs::write(self.path(), bytes).unwrap();
    }

    /// Changes a byte of the first record of a file. Returns the file's new content.
    pub(crate) fn damage_file(&self, name: &str) -> Vec<u8> {
        let path = self.folder().join(name);
        let mut bytes = fs::read(&path).unwrap();
        let at = bytes.windows(7).position(|bytes| bytes == b"record ").expect("it has a record");
        bytes[at] ^= 1;
        fs::write(path, &bytes).unwrap();
        bytes
    }

    /// As a kill in the middle of a write leaves it: without the closing, and with a part of a record behind it.
    pub(crate) fn torn(records: usize) -> Made {
        let temp = tempfile::tempdir().unwrap();
        let appender = framed().open(temp.path().join("alive")).unwrap();
        let mut positions = Vec::new();
        for n in 0..records {
            let receipt = appender.append(record(n).as_bytes()).unwrap();
            positions.push(receipt.position().unwrap());
        }
        appender.flush().unwrap();
        let mut bytes = fs::read(temp.path().join("alive")).unwrap();
        let end = HEADER + positions[records - 1].0 + FRAME + record(records - 1).len() as u64;
        bytes.truncate(end as usize);
        bytes.extend(b"\x08\0\0\0\x12\x34\x56\x78reco");
        drop(appender);
        fs::remove_file(temp.path().join("alive")).unwrap();
        fs::write(temp.path().join("events"), bytes).unwrap();
        Made { temp, positions }
    }
}

/// Runs the command in `folder`, for output that need not be text.
pub(crate) fn output(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(BINARY);
    command.args(args).current_dir(folder).stdin(Stdio::null());
    manyfiles_testkit::started(|| command.output()).unwrap()
}
