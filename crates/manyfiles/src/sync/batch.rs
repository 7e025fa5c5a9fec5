//! [`SyncBatch`].

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::folders::{Folder, Folders};
use super::rename::{Rename, not_a_file};
use super::volume::{Relief, Volume, Waiting, most_waiting};
use super::{BatchFailed, Options, doubt};
use crate::error::{print_last_resort, print_last_resort_line};
use crate::origin::{Origin, leave};
use crate::sys::{self, Access, EntryKind};
use crate::{Error, Errors, Operation, Result};

/// Many files made durable with as few waits as the file system allows: 14 times as fast as one fsync for each on ext4.
///
/// Files are written one by one, from any number of threads; [`finish`](SyncBatch::finish) returns when all are on the
/// disk, their names included. Until then nothing is promised for any of them.
///
/// With [`atomic`](Options::atomic) each is written under another name, all are synced, and only then given their
/// names: at any moment, crashes included, a path has its old content or the new one, whole.
///
/// Dropped without `finish`, a batch does what `finish` does, and prints errors to standard error. An atomic batch does
/// not give its files their names then: it removes them, and prints one line that says so. What was
/// [added](SyncBatch::add) to it is made durable.
///
/// ```
/// # let temp = tempfile::tempdir()?;
/// # let root = temp.path();
/// use manyfiles::sync::SyncBatch;
///
/// let batch = SyncBatch::options().atomic(true).build();
/// for n in 0..100 {
///     batch.write(root.join(format!("{n}.tile")), [n; 1000])?;
/// }
/// let done = batch.finish()?; // a power cut from here on takes none of them
/// assert_eq!(done.files, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is durable before `finish`"]
#[derive(Default)]
pub struct SyncBatch {
    options: Options,
    state: Arc<Mutex<State>>,
    origin: Origin,
}

#[derive(Default)]
struct State {
    volumes: HashMap<u64, Volume>,
    /// Of files that were written here, and so on the file systems above.
    folders: Folders,
    /// Of others, by absolute path.
    more_folders: BTreeSet<PathBuf>,
    /// Files that were written elsewhere.
    added: Vec<Waiting>,
    /// Temporary names and what they are to become.
    renames: Vec<Rename>,
    /// All files that were written here, each with its folder.
    written: Vec<(doubt::Key, Arc<Folder>)>,
    done: Synced,
    errors: Vec<Error>,
}

/// What [`SyncBatch::finish`] has made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Synced {
    /// Files.
    pub files: u64,
    /// Their bytes, as far as this batch wrote them.
    pub bytes: u64,
    /// How many file systems were synced as a whole ([`BatchMethod::FileSystem`](super::BatchMethod::FileSystem)).
    pub whole_file_systems: u64,
}

impl SyncBatch {
    /// An empty batch with the default [`Options`].
    pub fn new() -> SyncBatch {
        SyncBatch::options().build()
    }

    /// What can be chosen.
    pub fn options() -> Options {
        Options::default()
    }

    pub(super) fn with(options: Options) -> SyncBatch {
        SyncBatch { options, state: Arc::default(), origin: Origin::default() }
    }

    /// Writes a file that has these bytes and no others. Its folder must be there.
    ///
    /// # Errors
    /// Those of opening and writing, with the path. The file is not part of the batch then, and the batch can go on: in
    /// a batch that is not [atomic](Options::atomic) the path may hold a part of the bytes. `InvalidInput` for an
    /// atomic one where a pipe, a device or the like has the name, or a link leads to one: it stays as it is.
    pub fn write(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> Result<()> {
        let bytes = bytes.as_ref();
        self.fill(path.as_ref(), |file| file.write_all(bytes).map(|()| bytes.len() as u64))
    }

    /// [`write`](SyncBatch::write) for a file that `fill` writes: it is called once with the empty file, and what it
    /// returns is an error of writing. What buffers must be flushed when it returns.
    ///
    /// ```
    /// # let temp = tempfile::tempdir()?;
    /// # let path = temp.path().join("squares");
    /// use manyfiles::sync::SyncBatch;
    /// use std::io::{BufWriter, Write};
    ///
    /// let batch = SyncBatch::new();
    /// batch.write_with(&path, |file| {
    ///     let mut out = BufWriter::new(file);
    ///     (0..1000u64).try_for_each(|n| writeln!(out, "{}", n * n))?;
    ///     out.flush()
    /// })?;
    /// batch.finish()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_with(&self, path: impl AsRef<Path>, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
        self.fill(path.as_ref(), |file| {
            fill(file)?;
            Ok(file.metadata()?.len())
        })
    }

