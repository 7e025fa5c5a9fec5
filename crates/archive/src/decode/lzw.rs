//! compress(1)'s format, `.Z`: LZW with codes of 9 to 16 bits. No crate that is kept up reads it: those for GIF and TIFF
//! know neither its codes' groups nor its clearing of the table.
//!
//! Codes come in groups of eight. Where codes become longer or shorter, the rest of the group is padding.
//!
//! The format has no checksum, no length and no end: codes go on to the end of the file. So damage is noticed only where
//! a code cannot be, and nothing can follow.

use std::io::{self, BufRead, Read};

use super::input::Input;

const FIRST_BITS: u32 = 9;
const MOST_BITS: u32 = 16;
/// In block mode, empties the table.
const CLEAR: u16 = 256;
/// Set in the third byte: `CLEAR` is such a code.
const BLOCK_MODE: u8 = 0x80;
/// Bits of the third byte that no version has used.
const UNKNOWN: u8 = 0x60;

/// How many bits the longest code has, from the file's first three bytes. `None`: it is none, or not for this decoder.
pub(super) fn most_bits(head: &[u8]) -> Option<u32> {
    match head {
        [0x1f, 0x9d, flags, ..] if flags & UNKNOWN == 0 => {
            Some(u32::from(flags & 0x1f)).filter(|bits| (FIRST_BITS..=MOST_BITS).contains(bits))
        }
        _ => None,
    }
}

pub(super) struct Lzw {
    input: Input,
    block_mode: bool,
    most_bits: u32,
    bits: u32,
    /// Bits that were read and belong to the next codes, the next in the lowest.
    held: u64,
    held_bits: u32,
    /// How many codes of the group have been read.
    in_group: u32,
    /// What each code of the table is: another one, and a byte behind it.
    prefix: Vec<u16>,
    suffix: Vec<u8>,
    /// The code that the next entry of the table gets, up to 2 to the power of `most_bits`.
    free: u32,
    /// The code before, and the first byte of what it stood for.
    last: Option<u16>,
    first_byte: u8,
    /// What the last code stood for, its last byte first.
    decoded: Vec<u8>,
    ended: bool,
    /// What comes behind what was decoded.
    error: Option<io::Error>,
}

impl Lzw {
    pub(super) fn new(mut input: Input) -> io::Result<Lzw> {
        let head = <[u8; 3]>::try_from(input.peek(3)?).map_err(|_| cut_short())?;
        let Some(most_bits) = most_bits(&head) else {
            let cause = "it was compressed in a way that no known version of compress(1) has";
            return Err(io::Error::new(io::ErrorKind::Unsupported, cause));
        };
        input.consume(3);
        let block_mode = head[2] & BLOCK_MODE != 0;
        Ok(Lzw {
            input,
            block_mode,
            most_bits,
            bits: FIRST_BITS,
            held: 0,
            held_bits: 0,
            in_group: 0,
            prefix: vec![0; 1 << most_bits],
            suffix: vec![0; 1 << most_bits],
            free: if block_mode { u32::from(CLEAR) + 1 } else { u32::from(CLEAR) },
            last: None,
            first_byte: 0,
            decoded: Vec::new(),
            ended: false,
            error: None,
        })
    }

    pub(super) fn into_inner(self) -> Input {
        self.input
    }

    /// The next code. `None`: the file has ended; bits that are no whole code are padding.
    fn code(&mut self) -> io::Result<Option<u16>> {
        while self.held_bits < self.bits {
            let bytes = self.input.fill_buf()?;
            let room = (u64::BITS - self.held_bits) as usize / 8;
            let taken = bytes.len().min(room);
            if taken == 0 {
                return Ok(None);
            }
            for &byte in &bytes[..taken] {
                self.held |= u64::from(byte) << self.held_bits;
                self.held_bits += 8;
            }
            self.input.consume(taken);
        }
        let code = (self.held & ((1 << self.bits) - 1)) as u16;
        self.held >>= self.bits;
        self.held_bits -= self.bits;
        self.in_group = (self.in_group + 1) % 8;
        Ok(Some(code))
    }

    /// Goes on with codes of another length, behind the rest of the group.
    fn set_bits(&mut self, bits: u32) -> io::Result<()> {
        while self.in_group > 0 {
            if self.code()?.is_none() {
                self.in_group = 0;
            }
        }
        self.bits = bits;
        Ok(())
    }

