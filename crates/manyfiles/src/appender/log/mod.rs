//! The files of a log, as they are read: names, frames, what is whole, what is damaged, and which file is the last.

pub(in crate::appender) mod common;
pub(in crate::appender) mod ending;
pub(in crate::appender) mod frame;
pub(in crate::appender) mod header;
pub(in crate::appender) mod losses;
pub(in crate::appender) mod opened;
pub(in crate::appender) mod packed;
pub(in crate::appender) mod scan;
pub(in crate::appender) mod search;
pub(in crate::appender) mod series;
