//! Hard links, each where it stands in the order of its two names.

use std::io;

use super::folders::OpenFolder;
use super::job::{Job, Link, Work};
use super::lane::Lane;
use super::lock::lock;
use super::outcome::Astray;
use super::placement::Opened;
use crate::{Error, Operation, Result};

impl Lane {
    /// Makes the link. Where that cannot be and there is something to write instead, opens the file for it.
    pub(super) fn make_link(&mut self, link: &Link) -> Result<Option<(OpenFolder, Opened)>> {
        let failed = match self.try_link(link) {
            Ok(()) => return Ok(None),
            Err(error) => error,
        };
        let Some((content, metadata)) = lock(&link.otherwise).take() else { return Err(failed) };
        // What becomes of a taken name is the policy's choice, not this one's.
        if failed.kind() == io::ErrorKind::AlreadyExists {
            return Err(failed);
        }
        let at = self.folder(&link.to)?;
        let opened = self.begin(&at, Job::new(&link.name, Work::File { content, metadata }))?;
        Ok(opened.map(|opened| (at, opened)))
    }

    fn try_link(&mut self, link: &Link) -> Result<()> {
        let Link { to, name, from, existing, .. } = link;
        let failed = |cause: Error| cause.of(Operation::HardLink, to.join(name));
        let existing = match self.shared.outcome.astray(from, existing) {
            None => existing.clone(),
            Some(Astray::Renamed(other)) => other,
            Some(Astray::Failed) => {
                let why = "the file that it is a link to was not written";
                let why = io::Error::new(io::ErrorKind::NotFound, why);
                return Err(failed(Error::new(Operation::Open, from.join(existing), why)));
            }
        };
        // A folder that is missing is not made for a link's sake.
        self.is_there(from).map_err(failed)?;
        let at = self.folder(to).map_err(failed)?;
        if to.id == from.id && *name == existing && at.dir.stat(name).is_ok() {
            self.counts.skipped += 1; // Both names are one, whatever the policy.
            return Ok(());
        }
        let renamed = self.shared.outcome.renamed_before(to, name);
        let name = renamed.as_deref().unwrap_or(name);
        let work = Work::HardLink { folder: from.clone(), existing };
        let made = self.begin(&at, Job::new(name, work)).map(|_| ());
        made.map_err(|error| match error.raw_os_error() {
            // The other name is missing: the folder of this name is open.
            Some(number) if error.kind() == io::ErrorKind::NotFound => {
                failed(Error::new(Operation::Open, from.join(&link.existing), io::Error::from_raw_os_error(number)))
            }
            _ => error,
        })
    }
}
