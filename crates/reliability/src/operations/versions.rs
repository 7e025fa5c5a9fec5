//! What a name may have, as narrow as the promises are: a failure leaves the first bytes of what was on its way, and
//! never a gap.

use std::fmt::{self, Debug};
use std::path::Path;

use super::story::digest;

/// Bytes behind one another.
#[derive(Clone, PartialEq, Eq)]
enum Piece {
    All(Vec<u8>),
    /// Taken, and perhaps not with the system yet: if that fails, it is a [`Part`](Piece::Part).
    Buffered(Vec<u8>),
    /// The first of them, as many as got there.
    Part(Vec<u8>),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Piece::All(bytes) | Piece::Buffered(bytes) | Piece::Part(bytes) => bytes,
        }
    }
}

/// `None`: there is no file.
type Version = Option<Vec<Piece>>;

/// What may be found under a name: one of these. Empty: after too many failures anything.
#[derive(Clone)]
pub struct Versions(Vec<Version>);

/// More are not told apart.
const MOST: usize = 100;

impl Versions {
    pub fn nothing() -> Versions {
        Versions(vec![None])
    }

    pub fn is(bytes: Vec<u8>) -> Versions {
        Versions(vec![Some(vec![Piece::All(bytes)])])
    }

    /// A beginning of these.
    pub fn part_of(bytes: Vec<u8>) -> Versions {
        Versions(vec![Some(vec![Piece::Part(bytes)])])
    }

    /// A part of this file was copied: a beginning of it, unless nothing is known of it.
    pub fn beginning(&self) -> Versions {
        let parts = self.0.iter().flatten();
        Versions(parts.map(|pieces| Some(pieces.iter().map(|it| Piece::Part(it.bytes().to_vec())).collect())).collect())
    }

    /// It may also be as the other.
    pub fn or(mut self, other: Versions) -> Versions {
        let is_known = !self.0.is_empty() && !other.0.is_empty();
        for version in other.0 {
            if !self.0.contains(&version) {
                self.0.push(version);
            }
        }
        if is_known && self.0.len() <= MOST { self } else { Versions(Vec::new()) }
    }

    /// These bytes were added, which makes the file if there is none. They, and those before them, may be on their way.
    pub fn add(&mut self, bytes: &[u8], is_buffered: bool) {
        let piece = if is_buffered { Piece::Buffered(bytes.to_vec()) } else { Piece::All(bytes.to_vec()) };
        self.0.iter_mut().for_each(|version| version.get_or_insert_default().push(piece.clone()));
    }

    /// Nothing is on its way any more: all is there.
    pub fn arrive(&mut self) {
        self.change(Piece::All);
    }

    /// The same, but something has failed: a beginning of what was on its way is there.
    pub fn fail(&mut self) {
        self.change(Piece::Part);
    }

    fn change(&mut self, end: impl Fn(Vec<u8>) -> Piece) {
        for pieces in self.0.iter_mut().flatten() {
            let mut on_its_way = Vec::new();
            pieces.retain(|piece| match piece {
                Piece::Buffered(bytes) => {
                    on_its_way.extend_from_slice(bytes);
                    false
                }
                _ => true,
            });
            // What is buffered is always behind all else.
            if !on_its_way.is_empty() {
                pieces.push(end(on_its_way));
            }
        }
    }

    /// `None`: there may be a file or not.
    pub fn is_there(&self) -> Option<bool> {
        let first = self.0.first()?.is_some();
        self.0.iter().all(|version| version.is_some() == first).then_some(first)
    }

    fn allows(&self, found: Option<&[u8]>) -> bool {
        let fits = |version: &Version| match (version, found) {
            (Some(pieces), Some(found)) => fits(pieces, found),
            (None, None) => true,
            _ => false,
        };
        self.0.is_empty() || self.0.iter().any(fits)
    }

    /// A length that was told.
    pub fn allows_length(&self, len: u64) -> bool {
        let fits = |pieces: &Vec<Piece>| {
            let least: usize =
                pieces.iter().filter(|it| !matches!(it, Piece::Part(_))).map(|it| it.bytes().len()).sum();
            let most: usize = pieces.iter().map(|it| it.bytes().len()).sum();
            (least as u64..=most as u64).contains(&len)
        };
        self.0.is_empty() || self.0.iter().flatten().any(fits)
    }

    /// Bytes that were read, as a text of [`digest`]. Where more than one part may be cut, only the length is compared.
    pub fn allows_digest(&self, text: &str) -> bool {
        let Some(len) = text.split(' ').next().and_then(|len| len.parse::<usize>().ok()) else { return false };
        let fits = |pieces: &Vec<Piece>| {
            let most: usize = pieces.iter().map(|it| it.bytes().len()).sum();
            let parts = pieces.iter().filter(|it| matches!(it, Piece::Part(_)));
            let Some(missing) = most.checked_sub(len) else { return false };
            match parts.clone().count() {
                0 if missing > 0 => return false,
                0 | 1 => {}
                _ => return true,
            }
            if parts.clone().any(|part| part.bytes().len() < missing) {
                return false;
            }
            let whole = pieces.iter().flat_map(|piece| match piece {
                Piece::Part(bytes) => &bytes[..bytes.len() - missing],
                other => other.bytes(),
            });
            digest(&whole.copied().collect::<Vec<_>>()) == text
        };
        self.0.is_empty() || self.allows_length(len as u64) && self.0.iter().flatten().any(fits)
    }

    /// Says what is wrong with the file at `path`.
    pub fn compare(&self, path: &Path) -> Option<String> {
        let found = std::fs::read(path).ok();
        let shown = |bytes: Option<&[u8]>| bytes.map_or("no file".into(), digest);
        (!self.allows(found.as_deref()))
            .then(|| format!("{}: {} in place of {self:?}", path.display(), shown(found.as_deref())))
    }
}

/// Whether the bytes are these pieces. Random bytes differ at once where they differ, so that trying all lengths of a
/// part is cheap.
fn fits(pieces: &[Piece], found: &[u8]) -> bool {
    let Some((first, rest)) = pieces.split_first() else { return found.is_empty() };
    match first {
        Piece::All(bytes) | Piece::Buffered(bytes) => {
            found.strip_prefix(&**bytes).is_some_and(|found| fits(rest, found))
        }
        Piece::Part(bytes) => {
            let most = bytes.iter().zip(found).take_while(|(one, other)| one == other).count();
            (0..=most).rev().any(|len| fits(rest, &found[len..]))
        }
    }
}

impl Debug for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let piece = |piece: &Piece| match piece {
            Piece::All(bytes) => digest(bytes),
            Piece::Buffered(bytes) => format!("buffered {}", digest(bytes)),
            Piece::Part(bytes) => format!("a part of {}", digest(bytes)),
        };
        let shown = |version: &Version| match version {
            Some(pieces) => pieces.iter().map(piece).collect::<Vec<_>>().join(" + "),
            None => "no file".into(),
        };
        write!(f, "one of {:?}", self.0.iter().map(shown).collect::<Vec<_>>())
    }
}
