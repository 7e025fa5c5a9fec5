//! The first half of an entry: its name. A file is opened, anything else is made; a name that is taken is dealt with here.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::job::{Folder, Job, Work};
use super::lane::{Lane, OpenFolder};
use super::name::Name;
use crate::sys::{self, Dir, EntryKind, Handle, Stat};
use crate::tree::content::{Content, Kind};
use crate::tree::{Answer, Metadata, OnConflict};
use crate::{Error, Operation, Result};

/// The permissions of a file for which none are given.
const FILE_MODE: u32 = 0o666;

/// A file that is open and has nothing of its content yet. Its folder is not in here: counting its users for each file, on two
/// processors in turns, takes 5 % of the time that a small file takes.
pub(in crate::tree) struct Opened {
    /// The name it is to have at the end.
    pub(super) name: Name,
    pub(super) content: Content,
    pub(super) metadata: Metadata,
    pub(super) target: Target,
    /// What it is to be a copy of.
    pub(super) source: Option<(Handle, Stat)>,
}

/// Where the content goes.
pub(super) struct Target {
    pub(super) file: Handle,
    /// What was there, and is being written over.
    pub(super) old: Option<Stat>,
    /// The name it has until it is complete, if that is another.
    pub(super) temporary: Option<OsString>,
}

impl Target {
    fn new_file(file: Handle) -> Target {
        Target { file, old: None, temporary: None }
    }
}

/// What is to happen where a name is taken.
enum Choice {
    Fail,
    Skip,
    Overwrite,
    OverwriteUnlessSame,
    Replace,
    Rename,
}

impl Opened {
    pub(super) fn error(&self, at: &OpenFolder, operation: Operation, cause: io::Error) -> Error {
        Error::new(operation, Lane::path_of(&at.folder, &self.name), cause)
    }
}

impl Lane {
    /// Does the first half of `job`. `None` if that was all.
    pub(super) fn begin(&mut self, at: &OpenFolder, job: Job) -> Result<Option<Opened>> {
        let OpenFolder { folder, dir } = at;
        let Job { name, work, .. } = job;
        let failed = |operation| {
            let path = Lane::path_of(folder, &name);
            move |cause| Error::new(operation, path, cause)
        };
        match work {
            Work::File { content, metadata } => return self.open(at, name, content, metadata),
            Work::MakeFolder => self.counts.folders += 1,
            Work::Symlink { target, metadata } => {
                let operation = Operation::Symlink;
                let Some(name) = self
                    .make_named(folder, dir, &name, metadata, |dir, name| dir.symlink(&target, name))
                    .map_err(failed(operation))?
                else {
                    return Ok(None);
                };
                self.set_link_metadata(dir, &name, metadata).map_err(failed(Operation::SetMetadata))?;
                self.counts.symlinks += 1;
            }
            Work::HardLink { folder: from, existing } => {
                let from = self.folder(&from)?;
                let made = self.make_named(folder, dir, &name, Metadata::default(), |dir, name| {
                    dir.hard_link(&from.dir, &existing, name)
                });
                if made.map_err(failed(Operation::HardLink))?.is_some() {
                    self.counts.hard_links += 1;
                }
            }
            Work::Node { node, metadata } => {
                let mode = self.masked_mode(metadata.mode.unwrap_or(FILE_MODE));
                let Some(name) = self
                    .make_named(folder, dir, &name, metadata, |dir, name| dir.make_node(name, node, mode))
                    .map_err(failed(Operation::CreateNode))?
                else {
                    return Ok(None);
                };
                self.set_link_metadata(dir, &name, metadata).map_err(failed(Operation::SetMetadata))?;
                self.counts.nodes += 1;
            }
            Work::FinishFolder { metadata } => {
                self.set_link_metadata(dir, &name, metadata).map_err(failed(Operation::SetMetadata))?;
            }
            Work::SyncFolder => {
                let path = if folder.parent.is_none() { Path::new(".") } else { &*folder.path };
                dir.sync().map_err(|cause| Error::new(Operation::Sync, path, cause))?;
            }
        }
        Ok(None)
    }

    fn set_link_metadata(&self, dir: &Dir, name: &OsStr, metadata: Metadata) -> io::Result<()> {
        if let Some(owner) = metadata.owner {
            dir.set_owner(name, owner)?;
        }
        if let Some(modified) = metadata.modified {
            dir.set_modified(name, modified)?;
        }
        Ok(())
    }

    /// `mode` less the umask, where this thread has none of its own that the system would apply.
    pub(super) fn masked_mode(&self, mode: u32) -> u32 {
        if self.no_umask { mode & !self.shared.masked() } else { mode }
    }

