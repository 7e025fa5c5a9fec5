//! [`Cancel`]: whether the reading of an archive is to end early.

use manyfiles::tree::Canceller;

use crate::error::{ErrorKind, Result};

/// Asked in each loop that may be long: an error if the reading is to end.
#[derive(Clone, Default)]
pub(crate) struct Cancel(pub Option<Canceller>);

impl Cancel {
    pub(crate) fn check(&self) -> Result<(), ErrorKind> {
        match &self.0 {
            Some(canceller) if canceller.is_cancelled() => Err(ErrorKind::Cancelled),
            _ => Ok(()),
        }
    }
}
