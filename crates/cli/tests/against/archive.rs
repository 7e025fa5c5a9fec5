//! Archives with exactly the entries of a case, in their order.

use super::case::{Entry, Is};
use super::world::{Content, Time, What};

/// A tar: ustar headers; pax records for nanoseconds and for holes (GNU.sparse 1.0).
pub(crate) fn tar(entries: &[Entry]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for entry in entries {
        let (kind, target, content) = match &entry.is {
            Is::HardLink(existing) => (tar::EntryType::Link, Some(existing), None),
            Is::New(What::Folder) => (tar::EntryType::Directory, None, None),
            Is::New(What::Fifo) => (tar::EntryType::Fifo, None, None),
            Is::New(What::Symlink(target)) => (tar::EntryType::Symlink, Some(target), None),
            Is::New(What::File(content)) => (tar::EntryType::Regular, None, Some(content)),
        };
        let mut records: Vec<(&str, String)> = Vec::new();
        let (seconds, nanoseconds): Time = entry.time;
        if nanoseconds > 0 {
            records.push(("mtime", format!("{seconds}.{nanoseconds:09}")));
        }
        let mut bytes = Vec::new();
        if let Some(content) = content {
            bytes = match content.pieces {
                None => content.bytes(),
                Some(pieces) => {
                    records.extend([
                        ("GNU.sparse.major", "1".into()),
                        ("GNU.sparse.minor", "0".into()),
                        ("GNU.sparse.name", entry.path.clone()),
                        ("GNU.sparse.realsize", content.len.to_string()),
                    ]);
                    sparse(content, pieces)
                }
            };
        }
        if !records.is_empty() {
            builder.append_pax_extensions(records.iter().map(|(key, value)| (*key, value.as_bytes()))).unwrap();
        }
        let mut header = tar::Header::new_ustar();
        let ustar = header.as_ustar_mut().unwrap();
        ustar.name[..entry.path.len()].copy_from_slice(entry.path.as_bytes());
        if let Some(target) = target {
            ustar.linkname[..target.len()].copy_from_slice(target.as_bytes());
        }
        header.set_entry_type(kind);
        header.set_mode(entry.mode);
        header.set_uid(1234);
        header.set_gid(5678);
        header.set_mtime(seconds as u64);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        builder.append(&header, &*bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

/// The map of the pieces, filled up to a block, then their bytes. A hole at the end is a piece of no bytes.
fn sparse(content: &Content, pieces: &[(usize, usize)]) -> Vec<u8> {
    let mut map = format!("{}\n", pieces.len() + 1);
    for (offset, len) in pieces.iter().chain(&[(content.len, 0)]) {
        map += &format!("{offset}\n{len}\n");
    }
    let mut bytes = map.into_bytes();
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    content.data().into_iter().for_each(|(_, data)| bytes.extend(data));
    bytes
}

/// Whether a zip says what permissions its entries have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Modes {
    Said,
    /// As many programs write it that make zips in memory.
    NotSaid,
}

/// A zip, stored, with times.
pub(crate) fn zip(entries: &[Entry], modes: Modes) -> Vec<u8> {
    const STORED: &[u8] = &[20, 0, 0, 8, 0, 0, 0, 0, 0x21, 0]; // version, names in UTF-8, no method, 1980-01-01
    let (mut zip, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let (kind, content) = match &entry.is {
            Is::New(What::Folder) => (0o040_000, Vec::new()),
            Is::New(What::File(content)) => (0o100_000, content.bytes()),
            Is::New(What::Symlink(target)) => (0o120_000, target.clone().into_bytes()),
            Is::New(What::Fifo) | Is::HardLink(_) => unreachable!("a zip does not hold these"),
        };
        let slash = if kind == 0o040_000 { "/" } else { "" };
        let name = format!("{}{slash}", entry.path);
        let extra = [&b"UT\x05\x00\x01"[..], &(entry.time.0 as u32).to_le_bytes()].concat();
        let len = (content.len() as u32).to_le_bytes();
        let common = [
            STORED,
            &crc32(&content).to_le_bytes(),
            &len,
            &len,
            &(name.len() as u16).to_le_bytes(),
            &(extra.len() as u16).to_le_bytes(),
        ]
        .concat();
        let offset = zip.len() as u32;
        zip.extend([&b"PK\x03\x04"[..], &common, name.as_bytes(), &extra, &content].concat());
        let unix = if modes == Modes::Said { (kind | entry.mode) << 16 } else { 0 };
        let attributes: u32 = unix | if slash.is_empty() { 0 } else { 0x10 };
        // Made on Unix; then comment, disk and internal attributes: none.
        directory.extend([&b"PK\x01\x02\x14\x03"[..], &common, &[0; 6], &attributes.to_le_bytes()].concat());
        directory.extend([&offset.to_le_bytes()[..], name.as_bytes(), &extra].concat());
    }
    let count = (entries.len() as u16).to_le_bytes();
    let (at, len) = ((zip.len() as u32).to_le_bytes(), (directory.len() as u32).to_le_bytes());
    [&zip[..], &directory, b"PK\x05\x06\0\0\0\0", &count, &count, &len, &at, &[0, 0]].concat()
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut table = [0_u32; 256];
    for (n, slot) in table.iter_mut().enumerate() {
        *slot = (0..8).fold(n as u32, |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 });
    }
    !bytes.iter().fold(!0, |crc, &byte| crc >> 8 ^ table[usize::from(crc as u8 ^ byte)])
}
