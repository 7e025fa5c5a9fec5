//! [`Role`]: work that one thread does for all.

use crate::Operation;
use crate::appender::commit::group::Group;

impl Group {
    /// If the thread that has the role panics, everything fails: no other thread would ever do its work. The role must
    /// not be dropped under the lock of [`State`], so the caller's work is in a function of its own.
    pub(in crate::appender) fn takes_role(&self, operation: Operation) -> Role<'_> {
        Role { group: self, operation, ended_well: false }
    }
}

/// A role that a thread has. See [`Group::takes_role`].
pub(in crate::appender) struct Role<'a> {
    group: &'a Group,
    operation: Operation,
    ended_well: bool,
}

impl Role<'_> {
    pub(in crate::appender) fn ends_well(mut self) {
        self.ended_well = true;
    }
}

impl Drop for Role<'_> {
    fn drop(&mut self) {
        if self.ended_well {
            return;
        }
        let cause = std::io::Error::other("the thread that did this for all has panicked");
        let error = self.group.with_files(|files| files.error(self.operation, cause));
        let mut state = self.group.lock();
        state.progress.fails(error);
        if self.operation == Operation::Write {
            state.writing = false;
        } else {
            (state.leading, state.reserved, state.gathering.sleeping) = (false, false, false);
        }
        drop(state);
        self.group.wake_everybody();
    }
}
