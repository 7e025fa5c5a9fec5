//! Group commit: what is buffered, which thread writes and syncs it, and what the other threads wait for.

pub(in crate::appender) mod batch;
pub(in crate::appender) mod flushing;
pub(in crate::appender) mod group;
pub(in crate::appender) mod progress;
pub(in crate::appender) mod role;
pub(in crate::appender) mod state;
pub(in crate::appender) mod wakers;
pub(in crate::appender) mod writing;
