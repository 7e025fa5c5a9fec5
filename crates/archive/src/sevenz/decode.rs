//! The decoders of a block, one behind the other, as its coders are bound.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read};

use aes::Aes256;
use aes::cipher::{Block as CipherBlock, BlockModeDecrypt, KeyIvInit};
use liblzma::bufread::XzDecoder;
use liblzma::stream::{Filters, Stream};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::bcj2::Bcj2;
use super::header::{Block, Coder, Streams};
use crate::joined::Joined;
use crate::password::{CLOSED, Password};

/// More memory than this is not spent on a dictionary.
const MOST_MEMORY: u64 = 1 << 30;
/// A password is hashed at most so many times, as a power of two: what 7-Zip takes, too. 7-Zip writes 19.
const MOST_ROUNDS: u8 = 24;
const BUFFER: usize = 64 << 10;

const COPY: u64 = 0x00;
const DELTA: u64 = 0x03;
const X86: u64 = 0x04;
const POWERPC: u64 = 0x05;
const IA64: u64 = 0x06;
const ARM: u64 = 0x07;
const ARM_THUMB: u64 = 0x08;
const SPARC: u64 = 0x09;
const ARM64: u64 = 0x0a;
const RISCV: u64 = 0x0b;
const LZMA2: u64 = 0x21;
const LZMA: u64 = 0x03_01_01;
const OLD_X86: u64 = 0x03_03_01_03;
const BCJ2: u64 = 0x03_03_01_1b;
const OLD_POWERPC: u64 = 0x03_03_02_05;
const OLD_IA64: u64 = 0x03_03_04_01;
const OLD_ARM: u64 = 0x03_03_05_01;
const OLD_ARM_THUMB: u64 = 0x03_03_07_01;
const OLD_SPARC: u64 = 0x03_03_08_05;
const PPMD: u64 = 0x03_04_01;
const DEFLATE: u64 = 0x04_01_08;
const DEFLATE64: u64 = 0x04_01_09;
const BZIP2: u64 = 0x04_02_02;
const ZSTD: u64 = 0x04_f7_11_01;
pub(super) const AES: u64 = 0x06_f1_07_01;

/// By their salt, and how often the password was hashed.
type Made = HashMap<(Vec<u8>, u8), Zeroizing<[u8; 32]>>;

/// The keys that were made of a password: each takes half a million hashes.
pub(super) struct Keys {
    password: Option<Password>,
    made: RefCell<Made>,
}

impl Keys {
    pub(super) fn new(password: Option<Password>) -> Keys {
        Keys { password, made: RefCell::default() }
    }

    pub(super) fn password(&self) -> Option<&Password> {
        self.password.as_ref()
    }

    fn key(&self, salt: &[u8], rounds: u8) -> io::Result<Zeroizing<[u8; 32]>> {
        let Some(password) = &self.password else { return Err(io::Error::new(io::ErrorKind::InvalidInput, CLOSED)) };
        if let Some(key) = self.made.borrow().get(&(salt.to_vec(), rounds)) {
            return Ok(key.clone());
        }
        let text = String::from_utf8_lossy(password.bytes());
        let mut bytes = Zeroizing::new(salt.to_vec());
        bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        let mut key = Zeroizing::new([0; 32]);
        let salted = bytes.len();
        bytes.extend([0; 8]);
        let mut hash = Sha256::new();
        for round in 0..1_u64 << rounds {
            bytes[salted..].copy_from_slice(&round.to_le_bytes());
            hash.update(&bytes[..]);
        }
        key.copy_from_slice(&hash.finalize());
        self.made.borrow_mut().insert((salt.to_vec(), rounds), key.clone());
        Ok(key)
    }
}

fn damaged(cause: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the archive is damaged here: {cause}"))
}

fn unsupported(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("{what}; `7zz x` may know it"))
}

/// What decodes all of a block.
pub(super) fn decoder<'a>(
    file: &'a Joined,
    streams: &Streams,
    block: &Block,
    keys: &Keys,
) -> io::Result<Box<dyn Read + 'a>> {
    let mut stack = Stack { file, streams, block, keys, is_used: vec![false; block.coders.len()] };
    stack.output(block.main())
}

struct Stack<'s, 'a> {
    file: &'a Joined,
    streams: &'s Streams,
    block: &'s Block,
    keys: &'s Keys,
    /// So that no coder reads what it makes itself.
    is_used: Vec<bool>,
}

