//! cpio: "newc", "crc", "odc" and the old binary format in both orders of bytes, one kind of entry after the other.
//!
//! An archive ends with an entry that is called `TRAILER!!!`. Others may follow it, as in an initramfs of Linux.
//! Files with several names: [`links`].

mod header;
mod links;

use manyfiles::tree::Node;

use crate::cancel::Cancel;
use crate::error::{ErrorKind, Result};
use crate::summary::Trailing;
use crate::sys;
use crate::tar::{Body, Class, Member, Source, Walk};
use crate::test::Test;
use header::{Header, Kind, LONGEST, SHORTEST};
use links::{Links, Ready, Then};

pub(crate) use header::begins;

const TRAILER: &[u8] = b"TRAILER!!!";
/// The most zeros behind an archive that are padding, as for a tar.
const MOST_ZEROS: u64 = 1 << 20;
/// The longest that a symbolic link's target may be.
const LONGEST_TARGET: u64 = 64 << 10;

pub(crate) struct Scanner<S> {
    body: Body<S>,
    links: Links,
    /// Bytes of the next header that were read already.
    ahead: Vec<u8>,
    /// The trailer was found, or there is nothing more.
    has_ended: bool,
    has_trailer: bool,
    was_damaged: bool,
    trailing: Option<Trailing>,
}

impl<S: Source> Scanner<S> {
    pub(crate) fn new(source: S) -> Scanner<S> {
        Scanner {
            body: Body::new(source),
            links: Links::default(),
            ahead: Vec::new(),
            has_ended: false,
            has_trailer: false,
            was_damaged: false,
            trailing: None,
        }
    }

    /// Reads the next header and the name behind it. `None`: it is the trailer.
    fn header(&mut self) -> Result<Option<(Header, Vec<u8>)>, ErrorKind> {
        let mut bytes = [0; LONGEST];
        let ahead = std::mem::take(&mut self.ahead);
        bytes[..ahead.len()].copy_from_slice(&ahead);
        let start = self.body.source.position() - ahead.len() as u64;
        if ahead.len() < SHORTEST {
            self.fill(&mut bytes[ahead.len()..SHORTEST])?;
        }
        let damage = |scanner: &Self, cause| Err(scanner.body.source.damage(start, cause));
        let Some(kind) = Kind::of(&bytes) else {
            return damage(self, "no valid header where an entry should begin");
        };
        let len = kind.header_len();
        self.fill(&mut bytes[ahead.len().max(SHORTEST)..len])?;
        let Some(header) = Header::read(kind, &bytes[..len]) else {
            return damage(self, "a number in an entry's header is no possible one");
        };
        let mut name = self.bytes(header.name_len + header.name_padding())?;
        name.truncate(header.name_len as usize);
        match name.iter().position(|&byte| byte == 0) {
            Some(end) => name.truncate(end),
            None => return damage(self, "the name of an entry has no end"),
        }
        Ok((name != TRAILER).then_some((header, name)))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), ErrorKind> {
        if self.body.source.read(buffer)? == buffer.len() { Ok(()) } else { Err(self.cut_short()) }
    }

    /// The next `len` bytes, which are few.
    fn bytes(&mut self, len: u64) -> Result<Vec<u8>, ErrorKind> {
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < len {
            let chunk = self.body.source.chunk(len - bytes.len() as u64)?;
            if chunk.is_empty() {
                return Err(self.cut_short());
            }
            bytes.extend_from_slice(chunk);
        }
        Ok(bytes)
    }

    /// An entry that was read before.
    fn ready(&mut self, member: &mut Member) -> Result<bool, ErrorKind> {
        match self.links.ready.pop_front() {
            None => return Ok(false),
            Some(Ready::Empty(name, header)) => describe(member, name, &header),
            Some(Ready::Link(name, first)) => link(member, name, first),
            Some(Ready::Lost(name)) => {
                let cause = format!("the content of {} and its other names is missing", String::from_utf8_lossy(&name));
                return Err(self.body.source.damage(self.body.source.position(), &cause));
            }
        }
        Ok(true)
    }

    /// Makes the entry's `member`. `false`: it is handed over later.
    fn member(&mut self, header: Header, name: Vec<u8>, member: &mut Member) -> Result<bool, ErrorKind> {
        (self.body.left, self.body.padding) = (header.size, header.kind.padding(header.size));
        let class = class(&header);
        match class {
            Class::File if header.names > 1 => {
                let (sum, size) = (header.sum, header.size);
                describe(member, Vec::new(), &header);
                match self.links.add(name, header)? {
                    Then::File(name) => {
                        set_path(member, name);
                        (member.sum, self.body.sum) = (sum, sum.map(|_| 0));
                    }
                    Then::Link(name, first) => link(member, name, first),
                    Then::Wait => {
                        debug_assert_eq!(size, 0);
                        return Ok(false);
                    }
                }
            }
            Class::Symlink => {
                if header.size > LONGEST_TARGET {
                    let at = self.body.source.position();
                    return Err(self.body.source.damage(at, "a symbolic link's target is longer than 64 KiB"));
                }
                describe(member, name, &header);
                self.body.left = 0;
                member.link = self.bytes(header.size)?;
                member.not_unicode |= !sys::make_representable(&mut member.link);
            }
            _ => {
                describe(member, name, &header);
                let sum = header.sum.filter(|_| class == Class::File);
                (member.sum, self.body.sum) = (sum, sum.map(|_| 0));
            }
        }
        Ok(true)
    }
}

