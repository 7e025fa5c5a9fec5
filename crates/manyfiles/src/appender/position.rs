//! [`Position`]: a place in a log.

/// A place between records in a framed log: where a record begins, or where the next one will. Later ones are greater,
/// and a place stays what it is however the log is rotated, opened again or shortened at its beginning.
///
/// As a number it can be kept elsewhere, in a checkpoint say. Only those mean something that came from the same log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position(pub u64);
