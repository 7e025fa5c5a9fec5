//! What kept a batch from being durable.

use std::fmt;

use crate::Error;

/// Every sync, close and rename of a [`SyncBatch`](super::SyncBatch) that failed; never empty. Each [`Error`] has its path; where a
/// whole file system was synced, that of the first file there.
#[derive(Clone, Debug)]
pub struct SyncErrors {
    errors: Vec<Error>,
}

impl SyncErrors {
    /// `Err` with the errors, if there are any.
    pub(super) fn check(errors: Vec<Error>) -> Result<(), SyncErrors> {
        if errors.is_empty() { Ok(()) } else { Err(SyncErrors { errors }) }
    }

    /// The errors, in the order in which they came.
    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.errors.iter()
    }

    /// How many there are: at least one.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.errors.len()
    }
}

impl fmt::Display for SyncErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.errors[..] {
            [error] => write!(f, "{error}"),
            errors => write!(f, "{} steps of making files durable failed; the first: {}", errors.len(), errors[0]),
        }
    }
}

impl std::error::Error for SyncErrors {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.errors.first().and_then(|first| std::error::Error::source(first))
    }
}

impl IntoIterator for SyncErrors {
    type Item = Error;
    type IntoIter = std::vec::IntoIter<Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.errors.into_iter()
    }
}

impl<'a> IntoIterator for &'a SyncErrors {
    type Item = &'a Error;
    type IntoIter = std::slice::Iter<'a, Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
