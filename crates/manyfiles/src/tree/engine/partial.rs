//! A large copy that is written so that a later run can go on with it ([`Options::resume`](crate::tree::Options::resume)).
//!
//! It has a name beside its own, `.manyfiles-resume-…`, which follows from its folder and its name: a later run finds
//! it without listing anything. Behind its bytes, where the source ends, it has a *seal* from its first moment on: its
//! own number, and number, length and time of its source. The seal says that the file is one of these, and of which
//! source; whatever has the name and no seal with its own number in it (a foreign file, a copy of such a file, a link)
//! is neither written nor removed. Who writes holds the file's lock, so two runs at once never write the same one.
//!
//! The file gets that name with its seal on it, and loses the name before it loses the seal. So there is no moment at
//! which a killed run leaves a file of that name that no run would dare to touch; around these moments it has a name
//! that says who made it, as other temporary files do ([`crate::temporary`]).
//!
//! The seal says nothing of how much has arrived. The bytes are compared with the source's from the beginning
//! ([`Lane::copy_to_resume`]), and what is equal is kept: after a power cut, too, when blocks may be missing.

use std::ffi::{OsStr, OsString};
use std::io;
use std::time::SystemTime;

use super::compare::read_full;
use super::copy::From;
use super::folders::OpenFolder;
use super::lane::Lane;
use super::piece::{BUFFER, Stop};
use super::placement::{Placement, Target};
use crate::error::explained;
use crate::sys::{self, Dir, EntryKind, Handle, Identity, Stat};

/// Copies of sources that are smaller are begun anew.
pub const RESUME_FROM: u64 = 8 << 20;

const PREFIX: &str = ".manyfiles-resume-";
const MAGIC: [u8; 16] = *b"manyfiles-resume";
const SEAL: usize = 84;

/// Its permissions: those that another run needs to go on with it, whatever the source's are.
pub(super) const MODE: u32 = 0o600;

/// How a target is one to be gone on with.
#[derive(Debug)]
pub(super) enum Partial {
    /// It is to become one, under this name, if the bytes have to be copied.
    Wanted(OsString),
    /// It has the name and the seal, and this process has its lock. A failure leaves it.
    Sealed,
    /// The same, and an earlier run has begun it.
    Resumed,
}

/// What has the name.
pub(super) enum Left {
    Nothing,
    /// An earlier run's, of this source. Its lock is held, and nobody but this user has a right to it.
    Ours(Handle),
    /// What this run may not touch: a foreign file, or one that another run writes.
    Taken,
}

/// The name under which the copy that is to be `name` is written.
pub(in crate::tree) fn partial_name(folder: Identity, name: &OsStr) -> OsString {
    let mut hash = fnv(&folder.file.to_le_bytes(), FNV_BASIS);
    hash = fnv(name.as_encoded_bytes(), hash);
    format!("{PREFIX}{hash:032x}").into()
}

/// Whether it may be such a name.
pub(in crate::tree) fn looks_partial(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
}

const FNV_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;

/// FNV-1a. Names have to be the same for all versions, which std's hashes do not promise. A collision does no harm: the
/// lock parts two that write at once, and the seal tells their sources.
fn fnv(bytes: &[u8], hash: u128) -> u128 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul((1 << 88) + 0x13b))
}

/// What is behind the bytes of such a file.
fn seal(own: Identity, source: &Stat) -> [u8; SEAL] {
    let (before, since) = match source.modified.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => (0_u8, since),
        Err(error) => (1, error.duration()),
    };
    let mut seal = Vec::with_capacity(SEAL);
    seal.extend(MAGIC);
    // Without the volumes: their numbers change when they are mounted again.
    seal.extend(own.file.to_le_bytes());
    seal.extend(source.identity.file.to_le_bytes());
    seal.extend(source.len.to_le_bytes());
    seal.extend((since.as_secs() << 1 | u64::from(before)).to_le_bytes());
    seal.extend(since.subsec_nanos().to_le_bytes());
    seal.extend(fnv(&seal, FNV_BASIS).to_le_bytes());
    seal.try_into().expect("the parts have these lengths")
}

/// The seal that the file ends with, if that is one of its own.
fn seal_of(file: &Handle, stat: &Stat) -> io::Result<Option<[u8; SEAL]>> {
    let Some(at) = stat.len.checked_sub(SEAL as u64) else { return Ok(None) };
    let mut has = [0; SEAL];
    sys::seek(file, at)?;
    if read_full(file, &mut has)? < SEAL {
        return Ok(None);
    }
    let (said, check) = has.split_at(SEAL - 16);
    let is_own = said[..16] == MAGIC && said[16..32] == stat.identity.file.to_le_bytes();
    let is_whole = said[48..56] == at.to_le_bytes() && *check == fnv(said, FNV_BASIS).to_le_bytes();
    Ok((is_own && is_whole).then_some(has))
}

