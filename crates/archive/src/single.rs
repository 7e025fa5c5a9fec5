//! A single compressed file: no archive, so that nothing in it says its name, but for gzip's header.
//!
//! It is called as the compressed file is, without the ending of its compression, as `gzip -d` has it. Only where that
//! name says nothing, the name in gzip's header counts, of which the last part is taken. A name that says that an
//! archive is inside is none of a single file: what is no archive there is damaged, or something else than it was taken
//! for.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use manyfiles::tree::TreeWriter;

use crate::cancel::Cancel;
use crate::entry::{Entry, Kind, time};
use crate::entry_filter::EntryFilter;
use crate::error::{ErrorKind, Result};
use crate::format::Compression;
use crate::limits::{Limits, Meter};
use crate::reader::Place;
use crate::sys;
use crate::tar::Source;
use crate::target::{Target, in_the_report, keep_part};

/// The file that the archive is read from. A stream has neither name nor rights.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    name: Option<Vec<u8>>,
    mode: Option<u32>,
    modified: Option<SystemTime>,
}

impl Origin {
    pub(crate) fn of(path: &Path, file: &File) -> Origin {
        // Without them, the file gets those of a new one.
        let metadata = file.metadata().ok();
        Origin {
            name: path.file_name().and_then(|name| sys::bytes_of(Path::new(name))),
            mode: metadata.as_ref().and_then(sys::mode_of),
            modified: metadata.and_then(|metadata| metadata.modified().ok()),
        }
    }
}

/// What a name says of what is compressed.
#[derive(Debug, PartialEq, Eq)]
enum Says {
    /// It is a tar or a cpio archive.
    Archive,
    /// It is a file of this name.
    File(Vec<u8>),
    Nothing,
}

/// A single file, as far as it is known before it is decoded.
#[derive(Debug)]
pub(crate) struct Single {
    path: PathBuf,
    mode: Option<u32>,
    modified: Option<SystemTime>,
}

/// What the compressed file is by its name.
#[derive(Debug)]
pub(crate) enum Named {
    Archive,
    Single(Single),
    Nothing,
}

impl Named {
    /// `head` is what the compressed file begins with.
    pub(crate) fn of(origin: &Origin, compression: Compression, head: &[u8]) -> Named {
        let stored = if compression == Compression::Gzip { Stored::of(head) } else { Stored::default() };
        let says = match origin.name.as_deref().map_or(Says::Nothing, |name| says(name, compression)) {
            Says::Nothing => stored.name.map_or(Says::Nothing, |name| file(&name)),
            other => other,
        };
        match says {
            Says::Archive => Named::Archive,
            Says::Nothing => Named::Nothing,
            Says::File(mut name) => {
                // As the name of an entry is read on a system whose names are Unicode.
                if !sys::make_representable(&mut name) {
                    return Named::Nothing;
                }
                let modified = stored.modified.or(origin.modified);
                Named::Single(Single { path: sys::path(&name).to_path_buf(), mode: origin.mode, modified })
            }
        }
    }
}

/// Endings of names whose files were compressed so; and those that stand for two, a tar's and the compression's.
fn endings(compression: Compression) -> (&'static [&'static str], &'static [&'static str]) {
    match compression {
        Compression::Gzip => (&[".gz", ".z", "-gz", "-z", "_z"], &[".tgz", ".taz", ".crate"]),
        Compression::Zstd => (&[".zst", ".zstd"], &[".tzst"]),
        Compression::Xz => (&[".xz"], &[".txz"]),
        Compression::Bzip2 => (&[".bz2", ".bz"], &[".tbz2", ".tbz", ".tb2", ".tz2"]),
        Compression::Lz4 => (&[".lz4"], &[]),
        Compression::Lzma => (&[".lzma"], &[".tlzma"]),
        Compression::Lzip => (&[".lz"], &[".tlz"]),
        Compression::Compress => (&[".z"], &[".taz", ".tz"]),
    }
}

