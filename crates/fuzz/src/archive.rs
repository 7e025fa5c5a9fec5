//! Archives: `list`, `test` and `unpack` agree, and what was unpacked is packed and read back the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use manyfiles::tree::{Incomplete, Keep, Metadata, TreeWriter};
use manyfiles_archive::{ArchiveWriter, Compression, Entry, Format, Input, Kind, Limits, Unpacker};

/// Of content: a few kilobytes of input may stand for much.
const MOST_BYTES: u64 = 4 << 20;
const MOST_ENTRIES: u64 = 1000;

/// An archive that is read as a stream.
pub fn stream(bytes: &[u8]) {
    agree(&|| Input::Stream(Box::new(std::io::Cursor::new(bytes.to_vec()))));
}

/// An archive that is read from a file.
pub fn file(bytes: &[u8]) {
    let temp = folder();
    let path = temp.path().join("archive");
    fs::write(&path, bytes).expect("there is room");
    agree(&|| Input::File(path.clone()));
}

/// The same, and every block that looks like a header has the right checksum.
pub fn with_checksums(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for block in bytes.chunks_exact_mut(512) {
        if &block[257..262] == b"ustar" {
            block[148..156].fill(b' ');
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
    }
    bytes
}

/// A 7z whose directory is at its end: what is before it, and its length, is in the first byte.
pub fn sevenz(bytes: &[u8]) -> Vec<u8> {
    let (&packed, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let packed = usize::from(packed).min(rest.len());
    let directory = &rest[packed..];
    let mut begin = (packed as u64).to_le_bytes().to_vec();
    begin.extend((directory.len() as u64).to_le_bytes());
    begin.extend(crc(directory).to_le_bytes());
    [b"7z\xbc\xaf\x27\x1c\0\x04", &crc(&begin).to_le_bytes()[..], &begin, rest].concat()
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 != 0 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("there is room")
}

fn agree(input: &dyn Fn() -> Input) {
    let limits = Limits::default().bytes(MOST_BYTES).entries(MOST_ENTRIES);
    let unpacker = Unpacker::options().limits(limits).threads(1).keep(Keep::everything()).build();

    let mut listed = 0;
    let mut refused = 0;
    let list = unpacker.list(input(), &mut |entry: &Entry<'_>| {
        listed += 1;
        refused += u64::from(entry.refusal.is_some());
    });
    let test = unpacker.test(input(), &mut |_| ());
    let temp = folder();
    let root = temp.path().join("root");
    let tree = TreeWriter::options().threads(1).last_wins(true).keep(Keep::everything()).open(&root).expect("there is room");
    let unpack = unpacker.unpack(input(), &tree);
    let report = tree.finish().unwrap_or_else(Incomplete::into_report);

    if let Ok(list) = &list {
        assert_eq!(list.entries, listed + list.left_out, "a list shows all entries that it counts");
    }
    if let (Ok(list), Ok(unpack)) = (&list, &unpack) {
        assert_eq!((list.entries, list.bytes), (unpack.entries, unpack.bytes), "list and unpack");
        let written = report.files + report.folders + report.symlinks + report.hard_links + report.nodes;
        assert!(written + report.failures.len() as u64 + report.skipped >= listed, "an entry is gone in silence");
    }
    if let Ok(test) = &test
        && test.is_sound()
    {
        let list = list.as_ref().unwrap_or_else(|error| panic!("a sound archive cannot be listed: {error}"));
        let unpack = unpack.as_ref().unwrap_or_else(|error| panic!("a sound archive cannot be unpacked: {error}"));
        assert_eq!((test.entries, test.intact), (list.entries, unpack.entries), "test, list and unpack");
    }
    // Nothing but the root is there.
    assert_eq!(fs::read_dir(temp.path()).expect("it is there").count(), 1, "something came out of the root");
    if unpack.is_ok() && report.failures.is_empty() && refused == 0 {
        packed_again(&root, temp.path());
    }
}

/// Names with what they have: a file's length, a link's target.
type Found = BTreeMap<PathBuf, String>;

fn packed_again(root: &Path, beside: &Path) {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        // A folder that may not be read is no mistake.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let kind = entry.file_type().expect("it is there");
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    for (name, format) in [("again.tar.gz", Format::Tar(Some(Compression::Gzip))), ("again.zip", Format::Zip)] {
        let path = beside.join(name);
        let writer = ArchiveWriter::options().format(format).threads(1).create(&path).expect("there is room");
        let mut given = Found::new();
        for file in &files {
            let (name, bytes) = (file.strip_prefix(root).expect("it is below"), fs::read(file).expect("it is there"));
            if writer.file(name, bytes.clone(), Metadata::default()).is_ok() {
                given.insert(name.to_path_buf(), bytes.len().to_string());
            }
        }
        writer.finish().expect("all was taken");
        let mut found = Found::new();
        let list = Unpacker::new().list(Input::File(path.clone()), &mut |entry| {
            assert_eq!(entry.kind, Kind::File);
            found.insert(entry.path.to_path_buf(), entry.size.to_string());
        });
        list.expect("what was packed can be listed");
        assert_eq!(found, given, "what was packed is listed");
        let test = Unpacker::new().test(Input::File(path.clone()), &mut |finding| panic!("not sound: {finding}"));
        assert!(test.expect("it can be tested").is_sound());
        fs::remove_file(path).expect("it is there");
    }
}
