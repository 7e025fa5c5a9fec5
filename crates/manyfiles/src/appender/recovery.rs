//! [`Recovery`]: what opening found.

use crate::appender::care::repair::Repaired;

/// What opening found in a framed file: nothing without framing, and for a new file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// Whole records in the file. (Where files are rotated: in the last one.)
    pub records: u64,
    /// How many bytes are behind them that are none: what a crash left of records that were not acknowledged as
    /// durable. They stay in their file, set aside, and appending goes on in the next one.
    pub torn_bytes: u64,
    /// What was mended at the end of the log, if that was [asked for](super::OnDamage::SetAside) and there was
    /// something.
    pub set_aside: Vec<Repaired>,
}
