//! The headers of a tar that is written: ustar, with pax records for what ustar's fields cannot hold.
//!
//! The same member gives the same bytes on every system: no name of a process, no time of writing.

use manyfiles::tree::Node;

use super::entry::Head;
use crate::acl::{self, Owner};
use crate::entry::Attribute;
use crate::owners::Names;
use crate::tar::LONGEST_EXTENSION;
use crate::tar_header::{BLOCK, Block};

/// What an entry is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind<'a> {
    /// As many bytes of content follow.
    File {
        size: u64,
    },
    /// The content of the pieces follows, one directly after the other. Pieces are offset and length, in order, and
    /// end at or before `size`.
    Sparse {
        size: u64,
        pieces: &'a [(u64, u64)],
    },
    Folder,
    SymbolicLink {
        target: &'a [u8],
    },
    /// To the path of an earlier member.
    HardLink {
        target: &'a [u8],
    },
    Node(Node),
}

/// All that precedes the content: the pax header if one is needed, the header, and a sparse file's map. `None` if the
/// pieces' lengths and the map exceed what a size can say, a device has a number that no field holds, a tar knows no
/// such kind, or the attributes are longer than readers take.
pub(super) fn head(member: &Head, of: Kind) -> Option<Vec<u8>> {
    let mut records = Records::default();
    let mut path = member.path.clone();
    let mut device = None;
    let mut map = Vec::new();
    let (kind, size, target): (u8, u64, &[u8]) = match of {
        Kind::File { size } => (b'0', size, b""),
        Kind::Folder => {
            path.push(b'/');
            (b'5', 0, b"")
        }
        Kind::SymbolicLink { target } => (b'2', 0, target),
        Kind::HardLink { target } => (b'1', 0, target),
        Kind::Node(Node::Fifo) => (b'6', 0, b""),
        Kind::Node(Node::CharDevice(major, minor)) => {
            device = Some((major, minor));
            (b'3', 0, b"")
        }
        Kind::Node(Node::BlockDevice(major, minor)) => {
            device = Some((major, minor));
            (b'4', 0, b"")
        }
        // A kind that came later.
        Kind::Node(_) => return None,
        Kind::Sparse { size, pieces } => {
            records.add("GNU.sparse.major", b"1");
            records.add("GNU.sparse.minor", b"0");
            records.add("GNU.sparse.realsize", size.to_string().as_bytes());
            // What programs that know no sparse files write: the name tells the reader that its content is none.
            path = [b"GNUSparseFile.0/", &member.path[..]].concat();
            map = sparse_map(size, pieces);
            let stored = pieces.iter().try_fold(map.len() as u64, |sum, piece| sum.checked_add(piece.1))?;
            (b'0', stored, b"")
        }
    };
    let mut header = [0; BLOCK];
    if !fill(&mut header[..100], &path) {
        records.add("path", &path);
    }
    // Behind the path: for Python's tarfile the last of the two is the name.
    if matches!(of, Kind::Sparse { .. }) {
        records.add("GNU.sparse.name", &member.path);
    }
    if !fill(&mut header[157..257], target) {
        records.add("linkpath", target);
    }
    octal(&mut header[100..108], u64::from(member.mode & 0o7777));
    for (field, key, id) in [(108..116, "uid", member.owner.0), (116..124, "gid", member.owner.1)] {
        if !octal(&mut header[field], u64::from(id)) {
            records.add(key, id.to_string().as_bytes());
        }
    }
    if !octal(&mut header[124..136], size) {
        records.add("size", size.to_string().as_bytes());
    }
    let (seconds, nanoseconds) = member.modified;
    let in_header = octal(&mut header[136..148], u64::try_from(seconds).unwrap_or(0)) && seconds >= 0;
    if !in_header || nanoseconds != 0 {
        records.add("mtime", time(seconds, nanoseconds).as_bytes());
    }
    let (major, minor) = device.unwrap_or((0, 0));
    for (field, number) in [(329..337, major), (337..345, minor)] {
        if !octal(&mut header[field], u64::from(number)) {
            return None;
        }
    }
    if let Some(names) = &member.names {
        let (user, group) = member.owner;
        for (field, key, owner) in [(265..297, "uname", Owner::User(user)), (297..329, "gname", Owner::Group(group))] {
            let name = names.of(owner).unwrap_or_default();
            // The field ends with a zero, and has no character set.
            if !name.is_ascii() || name.len() >= field.len() {
                records.add(key, name.as_bytes());
            }
            if name.is_ascii() {
                fill(&mut header[field.start..field.end - 1], name.as_bytes());
            }
        }
    }
    if !member.flags.is_empty() && matches!(of, Kind::File { .. } | Kind::Sparse { .. } | Kind::Folder) {
        records.add("SCHILY.fflags", member.flags.as_bytes());
    }
    for attribute in &member.attributes {
        records.add_attribute(attribute, member.names.as_deref());
    }
    if records.0.len() as u64 > LONGEST_EXTENSION {
        return None;
    }
    finish(&mut header, kind);
    let mut bytes = records.into_member();
    bytes.extend(header);
    bytes.extend(map);
    Some(bytes)
}

