//! [`Handle`]: what finds the sums of a file, a folder or a thread again without a look at its name.

/// Finds a thing again without looking it up, until things are let go.
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
