//! From member to member: each header, with the headers that extend it, becomes one [`Member`].

use manyfiles::tree::Node;

use super::body::Body;
use super::check;
use super::end::{self, Follows};
use super::member::{Class, Member};
use super::pax::Pax;
use super::source::Source;
use super::sparse::{self, ContentMap, Piece, padding};
use super::walk::Walk;
use crate::cancel::Cancel;
use crate::entry::{Attribute, time};
use crate::error::{ErrorKind, Position, Result};
use crate::summary::Trailing;
use crate::sys;
use crate::tar_header::{BLOCK, Block, Header, text};
use crate::test::Test;

/// The longest that headers before an entry may be (names, pax records, maps of sparse files): a limit on memory. Names
/// end at 4 KiB on most systems; extended attributes may take 64 KiB each.
pub(crate) const LONGEST_EXTENSION: u64 = 16 << 20;

/// Tars in several volumes consist of whole records, which are of this size by default.
const RECORD: u64 = 10_240;

/// Headers before an entry's own.
#[derive(Default)]
struct Extensions {
    pax: Pax,
    /// GNU's long names.
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    /// Solaris's access control lists are entries of their own.
    has_acl: bool,
    any: bool,
}

pub(crate) struct Scanner<S> {
    pub(super) body: Body<S>,
    global: Pax,
    /// Whether pax headers were seen: then a hard link's size is that of content behind it.
    is_pax: bool,
    /// Headers read, those before entries' own included.
    pub(super) headers: u64,
    /// How many bytes of zeros have been read as the end of the tar.
    pub(super) end: Option<u64>,
    /// Where one block of zeros stands before a header: it may have been a header.
    pub(super) lone_zeros: Option<u64>,
    /// A header that was read already.
    pub(super) ahead: Option<Block>,
    /// The bytes after the tar that are not read.
    pub trailing: Option<Trailing>,
}

impl<S: Source> Walk for Scanner<S> {
    type Source = S;

    fn next(&mut self, member: &mut Member) -> Result<bool, ErrorKind> {
        self.skip_content()?;
        let mut extensions = Extensions::default();
        let mut block = [0; BLOCK];
        while self.header(&mut block, extensions.any)? {
            let header = Header::new(&block);
            match header.kind() {
                b'x' | b'X' => {
                    let records = self.extension(header)?;
                    self.is_pax = true;
                    self.well_formed(extensions.pax.merge(&records))?;
                }
                b'g' => {
                    let records = self.extension(header)?;
                    self.is_pax = true;
                    let merged = self.global.merge(&records);
                    self.well_formed(merged)?;
                    if self.global.continues_volume {
                        return Err(later_volume());
                    }
                }
                b'L' => extensions.name = Some(text(&self.extension(header)?).to_vec()),
                b'K' => extensions.link = Some(text(&self.extension(header)?).to_vec()),
                // A volume's label and an access control list: nothing to unpack.
                b'V' | b'A' => {
                    self.extension(header)?;
                    extensions.has_acl |= header.kind() == b'A';
                    continue;
                }
                b'M' => return Err(later_volume()),
                b'N' => {
                    return Err(ErrorKind::Unsupported(
                        "a tar from before 1990 (GNU's 'N' entries), which GNU tar can still unpack".into(),
                    ));
                }
                _ => {
                    self.member(header, extensions, member)?;
                    return Ok(true);
                }
            }
            extensions.any = header.kind() != b'g' || extensions.any;
        }
        Ok(false)
    }

    fn go_on(&mut self, ignore_zeros: bool, cancel: &Cancel) -> Result<bool, ErrorKind> {
        let zeros = self.end.expect("asked for at the end");
        match end::follows(&mut self.body.source, zeros, self.headers == 0, ignore_zeros, cancel)? {
            Follows::Tar(block) if ignore_zeros => {
                // A global header holds for its own tar only.
                (self.global, self.is_pax) = (Pax::default(), false);
                (self.end, self.ahead) = (None, Some(*block));
                return Ok(true);
            }
            Follows::Tar(_) => self.trailing = Some(Trailing::Tar),
            Follows::Unread(trailing) => self.trailing = Some(trailing),
            Follows::Nothing => {}
        }
        Ok(false)
    }

    fn find_next(&mut self, cancel: &Cancel) -> Result<(), ErrorKind> {
        self.find_header(cancel)
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

    fn cut_short(&self) -> ErrorKind {
        let position = self.body.source.position();
        match self.body.source.damage(position, "it is cut short") {
            ErrorKind::Damaged { at: at @ Position::Archive(_), .. } if position.is_multiple_of(RECORD) => {
                let cause = "it is cut short; if it is the first of several volumes, read them together \
                             (`tar --extract --multi-volume -f FIRST -f SECOND`)";
                ErrorKind::damaged(at, cause)
            }
            damage => damage,
        }
    }

    fn trailing(&self) -> Option<Trailing> {
        self.trailing
    }

    fn note(&mut self, test: &mut Test<'_>, ignore_zeros: bool) {
        if let Some(at) = self.lone_zeros.take()
            && !ignore_zeros
        {
            check::lone_zeros(self, at, test);
        }
    }

    fn check_end(&self, test: &mut Test<'_>) {
        check::end(self, test);
    }
}

impl<S: Source> Scanner<S> {
    pub(crate) fn new(source: S) -> Scanner<S> {
        Scanner {
            body: Body::new(source),
            global: Pax::default(),
            is_pax: false,
            headers: 0,
            end: None,
            lone_zeros: None,
            ahead: None,
            trailing: None,
        }
    }