    fn open(
        &mut self,
        OpenFolder { folder, dir }: &OpenFolder,
        name: Name,
        content: Content,
        mut metadata: Metadata,
    ) -> Result<Option<Opened>> {
        let source = match &content.0 {
            Kind::CopyOf(path) => {
                let (file, stat) = self.open_source(path).map_err(|cause| {
                    Error::new(Operation::Open, &**path, cause).of(Operation::Create, Lane::path_of(folder, &name))
                })?;
                metadata.mode = metadata.mode.or(Some(stat.mode));
                metadata.modified = metadata.modified.or(Some(stat.modified));
                Some((file, stat))
            }
            _ => None,
        };
        // Set-id bits come last: a change of owner takes them away, and nobody is to run a file that is half there.
        let mode = self.masked_mode(metadata.mode.unwrap_or(FILE_MODE)) & 0o777;
        let same = |old: &Handle, stat: &Stat, lane: &mut Lane| lane.has_content(old, stat, &content, source.as_ref());
        let placed = self
            .take_name(folder, dir, &name, &metadata, mode, same)
            .map_err(|cause| Error::new(Operation::Create, Lane::path_of(folder, &name), cause))?;
        Ok(placed.map(|(target, other_name)| {
            let name = other_name.map_or(name, |other| Name::from(&*other));
            Opened { name, content, metadata, target, source }
        }))
    }

    fn open_source(&mut self, path: &Path) -> io::Result<(Handle, Stat)> {
        let file = self.retry_without_kept(|_| sys::open_source(path))?;
        let stat = sys::stat(&file)?;
        match stat.kind {
            EntryKind::File => Ok((file, stat)),
            EntryKind::Folder => Err(io::ErrorKind::IsADirectory.into()),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
        }
    }

