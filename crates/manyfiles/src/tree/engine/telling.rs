//! What is told of an entry: in the report, and to the program's `on_entry`.

use std::ffi::OsStr;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::folders::Folder;
use super::outcome::Astray;
use super::own_thread::in_a_callback;
use super::shared::Shared;
use crate::tree::digest::{NewDigest, RunningDigest};
use crate::tree::outcome::{self as entry, Entry, OnEntry};
use crate::{Error, Operation};

impl Shared {
    /// An entry failed: it is reported, and no link gets what has its name.
    pub(super) fn fail_entry(&self, folder: &Folder, name: &OsStr, error: Error) {
        self.go_astray(folder, name);
        self.tell_failure(folder, name, error);
    }

    /// From here on no link gets what has the name.
    pub(super) fn go_astray(&self, folder: &Folder, name: &OsStr) {
        // What an earlier entry of this run brought is there still.
        if !self.outcome.is_written(folder, name) {
            self.outcome.is_astray(folder, name, Astray::Failed);
        }
    }

    /// An entry failed: it is reported.
    pub(super) fn tell_failure(&self, folder: &Folder, name: &OsStr, error: Error) {
        self.fail(error.clone());
        self.tell(&folder.join(name), entry::Outcome::Failed(&error));
    }

    /// Tells the program's `on_entry`, if there is one, what became of an entry.
    pub(super) fn tell(&self, path: &Path, outcome: entry::Outcome<'_>) {
        let Some(OnEntry(told)) = &self.options.on_entry else { return };
        let told = in_a_callback(|| catch_unwind(AssertUnwindSafe(|| told(&Entry { path, outcome }))));
        if told.is_err() {
            let why = io::Error::other("the program's `on_entry` panicked when it was told of this entry");
            self.fail(Error::new(Operation::Write, path, why));
        }
    }

    /// Whether the program has an `on_entry`.
    pub(super) fn tells(&self) -> bool {
        self.options.on_entry.is_some()
    }

    pub(super) fn new_digest(&self) -> Option<RunningDigest> {
        self.options.digest.as_ref().map(NewDigest::begin)
    }
}