    /// Reads the next header. `false`: the tar has ended.
    fn header(&mut self, block: &mut Block, entry_expected: bool) -> Result<bool, ErrorKind> {
        if self.end.is_some() {
            return Ok(false);
        }
        if let Some(ahead) = self.ahead.take() {
            *block = ahead;
            self.headers += 1;
            return Ok(true);
        }
        let start = self.body.source.position();
        let mut is_zero = self.block(block)?.is_none_or(|()| Header::new(block).is_zero());
        let begins_with_zeros = is_zero;
        if is_zero && self.body.source.position() > start {
            // The end is two blocks of zeros, or one and the end of the file. One alone ends nothing: some archives are
            // joined.
            is_zero = self.block(block)?.is_none_or(|()| Header::new(block).is_zero());
        } else if is_zero && self.headers == 0 {
            return Err(ErrorKind::Empty);
        }
        if is_zero {
            if entry_expected {
                return Err(self.body.source.damage(start, "it ends between an entry's headers"));
            }
            self.end = Some(self.body.source.position() - start);
            return Ok(false);
        }
        let header = Header::new(block);
        if !header.checksum_matches() {
            if self.headers == 0 && !header.has_magic() {
                return Err(ErrorKind::NotAnArchive {
                    looks_like: crate::format::looks_like(block),
                    compression: None,
                });
            }
            return Err(self
                .body
                .source
                .damage(self.body.source.position() - BLOCK as u64, "no valid header where an entry should begin"));
        }
        if begins_with_zeros {
            self.lone_zeros = Some(start);
        }
        self.headers += 1;
        Ok(true)
    }

    /// Reads a whole block. `None`: the source has ended.
    fn block(&mut self, block: &mut Block) -> Result<Option<()>, ErrorKind> {
        match self.body.source.read(block)? {
            BLOCK => Ok(Some(())),
            0 => Ok(None),
            _ if self.headers == 0 => {
                Err(ErrorKind::NotAnArchive { looks_like: crate::format::looks_like(text(block)), compression: None })
            }
            _ => Err(self.cut_short()),
        }
    }

    fn well_formed<T>(&self, parsed: Result<T, &'static str>) -> Result<T, ErrorKind> {
        parsed.map_err(|cause| self.body.source.damage(self.body.source.position(), cause))
    }

    /// The content of a header that extends the next one.
    fn extension(&mut self, header: Header<'_>) -> Result<Vec<u8>, ErrorKind> {
        let size = self.size(header.size())?;
        if size > LONGEST_EXTENSION {
            return Err(self.body.source.damage(self.body.source.position(), "a header longer than 16 MiB"));
        }
        let whole = size + padding(size);
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < whole {
            let chunk = self.body.source.chunk(whole - bytes.len() as u64)?;
            if chunk.is_empty() {
                return Err(self.cut_short());
            }
            bytes.extend_from_slice(chunk);
        }
        bytes.truncate(size as usize);
        Ok(bytes)
    }

    fn size(&self, field: Option<u64>) -> Result<u64, ErrorKind> {
        // The position after content and padding must fit into 64 bits.
        let end = |size: u64| self.body.source.position().checked_add(size)?.checked_add(BLOCK as u64);
        match field {
            Some(size) if end(size).is_some() => Ok(size),
            _ => Err(self.body.source.damage(self.body.source.position(), "an entry's size is no possible number")),
        }
    }

