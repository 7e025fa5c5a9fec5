//! [`Work`]: `unpack` and `copy` read entries and write them below one folder.

use crate::dry_run::Plan;
use crate::job::Job;
use crate::read::Read;
use crate::session::Session;

/// A job that can be done.
pub(crate) trait Work: Job {
    /// Reads all inputs and hands their entries to the session's tree.
    fn write(&self, session: &Session) -> Read;

    /// Reads all inputs and adds their entries to the plan.
    fn list(&self, plan: &mut Plan) -> Read;
}
