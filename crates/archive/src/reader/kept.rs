//! An index that is kept in the cache, so that an archive is gone through once.
//!
//! It counts as long as the archive has its length, its times, and its first and last bytes. What is wrong with a kept
//! index is no error: then a new one is made.

use std::fs::{self, DirBuilder, File};
use std::hash::Hasher;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use flate2::Crc;

use super::chunks::{Chunk, Chunks};
use super::gzip::State;
use super::index::{Child, Index, Node, Piece, ROOT, Type};
use crate::entry::Attribute;
use crate::format::Compression;
use crate::stamp::Stamp;
use crate::sys;

const MAGIC: &[u8; 8] = b"mfindex\x04";
/// How many of the archive's first and last bytes are compared.
const COMPARED: u64 = 64 << 10;
/// A kept index that was not made anew for so long is removed.
const OLDEST: Duration = Duration::from_secs(60 * 24 * 60 * 60);
/// More than this is not read: an index of some ten million entries.
const LARGEST: u64 = 4 << 30;
const ENDING: &str = "mfindex";

/// The folder for a user's caches, if the environment says which.
pub(super) fn usual_folder() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = if cfg!(windows) {
        of("LOCALAPPDATA")?
    } else if let Some(caches) = of("XDG_CACHE_HOME") {
        caches
    } else if cfg!(target_os = "macos") {
        of("HOME")?.join("Library/Caches")
    } else {
        of("HOME")?.join(".cache")
    };
    Some(caches.join("manyfiles"))
}

/// The place of one archive's index.
pub(super) struct Kept {
    folder: PathBuf,
    name: String,
    key: Vec<u8>,
}

impl Kept {
    /// `None`: no index can be kept for this archive.
    pub(super) fn of(folder: &Path, archive: &Path, file: &File, stamp: &Stamp, ignore_zeros: bool) -> Option<Kept> {
        let path = fs::canonicalize(archive).ok()?;
        let modified = stamp.modified().duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let mut key = MAGIC.to_vec();
        key.push(ignore_zeros.into());
        key.extend(stamp.len.to_le_bytes());
        key.extend((modified.as_nanos() as u64).to_le_bytes());
        // Another archive of this length may have this time, too: builds that can be repeated set it.
        let (seconds, nanos) = file.metadata().ok().as_ref().and_then(sys::changed).unwrap_or_default();
        key.extend(seconds.to_le_bytes());
        key.extend(nanos.to_le_bytes());
        let mut ends = vec![0; stamp.len.min(COMPARED) as usize];
        for at in [0, stamp.len.saturating_sub(COMPARED)] {
            sys::read_exact_at(file, &mut ends, at).ok()?;
            key.extend(checksum(&ends).to_le_bytes());
        }
        #[expect(deprecated, reason = "its algorithm is fixed, which DefaultHasher's is not")]
        let mut hasher = std::hash::SipHasher::new();
        hasher.write(path.as_os_str().as_encoded_bytes());
        Some(Kept { folder: folder.to_path_buf(), name: format!("{:016x}.{ENDING}", hasher.finish()), key })
    }

    /// The index, if it is there and is that of this archive.
    pub(super) fn load(&self) -> Option<(Index, Option<Chunks>)> {
        let file = sys::open_source(&self.folder.join(&self.name)).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || !sys::is_own(&metadata, None) {
            return None;
        }
        let mut packed = Vec::new();
        file.take(LARGEST).read_to_end(&mut packed).ok()?;
        let packed = packed.strip_prefix(&*self.key)?;
        let (sum, packed) = packed.split_first_chunk()?;
        if checksum(packed).to_le_bytes() != *sum {
            return None;
        }
        let mut body = Vec::new();
        zstd::stream::read::Decoder::new(packed).ok()?.take(LARGEST).read_to_end(&mut body).ok()?;
        let mut from = Source(&body);
        let (index, chunks) = (from.index()?, from.chunks()?);
        (from.0.is_empty() && is_sound(&index)).then_some((index, chunks))
    }

