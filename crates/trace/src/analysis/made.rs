//! Files that were made, or emptied, and written.

use crate::open_file::OpenFile;
use crate::report::Made as Found;

#[derive(Default)]
pub(super) struct Made(Found);

impl Made {
    /// Says whether the file counts as made.
    pub(super) fn opened(&mut self, file: &OpenFile) -> bool {
        let made = file.regular && file.for_writing && file.was_empty;
        self.0.files += u64::from(made);
        made
    }

    /// Its time is known now. What comes by another handle of the same file counts then.
    pub(super) fn closed(&mut self, file: &OpenFile) {
        let time = file.time.take();
        if file.regular && file.for_writing && file.was_empty {
            self.0.nanos = self.0.nanos.saturating_add(time);
        }
    }

    /// `most` is how many of them one thread made.
    pub(super) fn finish(mut self, most: u64) -> Found {
        self.0.by_one_thread = most;
        self.0
    }
}
