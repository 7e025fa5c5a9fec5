//! Which process left something behind, and whether it still runs.

/// A process, told from all that ever ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) started: u64,
    /// Zero: what one process says of itself is not compared with what others are.
    pub(crate) world: u64,
}

/// This process. In place of the time it started, a number that hardly any other has.
pub(crate) fn own_process() -> Process {
    use std::hash::{BuildHasher, Hasher};
    let started = std::collections::hash_map::RandomState::new().build_hasher().finish();
    Process { id: std::process::id(), started, world: 0 }
}

/// Not found out here, so that it does.
pub(crate) fn is_running(_id: u32, _started: u64) -> bool {
    true
}
