//! The bytes that are not written yet. The one place of this module with unsafe code: miri runs its tests.

#![allow(unsafe_code, reason = "short copies without a call, into memory that was never zeroed")]

/// Memory for one block, filled from the front.
///
/// The owner may close the buffer early: then nothing fits, and callers of [`push`](Buffer::push) take the slow way,
/// where everything that is not plain copying is decided. So the fast way has one comparison for all of that.
pub(super) struct Buffer {
    /// Its length is what is filled.
    bytes: Vec<u8>,
    /// `push` leaves the length below this. At most the capacity and one, at least the length.
    stop: usize,
}

impl Buffer {
    /// No memory is touched before it is needed.
    pub(super) fn new(capacity: usize) -> Buffer {
        let bytes = Vec::with_capacity(capacity);
        let stop = 0;
        Buffer { bytes, stop }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// From now on `push` fills up to `len` bytes, and takes no more.
    pub(super) fn open_to(&mut self, len: usize) {
        self.stop = len.min(self.bytes.capacity()).saturating_add(1).max(self.bytes.len());
    }

    /// From now on `push` takes nothing, not even nothing.
    pub(super) fn close(&mut self) {
        self.stop = self.bytes.len();
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.stop = 0;
    }

    /// Takes all of `bytes` or, if that is too much, none. The slow way, whatever `stop` says.
    pub(super) fn fill(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= self.bytes.capacity() - self.bytes.len(), "the caller cuts what does not fit");
        self.bytes.extend_from_slice(bytes);
        self.stop = self.stop.max(self.bytes.len());
    }

    /// Takes all of `bytes` and says true, or takes none. The fast way: inlined, and without a call for short records.
    #[inline(always)]
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        let len = self.bytes.len();
        // `stop` is never below the length.
        if bytes.len() >= self.stop.wrapping_sub(len) {
            return false;
        }
        debug_assert!(self.stop >= len && self.stop <= self.bytes.capacity() + 1);
        // SAFETY: the new length is below `stop`, so at most the capacity: the bytes lie within the vector's
        // allocation. They cannot overlap with `bytes`, because `self` is borrowed mutably and owns that allocation.
        // Then they are initialised up to the new length.
        unsafe {
            copy(bytes.as_ptr(), self.bytes.as_mut_ptr().add(len), bytes.len());
            self.bytes.set_len(len + bytes.len());
        }
        true
    }
}

/// Copies `len` bytes. Up to 64 by loads and stores that may overlap: a call of `memcpy` takes longer than such a
/// record. A record of 1, 7, 24 or 40 bytes costs 0.6, 0.8, 1.1 or 1.8 ns so, and 2.1 to 2.5 ns through `BufWriter`;
/// from 65 bytes on the call is faster.
///
/// # Safety
/// `from` can be read and `to` written for `len` bytes, and the two don't overlap.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: each `ends::<T>` is called where `len` is at least the size of `T`, which is all it asks beyond what the
    // caller promises.
    unsafe {
        match len {
            0 => {}
            1 => *to = *from,
            2..4 => ends::<u16>(from, to, len),
            4..8 => ends::<u32>(from, to, len),
            8..16 => ends::<u64>(from, to, len),
            16..=32 => ends::<u128>(from, to, len),
            33..=64 => ends::<[u128; 2]>(from, to, len),
            _ => std::ptr::copy_nonoverlapping(from, to, len),
        }
    }
}

/// Copies the first and the last `size_of::<T>()` bytes of `len`, which together are all if `len` is at most twice
/// that.
///
/// # Safety
/// As [`copy`], and `len` is at least the size of `T`, which is an integer or an array of them.
#[inline(always)]
unsafe fn ends<T: Copy>(from: *const u8, to: *mut u8, len: usize) {
    let last = len - size_of::<T>();
    // SAFETY: both places begin at or after the start and end at or before `len`; unaligned access is asked for. Every
    // bit pattern is a valid integer.
    unsafe {
        let (front, back) = (from.cast::<T>().read_unaligned(), from.add(last).cast::<T>().read_unaligned());
        to.cast::<T>().write_unaligned(front);
        to.add(last).cast::<T>().write_unaligned(back);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_copied_whole_and_touches_nothing_else() {
        let source: Vec<u8> = (1..=200).collect();
        for len in 0..=70 {
            for start in 0..9 {
                let record = &source[start..start + len];
                let mut buffer = Buffer::new(start + len);
                buffer.fill(&source[..start]);
                buffer.open_to(start + len);
                assert!(buffer.push(record), "{len} bytes at {start}");
                assert_eq!(&buffer.as_slice()[..start], &source[..start]);
                assert_eq!(&buffer.as_slice()[start..], record);
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out_as_a_whole() {
        let mut buffer = Buffer::new(10);
        assert!(!buffer.push(b"a"), "not opened yet");
        buffer.open_to(usize::MAX);
        assert!(buffer.push(b"0123456"));
        assert!(!buffer.push(b"7890"));
        assert!(buffer.push(b"789"));
        assert!(buffer.push(b""));
        assert_eq!(buffer.as_slice(), b"0123456789");
        buffer.clear();
        assert!(!buffer.push(b"a") && !buffer.push(b""), "opened anew each time");
    }

    #[test]
    fn a_closed_buffer_takes_nothing_not_even_nothing() {
        let mut buffer = Buffer::new(10);
        buffer.open_to(5);
        assert!(buffer.push(b"01234"));
        assert!(!buffer.push(b"5"), "open to five only");
        buffer.close();
        assert!(!buffer.push(b""));
        buffer.open_to(3);
        assert!(!buffer.push(b"5"), "open to less than there is");
        buffer.fill(b"56789");
        assert_eq!(buffer.as_slice(), b"0123456789");
    }

    #[test]
    fn a_buffer_of_no_size_works() {
        let mut buffer = Buffer::new(0);
        buffer.open_to(0);
        assert!(buffer.push(b"") && !buffer.push(b"a"));
        assert_eq!(buffer.len(), 0);
    }
}