fn says(name: &[u8], compression: Compression) -> Says {
    let small = name.to_ascii_lowercase();
    let (single, of_tar) = endings(compression);
    if of_tar.iter().any(|ending| small.ends_with(ending.as_bytes())) {
        return Says::Archive;
    }
    match single.iter().find(|ending| small.ends_with(ending.as_bytes())) {
        Some(ending) => file(&name[..name.len() - ending.len()]),
        None => Says::Nothing,
    }
}

/// A file of this name.
fn file(name: &[u8]) -> Says {
    match name {
        b"" | b"." | b".." => Says::Nothing,
        _ if [&b".tar"[..], b".cpio"].iter().any(|ending| name.to_ascii_lowercase().ends_with(ending)) => Says::Archive,
        _ => Says::File(name.to_vec()),
    }
}

/// What gzip's header says of the file.
#[derive(Debug, Default)]
struct Stored {
    name: Option<Vec<u8>>,
    modified: Option<SystemTime>,
}

impl Stored {
    fn of(head: &[u8]) -> Stored {
        const EXTRA: u8 = 4;
        const NAME: u8 = 8;
        let Some((&[0x1f, 0x8b, 8, flags, a, b, c, d, _, _], mut rest)) = head.split_first_chunk() else {
            return Stored::default();
        };
        let seconds = u32::from_le_bytes([a, b, c, d]);
        let modified = if seconds == 0 { None } else { time(seconds.into(), 0) };
        if flags & EXTRA != 0 {
            let behind = rest.split_first_chunk().and_then(|(len, rest)| rest.get(u16::from_le_bytes(*len).into()..));
            rest = behind.unwrap_or_default();
        }
        let name = rest.iter().position(|&byte| byte == 0).filter(|_| flags & NAME != 0).map(|end| &rest[..end]);
        // Some write a path.
        let name = name.map(|name| name.rsplit(|&byte| byte == b'/').next().unwrap_or(name).to_vec());
        Stored { name, modified }
    }
}

/// Reads a single file to its end.
pub(crate) fn read<S: Source>(
    source: &mut S,
    single: &Single,
    filter: &EntryFilter,
    meter: &mut Meter,
    target: &mut Target<'_>,
    cancel: &Cancel,
) -> Result<(), ErrorKind> {
    meter.entry()?;
    let mut entry = Entry { mode: single.mode, modified: single.modified, ..Entry::plain(&single.path, Kind::File) };
    if let Target::Test(test) = target {
        test.current = Some(single.path.clone());
        let mut bytes = 0;
        let read = each_chunk(source, meter, cancel, &mut |chunk| bytes += chunk.len() as u64);
        return match read {
            Ok(()) => {
                test.current = None;
                test.entry(bytes, true);
                Ok(())
            }
            Err(kind) => {
                test.entry(bytes, false);
                test.damage(kind)
            }
        };
    }
    let reduced = if filter.selects(&single.path) { filter.reduce(entry.clone()) } else { None };
    match reduced {
        Some(reduced) => entry = reduced,
        None => {
            if filter.strip > 0 {
                meter.stripped();
            } else {
                meter.left_out += 1;
            }
            return each_chunk(source, &mut Meter::new(Limits::NONE), cancel, &mut |_| {});
        }
    }
    match target {
        Target::Tree(tree) => deliver(source, &entry, tree, false, meter, cancel),
        Target::Salvage(tree, test) => match deliver(source, &entry, tree, true, meter, cancel) {
            Err(kind) => test.damage(kind),
            Ok(()) => Ok(()),
        },
        Target::List(visit) => {
            each_chunk(source, meter, cancel, &mut |chunk| entry.size += chunk.len() as u64)?;
            entry.check_paths();
            visit(&entry);
            Ok(())
        }
        Target::Index(builder) => {
            let position = source.position();
            each_chunk(source, meter, cancel, &mut |chunk| entry.size += chunk.len() as u64)?;
            builder.add(&entry, Place::Tar(position))
        }
        Target::Test(_) => Ok(()),
    }
}

