//! `--dry-run`: what would be done, entry by entry, found out by looking alone.
//!
//! [`Plan`] takes entries as the tree would and keeps what it decided of each, so that two entries with one name, or a file
//! through a link that the same archive makes, come out as they will. [`dry_run`] lists the plan.
//!
//! What only trying can tell (a full disk, a missing permission) is not foreseen.

mod plan;
mod tell;

pub(crate) use plan::{Entry, Is, Kind, Plan};
pub(crate) use tell::dry_run;