fn class(header: &Header) -> Class {
    let (major, minor) = header.device;
    match header.mode >> 12 & 0xf {
        1 => Class::Node(Node::Fifo),
        2 => Class::Node(Node::CharDevice(major, minor)),
        4 => Class::Folder,
        6 => Class::Node(Node::BlockDevice(major, minor)),
        0 | 8 => Class::File,
        10 => Class::Symlink,
        _ => Class::Other,
    }
}

fn set_path(member: &mut Member, name: Vec<u8>) {
    member.path = name;
    member.not_unicode = !sys::make_representable(&mut member.path);
}

fn describe(member: &mut Member, name: Vec<u8>, header: &Header) {
    *member = Member {
        class: class(header),
        mode: Some(header.mode & 0o7777),
        modified: header.modified,
        owner: Some(header.owner),
        ..Member::default()
    };
    if member.class == Class::File {
        member.size = header.size;
    }
    set_path(member, name);
}

fn link(member: &mut Member, name: Vec<u8>, first: Vec<u8>) {
    *member = Member { class: Class::HardLink, link: first, ..Member::default() };
    set_path(member, name);
    member.not_unicode |= !sys::make_representable(&mut member.link);
}

impl<S: Source> Walk for Scanner<S> {
    type Source = S;

    fn next(&mut self, member: &mut Member) -> Result<bool, ErrorKind> {
        if !self.body.skip_rest()? {
            return Err(self.cut_short());
        }
        loop {
            if self.ready(member)? {
                return Ok(true);
            }
            if self.has_ended {
                return Ok(false);
            }
            match self.header()? {
                None => {
                    (self.has_ended, self.has_trailer) = (true, true);
                    self.links.end(self.was_damaged);
                }
                Some((header, name)) => {
                    if self.member(header, name, member)? {
                        return Ok(true);
                    }
                }
            }
        }
    }

    fn go_on(&mut self, ignore_zeros: bool, cancel: &Cancel) -> Result<bool, ErrorKind> {
        if !self.has_trailer {
            return Ok(false);
        }
        let (mut byte, mut zeros) = ([0], 0);
        while self.body.source.read(&mut byte)? > 0 {
            if byte == [0] {
                zeros += 1;
                if zeros > MOST_ZEROS && !ignore_zeros {
                    self.trailing = Some(Trailing::Zeros);
                    return Ok(false);
                }
                if zeros % MOST_ZEROS == 0 {
                    cancel.check()?;
                }
                continue;
            }
            let mut head = [byte[0], 0, 0, 0, 0, 0];
            let len = 1 + self.body.source.read(&mut head[1..])?;
            if Kind::of(&head[..len]).is_none() {
                self.trailing = Some(Trailing::AfterCpio);
            } else if ignore_zeros {
                self.ahead = head[..len].to_vec();
                (self.has_ended, self.has_trailer) = (false, false);
                return Ok(true);
            } else {
                self.trailing = Some(Trailing::Cpio);
            }
            return Ok(false);
        }
        Ok(false)
    }

    fn find_next(&mut self, cancel: &Cancel) -> Result<(), ErrorKind> {
        (self.body.left, self.body.padding, self.body.sum) = (0, 0, None);
        self.was_damaged = true;
        if self.has_ended {
            return Ok(());
        }
        let (mut magic, mut read) = ([0; 6], 0_u64);
        loop {
            magic.rotate_left(1);
            if self.body.source.read(&mut magic[5..])? == 0 {
                self.has_ended = true;
                self.links.end(true);
                return Ok(());
            }
            read += 1;
            if read.is_multiple_of(MOST_ZEROS) {
                cancel.check()?;
            }
            // Two bytes of the old binary format are found everywhere.
            if matches!(Kind::of(&magic), Some(Kind::New { .. } | Kind::Octal)) {
                self.ahead = magic.to_vec();
                return Ok(());
            }
        }
    }

    fn body(&self) -> &Body<S> {
        &self.body
    }

    fn body_mut(&mut self) -> &mut Body<S> {
        &mut self.body
    }

    fn into_source(self) -> S {
        self.body.source
    }

    fn trailing(&self) -> Option<Trailing> {
        self.trailing
    }

    fn check_end(&self, test: &mut Test<'_>) {
        // Damage that was told before is the reason.
        let cause = "the entry that ends a cpio archive is missing; it may have been cut short behind this entry";
        if !self.has_trailer
            && test.findings == 0
            && let ErrorKind::Damaged { at, .. } = self.source().damage(self.source().position(), cause)
        {
            test.tell(None, Some(at), cause);
        }
    }
}