impl<'a> Stack<'_, 'a> {
    fn output(&mut self, number: usize) -> io::Result<Box<dyn Read + 'a>> {
        if std::mem::replace(&mut self.is_used[number], true) {
            return Err(damaged("its coders are bound in a circle"));
        }
        let coder = &self.block.coders[number];
        let first: usize = self.block.coders[..number].iter().map(|coder| coder.inputs).sum();
        let mut inputs =
            (first..first + coder.inputs).map(|input| self.input(input)).collect::<io::Result<Vec<_>>>()?;
        let size = self.block.sizes[number];
        if coder.id == BCJ2 {
            let Ok([main, call, jump, range]) = <[_; 4]>::try_from(inputs) else {
                return Err(damaged("its BCJ2 filter has not four inputs"));
            };
            return Ok(Box::new(Bcj2::new(main, call, jump, range).take(size)));
        }
        match inputs.pop() {
            Some(input) if inputs.is_empty() => single(coder, input, size, self.keys),
            _ => Err(unsupported("it is packed by a coder with several inputs")),
        }
    }

    fn input(&mut self, number: usize) -> io::Result<Box<dyn Read + 'a>> {
        if let Some((_, coder)) = self.block.bound.iter().find(|(input, _)| *input == number) {
            return self.output(*coder);
        }
        let place = self.block.packed.iter().position(|input| *input == number);
        let packed = place.and_then(|place| self.streams.packed.get(self.block.first + place));
        let &(at, len) = packed.ok_or_else(|| damaged("a coder has no input"))?;
        Ok(Box::new(self.file.range(at, len)))
    }
}

fn single<'a>(coder: &Coder, input: Box<dyn Read + 'a>, size: u64, keys: &Keys) -> io::Result<Box<dyn Read + 'a>> {
    let input = BufReader::with_capacity(BUFFER, input);
    let properties = &coder.properties[..];
    let decoded: Box<dyn Read + 'a> = match coder.id {
        COPY => Box::new(input),
        LZMA => lzma(properties, input, size)?,
        LZMA2 => lzma2(properties, input, size)?,
        PPMD => ppmd(properties, input)?,
        DEFLATE => Box::new(flate2::bufread::DeflateDecoder::new(input)),
        DEFLATE64 => Box::new(deflate64::Deflate64Decoder::with_buffer(input)),
        BZIP2 => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
        ZSTD => Box::new(zstd::stream::read::Decoder::with_buffer(input)?),
        AES => Box::new(decrypted(properties, input, keys)?),
        id => filter(id, properties, input)?,
    };
    Ok(Box::new(decoded.take(size)))
}

/// How large a dictionary is to be: no larger than the content.
fn dictionary(said: u64, size: u64) -> io::Result<u32> {
    match said.min(size.max(4096)) {
        needed if needed > MOST_MEMORY => Err(unsupported("it needs more than 1 GiB for its dictionary")),
        needed => Ok(needed as u32),
    }
}

fn lzma<'a>(properties: &[u8], input: impl BufRead + 'a, size: u64) -> io::Result<Box<dyn Read + 'a>> {
    let mut properties: [u8; 5] =
        properties.try_into().map_err(|_| damaged("its LZMA properties have a wrong length"))?;
    let said = u32::from_le_bytes([properties[1], properties[2], properties[3], properties[4]]);
    properties[1..].copy_from_slice(&dictionary(said.into(), size)?.to_le_bytes());
    let mut filters = Filters::new();
    filters.lzma1_properties(&properties)?;
    raw(&filters, input)
}

fn lzma2<'a>(properties: &[u8], input: impl BufRead + 'a, size: u64) -> io::Result<Box<dyn Read + 'a>> {
    let &[said] = properties else { return Err(damaged("its LZMA2 properties have a wrong length")) };
    let len = |step: u8| (2 | u64::from(step & 1)) << (step / 2 + 11);
    if said > 40 {
        return Err(damaged("its LZMA2 properties are wrong"));
    }
    let needed: u64 = dictionary(len(said), size)?.into();
    // The first that is large enough.
    let step = (0..=said).find(|&step| len(step) >= needed).unwrap_or(said);
    let mut filters = Filters::new();
    filters.lzma2_properties(&[step])?;
    raw(&filters, input)
}

fn raw<'a>(filters: &Filters, input: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
    Ok(Box::new(XzDecoder::new_stream(input, Stream::new_raw_decoder(filters)?)))
}

fn ppmd<'a>(properties: &[u8], input: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let &[order, m0, m1, m2, m3] = properties else { return Err(damaged("its PPMd properties have a wrong length")) };
    let memory = u32::from_le_bytes([m0, m1, m2, m3]);
    if u64::from(memory) > MOST_MEMORY {
        return Err(unsupported("it needs more than 1 GiB for its PPMd model"));
    }
    let decoder = ppmd_rust::Ppmd7Decoder::new(input, order.into(), memory);
    Ok(Box::new(decoder.map_err(|error| damaged(&format!("PPMd: {error}")))?))
}