    /// Keeps an index, whole or not at all.
    pub(super) fn save(&self, index: &Index, chunks: Option<&Chunks>) -> io::Result<()> {
        let mut body = Vec::new();
        put_index(&mut body, index);
        put_chunks(&mut body, chunks);
        let packed = zstd::bulk::compress(&body, 1)?;
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)?;
        self.remove_old();
        // A name of its own, and nobody else may read it: names of files are nobody's business.
        let mut file = tempfile::Builder::new().suffix(".partial").tempfile_in(&self.folder)?;
        file.write_all(&self.key)?;
        file.write_all(&checksum(&packed).to_le_bytes())?;
        file.write_all(&packed)?;
        file.persist(self.folder.join(&self.name)).map_err(|error| error.error)?;
        Ok(())
    }

    /// Removes indexes that nobody has made anew for long, and what killed processes left behind.
    fn remove_old(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let path = entry.path();
            let is_ours = path.extension().is_some_and(|ending| ending == ENDING || ending == "partial");
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let is_old = modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > OLDEST));
            if is_ours && is_old {
                // What cannot be removed takes room, and does nothing wrong.
                drop(fs::remove_file(path));
            }
        }
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn put_index(to: &mut Vec<u8>, index: &Index) {
    let Index { nodes, children, texts, pieces, attributes, refused } = index;
    for count in [nodes.len(), children.len(), texts.len(), pieces.len(), attributes.len()] {
        to.extend((count as u64).to_le_bytes());
    }
    to.extend(refused.to_le_bytes());
    for node in nodes {
        let Node { is, mode, owner, modified, size, place, count, is_sparse, names, attributes } = *node;
        let flags = u8::from(mode.is_some())
            | u8::from(owner.is_some()) << 1
            | u8::from(modified.is_some()) << 2
            | u8::from(is_sparse) << 3;
        to.extend([is as u8, flags]);
        to.extend(mode.unwrap_or(0).to_le_bytes());
        let (user, group) = owner.unwrap_or((0, 0));
        let (seconds, nanos) = modified.unwrap_or((0, 0));
        for number in [user, group, nanos, count, names, attributes] {
            to.extend(number.to_le_bytes());
        }
        to.extend(seconds.to_le_bytes());
        to.extend(size.to_le_bytes());
        to.extend(place.to_le_bytes());
    }
    for child in children {
        for number in [child.folder, child.node, child.name_at] {
            to.extend(number.to_le_bytes());
        }
        to.extend(child.name_len.to_le_bytes());
    }
    to.extend(texts);
    for piece in pieces {
        for number in [piece.offset, piece.len, piece.position] {
            to.extend(number.to_le_bytes());
        }
    }
    for set in attributes {
        to.extend((set.len() as u64).to_le_bytes());
        for Attribute { name, value, .. } in set {
            for bytes in [name, value] {
                to.extend((bytes.len() as u32).to_le_bytes());
                to.extend(bytes);
            }
        }
    }
}

fn put_chunks(to: &mut Vec<u8>, chunks: Option<&Chunks>) {
    let Some(chunks) = chunks else { return to.push(0) };
    to.push(if chunks.compression == Compression::Zstd { 1 } else { 2 });
    to.extend(chunks.len.to_le_bytes());
    to.extend((chunks.parts.len() as u64).to_le_bytes());
    for Chunk { packed, start, state } in &chunks.parts {
        to.extend(packed.to_le_bytes());
        to.extend(start.to_le_bytes());
        match state {
            None => to.push(0),
            Some(State { bits, bit_buffer, window }) => {
                to.extend([1, *bits, *bit_buffer]);
                to.extend((window.len() as u32).to_le_bytes());
                to.extend(window);
            }
        }
    }
}

