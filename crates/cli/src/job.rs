//! [`Job`]: the properties of `unpack` or `copy` that are known before it begins.

use std::path::Path;

use manyfiles::tree::Keep;

use crate::terminal::{AboutEntry, InputRead};
use crate::words::Words;

/// A job with arguments that have been checked, so that it can begin.
pub(crate) trait Job {
    /// What it is called.
    fn words(&self) -> Words;

    /// The folder that everything is written below.
    fn root(&self) -> &Path;

    /// Whether permissions are kept as they are, whatever the umask, if no option says so.
    fn keeps_permissions(&self) -> bool;

    /// What entries keep besides permissions and times, and what of that has to be kept.
    fn keep(&self) -> Keep {
        Keep::default()
    }

    /// Whether large files are written to be gone on with.
    fn resumes(&self) -> bool {
        false
    }

    /// Whether links to folders that were there are written through.
    fn follows_folder_links(&self) -> bool {
        false
    }

    /// Whether the last of several entries of one path stays, whatever is done with a file that was there before the
    /// run.
    fn last_wins(&self) -> bool;

    /// Tells how far the reading is, from any thread.
    fn input_read(&self) -> Box<dyn Fn() -> InputRead + Send>;

    /// Tells, from any thread, what is known of the entry that is to get a path below the root.
    fn about(&self) -> AboutEntry;
}