/// Version 1.0: the number of pieces, then offset and length of each, in lines that zeros fill up to a block.
fn sparse_map(size: u64, pieces: &[(u64, u64)]) -> Vec<u8> {
    let mut map = String::new();
    // A hole at the end is told by an empty piece there, as GNU tar does.
    let end = pieces.last().map_or(0, |piece| piece.0 + piece.1);
    let last = (end < size || pieces.is_empty()).then_some((size, 0));
    map += &format!("{}\n", pieces.len() + usize::from(last.is_some()));
    for (offset, len) in pieces.iter().copied().chain(last) {
        map += &format!("{offset}\n{len}\n");
    }
    let mut map = map.into_bytes();
    map.resize(map.len().next_multiple_of(BLOCK), 0);
    map
}

/// Pax records: `length key=value`.
#[derive(Default)]
struct Records(Vec<u8>);

impl Records {
    /// As GNU tar, star and bsdtar read it. A list that is none is kept as it is.
    fn add_attribute(&mut self, attribute: &Attribute, names: Option<&Names>) {
        let list = match &*attribute.name {
            acl::ACCESS => "SCHILY.acl.access",
            acl::DEFAULT => "SCHILY.acl.default",
            _ => "",
        };
        let text = if list.is_empty() { None } else { acl::text(&attribute.value, &mut |owner| names?.of(owner)) };
        match text {
            Some(text) => self.add(list, text.as_bytes()),
            None => self.add([b"SCHILY.xattr.", &*escaped(&attribute.name)].concat(), &attribute.value),
        }
    }

    fn add(&mut self, key: impl AsRef<[u8]>, value: &[u8]) {
        let key = key.as_ref();
        // The length counts its own digits.
        let rest = key.len() + value.len() + 3;
        let mut len = rest + 1;
        while len != rest + len.to_string().len() {
            len += 1;
        }
        self.0.extend(format!("{len} ").as_bytes());
        self.0.extend(key);
        self.0.push(b'=');
        self.0.extend(value);
        self.0.push(b'\n');
    }

    /// The records as a member before the one that they extend. Nothing if there are none.
    fn into_member(self) -> Vec<u8> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let mut header = [0; BLOCK];
        fill(&mut header[..100], b"PaxHeaders");
        octal(&mut header[100..108], 0o644);
        for field in [108..116, 116..124, 136..148] {
            octal(&mut header[field], 0);
        }
        octal(&mut header[124..136], self.0.len() as u64);
        finish(&mut header, b'x');
        let mut bytes = header.to_vec();
        bytes.extend(self.0);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        bytes
    }
}

/// The name of an attribute as GNU tar has it in a key, which an `=` ends.
fn escaped(name: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(name.len());
    for &byte in name {
        match byte {
            b'=' => text.extend(b"%3D"),
            b'%' => text.extend(b"%25"),
            _ => text.push(byte),
        }
    }
    text
}

/// As much of `text` as there is room for; whether that is all.
fn fill(field: &mut [u8], text: &[u8]) -> bool {
    let len = text.len().min(field.len());
    field[..len].copy_from_slice(&text[..len]);
    len == text.len()
}

/// Octal digits and a NUL, and whether there is room for the value. The largest number stands for one without room.
fn octal(field: &mut [u8], value: u64) -> bool {
    let digits = field.len() - 1;
    let largest = (1u64 << (3 * digits)) - 1;
    // By hand: a header has ten of them.
    let mut left = value.min(largest);
    for digit in field[..digits].iter_mut().rev() {
        *digit = b'0' + (left & 7) as u8;
        left >>= 3;
    }
    value <= largest
}

/// Decimal seconds. Nanoseconds count upwards from the seconds also before 1970, a decimal fraction does not.
fn time(seconds: i64, nanoseconds: u32) -> String {
    let all = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    let sign = if all < 0 { "-" } else { "" };
    let all = all.unsigned_abs();
    format!("{sign}{}.{:09}", all / 1_000_000_000, all % 1_000_000_000)
}

