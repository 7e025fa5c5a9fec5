//! `--dry-run`: what would be done, entry by entry. The plan only looks, and writes nothing.
//!
//! [`Plan`] takes entries as the tree would, and remembers its decision on each. So it is right about two entries of
//! one name, and about a file through a link that the same archive makes. [`dry_run`] lists the plan.
//!
//! Errors that only the run can find (a full disk, a missing permission) are not foreseen.

mod plan;
mod tell;

pub(crate) use plan::{Entry, Is, Kind, Plan};
pub(crate) use tell::dry_run;
