//! The content of an entry of a zip: found, decoded, its length and checksum compared with the directory.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use flate2::{Crc, Decompress, FlushDecompress, Status};
use liblzma::bufread::XzDecoder;
use liblzma::stream::{Filters, Stream};
use zstd::zstd_safe::get_error_name;
use zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode;

use super::directory::Record;
use super::encrypted::{self, Encryption, Packed};
use super::field::{u16_at, u32_at};
use crate::joined::Joined;
use crate::password::Password;

const LOCAL: usize = 30;
/// Extra fields before the content are usually this short: then one read gets header and content.
const USUAL_EXTRA: usize = 64;
/// Content up to this length, compressed and not, is decoded in memory, so that it is written only if its checksum is
/// right.
pub(crate) const SMALL: u64 = 512 << 10;
const BUFFER: usize = 128 << 10;

/// More memory than this is not spent on a dictionary.
const LZMA_MEMORY: u64 = 1 << 30;

/// Decodes entries one after the other, with buffers that are used again.
pub(crate) struct Decoder<'a> {
    file: &'a Joined,
    password: Option<&'a Password>,
    packed: Vec<u8>,
    inflate: Decompress,
    /// How many bytes of the last entry's compressed content stood behind the end of its compressed stream, and were
    /// not decoded. Only a test asks.
    pub(super) unread: u64,
}

pub(super) fn damaged(cause: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the archive is damaged here: {cause}"))
}

/// Whether a password may be that of an entry.
pub(super) fn is_right(file: &Joined, record: &Record<'_>, password: &Password) -> io::Result<bool> {
    let Some(encryption) = record.encryption else { return Ok(true) };
    let at = start_of(file, record)?;
    encrypted::is_right(encryption, password, Range { file, at, left: record.packed })
}

/// Whether an error says that the decoder is not given what it needs: then nothing says that the content is damaged.
fn needs_more(error: &io::Error) -> bool {
    let window = 0_usize.wrapping_sub(ZSTD_ErrorCode::ZSTD_error_frameParameter_windowTooLarge as usize);
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(liblzma::stream::Error::MemLimit) => true,
        Some(_) => false,
        None => error.to_string() == get_error_name(window),
    }
}

/// Makes the error of a failed decoding: an error of the system stays as it is.
fn undecoded(error: io::Error) -> io::Error {
    match error.kind() {
        _ if error.raw_os_error().is_some() => error,
        io::ErrorKind::Unsupported => error,
        _ if needs_more(&error) => io::Error::new(
            io::ErrorKind::Unsupported,
            "it needs more memory than is spent on it; `7zz x` may unpack it",
        ),
        io::ErrorKind::UnexpectedEof => damaged("its content is cut short"),
        _ => damaged(&error.to_string()),
    }
}

impl<'a> Decoder<'a> {
    pub(super) fn new(file: &'a Joined, password: Option<&'a Password>) -> Decoder<'a> {
        Decoder { file, password, packed: Vec::new(), inflate: Decompress::new(false), unread: 0 }
    }

    /// The content of an entry that is [`SMALL`], checked.
    pub(super) fn whole(&mut self, record: &Record<'_>) -> io::Result<Vec<u8>> {
        self.decode(record).map_err(|error| or_password(record, error))
    }

    fn decode(&mut self, record: &Record<'_>) -> io::Result<Vec<u8>> {
        let guess = LOCAL + record.raw_name.len() + USUAL_EXTRA + record.packed as usize;
        self.read_packed(record.start, guess)?;
        let header = local_header_len(&self.packed)?;
        let end = header + record.packed as usize;
        if end > self.packed.len() {
            self.read_packed(record.start, end)?;
        }
        let packed =
            self.packed.get(header..end).ok_or_else(|| damaged("its content reaches past the end of the archive"))?;
        let decrypted;
        let packed = match record.encryption {
            None => packed,
            Some(encryption) => {
                decrypted = encrypted::whole(encryption, self.password, packed)?;
                &decrypted[..]
            }
        };
        let size = record.size as usize;
        self.unread = 0;
        let content = match record.method {
            0 => packed.to_vec(),
            8 => {
                self.inflate.reset(false);
                // A byte more than there should be, so that the decoder does not stop before the end of its stream.
                let mut content = Vec::with_capacity(size + 1);
                match self.inflate.decompress_vec(packed, &mut content, FlushDecompress::Finish) {
                    Ok(Status::StreamEnd) => {
                        self.unread = packed.len() as u64 - self.inflate.total_in();
                        content
                    }
                    Ok(_) if content.len() > size => content,
                    Ok(_) => return Err(damaged("its compressed content is cut short")),
                    Err(error) => return Err(damaged(&error.to_string())),
                }
            }
            _ => {
                let (mut content, mut rest) = (Vec::new(), packed);
                decoder(record, Read::by_ref(&mut rest))?.read_to_end(&mut content).map_err(undecoded)?;
                self.unread = unread(record, rest.len() as u64);
                content
            }
        };
        let mut check = Check::new(record);
        check.add(&content)?;
        check.finish()?;
        Ok(content)
    }

    /// Reads `len` bytes, or up to the end of the archive, from `start` on.
    fn read_packed(&mut self, start: u64, len: usize) -> io::Result<()> {
        let there =
            self.file.len().checked_sub(start).ok_or_else(|| damaged("it begins past the end of the archive"))?;
        self.packed.resize(there.min(len as u64) as usize, 0);
        self.file.read_exact_at(&mut self.packed, start).map_err(undecoded)
    }

    /// The content of any entry, piece by piece into `write`. Checked at the end only.
    pub(super) fn pieces<E: From<io::Error>>(
        &mut self,
        record: &Record<'_>,
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = start_of(self.file, record)?;
        self.unread = 0;
        let range = Range { file: self.file, at: start, left: record.packed };
        let packed = Packed::new(record, self.password, range).map_err(undecoded)?;
        let mut packed = BufReader::with_capacity(BUFFER, packed);
        let mut decoder = decoder(record, &mut packed)?;
        let mut buffer = vec![0; BUFFER];
        let mut check = Check::new(record);
        loop {
            let len = match decoder.read(&mut buffer) {
                Ok(0) => break,
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(or_password(record, undecoded(error)).into()),
            };
            check.add(&buffer[..len]).map_err(|error| or_password(record, error))?;
            write(&buffer[..len])?;
        }
        drop(decoder);
        self.unread = unread(record, packed.buffer().len() as u64 + packed.get_ref().left(|range| range.left));
        packed.get_mut().finish().map_err(undecoded)?;
        Ok(check.finish().map_err(|error| or_password(record, error))?)
    }
}

