//! The first half of an entry: its name. A file is opened, anything else is made; a name that is taken is dealt with
//! here.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use super::access::mode_to_open;
use super::conflict::{Choice, Entry, Obstacle, answered, choose, is_same_file, numbered, same_file};
use super::folders::Folder;
use super::folders::OpenFolder;
use super::job::{Job, Work};
use super::lane::Lane;
use super::name::Name;
use super::partial::{Left, MODE, Partial, RESUME_FROM, left, partial_name};
use super::placement::{Opened, Placement, Target};
use crate::sys::{self, Dir, EntryKind, Handle, Keep, Stat, Things};
use crate::tree::content::{By, Content, Kind};
use crate::tree::{Metadata, OnConflict, Shares};
use crate::{Error, Operation, Result, temporary};

/// So often a name is looked at again if other programs change it meanwhile.
const MOST_ATTEMPTS: u32 = 8;

/// A file that is to get a name.
pub(super) struct Wanted<'a> {
    pub(super) content: &'a Content,
    pub(super) metadata: &'a Metadata,
    pub(super) source: Option<&'a (Handle, Stat)>,
}

/// How a conflict was settled.
enum Settled {
    Placed(Target),
    /// Under this name.
    Renamed(Target, Name),
    Skipped,
    /// The file that was in the way is gone, or is another one now.
    Changed,
}

impl Lane {
    /// Does the first half of `job`. `None` if the job has no second half.
    pub(super) fn begin(&mut self, at: &OpenFolder, job: Job) -> Result<Option<Opened>> {
        let Job { name, work, .. } = job;
        let OpenFolder { folder, dir } = at;
        self.shared.temporaries.note_entry(folder.id, &name);
        match work {
            Work::File { content, metadata } => return self.open(at, name, content, metadata),
            Work::MakeFolder => self.counts.folders += 1,
            Work::Symlink { link, metadata } => self.make_symlink(at, &name, &link, &metadata)?,
            Work::HardLink { folder: from, existing } => {
                let from = self.folder(&from)?;
                self.make_hard_link(at, &name, &from, &existing)?;
            }
            Work::Node { node, metadata } => self.make_node(at, &name, node, &metadata)?,
            Work::GiveName(unnamed) => self.give_name(at, &name, *unnamed)?,
            Work::Stray | Work::Reach(_) | Work::Link(_) => unreachable!("they are done before the folder is opened"),
            // Its metadata is that of a folder which is somewhere else.
            Work::FinishFolder { .. } if self.shared.is_followed(dir, &name) => {}
            Work::FinishFolder { metadata, was_there } => {
                let same = matches!(self.shared.options.on_conflict, OnConflict::SkipIdentical);
                let there = same.then(|| dir.stat(&name)).transpose().unwrap_or(None);
                let metadata = Metadata {
                    modified: metadata.modified.filter(|time| there.is_none_or(|there| there.modified != *time)),
                    owner: metadata.owner.filter(|owner| there.is_none_or(|there| there.owner != *owner)),
                    ..metadata
                };
                let keep = &self.shared.options.keep;
                let may_have_others = was_there || folder.has_default_permissions(dir);
                let lost = set_folder_metadata(dir, &name, &metadata, may_have_others, keep)
                    .map_err(|cause| Error::new(Operation::SetMetadata, folder.join(&name), cause))?;
                self.counts.lose(lost);
            }
            Work::SyncFolder => {
                dir.sync().map_err(|cause| Error::new(Operation::Sync, folder.shown(), cause))?;
            }
        }
        Ok(None)
    }

    fn open(
        &mut self,
        at: &OpenFolder,
        name: Name,
        content: Content,
        mut metadata: Metadata,
    ) -> Result<Option<Opened>> {
        let path = |name: &Name| at.folder.join(name);
        let source = match &content.0 {
            Kind::CopyOf(source) => {
                self.shares = Shares::Nothing;
                if source.may_be_shared() && self.try_to_share(at, &name, source, &metadata)? {
                    return Ok(None);
                }
                let (file, stat) = self
                    .open_source(source)
                    .map_err(|cause| Error::new(Operation::Open, source.path(), cause))
                    .map_err(|cause| cause.of(Operation::Create, path(&name)))?;
                metadata.mode = metadata.mode.or(Some(stat.mode));
                metadata.modified = metadata.modified.or(Some(stat.modified));
                let keep = self.shared.options.keep;
                if !keep.is_nothing() {
                    metadata = take_from(&file, &stat, metadata, keep)
                        .map_err(|cause| Error::new(Operation::Metadata, source.path(), cause))
                        .map_err(|cause| cause.of(Operation::Create, path(&name)))?;
                }
                Some((file, stat))
            }
            _ => None,
        };
        let wanted = Wanted { content: &content, metadata: &metadata, source: source.as_ref() };
        let placed = self.take_name(at, &name, &wanted);
        let (target, other_name) = match placed.map_err(|cause| Error::new(Operation::Create, path(&name), cause))? {
            Settled::Placed(target) => (target, None),
            Settled::Renamed(target, other_name) => (target, Some(other_name)),
            Settled::Skipped | Settled::Changed => return Ok(None),
        };
        let (name, asked) = match other_name {
            Some(other) => (other, Some(name)),
            None => (name, None),
        };
        let mut opened = Opened { name, content, metadata, target, asked, source };
        match self.prepare(at, &mut opened.target, &opened.metadata) {
            Ok(()) => Ok(Some(opened)),
            Err(cause) => {
                let error = opened.error(at, Operation::SetMetadata, cause);
                Err(self.take_away(at, opened, error))
            }
        }
    }