    /// `fill` says how many bytes it wrote.
    fn fill(&self, path: &Path, fill: impl FnOnce(&mut File) -> io::Result<u64>) -> Result<()> {
        let failed = |operation| move |cause| Error::new(operation, path, cause);
        self.origin.check_call().map_err(failed(Operation::Create))?;
        // Whatever folder is the current one later, the file stays where it is meant to be now.
        let absolute: Arc<Path> = std::path::absolute(path).map_err(failed(Operation::Create))?.into();
        let folder = self.lock().folders.of(&absolute).map_err(failed(Operation::Create))?;
        if ends_in_separator(path) {
            return Err(failed(Operation::Create)(io::ErrorKind::IsADirectory.into()));
        }
        let (mut file, rename) = self.open(&absolute, Arc::clone(&folder)).map_err(failed(Operation::Create))?;
        let key = doubt::key(&file).map_err(failed(Operation::Create))?;
        let system = key.0.volume;
        // Opened before the first byte is written: the system tells a lost byte only to handles that were open then.
        self.watch(&file, path, system).map_err(failed(Operation::Write))?;
        let bytes = fill(&mut file).map_err(failed(Operation::Write))?;
        let waiting = Waiting { file, path: path.into(), was_empty: true, key: Some(key) };
        let mut state = self.lock();
        state.written.push((key, folder));
        state.done.files += 1;
        state.done.bytes += bytes;
        state.renames.extend(rename);
        let State { volumes, errors, .. } = &mut *state;
        let relief = volumes.get_mut(&system).and_then(|volume| {
            volume.sync_early(errors);
            volume.add(waiting, bytes, self.options.method)
        });
        drop(state);
        if let Some(relief) = relief {
            self.relieve(relief);
        }
        Ok(())
    }

    /// Adds a file that is written already, by whatever means. It is synced by itself, whatever the method, because
    /// what was lost before may be told to this handle alone; and its folder with the batch.
    pub fn add(&self, file: File, path: impl AsRef<Path>) {
        if self.origin.check_call().is_err() {
            return; // `finish` says so
        }
        let path = path.as_ref();
        let folder = absolute(path.parent().unwrap_or(Path::new("")));
        let mut state = self.lock();
        state.done.files += 1;
        state.more_folders.insert(folder);
        state.added.push(Waiting { file, path: path.into(), was_empty: false, key: None });
        let full = state.added.len() >= most_waiting();
        let relief = full.then(|| Relief::Sync(std::mem::take(&mut state.added)));
        drop(state);
        if let Some(relief) = relief {
            self.relieve(relief);
        }
    }

    /// Makes the names in this folder durable too: for folders that were made for the files, the one that each was made
    /// in.
    pub fn add_folder(&self, path: impl AsRef<Path>) {
        if self.origin.check_call().is_err() {
            return;
        }
        let folder = absolute(path.as_ref());
        self.lock().more_folders.insert(folder);
    }

    /// Makes all files durable, and their names.
    ///
    /// # Errors
    /// Every sync, close and rename that failed, and which paths are changed all the same. Then count no file of this
    /// batch as durable, and don't just sync again: see [the module](super). An [atomic](Options::atomic) batch changes
    /// no path before all bytes are durable and every handle of its files is closed. If a rename or the sync of a
    /// folder fails after that, those paths that have their new content by then keep it, and [`BatchFailed::replaced`]
    /// names them.
    pub fn finish(self) -> Result<Synced, BatchFailed> {
        self.end()
    }

