//! [`HandOver`]: gives what the walk found to the archive.

use std::collections::HashMap;
use std::env::VarError;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use manyfiles::tree::{Keep, Metadata, Symlink};
use manyfiles::{Error, Operation, Result};
use manyfiles_archive::{ArchiveWriter, Format, SourceFile};

use super::ignored::Ignored;
use crate::args;
use crate::filter::Filter;
use crate::human::one_line;
use crate::stop::Stop;
use crate::sys::{self, FileId};
use crate::terminal::Screen;
use crate::walk::{Found, Version};

/// Turns entries into calls of the archive.
pub(super) struct HandOver<'a> {
    pub archive: &'a ArchiveWriter,
    pub args: &'a args::Pack,
    pub filter: &'a Filter,
    pub screen: Arc<Screen>,
    pub stop: &'a Stop,
    pub ignored: Option<Ignored>,
    /// What is written just now, and must not be packed.
    pub partial: Option<FileId>,
    /// The archive that is to be replaced, or standard output.
    pub replaced: Option<FileId>,
    /// With `--reproducible`: the time of all entries.
    pub time: Option<SystemTime>,
    /// What is kept beside permissions, times and owners.
    keep: Keep,
    pub report: Packed,
    acls: sys::Acls,
    /// Each file that has more names: its path in the archive, and what it was then.
    names: HashMap<FileId, (PathBuf, Version)>,
}

/// What the archive's report does not say.
#[derive(Default)]
pub(super) struct Packed {
    /// Sockets, which are not packed.
    pub sockets: Vec<PathBuf>,
    /// Entries that git ignores.
    pub ignored: u64,
}