fn finish(header: &mut Block, kind: u8) {
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tar::Pax;
    use crate::tar_header::Header;

    fn file() -> Head {
        Head {
            path: b"folder/file".to_vec(),
            mode: 0o640,
            owner: (1000, 100),
            modified: (1_700_000_000, 0),
            attributes: Vec::new(),
            flags: String::new(),
            names: None,
        }
    }

    /// The records and the header of the member itself, each read by the reader of this crate.
    fn read(head: &[u8]) -> (Pax, Block) {
        let block = |at: usize| -> Block { head[at..at + BLOCK].try_into().unwrap() };
        let first = block(0);
        assert!(Header::new(&first).checksum_matches());
        let mut pax = Pax::default();
        if Header::new(&first).kind() != b'x' {
            return (pax, first);
        }
        let len = usize::try_from(Header::new(&first).size().unwrap()).unwrap();
        pax.merge(&head[BLOCK..BLOCK + len]).unwrap();
        let own = block(BLOCK + len.next_multiple_of(BLOCK));
        assert!(Header::new(&own).checksum_matches());
        (pax, own)
    }

    #[test]
    fn what_ustar_holds_needs_no_records() {
        let head = head(&file(), Kind::File { size: 5 }).unwrap();
        assert_eq!(head.len(), BLOCK);
        let (pax, header) = read(&head);
        let header = Header::new(&header);
        assert_eq!(pax, Pax::default());
        assert_eq!((header.name(), header.kind(), header.size()), (&file().path[..], b'0', Some(5)));
        assert_eq!((header.mode(), header.owner()), (Some(0o640), Some((1000, 100))));
        assert_eq!(header.modified(), Some(1_700_000_000));
    }

    #[test]
    fn what_ustar_cannot_hold_is_in_records() {
        for len in 80..1100 {
            let path = vec![b'p'; len];
            let owner = (1 << 21, u32::MAX);
            let member = Head { path: path.clone(), owner, modified: (-2, 250_000_000), ..file() };
            let (pax, _) = read(&head(&member, Kind::File { size: 1 << 33 }).unwrap());
            assert_eq!(pax.path, (len > 100).then_some(path));
            assert_eq!((pax.size, pax.user, pax.group), (Some(1 << 33), Some(1 << 21), Some(u32::MAX)));
            assert_eq!(pax.modified, Some((-2, 250_000_000)));
        }
    }

    #[test]
    fn links_folders_and_devices_keep_what_they_are() {
        let target = [b't'; 101];
        let link = head(&file(), Kind::SymbolicLink { target: &target }).unwrap();
        assert_eq!(read(&link).0.link_path.as_deref(), Some(&target[..]));
        let (pax, hard_link) = read(&head(&file(), Kind::HardLink { target: b"first" }).unwrap());
        let hard_link = Header::new(&hard_link);
        assert_eq!((pax, hard_link.kind(), hard_link.size()), (Pax::default(), b'1', Some(0)));
        assert_eq!((hard_link.name(), hard_link.link_name()), (&b"folder/file"[..], &b"first"[..]));
        let (_, folder) = read(&head(&file(), Kind::Folder).unwrap());
        assert_eq!((Header::new(&folder).name(), Header::new(&folder).kind()), (&b"folder/file/"[..], b'5'));
        let (_, device) = read(&head(&file(), Kind::Node(Node::BlockDevice(8, 17))).unwrap());
        assert_eq!((Header::new(&device).kind(), Header::new(&device).device()), (b'4', Some((8, 17))));
    }

    #[test]
    fn a_sparse_file_stores_its_map_and_its_pieces() {
        let head = head(&file(), Kind::Sparse { size: 9000, pieces: &[(4096, 10)] }).unwrap();
        let (pax, header) = read(&head);
        assert!(pax.sparse.map_in_content);
        assert_eq!((pax.sparse.name, pax.sparse.real_size), (Some(file().path), Some(9000)));
        assert_eq!(Header::new(&header).size(), Some(512 + 10));
        assert!(head[head.len() - BLOCK..].starts_with(b"2\n4096\n10\n9000\n0\n\0"));
    }

    #[test]
    fn attributes_come_back_as_they_were_and_lists_are_text() {
        let attribute = |name: &[u8], value: &[u8]| Attribute { name: name.to_vec(), value: value.to_vec() };
        let list = [&2u32.to_le_bytes()[..], &[1, 0, 6, 0], &[255; 4], &[2, 0, 4, 0, 7, 0, 0, 0]].concat();
        let mut member = file();
        member.attributes = vec![
            attribute(acl::ACCESS, &list),
            attribute(acl::DEFAULT, b"no list"),
            attribute(b"user.a=b%3D\xff", b"x=y\n\0"),
        ];
        let (mut pax, _) = read(&head(&member, Kind::Folder).unwrap());
        assert_eq!(pax.acl.take().as_deref(), Some(&b"user::rw-,user:7:r--"[..]));
        assert_eq!(pax.attributes, member.attributes[1..]);
        member.attributes = vec![attribute(b"user.long", &vec![0; 17 << 20])];
        assert!(head(&member, Kind::Folder).is_none(), "which no reader would take");
    }

    #[test]
    fn a_sparse_files_name_is_the_last_and_a_number_without_room_is_no_devices() {
        let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).position(|part| part == text.as_bytes());
        let long = Head { path: "ü".repeat(75).into(), ..file() };
        let sparse = head(&long, Kind::Sparse { size: 9000, pieces: &[(4096, 10)] }).unwrap();
        assert!(has(&sparse, " path=GNUSparseFile.0/").unwrap() < has(&sparse, " GNU.sparse.name=").unwrap());
        assert!(head(&file(), Kind::Node(Node::CharDevice(1 << 21, 0))).is_none());
    }
}
