//! The failures that a wait brings back.

use std::fmt;

use crate::Error;

/// Every close that failed since somebody last asked; never empty.
///
/// Each [`Error`] has the operation ([`Close`](crate::Operation::Close)), the path if it was given, and the number that
/// the operating system gave, in [`raw_os_error`](Error::raw_os_error). A panic in a handle's drop is one of them,
/// without such a number.
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
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CloseErrors {
    errors: Vec<Error>,
}

impl CloseErrors {
    /// `Err` with the errors, if there are any.
    pub(super) fn check(errors: Vec<Error>) -> Result<(), CloseErrors> {
        if errors.is_empty() { Ok(()) } else { Err(CloseErrors { errors }) }
    }

    /// The errors, in the order in which the closes returned.
    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.errors.iter()
    }

    /// How many there are: at least one.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.errors.len()
    }
}

impl fmt::Display for CloseErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.errors[..] {
            [error] => write!(f, "{error}"),
            errors => write!(f, "{} files could not be closed; the first error: {}", errors.len(), errors[0]),
        }
    }
}

impl std::error::Error for CloseErrors {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.errors.first().and_then(|first| std::error::Error::source(first))
    }
}

impl IntoIterator for CloseErrors {
    type Item = Error;
    type IntoIter = std::vec::IntoIter<Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.errors.into_iter()
    }
}

impl<'a> IntoIterator for &'a CloseErrors {
    type Item = &'a Error;
    type IntoIter = std::slice::Iter<'a, Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
