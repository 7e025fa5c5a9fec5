//! Several failures in one.

use std::fmt;

use crate::Error;

/// Failures of several files; never empty. Each [`Error`] names its operation and its path.
#[derive(Clone, Debug)]
pub struct Errors {
    errors: Vec<Error>,
}

impl Errors {
    /// `Err` with the errors, if there are any.
    pub(crate) fn check(errors: Vec<Error>) -> Result<(), Errors> {
        if errors.is_empty() { Ok(()) } else { Err(Errors { errors }) }
    }

    /// The errors, in the order in which they came.
    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.errors.iter()
    }

    /// The number of errors: at least one.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.errors.len()
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.errors[..] {
            [error] => write!(f, "{error}"),
            errors => write!(f, "{} failures; the first: {}", errors.len(), errors[0]),
        }
    }
}

impl std::error::Error for Errors {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.errors.first().and_then(|first| std::error::Error::source(first))
    }
}

impl IntoIterator for Errors {
    type Item = Error;
    type IntoIter = std::vec::IntoIter<Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.errors.into_iter()
    }
}

impl<'a> IntoIterator for &'a Errors {
    type Item = &'a Error;
    type IntoIter = std::slice::Iter<'a, Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
