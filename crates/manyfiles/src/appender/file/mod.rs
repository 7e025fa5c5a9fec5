//! The file that is written to: making it, locking it, finding it again.

pub(in crate::appender) mod calls;
pub(in crate::appender) mod files;
pub(in crate::appender) mod locking;
pub(in crate::appender) mod moved;
pub(in crate::appender) mod note;
pub(in crate::appender) mod temporary;