    /// Takes all that is in the batch, so that the drop that follows finds nothing to do.
    fn end(&self) -> Result<Synced, BatchFailed> {
        if let Err(cause) = self.origin.check() {
            let errors = vec![Error::without_path(Operation::Sync, cause)];
            return Errors::check(errors)
                .map(|()| Synced::default())
                .map_err(|errors| BatchFailed { errors, replaced: Vec::new() });
        }
        let State { mut volumes, folders, more_folders, added, mut renames, written, mut done, mut errors } =
            std::mem::take(&mut *self.lock());
        Relief::Sync(added).give(&mut errors);
        for volume in volumes.values_mut() {
            volume.relief(self.options.method, false).give(&mut errors);
        }
        for volume in volumes.values_mut().filter(|volume| volume.counts_on_one_sync()) {
            match volume.sync_whole() {
                Ok(()) => done.whole_file_systems += 1,
                Err(error) => errors.push(error),
            }
        }
        for (system, volume) in &volumes {
            if let Some(error) = volume.whole_error() {
                note_all(&written, |key, _| key.0.volume == *system, error);
            }
        }
        let failed = |errors, replaced| Errors::check(errors).map_err(|errors| BatchFailed { errors, replaced });
        let one_sync = volumes.values().all(Volume::counts_on_one_sync);
        // From so many folders on one more sync of everything makes the names durable.
        let names = if one_sync && !renames.is_empty() && folders.len() > MANY_FOLDERS {
            folders_on(volumes.keys().copied().collect(), &folders)
        } else {
            None
        };
        // Closes may fail as well: all are done before the first path is changed.
        volumes.into_values().for_each(|volume| volume.close(&mut errors));
        failed(std::mem::take(&mut errors), Vec::new())?;
        let mut replaced = Vec::new();
        let mut seen = HashSet::new();
        for rename in &mut renames {
            match rename.make() {
                Ok(()) if !seen.insert(Arc::clone(&rename.path)) => {}
                Ok(()) => replaced.push(Arc::clone(&rename.path)),
                Err(cause) => errors.push(Error::new(Operation::Rename, &*rename.path, cause)),
            }
        }
        let sync =
            |path: &Path, synced: io::Result<()>| synced.err().map(|cause| Error::new(Operation::Sync, path, cause));
        // The sync had the names too, unless they came after it.
        let names_are_durable = names.is_some() || (one_sync && replaced.is_empty());
        for (handle, folder) in names.iter().flatten() {
            if let Some(error) = sync(folder, sys::sync_file_system(handle)) {
                // If the system does not say which one it was, all files of the batch are in doubt.
                let system = sys::file_system_of(handle).ok();
                note_all(&written, |key, _| system.is_none_or(|system| key.0.volume == system), &error);
                errors.push(error);
            }
        }
        for folder in folders.iter().filter(|_| !names_are_durable) {
            if let Some(error) = sync(&folder.path, folder.sync()) {
                note_all(&written, |_, of| Arc::ptr_eq(of, folder), &error);
                errors.push(error);
            }
        }
        errors.extend(more_folders.iter().filter_map(|folder| sync(folder, sys::sync_folder(folder))));
        failed(errors, replaced).map(|()| done)
    }

    fn open(&self, path: &Path, folder: Arc<Folder>) -> io::Result<(File, Option<Rename>)> {
        if !self.options.atomic {
            let file = File::create(path)?;
            doubt::forget(&file);
            return Ok((file, None));
        }
        let Some(name) = path.file_name() else { return Err(io::ErrorKind::IsADirectory.into()) };
        let old = match folder.look_at(name)?.map(|found| found.kind) {
            None => None,
            Some(EntryKind::Folder) => return Err(io::ErrorKind::IsADirectory.into()),
            Some(EntryKind::Other) => return Err(not_a_file()),
            Some(EntryKind::File) => Some(Access::of(path)?),
            Some(EntryKind::Symlink) => match fs::metadata(path) {
                Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
                Ok(found) if !found.is_file() => return Err(not_a_file()),
                Ok(_) => Some(Access::of(path)?),
                // It leads nowhere, or to where this process may not look.
                Err(_) => None,
            },
        };
        let (file, temporary) = folder.create_temporary(old.is_some())?;
        let rename = Rename::new(folder, temporary, path.into());
        if let Some(old) = old {
            old.give_to(&file)?;
        }
        Ok((file, Some(rename)))
    }

