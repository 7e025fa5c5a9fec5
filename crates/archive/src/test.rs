//! [`Finding`] and [`Tested`]: what a test of an archive has found.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::{ErrorKind, Position, Result};
use crate::format::Format;

/// One thing that is wrong with an archive. Its text is a sentence for its user: where, in which entry, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The entry, if it is one entry that is wrong: its path in the archive.
    pub entry: Option<PathBuf>,
    /// Where it was noticed; the damage may begin somewhat earlier.
    pub at: Option<Position>,
    /// What is wrong.
    pub cause: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = self.at {
            write!(f, "{at}: ")?;
        }
        if let Some(entry) = &self.entry {
            write!(f, "{}: ", entry.display())?;
        }
        f.write_str(&self.cause)
    }
}

/// What is left of an archive that was tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tested {
    /// What it is.
    pub format: Format,
    /// Entries that were found.
    pub entries: u64,
    /// Bytes of content that were decoded.
    pub bytes: u64,
    /// The entries of these that [`unpack`](crate::Unpacker::unpack) gets: for a tar those before the first damage, for
    /// a zip those whose checksum is right.
    pub intact: u64,
    /// The bytes of their content.
    pub intact_bytes: u64,
    /// Whether the compressed data of a tar is damaged, or was made without checksums. A checksum comes behind the
    /// content of many entries, so the intact entries are what was decoded, and may have wrong bytes.
    pub unproven: bool,
    /// How many things are wrong. 0: the archive is sound.
    pub findings: u64,
}

impl Tested {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.findings == 0
    }
}

/// A test that is being made.
pub(crate) struct Test<'a> {
    tell: &'a mut (dyn FnMut(&Finding) + Send),
    pub entries: u64,
    pub bytes: u64,
    pub intact: u64,
    pub intact_bytes: u64,
    pub findings: u64,
    /// Whether there was damage at which unpacking ends.
    pub is_damaged: bool,
    /// Whether damage was noticed in the bytes of the archive itself, not in a tar that it holds compressed.
    is_outside: bool,
    /// Whether compressed data had no checksum that could be compared.
    pub is_unchecked: bool,
    /// The path of the last entry, while an entry is read.
    pub current: Option<PathBuf>,
}

impl<'a> Test<'a> {
    pub(crate) fn new(tell: &'a mut (dyn FnMut(&Finding) + Send)) -> Test<'a> {
        Test {
            tell,
            entries: 0,
            bytes: 0,
            intact: 0,
            intact_bytes: 0,
            findings: 0,
            is_damaged: false,
            is_outside: false,
            is_unchecked: false,
            current: None,
        }
    }

    /// Tells what is wrong.
    pub(crate) fn tell(&mut self, entry: Option<&Path>, at: Option<Position>, cause: impl Into<String>) {
        self.findings += 1;
        (self.tell)(&Finding { entry: entry.map(Path::to_path_buf), at, cause: cause.into() });
    }

    /// Tells damage, of the current entry if there is one. Any other error ends the test.
    pub(crate) fn damage(&mut self, kind: ErrorKind) -> Result<(), ErrorKind> {
        match kind {
            ErrorKind::Damaged { at, cause, .. } => {
                let current = self.current.take();
                self.is_damaged = true;
                self.is_outside |= matches!(at, Position::Archive(_));
                self.tell(current.as_deref(), Some(at), cause);
                Ok(())
            }
            other => Err(other),
        }
    }

    /// An entry was found, and so many bytes of its content were decoded.
    pub(crate) fn entry(&mut self, bytes: u64, is_intact: bool) {
        self.entries += 1;
        self.bytes += bytes;
        if is_intact {
            self.intact += 1;
            self.intact_bytes += bytes;
        }
    }

    pub(crate) fn done(&self, format: Format) -> Tested {
        let &Test { entries, bytes, intact, intact_bytes, findings, is_outside, is_unchecked, .. } = self;
        let unproven = (is_outside || is_unchecked) && format.is_packed();
        Tested { format, entries, bytes, intact, intact_bytes, unproven, findings }
    }
}