/// The old cipher has nothing but the entry's checksum to tell a wrong password for sure.
fn or_password(record: &Record<'_>, error: io::Error) -> io::Error {
    match (record.encryption, error.kind()) {
        (Some(Encryption::Old { .. }), io::ErrorKind::InvalidData) => {
            io::Error::new(error.kind(), format!("{error}; or the password is wrong"))
        }
        _ => error,
    }
}

/// Where the content of an entry begins.
fn start_of(file: &Joined, record: &Record<'_>) -> io::Result<u64> {
    let mut header = [0; LOCAL];
    file.read_exact_at(&mut header, record.start).map_err(undecoded)?;
    let start = record.start + local_header_len(&header)? as u64;
    match start.checked_add(record.packed) {
        Some(end) if end <= file.len() => Ok(start),
        _ => Err(damaged("its content reaches past the end of the archive")),
    }
}

/// One entry, to be read by itself.
pub(crate) struct Stored<'a> {
    pub record: Record<'a>,
    pub file: &'a Arc<Joined>,
    pub password: Option<&'a Password>,
}

impl Stored<'_> {
    /// Whether [`whole`](Stored::whole) may read it.
    pub(crate) fn is_small(&self) -> bool {
        self.record.size <= SMALL && self.record.packed <= SMALL
    }

    /// The content of an entry that is small, checked.
    pub(crate) fn whole(&self) -> io::Result<Vec<u8>> {
        Decoder::new(self.file, self.password).whole(&self.record)
    }

    /// Where the content begins, if it is not compressed.
    pub(crate) fn uncompressed_at(&self) -> io::Result<Option<u64>> {
        if self.record.encryption.is_some() || self.record.method != 0 || self.record.packed != self.record.size {
            return Ok(None);
        }
        start_of(self.file, &self.record).map(Some)
    }

    /// The content of any entry. Checked where it ends: what reads has to read on until there is nothing more.
    pub(crate) fn stream(&self) -> io::Result<Box<dyn Read + Send>> {
        let at = start_of(self.file, &self.record)?;
        let range = Range { file: Arc::clone(self.file), at, left: self.record.packed };
        let packed = Shared(Arc::new(Mutex::new(Packed::new(&self.record, self.password, range).map_err(undecoded)?)));
        let decoder = decoder(&self.record, BufReader::with_capacity(BUFFER, packed.clone()))?;
        Ok(Box::new(Checked { decoder, packed, check: Some(Check::new(&self.record)) }))
    }
}

/// What a decoder reads from, to be read to its end when the decoder is done.
#[derive(Clone)]
struct Shared(Arc<Mutex<Packed<Range<Arc<Joined>>>>>);

impl Shared {
    fn finish(&self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).finish()
    }
}

impl Read for Shared {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read(into)
    }
}

