//! A range of a file that is read from front to back.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use crate::sys;

#[derive(Debug)]
pub(super) struct Range {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Range {
    pub(super) fn new(file: Arc<File>, at: u64, end: u64) -> Range {
        Range { file, at, end }
    }
}

impl Read for Range {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = self.end.saturating_sub(self.at).min(into.len() as u64) as usize;
        let len = sys::read_at(&self.file, &mut into[..most], self.at)?;
        self.at += len as u64;
        Ok(len)
    }
}