    /// Opens `name`, or what is to become it; with another name if that is how the conflict was settled.
    fn take_name(
        &mut self,
        folder: &Folder,
        dir: &Dir,
        name: &OsStr,
        metadata: &Metadata,
        mode: u32,
        mut same: impl FnMut(&Handle, &Stat, &mut Lane) -> io::Result<bool>,
    ) -> io::Result<Option<(Target, Option<Box<OsStr>>)>> {
        // Twice, because what was in the way may be gone again when it is looked at.
        for attempt in 0.. {
            // Trees are mostly new or mostly there: what the last name was, this one will be.
            if !self.expect_taken || !self.in_place || attempt > 0 {
                match self.retry_without_kept(|_| dir.create_new(name, mode)) {
                    Ok(file) => {
                        self.expect_taken = false;
                        return Ok(Some((Target::new_file(file), None)));
                    }
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                    Err(error) => {
                        let choice = self.choose(folder, dir, name, metadata)?;
                        self.expect_taken = matches!(choice, Choice::Overwrite | Choice::OverwriteUnlessSame);
                        match choice {
                            Choice::Fail => return Err(error),
                            Choice::Skip => return self.skip().map(|()| None),
                            Choice::Rename => {
                                return self
                                    .free_name(folder, dir, name, |dir, name| dir.create_new(name, mode))
                                    .map(|(file, name)| Some((Target::new_file(file), Some(name))));
                            }
                            Choice::Replace => return self.replacement(dir, mode).map(|target| Some((target, None))),
                            Choice::Overwrite | Choice::OverwriteUnlessSame => {}
                        }
                    }
                }
            }
            match self.overwrite(dir, name, mode) {
                Ok(target) => {
                    if matches!(self.shared.options.on_conflict, OnConflict::SkipIdentical)
                        && let Some(old) = &target.old
                        && same(&target.file, old, self)?
                    {
                        self.set_metadata(&target, metadata)?;
                        sys::close(target.file)?;
                        return self.skip().map(|()| None);
                    }
                    return Ok(Some((target, None)));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound && attempt < 8 => self.expect_taken = false,
                Err(error) => return Err(error),
            }
        }
        unreachable!("the loop has no other end")
    }

    fn skip(&mut self) -> io::Result<()> {
        self.counts.skipped += 1;
        Ok(())
    }

    fn choose(&mut self, folder: &Folder, dir: &Dir, name: &OsStr, metadata: &Metadata) -> io::Result<Choice> {
        Ok(match &self.shared.options.on_conflict {
            OnConflict::Error => Choice::Fail,
            OnConflict::Skip => Choice::Skip,
            OnConflict::Overwrite | OnConflict::SkipIdentical if !self.in_place => Choice::Replace,
            OnConflict::Overwrite => Choice::Overwrite,
            OnConflict::SkipIdentical => Choice::OverwriteUnlessSame,
            OnConflict::Replace => Choice::Replace,
            OnConflict::Rename => Choice::Rename,
            OnConflict::Newer => match dir.stat(name) {
                Ok(old) if metadata.modified.is_some_and(|new| old.modified >= new) => Choice::Skip,
                Ok(_) => Choice::Replace,
                Err(error) if error.kind() == io::ErrorKind::NotFound => Choice::Replace,
                Err(error) => return Err(error),
            },
            OnConflict::Ask(_) => {
                let answer = self.shared.ask(Lane::path_of(folder, name));
                self.asked = true;
                match answer {
                    Answer::Error => Choice::Fail,
                    Answer::Skip => Choice::Skip,
                    Answer::Overwrite => Choice::Replace,
                    Answer::Rename => Choice::Rename,
                }
            }
        })
    }

    /// Opens what has the name, to be written over in place; where that would change something outside the tree, or cannot be
    /// done, a file that takes its place.
    fn overwrite(&mut self, dir: &Dir, name: &OsStr, mode: u32) -> io::Result<Target> {
        let file = match self.retry_without_kept(|_| dir.open_to_write(name)) {
            Ok(file) => file,
            Err(error) if sys::is_not_writable_in_place(&error) => return self.replacement(dir, mode),
            Err(error) => return Err(error),
        };
        let old = sys::stat(&file)?;
        match old.kind {
            EntryKind::File if old.links == 1 => Ok(Target { file, old: Some(old), temporary: None }),
            EntryKind::File => self.replacement(dir, mode),
            _ => Err(io::Error::new(io::ErrorKind::AlreadyExists, "what has this name is not a file")),
        }
    }

    /// A new file under a temporary name.
    fn replacement(&mut self, dir: &Dir, mode: u32) -> io::Result<Target> {
        loop {
            let name = temporary_name();
            match self.retry_without_kept(|_| dir.create_new(&name, mode)) {
                Ok(file) => return Ok(Target { file, old: None, temporary: Some(name) }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes something under the first of `name (1)`, `name (2)` … that is free.
    fn free_name<T>(
        &mut self,
        folder: &Folder,
        dir: &Dir,
        name: &OsStr,
        make: impl Fn(&Dir, &OsStr) -> io::Result<T>,
    ) -> io::Result<(T, Box<OsStr>)> {
        for number in 1_u32.. {
            let other = numbered(name, number);
            match self.retry_without_kept(|_| make(dir, &other)) {
                Ok(made) => {
                    let (from, to) = (Lane::path_of(folder, name), Lane::path_of(folder, &other));
                    self.shared.renamed(from, to);
                    return Ok((made, other.into()));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Makes what is no file: in one call, or under a temporary name where something is to be replaced. Returns the name it
    /// has, or `None` if it was skipped.
    fn make_named<'a>(
        &mut self,
        folder: &Folder,
        dir: &Dir,
        name: &'a OsStr,
        metadata: Metadata,
        make: impl Fn(&Dir, &OsStr) -> io::Result<()>,
    ) -> io::Result<Option<Cow<'a, OsStr>>> {
        let taken = match make(dir, name) {
            Ok(()) => return Ok(Some(Cow::Borrowed(name))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => error,
            Err(error) => return Err(error),
        };
        match self.choose(folder, dir, name, &metadata)? {
            Choice::Fail => Err(taken),
            Choice::Skip => self.skip().map(|()| None),
            Choice::Rename => self.free_name(folder, dir, name, make).map(|((), name)| Some(Cow::Owned(name.into()))),
            Choice::Overwrite | Choice::OverwriteUnlessSame | Choice::Replace => {
                let temporary = temporary_name();
                make(dir, &temporary)?;
                let renamed = dir.rename(&temporary, name);
                // It is still there if the rename failed, or if both names were links to one file already.
                match dir.remove(&temporary) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => renamed.and(Err(error)),
                    _ => renamed.map(|()| Some(Cow::Borrowed(name))),
                }
            }
        }
    }
}

/// A name that nothing has: this process's number and a count. Short, so that it fits wherever the final name does.
fn temporary_name() -> OsString {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!(".manyfiles-{:x}-{:x}", std::process::id(), COUNT.fetch_add(1, Relaxed)).into()
}

/// `name (1).ext` for `name.ext`.
fn numbered(name: &OsStr, number: u32) -> OsString {
    let path = Path::new(name);
    let mut numbered = path.file_stem().unwrap_or(name).to_owned();
    numbered.push(format!(" ({number})"));
    if let Some(extension) = path.extension() {
        numbered.push(".");
        numbered.push(extension);
    }
    numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_goes_before_the_extension() {
        for (name, expected) in
            [("a.txt", "a (2).txt"), ("a", "a (2)"), (".bashrc", ".bashrc (2)"), ("a.tar.gz", "a.tar (2).gz")]
        {
            assert_eq!(numbered(OsStr::new(name), 2), OsStr::new(expected));
        }
    }
}
