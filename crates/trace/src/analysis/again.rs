//! Files that were opened before.

use super::ranking::Ranking;
use super::sums::File;
use crate::open_file::OpenFile;
use crate::report::{Again as Found, OpenedAgain};

/// Rows of the table of files that were opened most often.
const ROWS: usize = 100;

#[derive(Default)]
pub(super) struct Again(Found);

impl Again {
    pub(super) fn opened(&mut self, file: &OpenFile, known: &mut File, time: u64) {
        known.opens += 1;
        if !file.regular || known.opens == 1 {
            return;
        }
        self.0.opens += 1;
        self.0.open_nanos = self.0.open_nanos.saturating_add(time);
        // Only a process that had the file open could have kept it open, and the library keeps handles of written files
        // only.
        if file.for_writing && known.last_writer == file.owner && file.owner != 0 {
            self.0.kept_opens += 1;
            self.0.kept_open_nanos = self.0.kept_open_nanos.saturating_add(time);
            self.0.kept_close_nanos = self.0.kept_close_nanos.saturating_add(known.last_close);
            known.last_close = 0;
        }
    }

    pub(super) fn closed(&mut self, file: &OpenFile, known: &mut File, time: u64) {
        if file.for_writing {
            known.last_writer = file.owner;
            known.last_close = time;
        }
    }

    pub(super) fn finish(mut self, files: &Ranking<File>) -> Found {
        self.0.exact = files.is_exact();
        let mut most: Vec<(u64, &[u8])> =
            files.entries().filter(|(_, file)| file.opens > 1).map(|(path, file)| (file.opens, path)).collect();
        most.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        self.0.files = most.len() as u64;
        self.0.most =
            most.into_iter().take(ROWS).map(|(opens, path)| OpenedAgain { path: path.into(), opens }).collect();
        self.0
    }
}
