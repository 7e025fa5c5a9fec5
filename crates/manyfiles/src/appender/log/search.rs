//! Finding the next whole frame behind damage, whatever its distance.
//!
//! A damaged length says nothing about where the next frame begins, so every place is tried. A place, the bytes there
//! and the file's salt make a check of 32 bits: what passes it is a frame.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use crate::appender::log::frame::{self, FRAME, MARK};
use crate::appender::storage::ReadAt;

/// How much is read at once.
const CHUNK: usize = if cfg!(test) { 600 } else { 256 << 10 };
/// Contents up to this length are summed where they are met; this takes at most two microseconds. Longer ones are
/// summed together, in one pass.
const SHORT: usize = if cfg!(test) { 100 } else { 16 << 10 };
/// So many long contents are tried, at some 10 microseconds and 32 bytes of memory each. Random bytes have as many
/// within 50 MiB. Behind more than that only marks and short records are found.
const MOST_LONG: u32 = 1 << 18;

/// A long content that may be one of a frame. The first to end is the first to be decided: frames do not overlap, so
/// the first whole one ends before any other.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    end: u64,
    /// Where its frame begins.
    begin: u64,
    /// The sum of all bytes before its content.
    before: u32,
    length: u32,
    check: u32,
}

/// Where the first whole frame begins that is not before `from` and ends at `limit` or before.
pub(in crate::appender) fn next_frame(
    file: &(impl ReadAt + ?Sized),
    salt: u32,
    from: u64,
    limit: u64,
) -> io::Result<Option<u64>> {
    let mut search = Search { salt, limit, sum: 0, candidates: BinaryHeap::new(), long: 0 };
    let mut chunk = vec![0; CHUNK.min(limit.saturating_sub(from) as usize)];
    let mut at = from;
    while at < limit {
        let most = chunk.len().min((limit - at) as usize);
        let has = file.read_full(&mut chunk[..most], at)?;
        let is_last = has < most || at + has as u64 == limit;
        // A frame's head may begin in the last bytes of a chunk: the next chunk begins with these.
        let places = if is_last { has } else { has - (MARK - 1) };
        if let Some(begin) = search.look(&chunk[..has], at, places) {
            return Ok(Some(begin));
        }
        at += places as u64;
        if is_last {
            break;
        }
    }
    Ok(search.decide(at))
}

struct Search {
    salt: u32,
    limit: u64,
    /// The sum of the bytes between the beginning of the search and the place that is looked at.
    sum: u32,
    candidates: BinaryHeap<Reverse<Candidate>>,
    /// How many long contents were tried.
    long: u32,
}

impl Search {
    /// Looks at the first `places` places of these bytes, which are at `at` in the file.
    fn look(&mut self, bytes: &[u8], at: u64, places: usize) -> Option<u64> {
        let mut summed = 0;
        for n in 0..places {
            let place = at + n as u64;
            if self.candidates.peek().is_some_and(|Reverse(first)| first.end <= place) {
                self.sum_up(&bytes[summed..n]);
                summed = n;
                if let Some(begin) = self.decide(place) {
                    return Some(begin);
                }
            }
            let Some(head) = bytes[n..].first_chunk() else { continue };
            let (length, check) = frame::parse(head);
            if frame::is_mark(length) {
                let mark = bytes[n..].first_chunk();
                if mark.is_some_and(|mark| frame::parse_mark(self.salt, place, mark).is_some()) {
                    return Some(place);
                }
                continue;
            }
            let end = place + FRAME as u64 + u64::from(length);
            // Nearly every place is passed over here.
            if end > self.limit || check == 0 {
                continue;
            }
            let content = bytes.get(n + FRAME..n + FRAME + length as usize);
            if let Some(content) = content.filter(|content| content.len() <= SHORT) {
                if is_whole(self.salt, place, length, frame::sum(content), check) {
                    return Some(place);
                }
            } else if self.long < MOST_LONG {
                self.sum_up(&bytes[summed..n]);
                summed = n;
                self.long += 1;
                let before = crc32c::crc32c_append(self.sum, head);
                self.candidates.push(Reverse(Candidate { end, begin: place, before, length, check }));
            }
        }
        self.sum_up(&bytes[summed..places]);
        None
    }

    fn sum_up(&mut self, bytes: &[u8]) {
        self.sum = crc32c::crc32c_append(self.sum, bytes);
    }

