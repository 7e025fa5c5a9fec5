//! Records read back, once or as they come.

pub(in crate::appender) mod current;
pub(in crate::appender) mod files;
pub(in crate::appender) mod follow;
pub(in crate::appender) mod following;
pub(in crate::appender) mod last;
pub(in crate::appender) mod records;
