//! [`Buffer`]: the trace in blocks, of which a reader takes whole records.

use std::io::{self, ErrorKind, Read};

use memchr::memchr_iter;

use crate::progress::Progress;

/// Blocks of this size: large enough that reading them costs next to nothing, small enough to stay in the processor's
/// cache.
const BLOCK: usize = 256 << 10;
/// No record of a trace is longer. What is, is damaged.
const LONGEST: usize = 8 << 20;

/// The part of the trace that is in memory.
pub(crate) struct Buffer<'a> {
    source: &'a mut dyn Read,
    progress: &'a Progress,
    bytes: Vec<u8>,
    /// What is taken, and what is filled.
    start: usize,
    end: usize,
    at_end: bool,
}

impl<'a> Buffer<'a> {
    pub(crate) fn new(source: &'a mut dyn Read, progress: &'a Progress) -> Buffer<'a> {
        Buffer { source, progress, bytes: vec![0; BLOCK], start: 0, end: 0, at_end: false }
    }

    /// What was read and not taken yet.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Takes `n` bytes.
    pub(crate) fn take(&mut self, n: usize) {
        self.start = (self.start + n).min(self.end);
    }

    /// Whether nothing follows the rest.
    pub(crate) fn at_end(&self) -> bool {
        self.at_end
    }

    /// Whether no record can be so long that it needs more than the rest.
    pub(crate) fn is_full(&self) -> bool {
        self.end - self.start >= LONGEST
    }

    /// Reads on. Says whether there is more than before.
    pub(crate) fn fill(&mut self) -> io::Result<bool> {
        if self.at_end || self.is_full() {
            return Ok(false);
        }
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == self.bytes.len() {
            self.bytes.resize((self.bytes.len() * 2).min(LONGEST), 0);
        }
        loop {
            match self.source.read(&mut self.bytes[self.end..]) {
                Ok(0) => {
                    self.at_end = true;
                    return Ok(false);
                }
                Ok(n) => {
                    self.end += n;
                    self.progress.add_bytes(n as u64);
                    return Ok(true);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads until there are `n` bytes or no more come.
    pub(crate) fn fill_to(&mut self, n: usize) -> io::Result<()> {
        while self.rest().len() < n && self.fill()? {}
        Ok(())
    }

    /// Hands over each line, without its end. `None` stands for a line that is longer than any line of a trace.
    pub(crate) fn lines(&mut self, mut line: impl FnMut(Option<&[u8]>)) -> io::Result<()> {
        let mut too_long = false;
        loop {
            let rest = self.rest();
            let mut from = 0;
            for end in memchr_iter(b'\n', rest) {
                let text = &rest[from..end];
                from = end + 1;
                match std::mem::take(&mut too_long) {
                    true => line(None),
                    false => line(Some(text.strip_suffix(b"\r").unwrap_or(text))),
                }
            }
            self.take(from);
            if self.fill()? {
                continue;
            }
            let rest = self.rest().len();
            if !self.at_end() {
                too_long = true;
            } else {
                match rest {
                    0 if too_long => line(None),
                    0 => {}
                    _ if too_long => line(None),
                    _ => line(Some(self.rest())),
                }
                return Ok(());
            }
            self.take(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(mut text: &[u8]) -> Vec<Option<Vec<u8>>> {
        let (progress, mut lines) = (Progress::default(), Vec::new());
        Buffer::new(&mut text, &progress).lines(|line| lines.push(line.map(<[u8]>::to_vec))).unwrap();
        lines
    }

    #[test]
    fn lines_end_as_they_do_on_any_system_and_at_the_end_of_the_file() {
        assert_eq!(lines(b"a\r\n\nb\nc"), ["a", "", "b", "c"].map(|line| Some(line.into())));
        assert_eq!(lines(b"a\n"), [Some(b"a".to_vec())]);
        assert!(lines(b"").is_empty());
    }

    #[test]
    fn a_line_across_blocks_is_whole_and_an_endless_one_is_given_up() {
        let long = vec![b'x'; 3 * BLOCK];
        let text = [&b"a\n"[..], &long, b"\nb"].concat();
        assert_eq!(lines(&text), [Some(b"a".to_vec()), Some(long), Some(b"b".to_vec())]);
        let text = [&b"a\n"[..], &vec![b'x'; LONGEST + 5], b"\nb\n"].concat();
        assert_eq!(lines(&text), [Some(b"a".to_vec()), None, Some(b"b".to_vec())]);
        let text = vec![b'x'; 2 * LONGEST];
        assert_eq!(lines(&text), [None]);
    }
}