    /// Decodes the next code. `false`: there is none.
    fn step(&mut self) -> io::Result<bool> {
        // With one entry more than codes of this length can name, they become longer. Where nine bits are the most, no
        // program reads what `compress -b 9` writes, and this one fails where gzip does.
        if self.free >= 1 << self.bits && self.bits < self.most_bits.max(FIRST_BITS + 1) {
            self.set_bits(self.bits + 1)?;
        }
        let Some(code) = self.code()? else { return Ok(false) };
        if code == CLEAR && self.block_mode && self.last.is_some() {
            // The entry that is made of the next code gets the number of `CLEAR` itself, which nothing can name.
            self.free = u32::from(CLEAR);
            self.set_bits(FIRST_BITS)?;
            return Ok(true);
        }
        let Some(last) = self.last else {
            // The first one is a byte.
            let byte = u8::try_from(code).map_err(|_| corrupt())?;
            (self.last, self.first_byte) = (Some(code), byte);
            self.decoded.push(byte);
            return Ok(true);
        };
        let mut at = code;
        match u32::from(code).cmp(&self.free) {
            std::cmp::Ordering::Less => {}
            // The entry that is made now: the one before, and its first byte again.
            std::cmp::Ordering::Equal => {
                self.decoded.push(self.first_byte);
                at = last;
            }
            std::cmp::Ordering::Greater => return Err(corrupt()),
        }
        // Each entry was made of a smaller code. Only that of `CLEAR`'s number was not, and no other is made of it.
        while let 256.. = at {
            if self.decoded.len() > 1 << MOST_BITS {
                return Err(corrupt());
            }
            self.decoded.push(self.suffix[usize::from(at)]);
            at = self.prefix[usize::from(at)];
        }
        self.first_byte = at as u8;
        self.decoded.push(self.first_byte);
        if self.free < 1 << self.most_bits {
            self.prefix[self.free as usize] = last;
            self.suffix[self.free as usize] = self.first_byte;
            self.free += 1;
        }
        self.last = Some(code);
        Ok(true)
    }
}

impl Read for Lzw {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut len = 0;
        while len < into.len() {
            if let Some(byte) = self.decoded.pop() {
                into[len] = byte;
                len += 1;
                continue;
            }
            if self.ended {
                break;
            }
            if let Err(error) = self.step().map(|more| self.ended = !more) {
                (self.ended, self.error) = (true, Some(error));
            }
        }
        match self.error.take_if(|_| len == 0) {
            Some(error) => Err(error),
            None => Ok(len),
        }
    }
}

fn corrupt() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a code that cannot be at this place")
}

fn cut_short() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the head of the file is cut short")
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};
    use std::process::{Command, Stdio};

    use manyfiles_testkit::{Need, Random, seeds, skip_unless};

    use super::*;
    use crate::progress::InputProgress;

    fn decode(packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        let input = Input::new(Box::new(Cursor::new(packed.to_vec())), InputProgress::default());
        Lzw::new(input)?.read_to_end(&mut content)?;
        Ok(content)
    }

    fn filter(program: &str, args: &[&str], bytes: &[u8]) -> Option<Vec<u8>> {
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let bytes = bytes.to_vec();
        // It may not read all of it.
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        output.status.success().then_some(output.stdout)
    }

    /// Content with few or many repetitions, which fills the table slowly or fast.
    fn content(random: &mut Random, len: usize) -> Vec<u8> {
        let letters = 1 + random.below(256);
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            match random.below(4) {
                0 if bytes.len() > 10 => {
                    let start = random.below(bytes.len() - 1);
                    let end = (start + random.below(200)).min(bytes.len());
                    bytes.extend_from_within(start..end);
                }
                _ => bytes.push(random.below(letters) as u8),
            }
        }
        bytes
    }

    #[test]
    fn codes_of_every_length_are_decoded_as_gzip_decodes_them() {
        skip_unless!(Need::Program("compress"), Need::Program("gzip"));
        for seed in seeds(0, 12) {
            let mut random = Random::new(seed);
            let len = [0, 1, 5, 300, 5000, 100_000, 400_000][random.below(7)];
            let bytes = content(&mut random, len);
            for bits in ["9", "10", "11", "12", "13", "14", "15", "16"] {
                // Without -f, it leaves alone what does not become shorter.
                let packed = filter("compress", &["-c", "-f", "-b", bits], &bytes).unwrap();
                let decoded = decode(&packed).ok();
                assert!(decoded == filter("gzip", &["-dc"], &packed), "seed {seed}, {len} bytes, {bits} bits");
                assert!(bits == "9" || decoded == Some(bytes.clone()), "seed {seed}, {len} bytes, {bits} bits");
            }
        }
    }

    #[test]
    fn changed_codes_are_decoded_as_gzip_decodes_them_or_are_an_error_for_both() {
        skip_unless!(Need::Program("compress"), Need::Program("gzip"));
        for seed in seeds(0, 60) {
            let mut random = Random::new(seed);
            let len = 1 + random.below(3000);
            let bytes = content(&mut random, len);
            let bits = ["10", "12", "16"][random.below(3)];
            let mut packed = filter("compress", &["-c", "-f", "-b", bits], &bytes).unwrap();
            for _ in 0..=random.below(3) {
                let at = 2 + random.below(packed.len() - 2);
                packed[at] ^= 1 << random.below(8);
            }
            packed.truncate(3 + random.below(packed.len() * 3));
            let (ours, theirs) = (decode(&packed), filter("gzip", &["-dc"], &packed));
            // gzip takes bits that no version has for something to warn of, and tries.
            if most_bits(&packed).is_some() {
                assert!(ours.as_ref().ok() == theirs.as_ref(), "seed {seed}: {:?}", ours.as_ref().map(Vec::len));
            } else {
                assert!(ours.is_err(), "seed {seed}");
            }
        }
    }
}