    pub(super) fn open_source(&mut self, source: &crate::tree::content::Source) -> io::Result<(Handle, Stat)> {
        let file = self.retry_without_kept(|_| source.open())?;
        let stat = sys::stat(&file)?;
        match stat.kind {
            EntryKind::File => Ok((file, stat)),
            EntryKind::Folder => Err(io::ErrorKind::IsADirectory.into()),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
        }
    }

    /// Opens `name`, or what is to become it; with another name if that is how the conflict was settled.
    fn take_name(&mut self, at: &OpenFolder, name: &Name, wanted: &Wanted<'_>) -> io::Result<Settled> {
        // More than once, because the file in the way may be gone, or another one, when it is looked at.
        for _ in 0..MOST_ATTEMPTS {
            // Most trees are either new or already there: this name is probably taken if the last one was.
            let expects_taken = std::mem::take(&mut self.expect_taken);
            if !expects_taken && self.may_resume(name, wanted) {
                match at.dir.stat(name) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        let mut target = self.resumable(at, name, None, wanted)?;
                        target.name_was_free = true;
                        return Ok(Settled::Placed(target));
                    }
                    Err(error) => return Err(error),
                    Ok(_) => {}
                }
            } else if !expects_taken {
                let mode = mode_to_open(wanted.metadata, None);
                match self.retry_without_kept(|_| at.dir.create_new(name, mode)) {
                    Ok(file) => return Ok(Settled::Placed(Target::new(file, Placement::New))),
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                    Err(_) => {}
                }
            }
            match self.settle_conflict(at, name, wanted)? {
                Settled::Changed => {}
                settled => return Ok(settled),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "another program makes and removes this name all the time"))
    }

    fn settle_conflict(&mut self, at: &OpenFolder, name: &Name, wanted: &Wanted<'_>) -> io::Result<Settled> {
        let policy = &self.shared.options.on_conflict;
        if !matches!(policy, OnConflict::Replace) {
            self.shared.temporaries.sweep(at.folder.id, &at.dir, None); // Replacing does it when it makes its first.
        }
        if matches!(policy, OnConflict::Skip) && !self.shared.outcome.is_written(&at.folder, name) {
            return self.skip();
        }
        // The other policies decide without a look at the file: for them a name has to be taken for sure.
        self.expect_taken = policy.looks_at_what_is_there();
        let there = match at.dir.stat(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.expect_taken = false;
                return Ok(Settled::Changed);
            }
            there => there?,
        };
        match self.choice(&at.folder, name, &there, Entry::File, wanted.metadata.modified) {
            Choice::Fail(obstacle) => Err(obstacle.error()),
            Choice::Skip => self.skip(),
            Choice::Rename => {
                let mode = mode_to_open(wanted.metadata, None);
                let (file, name) = self.free_name(&at.folder, &at.dir, name, |dir, name| dir.create_new(name, mode))?;
                Ok(Settled::Renamed(Target::new(file, Placement::New), name))
            }
            Choice::Compare if self.is_identical(at, name, wanted, &there)? => self.skip(),
            _ if is_same_file(&there, wanted.source.map(|(_, stat)| stat)) => {
                if self.may_stay_shared(wanted) {
                    return self.skip();
                }
                Err(same_file(wanted.content.source_path().unwrap_or(Path::new(""))))
            }
            Choice::Overwrite | Choice::Compare
                if self.in_place && may_be_in_place(&there, wanted) && !self.may_resume(name, wanted) =>
            {
                self.open_in_place(at, name, wanted, &there)
            }
            Choice::Overwrite | Choice::Compare | Choice::Replace | Choice::Ask => {
                self.replacement(at, name, &there, wanted).map(Settled::Placed)
            }
        }
    }

    /// What to do about the file that has the name. If the policy is to ask, the callback is asked here.
    pub(super) fn choice(
        &mut self,
        folder: &Folder,
        name: &OsStr,
        there: &Stat,
        entry: Entry,
        modified: Option<std::time::SystemTime>,
    ) -> Choice {
        let written_by_this_run = self.shared.outcome.is_written(folder, name);
        let policy = &self.shared.options.on_conflict;
        match choose(policy, there.kind, there.modified, entry, modified, written_by_this_run) {
            Choice::Ask => {
                let answer = self.shared.ask(folder.join(name));
                self.asked = true;
                answer.map_or(Choice::Fail(Obstacle::Unanswered), |answer| answered(answer, there.kind))
            }
            choice => choice,
        }
    }

    fn skip(&mut self) -> io::Result<Settled> {
        self.counts.skipped += 1;
        Ok(Settled::Skipped)
    }

    /// Whether what is there needs nothing: it has the bytes already, and has or was given the metadata.
    pub(super) fn is_identical(
        &mut self,
        at: &OpenFolder,
        name: &Name,
        wanted: &Wanted<'_>,
        there: &Stat,
    ) -> io::Result<bool> {
        // A stream is compared when it is complete.
        if there.kind != EntryKind::File || !self.in_place || !wanted.may_equal(there) {
            return Ok(false);
        }
        let file = match self.retry_without_kept(|_| at.dir.open_to_read(name)) {
            Ok(file) => file,
            Err(_) => return Ok(false), // It may be writable and not readable: the write tells then what is wrong.
        };
        let old = sys::stat(&file)?;
        Ok(old.kind == EntryKind::File
            && self.has_content((&file, &old), wanted.content, wanted.source)?
            && self.settle(at, &file, &old, wanted.metadata)?)
    }

    /// Opens what has the name, to be written over in place; where that cannot be done, a file that takes its place.
    fn open_in_place(
        &mut self,
        at: &OpenFolder,
        name: &Name,
        wanted: &Wanted<'_>,
        there: &Stat,
    ) -> io::Result<Settled> {
        let file = match self.retry_without_kept(|_| at.dir.open_to_write(name)) {
            Ok(file) => file,
            Err(error) if sys::is_not_writable_in_place(&error) => {
                return self.replacement(at, name, there, wanted).map(Settled::Placed);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.expect_taken = false;
                return Ok(Settled::Changed);
            }
            Err(error) => return Err(error),
        };
        // Another file may have the name by now, unless no other user may change names in the folder.
        let old = match at.folder.private.get_or_init(|| at.dir.is_private()) {
            true => *there,
            false => sys::stat(&file)?,
        };
        if old.identity == there.identity && may_be_in_place(&old, wanted) {
            return Ok(Settled::Placed(Target::new(file, Placement::InPlace(old))));
        }
        Ok(Settled::Changed)
    }

    /// A new file under a temporary name, that is to take the place of what is there.
    fn replacement(&mut self, at: &OpenFolder, name: &Name, there: &Stat, wanted: &Wanted<'_>) -> io::Result<Target> {
        let old = (there.kind == EntryKind::File).then_some(*there);
        if self.may_resume(name, wanted) {
            return self.resumable(at, name, old, wanted);
        }
        let mode = mode_to_open(wanted.metadata, old.as_ref());
        let (file, temporary) = self.make_temporary(at, |dir, name| dir.create_new(name, mode))?;
        Ok(Target::new(file, Placement::Beside { temporary, old }))
    }

    /// Whether it is worth being gone on with. Not under a name that is a temporary one itself: no later run has it.
    fn may_resume(&self, name: &Name, wanted: &Wanted<'_>) -> bool {
        let options = &self.shared.options;
        let is_copy = matches!(&wanted.content.0, Kind::CopyOf(source) if source.by == By::Copy);
        options.resume
            && !options.publish
            && is_copy
            && wanted.source.is_some_and(|(_, source)| source.len >= RESUME_FROM)
            && !temporary::looks_temporary(name)
    }

    /// What an earlier run has begun, or a new file that a later one may go on with.
    fn resumable(
        &mut self,
        at: &OpenFolder,
        name: &Name,
        old: Option<Stat>,
        wanted: &Wanted<'_>,
    ) -> io::Result<Target> {
        let partial = at.dir.identity().map(|folder| partial_name(folder, name))?;
        let left = match wanted.source {
            Some((_, source)) => left(&at.dir, &partial, source, wanted.metadata.owner),
            None => Left::Taken,
        };
        let partial = match left {
            Left::Ours(file) => {
                let mut target = Target::new(file, Placement::Beside { temporary: partial, old });
                target.partial = Some(Partial::Resumed);
                return Ok(target);
            }
            Left::Nothing => Some(Partial::Wanted(partial)),
            Left::Taken => None,
        };
        let mode = if partial.is_some() { MODE } else { mode_to_open(wanted.metadata, old.as_ref()) };
        let (file, temporary) = self.make_temporary(at, |dir, name| dir.create_new(name, mode))?;
        let mut target = Target::new(file, Placement::Beside { temporary, old });
        target.partial = partial;
        Ok(target)
    }

    /// Makes something under a temporary name. That one is taken is no obstacle.
    pub(super) fn make_temporary<T>(
        &mut self,
        at: &OpenFolder,
        make: impl Fn(&Dir, &OsStr) -> io::Result<T>,
    ) -> io::Result<(T, std::ffi::OsString)> {
        loop {
            let name = self.shared.temporaries.name();
            match self.retry_without_kept(|_| make(&at.dir, &name)) {
                Ok(made) => {
                    self.shared.temporaries.sweep(at.folder.id, &at.dir, Some(&name));
                    return Ok((made, name));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes something under the first of `name (1)`, `name (2)` … that is free.
    pub(super) fn free_name<T>(
        &mut self,
        folder: &Folder,
        dir: &Dir,
        name: &OsStr,
        make: impl Fn(&Dir, &OsStr) -> io::Result<T>,
    ) -> io::Result<(T, Name)> {
        loop {
            let other = numbered(name, self.shared.numbers.next(folder.id, name));
            match self.retry_without_kept(|_| make(dir, &other)) {
                Ok(made) => {
                    self.shared.outcome.renamed(folder, name, &other);
                    return Ok((made, Name::from(&*other)));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Wanted<'_> {
    /// Whether its bytes may be those of a file of this length.
    fn may_equal(&self, there: &Stat) -> bool {
        match (&self.content.0, self.source) {
            (Kind::Bytes(bytes), _) => bytes.len() as u64 == there.len,
            (Kind::Sparse { len, .. }, _) => *len == there.len,
            // Where nothing, or too little, is allocated, the length may be a guess of the file system's.
            (Kind::CopyOf(_), Some((_, source))) => source.len == 0 || source.sparse || source.len == there.len,
            (Kind::CopyOf(_), None) => false,
        }
    }
}

/// Whether a file may be written over. Not if it has other names, which may be outside the tree; not with content that
/// has holes, through which old bytes would show, or is to share blocks; and not if the content is read from it.
fn may_be_in_place(there: &Stat, wanted: &Wanted<'_>) -> bool {
    let is_unfit = match (&wanted.content.0, wanted.source) {
        (Kind::Bytes(bytes), _) => bytes.is_read_from(there.identity),
        // What may share blocks is to share them.
        (Kind::CopyOf(content), Some((_, source))) => source.sparse || content.by != By::Copy,
        _ => true,
    };
    there.kind == EntryKind::File && there.links == 1 && !is_unfit
}

/// What a copy of `file` gets of what is kept, and was not given.
fn take_from(file: &Handle, stat: &Stat, mut metadata: Metadata, keep: Keep) -> io::Result<Metadata> {
    if keep.wants(Things::ATTRIBUTES) {
        metadata = metadata.with(sys::attributes_of(file, &keep)?, keep);
    }
    if keep.wants(Things::OWNERS) {
        metadata.owner = metadata.owner.or(Some(stat.owner));
    }
    if keep.wants(Things::ACCESS_TIMES) {
        metadata.accessed = metadata.accessed.or(Some(stat.accessed));
    }
    Ok(metadata)
}

/// All but permissions, and the flags that come last. Returns what could not be kept and need not be.
pub(super) fn set_folder_metadata(
    dir: &Dir,
    name: &OsStr,
    metadata: &Metadata,
    may_have_others: bool,
    keep: &Keep,
) -> io::Result<Things> {
    let mut lost = metadata.lost;
    if let Some(owner) = metadata.owner
        && !keep.give_owner(owner, |user, group| dir.set_owner(name, user, group))?
    {
        lost = lost.with(Things::OWNERS);
    }
    let exact = if may_have_others { metadata.exact } else { Things::default() };
    if !metadata.xattrs.is_empty() || !exact.is_empty() || metadata.flags.is_some() {
        lost = lost.with(dir.set_folder_attributes(name, &metadata.xattrs, exact, metadata.flags, keep)?);
    }
    dir.set_times(name, metadata.modified, metadata.accessed)?;
    Ok(lost)
}