    /// The first file of each file system stays open.
    fn watch(&self, file: &File, path: &Path, system: u64) -> io::Result<()> {
        let mut state = self.lock();
        if let std::collections::hash_map::Entry::Vacant(vacant) = state.volumes.entry(system) {
            let anchor = Waiting { file: file.try_clone()?, path: path.into(), was_empty: true, key: None };
            vacant.insert(Volume::new(anchor));
        }
        Ok(())
    }

    fn relieve(&self, relief: Relief) {
        let mut errors = Vec::new();
        relief.give(&mut errors);
        if !errors.is_empty() {
            self.lock().errors.append(&mut errors);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held but for want of memory, and lists are whole even then.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// No part of this process calls these files durable again after this error.
fn note_all(written: &[(doubt::Key, Arc<Folder>)], of: impl Fn(&doubt::Key, &Arc<Folder>) -> bool, error: &Error) {
    for (key, _) in written.iter().filter(|(key, folder)| of(key, folder)) {
        doubt::note_key(*key, error);
    }
}

/// A folder on each of these file systems, open to sync all of it. `None` if there is one without.
fn folders_on(mut systems: BTreeSet<u64>, folders: &Folders) -> Option<Vec<(File, PathBuf)>> {
    let mut found = Vec::new();
    for folder in folders.iter() {
        if systems.is_empty() {
            break;
        }
        // What cannot be opened is synced by itself, and tells its error then.
        if let Ok(handle) = File::open(&folder.path)
            && sys::file_system_of(&handle).is_ok_and(|system| systems.remove(&system))
        {
            found.push((handle, folder.path.clone()));
        }
    }
    systems.is_empty().then_some(found)
}

/// Whether a path can only be a folder's. `Path` does not tell: to it `a/` is `a`.
fn ends_in_separator(path: &Path) -> bool {
    let last = path.as_os_str().as_encoded_bytes().rsplit(|&byte| std::path::is_separator(byte.into())).next();
    matches!(last, Some(b"" | b"."))
}

/// From so many folders on, one more sync of everything is cheaper than one for each.
const MANY_FOLDERS: usize = 16;

impl SyncBatch {
    /// Removes the files of an atomic batch that have no names yet, and says so. What was added to the batch stays in
    /// it.
    fn take_back(&self) {
        let mut state = self.lock();
        let State { volumes, folders, renames, .. } = &mut *state;
        // Closed before they are removed, for systems that remove no open file.
        let (files, mut renames) = (std::mem::take(volumes), std::mem::take(renames));
        *folders = Folders::default();
        drop(state);
        drop(files);
        let left = renames.iter_mut().filter_map(|rename| rename.take_back().err());
        print_last_resort(&left.collect::<Vec<_>>());
        const DROPPED: &str = "an atomic batch was dropped before its `finish`";
        match &renames[..] {
            [] => {}
            [one] => print_last_resort_line(format_args!("{DROPPED}: {} is not written", one.path.display())),
            [first, ..] => print_last_resort_line(format_args!(
                "{DROPPED}: none of its {} files is written; the first is {}",
                renames.len(),
                first.path.display()
            )),
        }
    }
}

impl Options {
    /// Makes the batch, an empty one.
    pub fn build(self) -> SyncBatch {
        SyncBatch::with(self)
    }
}

impl Drop for SyncBatch {
    fn drop(&mut self) {
        if self.origin.is_a_parent() {
            return leave(&self.state);
        }
        if self.options.atomic {
            self.take_back();
        }
        if let Err(failed) = self.end() {
            print_last_resort(failed.errors());
        }
    }
}

impl fmt::Debug for SyncBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SyncBatch { options: Options { method, atomic }, state: _, origin: _ } = self;
        let done = self.lock().done;
        f.debug_struct("SyncBatch")
            .field("method", method)
            .field("atomic", atomic)
            .field("so_far", &done)
            .finish_non_exhaustive()
    }
}

/// An absolute path, whatever folder is the current one later.
fn absolute(folder: &Path) -> PathBuf {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    // Where no current folder can be found a relative one cannot be synced either, and the sync says so.
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf())
}
