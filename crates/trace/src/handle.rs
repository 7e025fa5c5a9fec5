//! [`Handle`]: finds the sums of a file, a folder or a thread without a look-up by name.

/// Finds a thing without a look-up. Stale once the ranking has let things go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    pub epoch: u32,
    pub slot: u32,
}

impl Default for Handle {
    /// Of nothing.
    fn default() -> Handle {
        Handle { epoch: u32::MAX, slot: u32::MAX }
    }
}

/// Where the sums of a file and of its folder are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileHandles {
    pub file: Handle,
    pub folder: Handle,
}
