//! What the first bytes of a member say about it: whether it has checksums, and whether it can be decoded here at all.
//!
//! The decoders leave both out: one that does not know an xz's kind of check passes over the check in silence, and what
//! needs more memory than is allowed, or a dictionary, is the same error as damage.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use super::input::Input;
use crate::format::Compression;

/// The largest window of zstd, which `zstd` takes by default, too.
const ZSTD_MEMORY: u64 = 128 << 20;
/// The longest head of a zstd frame.
const LONGEST: usize = 18;

/// Looks at the head of the member that `input` is at.
pub(super) fn look(compression: Compression, input: &mut Input) -> io::Result<()> {
    match compression {
        // Each member has a checksum.
        Compression::Gzip | Compression::Bzip2 | Compression::Lzip => Ok(()),
        // Neither format has one.
        Compression::Lzma | Compression::Compress => {
            note(input, true, false);
            Ok(())
        }
        Compression::Xz => {
            // The lower half of the second byte behind the six of the magic is the kind of check.
            let check = input.peek(8)?.get(7).map(|byte| byte & 0xf);
            note(input, matches!(check, Some(0)), matches!(check, Some(2..=3 | 5..=9 | 11..=15)));
            Ok(())
        }
        Compression::Zstd => {
            let Some(head) = zstd(input.peek(LONGEST)?) else { return Ok(()) };
            note(input, !head.has_checksum, false);
            if head.needs_dictionary {
                let cause = "it was compressed with a dictionary, which it does not have in it; \
                             `zstd -d -D DICTIONARY` makes a plain tar of it";
                return Err(io::Error::new(io::ErrorKind::Unsupported, cause));
            }
            if head.window > ZSTD_MEMORY {
                return Err(too_much_memory("128 MiB", "zstd -d --long=31"));
            }
            Ok(())
        }
        Compression::Lz4 => {
            let is_unchecked = match input.peek(5)? {
                // Flags: a checksum of each block, a checksum of all.
                [0x04, 0x22, 0x4d, 0x18, flags] => flags & 0b1_0100 == 0,
                // The old format has none.
                [0x02, 0x21, 0x4c, 0x18, ..] => true,
                _ => false,
            };
            note(input, is_unchecked, false);
            Ok(())
        }
    }
}

/// The error of what needs more memory than it is given.
pub(super) fn too_much_memory(given: &str, command: &str) -> io::Error {
    let cause = format!("it needs more than {given} of memory to be decompressed; `{command}` makes a plain tar of it");
    io::Error::new(io::ErrorKind::Unsupported, cause)
}

/// The error where the system has no memory for a decoder: nothing is known of the archive.
pub(super) fn no_memory() -> io::Error {
    io::Error::new(io::ErrorKind::OutOfMemory, "not enough memory to decompress it")
}

fn note(input: &Input, is_unchecked: bool, is_unknown: bool) {
    if is_unchecked || is_unknown {
        input.state.unchecked.store(true, Relaxed);
    }
    if is_unknown {
        input.state.unknown_check.store(true, Relaxed);
    }
}

/// The head of a zstd frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Zstd {
    pub has_checksum: bool,
    pub needs_dictionary: bool,
    /// How many bytes of content the decoder has to keep.
    pub window: u64,
    /// How long its content is, if it says so.
    pub content: Option<u64>,
    /// How long the head is.
    pub len: usize,
}

/// `None`: a frame to be skipped, or bytes that the decoder will not take.
pub(super) fn zstd(bytes: &[u8]) -> Option<Zstd> {
    let (&flags, rest) = bytes.strip_prefix(b"\x28\xb5\x2f\xfd")?.split_first()?;
    let is_one_segment = flags & 0b10_0000 != 0;
    let (window, rest) =
        if is_one_segment { (None, rest) } else { rest.split_first().map(|(it, rest)| (Some(*it), rest))? };
    let (dictionary, rest) = rest.split_at_checked([0, 1, 2, 4][usize::from(flags & 0b11)])?;
    let content_len = match flags >> 6 {
        0 => usize::from(is_one_segment),
        power => 1 << power,
    };
    let mut number = [0; 8];
    number[..content_len].copy_from_slice(rest.get(..content_len)?);
    // Two bytes count from 256 on.
    let content = u64::from_le_bytes(number).saturating_add(if content_len == 2 { 256 } else { 0 });
    let window = match window {
        Some(byte) => {
            let base = 1_u64 << (10 + (byte >> 3));
            base + base / 8 * u64::from(byte & 0b111)
        }
        // Then it is the length of the content.
        None => content,
    };
    Some(Zstd {
        has_checksum: flags & 0b100 != 0,
        needs_dictionary: dictionary.iter().any(|&byte| byte != 0),
        window,
        content: (content_len > 0).then_some(content),
        len: bytes.len() - rest.len() + content_len,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_zstd_frame_is_read_as_its_description_has_it() {
        let head = |rest: &[u8]| zstd(&[b"\x28\xb5\x2f\xfd", rest].concat());
        let frame = |has_checksum, needs_dictionary, window, content, len| {
            Some(Zstd { has_checksum, needs_dictionary, window, content, len })
        };
        assert_eq!(head(&[0b0000_0100, 0b0000_0000]), frame(true, false, 1024, None, 6));
        assert_eq!(head(&[0b0000_0000, 0b1010_1000]), frame(false, false, 1 << 31, None, 6));
        assert_eq!(head(&[0b0000_0000, 0b0000_0011]), frame(false, false, 1024 + 3 * 128, None, 6));
        assert_eq!(head(&[0b0000_0011, 0, 9, 0, 0, 0]), frame(false, true, 1024, None, 10));
        assert_eq!(head(&[0b0010_0000, 200]), frame(false, false, 200, Some(200), 6));
        assert_eq!(head(&[0b0110_0000, 1, 0]), frame(false, false, 257, Some(257), 7));
        assert_eq!(head(&[0b1110_0110, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1]), frame(true, true, 1 << 56, Some(1 << 56), 15));
        assert_eq!(head(&[0b1110_0110, 7]), None, "cut short");
        assert_eq!(zstd(b"\x50\x2a\x4d\x18\0\0\0\0"), None);
    }
}