    fn member(&mut self, header: Header<'_>, extensions: Extensions, member: &mut Member) -> Result<(), ErrorKind> {
        let Extensions { mut pax, name, link, has_acl, .. } = extensions;
        pax.or(&self.global);
        member.ignored = pax.ignored.or(self.global.ignored.take());
        member.has_attributes = pax.has_attributes || has_acl;
        member.attributes = std::mem::take(&mut pax.attributes);
        member.flags = pax.flags.take();
        (member.acl, member.default_acl) = (pax.acl.take(), pax.default_acl.take());
        let all_kept = Attribute::tidy(&mut member.attributes);
        member.has_other_attributes = pax.has_other_attributes || has_acl || !all_kept;
        let mut sparse = std::mem::take(&mut pax.sparse);

        member.path.clear();
        match sparse.name.take().or(pax.path).or(name) {
            Some(path) => member.path = path,
            None => {
                let prefix = header.prefix();
                if !prefix.is_empty() {
                    member.path.extend_from_slice(prefix);
                    member.path.push(b'/');
                }
                member.path.extend_from_slice(header.name());
            }
        }
        member.link.clear();
        match pax.link_path.or(link) {
            Some(link) => member.link = link,
            None => member.link.extend_from_slice(header.link_name()),
        }
        let path = sys::make_representable(&mut member.path);
        member.not_unicode = !(sys::make_representable(&mut member.link) && path);
        member.mode = header.mode().map(|mode| mode & 0o7777);
        member.modified =
            pax.modified.or(header.modified().map(|seconds| (seconds, 0))).and_then(|(s, nanos)| time(s, nanos));
        let owner = header.owner();
        member.owner = pax.user.or(owner.map(|(user, _)| user)).zip(pax.group.or(owner.map(|(_, group)| group)));

        let (user, group) = header.owner_names();
        member.user_name = pax.user_name.unwrap_or_else(|| user.to_vec());
        member.group_name = pax.group_name.unwrap_or_else(|| group.to_vec());

        let device = header.device().unwrap_or((0, 0));
        member.class = match header.kind() {
            b'1' => Class::HardLink,
            b'2' => Class::Symlink,
            b'3' => Class::Node(Node::CharDevice(device.0, device.1)),
            b'4' => Class::Node(Node::BlockDevice(device.0, device.1)),
            b'5' | b'D' => Class::Folder,
            b'6' => Class::Node(Node::Fifo),
            // Before there were folders in tar, a slash at the end made one.
            b'0' | 0 if member.path.ends_with(b"/") => Class::Folder,
            // Every kind that is not known is a file, says POSIX.
            _ => Class::File,
        };
        let stored = match member.class {
            Class::File => self.size(pax.size.or(header.size()))?,
            // A list of names. Behind other folders there is nothing, whatever size they have: POSIX lets it be a
            // bound.
            Class::Folder if header.kind() == b'D' => self.size(pax.size.or(header.size()))?,
            // Old tars gave the size of the file linked to; only pax archives may have its content too.
            Class::HardLink if self.is_pax => self.size(pax.size.or(header.size()))?,
            Class::HardLink => self.size(Some(pax.size.unwrap_or(0)))?,
            _ => 0,
        };
        self.body.left = stored;
        self.body.padding = padding(stored);
        member.pieces = None;
        member.size = if member.class == Class::File { stored } else { 0 };
        if member.class == Class::File {
            let pieces = match sparse.pieces.take() {
                _ if header.kind() == b'S' => Some(self.gnu_pieces(header, &mut sparse.real_size)?),
                _ if sparse.map_in_content => Some(self.pieces_in_content()?),
                pieces => pieces,
            };
            if let Some(mut pieces) = pieces {
                let Some(size) = sparse.real_size else {
                    return Err(self.body.source.damage(self.body.source.position(), "a sparse file has no size"));
                };
                self.well_formed(sparse::check(&mut pieces, size, self.body.left))?;
                member.size = size;
                member.pieces = Some(pieces);
            }
        }
        Ok(())
    }

    /// The pieces that an old GNU header lists, and the blocks after it.
    fn gnu_pieces(&mut self, header: Header<'_>, real_size: &mut Option<u64>) -> Result<Vec<Piece>, ErrorKind> {
        *real_size = real_size.or(header.sparse_size());
        let mut pieces = Vec::new();
        self.well_formed(sparse::add_gnu(&mut pieces, header.sparse_pieces()))?;
        let mut continues = header.sparse_continues();
        let mut block = [0; BLOCK];
        while continues {
            if self.block(&mut block)?.is_none() {
                return Err(self.cut_short());
            }
            self.well_formed(sparse::add_gnu(&mut pieces, &block[..21 * 24]))?;
            if pieces.len() > sparse::MAX_PIECES {
                return Err(self.body.source.damage(self.body.source.position(), "a sparse file has too many pieces"));
            }
            continues = block[21 * 24] != 0;
        }
        Ok(pieces)
    }

    fn pieces_in_content(&mut self) -> Result<Vec<Piece>, ErrorKind> {
        let mut map = ContentMap::default();
        let mut block = [0; BLOCK];
        loop {
            if self.body.left < BLOCK as u64 {
                return Err(self
                    .body
                    .source
                    .damage(self.body.source.position(), "a sparse map is longer than the content it is in"));
            }
            self.body.left -= BLOCK as u64;
            if self.block(&mut block)?.is_none() {
                return Err(self.cut_short());
            }
            let added = map.add(&block);
            if let Some(pieces) = self.well_formed(added)? {
                return Ok(pieces);
            }
        }
    }

    fn skip_content(&mut self) -> Result<(), ErrorKind> {
        if self.body.skip_rest()? { Ok(()) } else { Err(self.cut_short()) }
    }
}

fn later_volume() -> ErrorKind {
    ErrorKind::Unsupported(
        "this is a later volume of a tar in several volumes; read them together, the first one first \
         (`tar --extract --multi-volume -f FIRST -f SECOND`)"
            .into(),
    )
}
