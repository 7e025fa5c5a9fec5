//! [`Done`]: the effect of a call, and its file.

use std::rc::Rc;

use super::table::Open;
use crate::call::Effect;

/// The effect of a call, and the file or path that it was about.
pub(super) struct Done {
    pub effect: Effect,
    pub file: Option<Rc<Open>>,
    pub path: Subject,
}

impl Done {
    pub(super) const NOTHING: Done = Done { effect: Effect::None, file: None, path: Subject::None };
}

/// Where its path is.
#[derive(Clone, Copy)]
pub(super) enum Subject {
    /// With the open file, if there is one.
    None,
    /// In `System::path`.
    Assembled,
}

impl Subject {
    pub(super) fn of(self, path: &[u8]) -> Option<&[u8]> {
        match self {
            Subject::None => None,
            Subject::Assembled => Some(path),
        }
    }
}
