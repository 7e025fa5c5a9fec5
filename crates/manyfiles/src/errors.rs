//! Several failures in one.

use std::{fmt, io};

use crate::Error;

/// Several failures; never empty. Each [`Error`] has its operation, its path where that is known, and the system's
/// number in [`raw_os_error`](Error::raw_os_error) where the system gave one.
///
/// It is the one list of errors of this crate: of a closer, a batch, a `Vfs`.
///
/// A [`Closer`](crate::close::Closer) keeps 1,000 errors until they are asked for. Of the errors after these it keeps
/// the number only: [`omitted`](Errors::omitted).
///
/// `?` works in a function of [`io::Result`]. The `io::Error` has the kind of the first error and carries all of them.
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
pub struct Errors {
    collected: Collected,
}

impl Errors {
    /// `Err` with the errors, if there are any.
    #[cfg(any(unix, windows))]
    pub(crate) fn check(errors: Vec<Error>) -> Result<(), Errors> {
        Collected { errors, omitted: 0 }.check()
    }

    /// The errors that were kept, in the order in which they came.
    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.collected.errors.iter()
    }

    /// The number of failures, those that were [omitted](Errors::omitted) included: at least one.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.collected.errors.len().saturating_add(usize::try_from(self.collected.omitted).unwrap_or(usize::MAX))
    }

    /// The number of failures whose errors were not kept, because there were too many. [`iter`](Errors::iter) has the
    /// others.
    pub fn omitted(&self) -> u64 {
        self.collected.omitted
    }

    /// Writes every error to standard error, because nothing else took them.
    pub(crate) fn print(&self) {
        self.collected.print();
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.collected.errors[..] {
            [error] if self.collected.omitted == 0 => write!(f, "{error}"),
            errors => write!(f, "{} failures; the first: {}", self.len(), errors[0]),
        }
    }
}

impl std::error::Error for Errors {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.collected.errors.first().and_then(|first| std::error::Error::source(first))
    }
}

impl From<Errors> for io::Error {
    /// Has the kind of the first error, and carries all of them: [`io::Error::get_ref`] finds them.
    fn from(errors: Errors) -> io::Error {
        io::Error::new(errors.collected.errors[0].kind(), errors)
    }
}

impl IntoIterator for Errors {
    type Item = Error;
    type IntoIter = std::vec::IntoIter<Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.collected.errors.into_iter()
    }
}

impl<'a> IntoIterator for &'a Errors {
    type Item = &'a Error;
    type IntoIter = std::slice::Iter<'a, Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The most errors that are collected: enough for any report that is read, and some 200 KB of memory.
const MOST: usize = 1_000;

/// Failures that no caller has taken yet. May be empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collected {
    errors: Vec<Error>,
    /// Not zero only if `errors` has [`MOST`].
    omitted: u64,
}

impl Collected {
    pub(crate) fn add(&mut self, error: Error) {
        if self.errors.len() < MOST {
            self.errors.push(error);
        } else {
            self.omitted += 1;
        }
    }

    /// `Err` with the failures, if there are any.
    pub(crate) fn check(self) -> Result<(), Errors> {
        if self.errors.is_empty() { Ok(()) } else { Err(Errors { collected: self }) }
    }

    /// Writes every error to standard error, because nothing else took them.
    pub(crate) fn print(&self) {
        crate::error::print_last_resort(&self.errors);
        if self.omitted > 0 {
            crate::error::print_last_resort_line(format_args!(
                "{} more failures, of which only the number was kept",
                self.omitted
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;

    #[test]
    fn errors_beyond_the_bound_are_counted_and_told_in_every_form() {
        let mut collected = Collected::default();
        assert!(collected.clone().check().is_ok());
        for n in 0..MOST + 500 {
            collected.add(Error::new(Operation::Close, n.to_string(), io::ErrorKind::StorageFull.into()));
        }
        let errors = collected.check().unwrap_err();
        assert_eq!((errors.len(), errors.omitted(), errors.iter().len()), (MOST + 500, 500, MOST));
        assert!(errors.to_string().starts_with("1500 failures; the first: cannot close 0"), "{errors}");
        let io = io::Error::from(errors);
        assert_eq!(io.kind(), io::ErrorKind::StorageFull);
        let carried: &Errors = io.get_ref().unwrap().downcast_ref().unwrap();
        assert_eq!((carried.omitted(), carried.into_iter().len()), (500, MOST));
    }
}
