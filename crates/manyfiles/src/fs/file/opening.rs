//! How a file comes to be open.

use std::io;
use std::path::Path;

use super::File;
use crate::close::{self, Access};
use crate::fs::open_options::OpenOptions;
use crate::fs::owner::Owner;
use crate::fs::pending::{cut_or_made, opened};

impl OpenOptions {
    /// Opens the file.
    ///
    /// # Errors
    /// As [`std::fs::OpenOptions::open`].
    pub fn open<P: AsRef<Path>>(&self, path: P) -> io::Result<File> {
        self.open_for(Owner::default(), path.as_ref())
    }

    pub(in crate::fs) fn open_for(&self, owner: Owner, path: &Path) -> io::Result<File> {
        let open = || self.options.open(path);
        let refused = || self.are_refused(path);
        // With `create_new` the system would take some options that it refuses without.
        let may_make = self.cuts && self.makes && !self.is_new && !close::nothing_pends() && !self.are_invalid();
        let file = match may_make {
            true => cut_or_made(path, refused, || self.options.clone().create_new(true).open(path), open),
            false => opened(path, self.is_new, refused, open),
        }?;
        let access = self.is_known.then_some(if self.writes { Access::Write } else { Access::Read });
        Ok(File::opened(file, path, owner, access, self.close_here))
    }
}