impl<'a> HandOver<'a> {
    pub(super) fn new(
        archive: &'a ArchiveWriter,
        args: &'a args::Pack,
        filter: &'a Filter,
        screen: Arc<Screen>,
        stop: &'a Stop,
    ) -> HandOver<'a> {
        HandOver {
            archive,
            args,
            filter,
            screen,
            stop,
            ignored: args.gitignore.then(Ignored::new),
            partial: None,
            replaced: None,
            time: None,
            keep: args.keep(),
            report: Packed::default(),
            acls: sys::Acls::default(),
            names: HashMap::new(),
        }
    }

    /// Takes an entry of the walk, and says whether the walk is to look into it.
    pub(super) fn found(&mut self, found: Result<&Found>) -> ControlFlow<(), bool> {
        if self.stop.is_set() || self.archive.check().is_err() {
            return ControlFlow::Break(());
        }
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                self.archive.fail(error);
                return ControlFlow::Continue(true);
            }
        };
        if self.is_archive(found) {
            return ControlFlow::Continue(false);
        }
        if self.ignored.as_mut().is_some_and(|ignored| found.above.is_some() && ignored.has(found)) {
            self.report.ignored += 1;
            return ControlFlow::Continue(false);
        }
        if found.path != Path::new(".") {
            if !self.filter.selects(&*found.path) {
                return ControlFlow::Continue(!self.filter.excludes(&*found.path));
            }
            self.folders_above(found);
            self.show(found);
        }
        ControlFlow::Continue(true)
    }

    /// Whether it is the archive itself: the new one, or the one that it is to replace.
    fn is_archive(&mut self, found: &Found) -> bool {
        if !found.metadata.is_file() || (self.partial.is_none() && self.replaced.is_none()) {
            return false;
        }
        let Some(id) = sys::file_id(found.at(), &found.metadata) else { return false };
        if Some(id) == self.replaced && !self.args.quiet {
            self.screen.say(format_args!("{}: left out, because it is the archive itself", found.source.display()));
        }
        Some(id) == self.replaced || Some(id) == self.partial
    }

    /// Packs the folders on the way to a selected entry that are not selected themselves.
    fn folders_above(&mut self, found: &Found) {
        if let Some(folder) = found.above.as_ref().filter(|folder| !folder.is_done.get()) {
            self.folders_above(folder);
            if folder.path != Path::new(".") {
                self.show(folder);
            }
        }
    }

    fn show(&mut self, found: &Found) {
        found.is_done.set(true);
        if self.args.verbose >= 2 {
            self.screen.print(&format!("{}\n", one_line(&found.path.to_string_lossy())));
        }
        if sys::is_socket(&found.metadata) {
            return self.report.sockets.push(found.source.clone());
        }
        let kind = found.metadata.file_type();
        // A file's attributes are read when it is opened, by the threads.
        let metadata = match self.metadata(found) {
            metadata if kind.is_file() || self.keep == Keep::default() => metadata,
            metadata => {
                let kept = sys::reach(&found.source).and_then(|at| metadata.attributes_of(at.path(), self.keep));
                match kept {
                    Ok(metadata) => metadata,
                    Err(error) => return self.archive.fail(Error::new(Operation::Metadata, &found.source, error)),
                }
            }
        };
        let handed_over = match sys::node(&found.metadata) {
            Some(node) => self.archive.node(&found.path, node, metadata),
            None if kind.is_dir() => self.archive.folder(&found.path, metadata),
            None if kind.is_file() => self.file(found, metadata),
            None if kind.is_symlink() => self.symlink(found, metadata),
            None => {
                self.archive.fail(crate::copy::unwanted(found));
                Ok(())
            }
        };
        // The error is in the archive's report, or ends all at the next entry.
        drop(handed_over);
    }

    fn symlink(&self, found: &Found, metadata: Metadata) -> Result<()> {
        match sys::reach(found.at()).and_then(|reached| Symlink::read(reached.path())) {
            Ok(link) => self.archive.symlink(&found.path, link.target(), metadata),
            Err(error) => self.fail(found, error),
        }
    }

    fn file(&mut self, found: &Found, metadata: Metadata) -> Result<()> {
        let id = match self.archive.format() {
            Format::Zip => None, // each name has a file of its own
            // Copies of a folder have hard links or have none, by how they were made.
            _ if self.args.reproducible => None,
            _ => sys::file_id_and_names(found.at(), &found.metadata).filter(|&(_, names)| names > 1),
        };
        let version = Version::of(&found.metadata);
        match id.and_then(|(id, _)| self.names.get(&id)) {
            Some((first, packed)) if *packed == version => {
                return self.archive.hard_link(&found.path, first, metadata);
            }
            _ => {}
        }
        let source = match self.source(found) {
            Ok(source) => source.keep(self.keep),
            Err(error) => return self.fail(found, error),
        };
        match id {
            None => self.archive.file_from(&found.path, source, metadata),
            Some((id, _)) => {
                // Links are made only to what is in the archive.
                self.archive.file_opened(&found.path, source, metadata)?;
                self.names.insert(id, (found.path.clone(), version));
                Ok(())
            }
        }
    }

    fn source(&self, found: &Found) -> io::Result<SourceFile> {
        if !sys::is_too_long(&found.source) {
            return Ok(SourceFile::found(found.at(), found.metadata.clone()));
        }
        // No call takes the whole path.
        let file = File::open(sys::reach(found.at())?.path())?;
        let now = file.metadata()?;
        if sys::file_id(&found.source, &now) != sys::file_id(&found.source, &found.metadata) {
            return Err(io::Error::other("another file has its name since it was found"));
        }
        SourceFile::opened(file, &found.source).map_err(io::Error::from)
    }

    fn fail(&self, found: &Found, error: io::Error) -> Result<()> {
        self.archive.fail(Error::new(Operation::Read, &found.source, error));
        Ok(())
    }

    fn metadata(&mut self, found: &Found) -> Metadata {
        let of = &found.metadata;
        let mut metadata = Metadata::default();
        if let Some(time) = self.time {
            let may_all = if of.is_dir() || sys::mode(of) & 0o100 != 0 { 0o755 } else { 0o644 };
            metadata.mode = Some(if of.is_symlink() { 0o777 } else { may_all });
            metadata.modified = Some(time);
            metadata.owner = Some((0, 0));
            return metadata;
        }
        metadata.mode = Some(match () {
            () if of.is_symlink() => 0o777,
            // Beside the list itself these bits say what anybody in it may do at most.
            () if self.keep.keeps_attribute("system.posix_acl_access") => sys::mode(of),
            () => self.acls.mode(&found.source, of),
        });
        metadata.modified = of.modified().ok();
        metadata.owner = sys::owner(of);
        metadata
    }
}

/// The time that all entries have, with `--reproducible`.
pub(super) fn fixed_time() -> std::result::Result<SystemTime, String> {
    const YEAR_1980: u64 = 315_532_800;
    let seconds = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text
            .parse()
            .map_err(|_| format!("SOURCE_DATE_EPOCH is {text:?}; give it whole seconds since 1970, or unset it"))?,
        Err(VarError::NotPresent) => YEAR_1980,
        Err(VarError::NotUnicode(_)) => return Err("SOURCE_DATE_EPOCH is no number".into()),
    };
    SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_secs(seconds))
        .ok_or_else(|| format!("SOURCE_DATE_EPOCH is {seconds}, which is later than any date"))
}
