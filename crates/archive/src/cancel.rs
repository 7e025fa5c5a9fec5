//! [`Cancel`]: whether the reading of an archive is to end early.

use manyfiles::tree::Canceller;

use crate::error::{ErrorKind, Result};

/// Notices that the user wants no more, wherever a loop may be long.
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