/// Content that is compared with the directory while it is read.
struct Checked<R> {
    decoder: R,
    packed: Shared,
    /// Until the end has been seen.
    check: Option<Check>,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(check) = self.check.as_mut().filter(|_| !into.is_empty()) else { return Ok(0) };
        let len = self.decoder.read(into).map_err(undecoded)?;
        check.add(&into[..len])?;
        if len == 0
            && let Some(check) = self.check.take()
        {
            self.packed.finish().map_err(undecoded)?;
            check.finish()?;
        }
        Ok(len)
    }
}

/// How many of the bytes that a decoder has left over are too many: an LZMA stream may have an end of its own behind
/// its content, which is not decoded.
fn unread(record: &Record<'_>, left: u64) -> u64 {
    if record.method == 14 { 0 } else { left }
}

/// The length of the header before an entry's content, with the name and the extra fields that it has again.
fn local_header_len(bytes: &[u8]) -> io::Result<usize> {
    if bytes.len() < LOCAL || !bytes.starts_with(b"PK\x03\x04") {
        return Err(damaged("it does not begin where the directory says"));
    }
    Ok(LOCAL + usize::from(u16_at(bytes, 26)) + usize::from(u16_at(bytes, 28)))
}

/// Compares content with the length and the checksum of the directory.
struct Check {
    crc: Crc,
    /// `None`: an authentication code takes its place.
    expected: Option<u32>,
    left: u64,
}

impl Check {
    fn new(record: &Record<'_>) -> Check {
        let has_crc = !matches!(record.encryption, Some(Encryption::Aes { has_crc: false, .. }));
        Check { crc: Crc::new(), expected: has_crc.then_some(record.crc), left: record.size }
    }

    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        let left = self.left.checked_sub(bytes.len() as u64);
        self.left = left.ok_or_else(|| damaged("its content is longer than the directory says"))?;
        self.crc.update(bytes);
        Ok(())
    }

    fn finish(self) -> io::Result<()> {
        if self.left > 0 {
            return Err(damaged("its content is shorter than the directory says"));
        }
        if self.expected.is_some_and(|expected| self.crc.sum() != expected) {
            return Err(damaged("its content has another checksum than the directory says"));
        }
        Ok(())
    }
}

/// A range of a file.
struct Range<F> {
    file: F,
    at: u64,
    left: u64,
}

impl<F: Deref<Target = Joined>> Read for Range<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let max = self.left.min(into.len() as u64) as usize;
        let len = self.file.read_at(&mut into[..max], self.at)?;
        self.at += len as u64;
        self.left -= len as u64;
        Ok(len)
    }
}

/// Yields at most one byte more than the entry should have.
fn decoder<'a>(record: &Record<'_>, packed: impl BufRead + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
    let most = record.size.saturating_add(1);
    Ok(match record.method {
        0 => Box::new(packed.take(most)),
        8 => Box::new(flate2::bufread::DeflateDecoder::new(packed).take(most)),
        9 => Box::new(deflate64::Deflate64Decoder::with_buffer(packed).take(most)),
        12 => Box::new(bzip2::bufread::MultiBzDecoder::new(packed).take(most)),
        // Such a stream need not have an end of its own.
        14 => Box::new(lzma(record, packed)?.take(record.size)),
        20 | 93 => Box::new(zstd::stream::read::Decoder::with_buffer(packed)?.take(most)),
        95 => {
            let stream = Stream::new_stream_decoder(LZMA_MEMORY, 0).map_err(io::Error::from)?;
            Box::new(XzDecoder::new_stream(packed, stream).take(most))
        }
        other => {
            let name = match other {
                1 => " (shrink)",
                2..=5 => " (reduce)",
                6 => " (implode)",
                97 => " (WavPack)",
                98 => " (PPMd)",
                _ => "",
            };
            let message = format!("compression method {other}{name} is not supported; `7zz x` may know it");
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
    })
}

/// LZMA with zip's own header: two bytes of version, two of the length of the properties, and those.
fn lzma<'a>(record: &Record<'_>, mut packed: impl BufRead + 'a) -> io::Result<impl Read + 'a> {
    let mut header = [0; 9];
    packed.read_exact(&mut header).map_err(undecoded)?;
    if u16_at(&header, 2) != 5 {
        return Err(damaged("its LZMA properties have an unknown length"));
    }
    let mut properties = [0; 5];
    properties.copy_from_slice(&header[4..]);
    // No dictionary needs to be larger than the content.
    let dictionary = u64::from(u32_at(&properties, 1)).min(record.size.max(4096)).min(LZMA_MEMORY) as u32;
    properties[1..].copy_from_slice(&dictionary.to_le_bytes());
    let mut filters = Filters::new();
    filters.lzma1_properties(&properties).map_err(io::Error::from)?;
    let stream = Stream::new_raw_decoder(&filters).map_err(io::Error::from)?;
    Ok(XzDecoder::new_stream(packed, stream))
}
