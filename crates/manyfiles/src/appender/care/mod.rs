//! Checking and repairing a log.

pub(in crate::appender) mod check;
pub(in crate::appender) mod copy;
pub(in crate::appender) mod end;
pub(in crate::appender) mod leftovers;
pub(in crate::appender) mod plan;
pub(in crate::appender) mod repair;