/// Takes numbers from the front of bytes. `None`: there are too few.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn bytes(&mut self, len: usize) -> Option<&[u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A count of things, each of which takes at least one byte here.
    fn count(&mut self) -> Option<usize> {
        self.u64().and_then(|count| usize::try_from(count).ok()).filter(|&count| count <= self.0.len())
    }

    fn node(&mut self) -> Option<Node> {
        let [is, flags] = self.array()?;
        let mode = self.u16()?;
        let [user, group, nanos] = [self.u32()?, self.u32()?, self.u32()?];
        let [count, names, attributes] = [self.u32()?, self.u32()?, self.u32()?];
        let [seconds, size, place] = [self.u64()?, self.u64()?, self.u64()?];
        Some(Node {
            is: *Type::ALL.get(usize::from(is))?,
            mode: (flags & 1 != 0).then_some(mode),
            owner: (flags & 2 != 0).then_some((user, group)),
            modified: (flags & 4 != 0).then_some((seconds as i64, nanos)),
            is_sparse: flags & 8 != 0,
            size,
            place,
            count,
            names,
            attributes,
        })
    }

    fn index(&mut self) -> Option<Index> {
        let [nodes, children, texts, pieces] = [self.count()?, self.count()?, self.count()?, self.count()?];
        let attributes = self.count()?;
        let refused = self.u64()?;
        let nodes = (0..nodes).map(|_| self.node()).collect::<Option<_>>()?;
        let child = |from: &mut Self| {
            let [folder, node, name_at] = [from.u32()?, from.u32()?, from.u32()?];
            Some(Child { folder, node, name_at, name_len: from.u16()? })
        };
        let children = (0..children).map(|_| child(self)).collect::<Option<_>>()?;
        let texts = self.bytes(texts)?.to_vec();
        let piece = |from: &mut Self| Some(Piece { offset: from.u64()?, len: from.u64()?, position: from.u64()? });
        let pieces = (0..pieces).map(|_| piece(self)).collect::<Option<_>>()?;
        let attributes = (0..attributes).map(|_| self.attributes()).collect::<Option<_>>()?;
        Some(Index { nodes, children, texts, pieces, attributes, refused })
    }

    /// A set of extended attributes.
    fn attributes(&mut self) -> Option<Vec<Attribute>> {
        let count = self.count()?;
        let bytes = |from: &mut Self| {
            let len = from.u32()? as usize;
            from.bytes(len).map(<[u8]>::to_vec)
        };
        (0..count).map(|_| Attribute::new(bytes(self)?, bytes(self)?)).collect()
    }

    /// Outside: whether there are chunks at all.
    fn chunks(&mut self) -> Option<Option<Chunks>> {
        let compression = match self.u8()? {
            0 => return Some(None),
            1 => Compression::Zstd,
            2 => Compression::Gzip,
            _ => return None,
        };
        let len = self.u64()?;
        let count = self.count()?;
        let part = |from: &mut Self| {
            let (packed, start) = (from.u64()?, from.u64()?);
            let state = match from.u8()? {
                0 => None,
                _ => {
                    let [bits, bit_buffer] = from.array()?;
                    let len = from.u32()? as usize;
                    Some(State { bits, bit_buffer, window: from.bytes(len)?.to_vec() })
                }
            };
            Some(Chunk { packed, start, state })
        };
        let parts = (0..count).map(|_| part(self)).collect::<Option<Vec<_>>>()?;
        Chunks::new(compression, parts, len).map(Some)
    }
}

/// Whether every number leads to something: a read must not panic, whatever the disk has made of an index.
fn is_sound(index: &Index) -> bool {
    let Index { nodes, children, texts, pieces, attributes, .. } = index;
    let is_text = |at: u64, len: u64| at.checked_add(len).is_some_and(|end| end <= texts.len() as u64);
    let are_nodes = nodes.iter().all(|node| match node.is {
        Type::Symlink => is_text(node.place, node.count.into()),
        Type::File if node.is_sparse => {
            let end = node.place.checked_add(node.count.into());
            let range = end.is_some_and(|end| end <= pieces.len() as u64);
            let in_file = |piece: &Piece| piece.offset.checked_add(piece.len).is_some_and(|end| end <= node.size);
            range && {
                let own = &pieces[node.place as usize..][..node.count as usize];
                let in_order = own.windows(2).all(|pair| pair[0].offset.saturating_add(pair[0].len) <= pair[1].offset);
                own.iter().all(in_file) && in_order
            }
        }
        Type::File => node.place.checked_add(node.size).is_some(),
        _ => true,
    });
    let is_folder = |number: u32| nodes.get(number as usize).is_some_and(|node| node.is == Type::Folder);
    // A folder has one name, or a walk would show what is in it again and again.
    let mut named = vec![false; nodes.len()];
    let are_children = children.iter().all(|child| {
        is_text(child.name_at.into(), child.name_len.into())
            && is_folder(child.folder)
            && (child.node as usize) < nodes.len()
            // A folder is made before what is in it, so that no walk goes in a circle.
            && (!is_folder(child.node)
                || child.node > child.folder && !std::mem::replace(&mut named[child.node as usize], true))
    });
    is_folder(ROOT)
        && are_nodes
        && attributes.first().is_some_and(Vec::is_empty)
        && nodes.iter().all(|node| (node.attributes as usize) < attributes.len())
        && attributes.iter().all(|set| set.is_sorted_by(|one, other| one.name < other.name))
        && are_children
        && pieces.iter().all(|piece| piece.position.checked_add(piece.len).is_some())
        && children.is_sorted_by_key(|child| (child.folder, index.name(child)))
}
