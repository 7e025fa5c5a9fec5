//! What this process may not do, asked before it is tried. Here nothing is known to be forbidden: access control lists
//! are evaluated by the call itself.

use std::path::Path;

pub(crate) fn may_not_open(_path: &Path, _reads: bool, _writes: bool) -> bool {
    false
}

pub(crate) fn may_not_change_entries(_folder: &Path) -> bool {
    false
}

pub(crate) fn may_not_remove(_path: &Path, _folder: &Path) -> bool {
    false
}

pub(crate) fn may_not_set_permissions(_path: &Path) -> bool {
    false
}