/// A filter of machine code. liblzma has it only before its own coders, so it is given LZMA2 that compresses nothing.
fn filter<'a>(id: u64, properties: &[u8], input: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut filters = Filters::new();
    match id {
        DELTA => filters.delta_properties(properties)?,
        X86 | OLD_X86 => filters.x86(),
        POWERPC | OLD_POWERPC => filters.powerpc(),
        IA64 | OLD_IA64 => filters.ia64(),
        ARM | OLD_ARM => filters.arm(),
        ARM_THUMB | OLD_ARM_THUMB => filters.arm_thumb(),
        SPARC | OLD_SPARC => filters.sparc(),
        ARM64 => filters.arm64_properties(properties)?,
        RISCV => filters.riscv_properties(properties)?,
        other => return Err(unsupported(format_args!("it is packed by the method {other:x}, which is not known"))),
    };
    filters.lzma2_properties(&[8])?;
    let stored = Stored { input, is_first: true, is_over: false, chunk: Vec::new(), at: 0 };
    raw(&filters, BufReader::with_capacity(BUFFER, stored))
}

/// Bytes as LZMA2 that is not compressed: chunks, each with what it is and its length before it.
struct Stored<R> {
    input: R,
    is_first: bool,
    is_over: bool,
    chunk: Vec<u8>,
    at: usize,
}

impl<R: Read> Stored<R> {
    fn next(&mut self) -> io::Result<()> {
        self.chunk.clear();
        self.at = 0;
        // Its kind, and its length less one.
        self.chunk.extend([if self.is_first { 1 } else { 2 }, 0, 0]);
        let len = self.input.by_ref().take(BUFFER as u64).read_to_end(&mut self.chunk)?;
        if len == 0 {
            self.chunk = vec![0];
            self.is_over = true;
        } else {
            self.chunk[1..3].copy_from_slice(&((len - 1) as u16).to_be_bytes());
            self.is_first = false;
        }
        Ok(())
    }
}

impl<R: Read> Read for Stored<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len() && !self.is_over {
            self.next()?;
        }
        let from = &self.chunk[self.at..];
        let len = from.len().min(into.len());
        into[..len].copy_from_slice(&from[..len]);
        self.at += len;
        Ok(len)
    }
}

fn decrypted<R: Read>(properties: &[u8], input: R, keys: &Keys) -> io::Result<Decrypted<R>> {
    let wrong = || damaged("its AES properties are malformed");
    let (&first, rest) = properties.split_first().ok_or_else(wrong)?;
    let rounds = first & 0x3f;
    if rounds > MOST_ROUNDS {
        return Err(unsupported("its password would be hashed for minutes"));
    }
    let (mut salt, mut vector) = (&[][..], [0; 16]);
    if first & 0xc0 != 0 {
        let (&lens, rest) = rest.split_first().ok_or_else(wrong)?;
        let salt_len = usize::from(first >> 7) + usize::from(lens >> 4);
        let vector_len = usize::from(first >> 6 & 1) + usize::from(lens & 15);
        let (its_salt, rest) = rest.split_at_checked(salt_len).ok_or_else(wrong)?;
        salt = its_salt;
        vector[..vector_len].copy_from_slice(rest.get(..vector_len).ok_or_else(wrong)?);
    }
    let key = keys.key(salt, rounds)?;
    let cipher = cbc::Decryptor::<Aes256>::new_from_slices(&key[..], &vector).expect("their lengths are right");
    Ok(Decrypted { input, cipher, ready: Vec::new(), at: 0 })
}

/// What was encrypted by AES in blocks.
struct Decrypted<R> {
    input: R,
    cipher: cbc::Decryptor<Aes256>,
    ready: Vec<u8>,
    at: usize,
}

impl<R: Read> Read for Decrypted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.ready.len() {
            self.ready.clear();
            self.at = 0;
            self.input.by_ref().take(BUFFER as u64).read_to_end(&mut self.ready)?;
            // A block that is cut is none.
            self.ready.truncate(self.ready.len() / 16 * 16);
            for block in self.ready.chunks_exact_mut(16) {
                let block: &mut [u8; 16] = block.try_into().expect("sixteen bytes");
                self.cipher.decrypt_block(<&mut CipherBlock<Aes256>>::from(block));
            }
        }
        let from = &self.ready[self.at..];
        let len = from.len().min(into.len());
        into[..len].copy_from_slice(&from[..len]);
        self.at += len;
        Ok(len)
    }
}