/// Looks at what has the name. `owner` is the one that the copy is to have. What an earlier run left of another source,
/// or of this one before it changed, is removed.
pub(super) fn left(dir: &Dir, name: &OsStr, source: &Stat, owner: Option<(u32, u32)>) -> Left {
    let is_known = |stat: &Stat| {
        let is_ours = stat.owner.0 == sys::own_user() || owner.is_some_and(|owner| owner.0 == stat.owner.0);
        stat.kind == EntryKind::File && stat.links == 1 && is_ours
    };
    // What is no file is never opened.
    match dir.stat(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Left::Nothing,
        Ok(stat) if is_known(&stat) => {}
        _ => return Left::Taken,
    }
    let look = || -> io::Result<Left> {
        let file = dir.open_to_write(name)?;
        if !sys::hold_file(&file)? {
            return Ok(Left::Taken);
        }
        // Now that nobody else writes it: the run that had the lock may have completed it meanwhile.
        let stat = sys::stat(&file)?;
        if !is_known(&stat) || dir.stat(name)?.identity != stat.identity {
            return Ok(Left::Taken);
        }
        match seal_of(&file, &stat)? {
            None => Ok(Left::Taken),
            Some(has) if has == seal(stat.identity, source) => {
                sys::set_permissions(&file, MODE)?;
                Ok(Left::Ours(file))
            }
            Some(_) => {
                dir.remove(name)?;
                Ok(Left::Nothing)
            }
        }
    };
    look().unwrap_or(Left::Taken)
}

impl Lane {
    /// Seals a file that has nothing of its content yet. False: it cannot be gone on with, and is written as any other.
    pub(super) fn seal(&mut self, at: &OpenFolder, target: &mut Target, source: &Stat) -> Result<bool, Stop> {
        let name = match target.partial.take() {
            None => return Ok(false),
            Some(Partial::Wanted(name)) => name,
            sealed => {
                target.partial = sealed;
                return Ok(true);
            }
        };
        let Placement::Beside { temporary, .. } = &mut target.placement else { return Ok(false) };
        let file = &target.file;
        let sealed = || -> io::Result<bool> {
            if !sys::hold_file(file)? {
                return Ok(false);
            }
            sys::seek(file, source.len)?;
            write_all(file, &seal(sys::stat(file)?.identity, source))?;
            sys::seek(file, 0)?;
            at.dir.move_to(temporary, &at.dir, &name)?;
            Ok(true)
        };
        // Whatever is in the way (no locks, a name that was taken just now, a file system that takes no file that
        // long), the bytes may arrive all the same, and tell if not.
        if sealed().unwrap_or(false) {
            *temporary = name;
            target.partial = Some(Partial::Sealed);
            return Ok(true);
        }
        sys::set_len(file, 0).and_then(|()| sys::seek(file, 0)).map_err(Stop::Write)?;
        Ok(false)
    }

    /// Copies into a file that is sealed, beginning behind what is there already. Returns what [`copy`](Lane::copy)
    /// does. Then the file has its length, no seal, and a temporary name as any other.
    pub(super) fn copy_to_resume(
        &mut self,
        at: &OpenFolder,
        from: &From<'_>,
        stat: &Stat,
        target: &mut Target,
    ) -> Result<(u64, u64), Stop> {
        let was_begun = matches!(target.partial, Some(Partial::Resumed));
        let mut is_equal = was_begun;
        let (mut pos, mut copied, mut kept, mut len) = (0, 0, 0, stat.len);
        while pos < stat.len {
            let (start, end) = match stat.sparse {
                false => (0, stat.len),
                true => match sys::next_data(from.file, pos, stat.len).map_err(from.blame)? {
                    Some((start, end)) => (start.min(stat.len), end.min(stat.len)),
                    None => (stat.len, stat.len),
                },
            };
            self.digest_zeros(start - pos);
            if was_begun {
                self.make_zero(target, pos, start)?;
            }
            pos = start;
            if is_equal {
                let equal = self.equal_from(from, target, pos, end)?;
                (pos, copied, kept) = (pos + equal, copied + equal, kept + equal);
                is_equal = pos == end;
            }
            if pos < end {
                sys::seek(from.file, pos).map_err(from.blame)?;
                sys::seek(&target.file, pos).map_err(Stop::Write)?;
                // Not more: the seal is behind that.
                let range = self.copy_range(from, target, end - pos, end - pos)?;
                copied += range;
                pos += range;
                if pos < end {
                    len = pos; // It ends before the length that it says.
                    break;
                }
            }
        }
        if self.durable.as_ref().is_some_and(|durable| durable.asks_for(&at.folder, true)) {
            // The long part of the sync, while the file still can be gone on with.
            sys::sync_handle(&target.file).map_err(Stop::Write)?;
        }
        self.unseal(at, target, len)?;
        // It may be longer than it says.
        sys::seek(from.file, len).map_err(from.blame)?;
        sys::seek(&target.file, len).map_err(Stop::Write)?;
        let more = self.copy_range(from, target, u64::MAX, u64::MAX)?;
        self.counts.resumed += u64::from(kept > 0);
        self.counts.resumed_bytes += kept;
        Ok((copied + more, len + more))
    }