    fn next_ended(&mut self, place: u64) -> Option<Candidate> {
        self.candidates.peek().filter(|Reverse(first)| first.end <= place)?;
        self.candidates.pop().map(|Reverse(candidate)| candidate)
    }

    /// Decides the candidates that end at this place or before. All bytes before it are summed up.
    fn decide(&mut self, place: u64) -> Option<u64> {
        while let Some(Candidate { end, begin, before, length, check }) = self.next_ended(place) {
            let content = crc32c::crc32c_combine(before, self.sum, length as usize);
            if end == place && is_whole(self.salt, begin, length, content, check) {
                return Some(begin);
            }
        }
        None
    }
}

/// Whether a frame of this content is a record, or a stretch that was set aside.
fn is_whole(salt: u32, begin: u64, length: u32, sum: u32, check: u32) -> bool {
    frame::check(salt, begin, length, sum) == check || frame::aside_check(salt, begin, length, sum) == check
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    impl ReadAt for Vec<u8> {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let rest = self.get(offset as usize..).unwrap_or_default();
            let has = rest.len().min(buffer.len());
            buffer[..has].copy_from_slice(&rest[..has]);
            Ok(has)
        }

        fn len(&self) -> io::Result<u64> {
            Ok(Vec::len(self) as u64)
        }

        fn is_at(&self, _path: &std::path::Path) -> io::Result<bool> {
            Ok(true)
        }
    }

    const SALT: u32 = 99;

    fn push(bytes: &mut Vec<u8>, content: &[u8]) -> u64 {
        let begin = bytes.len() as u64;
        bytes.extend_from_slice(&frame::frame(SALT, begin, content.len() as u32, frame::sum(content)));
        bytes.extend_from_slice(content);
        begin
    }

    fn find(bytes: &Vec<u8>, from: u64) -> Option<u64> {
        next_frame(bytes, SALT, from, Vec::len(bytes) as u64).unwrap()
    }

    #[test]
    fn a_frame_of_any_length_is_found_at_any_distance() {
        // Around the ends of chunks, and of what is summed at once.
        for length in (0..2_000).step_by(7).chain([SHORT, SHORT + 1, CHUNK - FRAME, CHUNK, 3 * CHUNK]) {
            for distance in [0, 1, 5, CHUNK - 40, CHUNK - 7, CHUNK - 1, CHUNK, 2 * CHUNK + 3] {
                let mut bytes = vec![7; distance];
                let begin = push(&mut bytes, &(0..length).map(|n| n as u8).collect::<Vec<u8>>());
                assert_eq!(find(&bytes, 0), Some(begin), "{length} bytes at {distance}");
                let next = push(&mut bytes, b"the next one");
                assert_eq!(find(&bytes, 0), Some(begin), "{length} bytes at {distance}, and one more");
                assert_eq!(find(&bytes, begin + 1), Some(next), "behind {length} bytes at {distance}");
                assert_eq!(next_frame(&bytes, SALT, 0, next - 1).unwrap(), None, "cut short");
            }
        }
    }

    #[test]
    fn bytes_that_might_begin_a_frame_at_every_place_hide_none() {
        for byte in [0_u8, 1, 2] {
            // Each four of these are a length that ends far behind, or right here.
            let mut bytes: Vec<u8> = (0..5_000).map(|n| if n % 4 < 2 { byte } else { 0 }).collect();
            let begin = push(&mut bytes, &[byte; 1_500]);
            push(&mut bytes, b"behind");
            assert_eq!(find(&bytes, 0), Some(begin), "{byte}");
        }
    }

    #[test]
    fn marks_and_what_was_set_aside_are_found_and_copies_are_not() {
        let mut bytes = vec![3; 700];
        let copy = {
            let mut other = vec![0; 90];
            push(&mut other, b"of another place");
            other.split_off(90)
        };
        bytes.extend_from_slice(&copy);
        assert_eq!(find(&bytes, 0), None);
        let at = Vec::len(&bytes) as u64;
        let mut with_mark = bytes.clone();
        with_mark.extend_from_slice(&frame::mark(SALT, at, 96));
        assert_eq!(find(&with_mark, 0), Some(at));
        let [(_, aside)] = frame::asides(SALT, at, 1_000)[..] else { panic!("it is one") };
        bytes.extend_from_slice(&aside);
        bytes.resize(at as usize + 1_000, 0);
        assert_eq!(find(&bytes, 0), Some(at));
    }
}
