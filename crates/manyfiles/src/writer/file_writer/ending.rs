//! Closing, by whatever way.

use std::fs::File;

use super::FileWriter;
use crate::close::{self, Closer};
use crate::writer::target::Target;
use crate::writer::{Written, error, not_a_file};
use crate::{Operation, Result};

impl FileWriter {
    /// Writes what is buffered, syncs if the policy says so, and closes. When this returns `Ok` every byte is
    /// *written*, and nothing that the operating system could tell was left untold.
    pub fn close(mut self) -> Result<Written> {
        self.close_now()
    }

    /// What [`close`](FileWriter::close) does, and all that a drop has to do after it.
    pub(crate) fn close_now(&mut self) -> Result<Written> {
        let finished = self.finish();
        let Some(target) = self.core.take_target() else { return finished.map(|()| self.so_far()) };
        match finished {
            Ok(()) => {
                let closed = self.core.begin().and_then(|()| target.close());
                self.core.end(closed).map(|()| self.so_far())
            }
            Err(error) => {
                // What its close may say on top of that is kept like a dropped writer's.
                target.hand_to(self.closer());
                Err(error)
            }
        }
    }

    /// Closes unless that was done, and returns an error that no call has returned yet.
    pub(crate) fn close_untold(&mut self) -> Option<crate::Error> {
        if self.core.is_gone() {
            return None;
        }
        let told = self.core.has_told_failure();
        self.close_now().err().filter(|_| !told)
    }

    /// Lets go of the file, and writes nothing: in a forked child what is buffered is the other process's.
    pub(crate) fn leave(&mut self) {
        drop(self.core.take_target());
    }

    /// The file, when all that was taken is *written*; synced, if the policy says so at the end. The handle's own
    /// position means nothing. The caller closes the file.
    ///
    /// # Errors
    /// of writing and syncing: the file is closed then. `Unsupported` in a writer [over something that is no
    /// file](FileWriter::from_writer), which is then dropped.
    pub fn into_file(mut self) -> Result<File> {
        self.finish()?;
        let file = self.core.take_target().and_then(Target::into_file);
        file.ok_or_else(|| error(Operation::Write, self.path.as_deref(), not_a_file()))
    }

    /// All that comes before the close. What was reserved and is not needed is given back even if the writing failed.
    fn finish(&mut self) -> Result<()> {
        let written = self.attempt(|writer| writer.core.write_out());
        let given_back = self.core.with_target(Target::give_back).map(drop);
        written?;
        self.attempt(|writer| {
            given_back?;
            if writer.policy.syncs_at_the_end() {
                writer.core.start_sync()?;
                writer.note_sync();
            }
            Ok(())
        })
    }

    fn closer(&self) -> &Closer {
        self.closer.as_deref().unwrap_or_else(|| close::global())
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        if self.core.is_gone() {
            return;
        }
        // In a forked child no thread would answer. Its parent has the file, and writes what was on its way.
        if self.core.is_a_copy() {
            return self.leave();
        }
        let told = self.core.has_told_failure();
        if let Err(error) = self.finish()
            && !told
        {
            self.closer().keep(error);
        }
        if let Some(target) = self.core.take_target() {
            target.hand_to(self.closer());
        }
    }
}
