//! The failures that closing a whole [`Vfs`](super::Vfs) brings back.

use std::fmt;

use crate::Error;

/// Files of a [`Vfs`](super::Vfs) of which not every byte arrived; never empty.
#[derive(Clone, Debug)]
pub struct VfsErrors {
    errors: Vec<Error>,
}

impl VfsErrors {
    /// `Err` with the errors, if there are any.
    pub(super) fn check(errors: Vec<Error>) -> Result<(), VfsErrors> {
        if errors.is_empty() { Ok(()) } else { Err(VfsErrors { errors }) }
    }

    /// The errors, one for each file.
    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.errors.iter()
    }

    /// How many there are: at least one.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.errors.len()
    }
}

impl fmt::Display for VfsErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.errors[..] {
            [error] => write!(f, "{error}"),
            errors => write!(f, "{} files are not complete; the first error: {}", errors.len(), errors[0]),
        }
    }
}

impl std::error::Error for VfsErrors {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.errors.first().and_then(|first| std::error::Error::source(first))
    }
}

impl IntoIterator for VfsErrors {
    type Item = Error;
    type IntoIter = std::vec::IntoIter<Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.errors.into_iter()
    }
}

impl<'a> IntoIterator for &'a VfsErrors {
    type Item = &'a Error;
    type IntoIter = std::slice::Iter<'a, Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
