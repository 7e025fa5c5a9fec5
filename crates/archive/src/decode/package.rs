//! Packages of Debian and of rpm: what stands before the archive with their files is passed over here, on the thread
//! that decodes, so that nothing else differs from an archive that is compressed.

use std::io::{self, BufRead, Cursor, Read};
use std::sync::atomic::Ordering::Relaxed;

use super::ahead::Ahead;
use super::input::Input;
use super::members::Members;
use crate::ar::{Header, LEN, MAGIC};
use crate::format::{Format, HEAD, detect};
use crate::progress::InputProgress;

/// Of a longer control archive, compressed or not, nothing is said.
const MOST_CONTROL: u64 = 4 << 20;
const MOST_IN_CONTROL: u64 = 64 << 20;

/// A `.deb` is an ar archive: `debian-binary`, `control.tar.*`, `data.tar.*`. What is in it as files is the last one.
/// The others are looked at only so far that a test can tell of them.
pub(super) fn deb(mut input: Input) -> io::Result<Box<dyn Read>> {
    skip(&mut input, MAGIC.len() as u64)?;
    let (mut is_sound, mut has_control) = (true, false);
    loop {
        let mut bytes = [0; LEN];
        match input.read(&mut bytes[..1])? {
            0 => return Err(invalid("it has no data.tar")),
            _ => input.read_exact(&mut bytes[1..])?,
        }
        let header = Header::read(&bytes).ok_or_else(|| invalid("no valid header where a member should begin"))?;
        let name = header.name.strip_suffix(b"/").unwrap_or(header.name);
        if let Some(ending) = name.strip_prefix(b"data.tar") {
            if !is_sound || !has_control || !is_ending(ending) {
                input.state.odd_package.store(true, Relaxed);
            }
            return content(input.part(header.size));
        }
        let mut left = header.size;
        if left <= MOST_CONTROL {
            let mut content = Vec::new();
            input.by_ref().take(left).read_to_end(&mut content)?;
            left -= content.len() as u64;
            is_sound &= match name {
                b"debian-binary" => content.starts_with(b"2."),
                // Such members are for later versions.
                [b'_', ..] => has_control,
                _ => {
                    has_control = true;
                    name.strip_prefix(b"control.tar").is_some_and(is_ending) && check_control(content).is_ok()
                }
            };
        }
        skip(&mut input, left)?;
        // Behind the last one, it may be missing.
        if header.padding() > 0 && !input.fill_buf()?.is_empty() {
            input.consume(1);
        }
    }
}

/// Whether dpkg knows a member that ends so.
fn is_ending(ending: &[u8]) -> bool {
    matches!(ending, b"" | b".gz" | b".xz" | b".zst" | b".bz2" | b".lzma")
}

/// Decodes a control archive, and throws it away.
fn check_control(control: Vec<u8>) -> io::Result<()> {
    let compression = detect(&control[..control.len().min(HEAD)]).and_then(Format::compression);
    let Some(compression) = compression else { return Ok(()) };
    let input = Input::new(Box::new(Cursor::new(control)), InputProgress::default());
    let members = Members::with(compression, input, Ahead::never())?;
    io::copy(&mut members.take(MOST_IN_CONTROL), &mut io::sink()).map(drop)
}

/// An rpm is a lead, a header with signatures, a header with all about the package, and a cpio archive.
pub(super) fn rpm(mut input: Input) -> io::Result<Box<dyn Read>> {
    skip(&mut input, 96)?;
    let signatures = header(&mut input)?;
    skip(&mut input, signatures.next_multiple_of(8) - signatures)?;
    header(&mut input)?;
    content(input)
}

/// Passes over a header of an rpm. Returns how long it is.
fn header(input: &mut Input) -> io::Result<u64> {
    /// rpm's own limits.
    const MOST_ENTRIES: u64 = 0xffff;
    const MOST_BYTES: u64 = 256 << 20;
    let mut bytes = [0; 16];
    input.read_exact(&mut bytes)?;
    let [0x8e, 0xad, 0xe8, 1, _, _, _, _, entries @ .., a, b, c, d] = bytes else {
        return Err(invalid("no valid header of an rpm where one should begin"));
    };
    let [entries, len] = [entries, [a, b, c, d]].map(|bytes| u64::from(u32::from_be_bytes(bytes)));
    if entries > MOST_ENTRIES || len > MOST_BYTES {
        return Err(invalid("a header of the rpm is longer than one can be"));
    }
    skip(input, entries * 16 + len)?;
    Ok(16 + entries * 16 + len)
}

/// The archive that is left in `input`, decoded.
fn content(mut input: Input) -> io::Result<Box<dyn Read>> {
    let format = detect(input.peek(HEAD)?);
    Ok(match format.and_then(Format::compression) {
        Some(compression) => Box::new(Members::new(compression, input)?),
        None => Box::new(input),
    })
}

/// Passes over bytes, all of which have to be there.
fn skip(input: &mut Input, len: u64) -> io::Result<()> {
    if io::copy(&mut input.take(len), &mut io::sink())? < len {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the package is cut short"));
    }
    Ok(())
}

fn invalid(cause: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, cause)
}
