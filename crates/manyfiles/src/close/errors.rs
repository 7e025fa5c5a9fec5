//! The failures that a wait brings back.

use std::{fmt, io};

use crate::Error;

/// Every close that failed since somebody last asked; never empty.
///
/// Each [`Error`] has the operation ([`Close`](crate::Operation::Close)), the path if it was given, and the number that
/// the operating system gave, in [`raw_os_error`](Error::raw_os_error). A panic in a handle's drop is one of them,
/// without such a number.
///
/// A closer keeps the first 1,000 failures whole; of those that come after them, until somebody asks, it keeps the count
/// ([`omitted`](CloseErrors::omitted)).
///
/// ```
/// # use manyfiles::close::Closer;
/// let closer = Closer::new();
/// closer.close_at(std::fs::File::open("Cargo.toml")?, "Cargo.toml");
/// if let Err(errors) = closer.wait() {
///     for error in &errors {
///         eprintln!("{error}: what was written to it may not have arrived");
///     }
///     return Err(errors.into());
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CloseErrors {
    kept: Kept,
}

/// So many failures are kept: enough for any report that somebody reads, and some 200 KB of memory.
const MOST: usize = 1_000;

/// Failures that nobody has taken yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    errors: Vec<Error>,
    omitted: u64,
}

impl Kept {
    pub(super) fn add(&mut self, error: Error) {
        if self.errors.len() < MOST {
            self.errors.push(error);
        } else {
            self.omitted += 1;
        }
    }

    /// `Err` with the failures, if there are any.
    pub(super) fn check(self) -> Result<(), CloseErrors> {
        if self.errors.is_empty() { Ok(()) } else { Err(CloseErrors { kept: self }) }
    }

    /// Says on standard error what nobody took. Better there than nowhere.
    pub(super) fn print(&self) {
        crate::error::print_last_resort(&self.errors);
        if self.omitted > 0 {
            crate::error::print_last_resort_line(format_args!("{} more files could not be closed", self.omitted));
        }
    }
}

impl CloseErrors {
    /// The errors that were kept, in the order in which the closes returned.
    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.kept.errors.iter()
    }

    /// How many closes failed, with those that were [omitted](CloseErrors::omitted): at least one.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.kept.errors.len() + usize::try_from(self.kept.omitted).unwrap_or(usize::MAX)
    }

    /// How many closes failed beyond the 1,000 whose errors are kept.
    pub fn omitted(&self) -> u64 {
        self.kept.omitted
    }

    pub(super) fn print(&self) {
        self.kept.print();
    }
}

impl fmt::Display for CloseErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kept.errors[..] {
            [error] => write!(f, "{error}"),
            errors => write!(f, "{} files could not be closed; the first error: {}", self.len(), errors[0]),
        }
    }
}

impl std::error::Error for CloseErrors {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.kept.errors.first().and_then(|first| std::error::Error::source(first))
    }
}

impl From<CloseErrors> for io::Error {
    /// Has the kind of the first error, and carries all of them: [`io::Error::get_ref`] finds them.
    fn from(errors: CloseErrors) -> io::Error {
        let kind = errors.kept.errors.first().map_or(io::ErrorKind::Other, Error::kind);
        io::Error::new(kind, errors)
    }
}

impl IntoIterator for CloseErrors {
    type Item = Error;
    type IntoIter = std::vec::IntoIter<Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.kept.errors.into_iter()
    }
}

impl<'a> IntoIterator for &'a CloseErrors {
    type Item = &'a Error;
    type IntoIter = std::slice::Iter<'a, Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
