/// Why two files cannot share what they were to share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unable {
    /// These two cannot; others of the same file systems may.
    These,
    /// No two files of these file systems can.
    All,
}
