//! ar archives, as of static libraries: members without folders. Long names stand in a table of their own (GNU) or
//! before the content (BSD). The symbol tables of libraries are no members.

mod header;

use crate::cancel::Cancel;
use crate::entry::time;
use crate::error::{ErrorKind, Result};
use crate::summary::Trailing;
use crate::sys;
use crate::tar::{Body, Class, Member, Source, Walk};

pub(crate) use header::{Header, LEN, MAGIC};

/// The longest that a table of names may be, and that a name may be: limits on memory.
const LONGEST_TABLE: u64 = 16 << 20;
const LONGEST_NAME: u64 = 64 << 10;

pub(crate) struct Scanner<S> {
    body: Body<S>,
    /// GNU's table of long names.
    names: Vec<u8>,
    has_begun: bool,
    has_ended: bool,
}

impl<S: Source> Scanner<S> {
    pub(crate) fn new(source: S) -> Scanner<S> {
        Scanner { body: Body::new(source), names: Vec::new(), has_begun: false, has_ended: false }
    }

    fn damage<T>(&self, at: u64, cause: &str) -> Result<T, ErrorKind> {
        Err(self.body.source.damage(at, cause))
    }

    /// The next `len` bytes, of which there may be as many.
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

    /// Passes over what is left of a member. The byte behind the last one may be missing.
    fn skip_rest(&mut self) -> Result<(), ErrorKind> {
        let (left, padding) = (self.body.left, self.body.padding);
        (self.body.left, self.body.padding) = (0, 0);
        if self.body.source.skip(left)? < left {
            return Err(self.cut_short());
        }
        self.body.source.skip(padding).map(drop)
    }

    /// The name of a member, as its header has it. `None`: it is no member.
    fn name(&mut self, name: &[u8], at: u64) -> Result<Option<Vec<u8>>, ErrorKind> {
        if let Some(len) = name.strip_prefix(b"#1/").and_then(decimal) {
            if len > self.body.left || len > LONGEST_NAME {
                return self.damage(at, "the name of a member is longer than the member");
            }
            self.body.left -= len;
            let mut name = self.bytes(len)?;
            name.truncate(name.iter().position(|&byte| byte == 0).unwrap_or(name.len()));
            return Ok(Some(name).filter(|name| !is_symbols(name)));
        }
        if name == b"//" {
            if self.body.left > LONGEST_TABLE {
                return self.damage(at, "a table of names longer than 16 MiB");
            }
            let len = std::mem::take(&mut self.body.left);
            self.names = self.bytes(len)?;
            return Ok(None);
        }
        if let Some(start) = name.strip_prefix(b"/").and_then(decimal) {
            let name = usize::try_from(start).ok().and_then(|start| self.names.get(start..));
            let name = name.map(|rest| rest.split(|&byte| byte == b'\n').next().unwrap_or(rest));
            return match name {
                Some(name) => Ok(Some(name.strip_suffix(b"/").unwrap_or(name).to_vec())),
                None => self.damage(at, "the name of a member is not in the table of names"),
            };
        }
        Ok((!is_symbols(name)).then(|| name.strip_suffix(b"/").unwrap_or(name).to_vec()))
    }
}

fn decimal(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))?.parse().ok()
}

/// A library's table of symbols: GNU's, and BSD's.
fn is_symbols(name: &[u8]) -> bool {
    matches!(name, b"/" | b"/SYM64/") || name.starts_with(b"__.SYMDEF")
}

impl<S: Source> Walk for Scanner<S> {
    type Source = S;

    fn next(&mut self, member: &mut Member) -> Result<bool, ErrorKind> {
        if !self.has_begun {
            self.has_begun = true;
            self.bytes(MAGIC.len() as u64)?;
        }
        while !self.has_ended {
            self.skip_rest()?;
            let at = self.body.source.position();
            let mut bytes = [0; LEN];
            match self.body.source.read(&mut bytes)? {
                0 => break,
                LEN => {}
                _ => return Err(self.cut_short()),
            }
            let Some(header) = Header::read(&bytes) else {
                return self.damage(at, "no valid header where a member should begin");
            };
            (self.body.left, self.body.padding) = (header.size, header.padding());
            let Some(name) = self.name(header.name, at)? else { continue };
            *member = Member {
                path: name,
                class: Class::File,
                mode: header.mode.map(|mode| mode & 0o7777),
                modified: header.modified.and_then(|seconds| time(seconds, 0)),
                owner: header.owner,
                size: self.body.left,
                ..Member::default()
            };
            member.not_unicode = !sys::make_representable(&mut member.path);
            return Ok(true);
        }
        Ok(false)
    }

    fn go_on(&mut self, _ignore_zeros: bool, _cancel: &Cancel) -> Result<bool, ErrorKind> {
        Ok(false)
    }

    /// Two bytes are all that tells a header, so that the archive has ended.
    fn find_next(&mut self, _cancel: &Cancel) -> Result<(), ErrorKind> {
        self.has_ended = true;
        Ok(())
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
        None
    }
}