fn each_chunk<S: Source>(
    source: &mut S,
    meter: &mut Meter,
    cancel: &Cancel,
    with: &mut dyn FnMut(&[u8]),
) -> Result<(), ErrorKind> {
    loop {
        cancel.check()?;
        let chunk = source.chunk(u64::MAX)?;
        if chunk.is_empty() {
            return Ok(());
        }
        meter.content(chunk.len() as u64)?;
        with(chunk);
    }
}

/// Writes the file as it is decoded. One that fails is removed, unless `keeps_part`.
fn deliver<S: Source>(
    source: &mut S,
    entry: &Entry<'_>,
    tree: &TreeWriter,
    keeps_part: bool,
    meter: &mut Meter,
    cancel: &Cancel,
) -> Result<(), ErrorKind> {
    let mut file = match tree.create(entry.path, entry.metadata()) {
        Ok(file) => file,
        Err(error) => {
            in_the_report(error);
            return each_chunk(source, meter, cancel, &mut |_| {});
        }
    };
    let mut failed = None;
    let read = each_chunk(source, meter, cancel, &mut |chunk| {
        if failed.is_none() {
            failed = file.write_all(chunk).err();
        }
    });
    match (read, failed) {
        (Ok(()), None) => {
            file.close().map_or_else(in_the_report, |_| ());
            Ok(())
        }
        (read, Some(error)) => {
            file.abandon(error);
            read
        }
        (Err(kind @ ErrorKind::Damaged { .. }), None) if keeps_part => {
            keep_part(file, kind.of_entry(), entry, tree);
            Err(kind)
        }
        (Err(kind), None) => {
            file.abandon(kind.of_entry());
            Err(kind)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_loses_the_ending_of_its_compression_and_says_whether_it_is_a_tar() {
        let file = |name: &str| Says::File(name.as_bytes().to_vec());
        for (name, compression, expected) in [
            ("notes.txt.gz", Compression::Gzip, file("notes.txt")),
            ("NOTES.GZ", Compression::Gzip, file("NOTES")),
            ("a.Z", Compression::Compress, file("a")),
            ("a.lz", Compression::Lzip, file("a")),
            ("a.gz.gz", Compression::Gzip, file("a.gz")),
            ("a.tar.gz", Compression::Gzip, Says::Archive),
            ("a.TAR.xz", Compression::Xz, Says::Archive),
            ("a.tgz", Compression::Gzip, Says::Archive),
            ("serde-1.0.crate", Compression::Gzip, Says::Archive),
            ("a.tar.Z", Compression::Compress, Says::Archive),
            ("initrd.cpio.gz", Compression::Gzip, Says::Archive),
            ("a.gz", Compression::Xz, Says::Nothing),
            ("archive", Compression::Gzip, Says::Nothing),
            (".gz", Compression::Gzip, Says::Nothing),
            ("...gz", Compression::Gzip, Says::Nothing),
        ] {
            assert_eq!(says(name.as_bytes(), compression), expected, "{name}");
        }
    }

    #[test]
    fn of_gzips_header_the_last_part_of_the_name_and_a_time_that_is_set_count() {
        let head = |flags: u8, time: u8, rest: &[u8]| [&[0x1f, 0x8b, 8, flags, time, 0, 0, 0, 0, 3], rest].concat();
        let stored = |bytes: &[u8]| Stored::of(bytes).name;
        assert_eq!(stored(&head(8, 0, b"a/../b\0...")), Some(b"b".to_vec()));
        assert_eq!(stored(&head(12, 0, b"\x02\0xxname\0")), Some(b"name".to_vec()));
        assert_eq!(stored(&head(8, 0, b"no end")), None);
        assert_eq!(stored(&head(0, 0, b"name\0")), None);
        assert_eq!(stored(&head(12, 0, b"\xff\xff")), None);
        assert_eq!(Stored::of(&head(0, 0, b"")).modified, None);
        assert_eq!(Stored::of(&head(0, 7, b"")).modified, time(7, 0));
    }
}
