//! Reads an archive back that was just written.

use std::io::Read;
use std::path::Path;

use flate2::Crc;

use super::report::Written;
use crate::cancel::Cancel;
use crate::decode::{self, Blocks};
use crate::format::Format;
use crate::limits::Limits;
use crate::options::Options;
use crate::progress::InputProgress;
use crate::unpacker::Input;

/// Decodes every byte of the archive and compares it with what was packed. `link_bytes` are content that is none of
/// files, `crc` is that of a tar before it was compressed. An error says what differs.
pub(super) fn verify(path: &Path, written: &Written, link_bytes: u64, crc: u32) -> Result<(), String> {
    let mut first = None;
    let tested = Options::default()
        .limits(Limits::NONE)
        .build()
        .test(Input::File(path.to_path_buf()), &mut |finding| {
            first.get_or_insert_with(|| finding.to_string());
        })
        .map_err(|error| error.kind().to_string())?;
    if let Some(first) = first {
        return Err(first);
    }
    let counts = [("entries", tested.entries, written.entries()), ("bytes", tested.bytes, written.bytes + link_bytes)];
    for (what, found, expected) in counts {
        if found != expected {
            return Err(format!("it has {found} {what} in place of {expected}"));
        }
    }
    match written.format {
        Format::Tar(_) if decoded(path)? != crc => Err("its content is not what was packed".into()),
        // A zip's checksums were made of what was packed, and have been compared.
        _ => Ok(()),
    }
}

/// The checksum of a tar, decompressed.
fn decoded(path: &Path) -> Result<u32, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut crc = Crc::new();
    let input = decode::Input::new(Box::new(file) as Box<dyn Read + Send>, InputProgress::new());
    let mut blocks = Blocks::start(input).map_err(|error| error.to_string())?;
    let cancel = Cancel::default();
    blocks.format(&cancel).map_err(|kind| kind.to_string())?;
    let mut used = Vec::new();
    while let Some(taken) = blocks.next(used, &cancel).map_err(|kind| kind.to_string())? {
        crc.update(&taken.block);
        used = taken.block;
    }
    Ok(crc.sum())
}