    /// The name goes first: a file of that name always has a seal.
    fn unseal(&mut self, at: &OpenFolder, target: &mut Target, len: u64) -> Result<(), Stop> {
        let Placement::Beside { temporary, .. } = &mut target.placement else { return Ok(()) };
        target.partial = None;
        let sealed = std::mem::replace(temporary, self.shared.temporaries.name());
        let rename = || {
            if at.dir.stat(&sealed)?.identity != sys::stat(&target.file)?.identity {
                return Err(io::Error::other("another program has taken its temporary name; copy it again"));
            }
            at.dir.move_to(&sealed, &at.dir, temporary)?;
            sys::set_len(&target.file, len)
        };
        rename().map_err(Stop::Write)
    }

    /// How many bytes from `start` on, up to `end` at most, are the source's. What is a hole in the target is taken to
    /// have not arrived.
    fn equal_from(&mut self, from: &From<'_>, target: &Target, start: u64, end: u64) -> Result<u64, Stop> {
        if self.buffer.is_empty() {
            self.buffer = vec![0; BUFFER];
        }
        let mut at = start;
        let there = match sys::next_data(&target.file, start, end) {
            Ok(Some((data, there))) if data <= start => there.min(end),
            // What cannot be read is written.
            _ => return Ok(0),
        };
        sys::seek(from.file, start).map_err(from.blame)?;
        if sys::seek(&target.file, start).is_err() {
            return Ok(0);
        }
        while at < there {
            self.between_pieces()?;
            let (theirs, ours) = self.buffer.split_at_mut(BUFFER / 2);
            let piece = usize::try_from(there - at).unwrap_or(usize::MAX).min(BUFFER / 2);
            let read = read_full(from.file, &mut theirs[..piece]).map_err(from.blame)?;
            if read < piece
                || !read_full(&target.file, &mut ours[..piece]).is_ok_and(|has| has == piece)
                || theirs[..piece] != ours[..piece]
            {
                break;
            }
            if let Some(digest) = &mut self.digest {
                digest.update(&theirs[..piece]);
            }
            at += piece as u64;
            self.wrote(piece);
        }
        Ok(at - start)
    }

    /// Where the source has a hole, nothing that is there may show.
    fn make_zero(&mut self, target: &mut Target, mut at: u64, end: u64) -> Result<(), Stop> {
        if self.buffer.is_empty() {
            self.buffer = vec![0; BUFFER];
        }
        while at < end
            && let Some((start, stop)) = sys::next_data(&target.file, at, end).map_err(Stop::Write)?
            && start < end
        {
            at = start;
            while at < stop.min(end) {
                self.between_pieces()?;
                let piece = usize::try_from(stop.min(end) - at).unwrap_or(usize::MAX).min(BUFFER);
                sys::seek(&target.file, at).map_err(Stop::Write)?;
                let is_zero = read_full(&target.file, &mut self.buffer[..piece])
                    .is_ok_and(|has| has == piece && self.buffer[..piece].iter().all(|byte| *byte == 0));
                if !is_zero {
                    self.buffer[..piece].fill(0);
                    sys::seek(&target.file, at).map_err(Stop::Write)?;
                    write_all(&target.file, &self.buffer[..piece]).map_err(Stop::Write)?;
                }
                at += piece as u64;
            }
        }
        Ok(())
    }
}

/// Says that the failure of a file leaves what can be gone on with.
pub(super) fn stays(cause: io::Error) -> io::Error {
    explained(cause, "what has arrived of it stays, and a copy with resume goes on from there")
}

fn write_all(file: &Handle, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match sys::write(file, bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => bytes = &bytes[written..],
        }
    }
    Ok(())
}
