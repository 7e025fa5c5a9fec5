//! Runs the steps: how many files, by how many threads, and the time of each call.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use manyfiles::close::{Closer, Policy};
use manyfiles::sync::SyncBatch;
use manyfiles::tree::{Content, TreeWriter};
use manyfiles::{Error, Errors, Operation, Result};

use manyfiles_measure::{Failure, Samples};

use crate::observer::Observer;
use crate::series::Series;
use crate::step::Step;

/// Syncs wait for the disk, which serves this many at once about as fast as more (docs/measurements.md, "Durable").
const MANY_SYNCS: usize = 16;

/// As large as a small source file or a glyph, and a page.
const CONTENT: &[u8] = &[b'm'; 4096];

/// Files of one step at most: the 99th percentile needs some hundred.
const MOST: usize = 4000;

/// Fewer files say nothing.
const LEAST: usize = 64;

/// How many steps leave files of their own behind.
const STEPS_THAT_MAKE_FILES: u64 = 6;

/// Into so many folders a tree is written: the kernel makes the files of one folder one after the other.
const TREE_FOLDERS: usize = 64;

/// An eighth of what is free holds all that is written.
const SHARE: u64 = 8;

/// The free bytes that a probe needs: room for 64 files in each step.
pub const LEAST_SPACE: u64 = LEAST as u64 * CONTENT.len() as u64 * STEPS_THAT_MAKE_FILES * SHARE;

/// The steps, with their threads, and their share of the time in hundredths. The files of the first are the later ones'
/// too.
const STEPS: [(Step, usize, u32); 11] = [
    (Step::New, 1, 15),
    (Step::Truncated, 1, 10),
    (Step::InPlace, 1, 10),
    (Step::Appended, 1, 5),
    (Step::Renamed, 1, 5),
    (Step::Removed, 1, 5),
    (Step::Synced, 1, 15),
    (Step::Synced, MANY_SYNCS, 5),
    (Step::Batch, 1, 10),
    (Step::HandedOver, 1, 10),
    (Step::Tree, 1, 10),
];

/// How many files a step may make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amount(usize);

impl Amount {
    /// As many as an eighth of the free space holds, where the free space is known.
    pub(crate) fn fitting(free_bytes: Option<u64>) -> Result<Amount, Failure> {
        let Some(free) = free_bytes else { return Ok(Amount(MOST)) };
        let fit = free / SHARE / CONTENT.len() as u64 / STEPS_THAT_MAKE_FILES;
        match usize::try_from(fit).unwrap_or(MOST).min(MOST) {
            enough @ LEAST.. => Ok(Amount(enough)),
            _ => Err(Failure::NoSpace(free)),
        }
    }
}

/// Does all steps below `root`.
pub(crate) fn all(
    root: &Path,
    time: Duration,
    Amount(most): Amount,
    observer: &dyn Observer,
) -> Result<Vec<Series>, Failure> {
    let folder = |name: String| -> Result<PathBuf> {
        let folder = root.join(name);
        fs::create_dir(&folder).map_err(|error| Error::new(Operation::CreateFolder, &folder, error))?;
        Ok(folder)
    };
    let mut all: Vec<Series> = Vec::new();
    let mut done = 0;
    let first = [folder("first".into())?];
    for (number, (step, threads, share)) in STEPS.into_iter().enumerate() {
        observer.begins(step, threads, f64::from(done) / 100.0);
        done += share;
        let folders = match step {
            step if number > 0 && step.makes_files() => {
                (0..threads).map(|thread| folder(format!("{number}-{thread}"))).collect::<Result<Vec<_>>>()?
            }
            _ => first.to_vec(),
        };
        // A step that works on existing files can do no more of them than there are.
        let most = match step {
            step if step.makes_files() => most,
            Step::Removed => all.last().map_or(0, |renamed| renamed.files as usize),
            _ => all.first().map_or(0, |new| new.files as usize),
        };
        // A tree takes files faster than they are written, so that nothing else bounds what it has to end.
        let most = match all.first() {
            Some(new) if step == Step::Tree => {
                let fit = (time * share / 100).div_duration_f64(new.per_file()) * TREE_FOLDERS as f64 / 2.0;
                most.min(fit as usize)
            }
            _ => most,
        };
        let work = Work { step, most, until: Instant::now() + time * share / 100, observer };
        all.push(match step {
            Step::Batch => work.batch(&folders[0])?,
            Step::HandedOver => work.handed_over(&folders[0])?,
            Step::Tree => work.tree(&folders[0])?,
            _ => work.run(&folders)?,
        });
        if observer.stopped() {
            return Err(Failure::Stopped);
        }
    }
    Ok(all)
}

/// One step.
struct Work<'a> {
    step: Step,
    most: usize,
    until: Instant,
    observer: &'a dyn Observer,
}

impl Work<'_> {
    fn is_over(&self) -> bool {
        Instant::now() >= self.until || self.observer.stopped()
    }

    /// One thread for each folder.
    fn run(&self, folders: &[PathBuf]) -> Result<Series> {
        let operations = self.step.operations();
        let times = Mutex::new(vec![Vec::new(); operations.len()]);
        let failure = Mutex::new(None);
        let next = AtomicUsize::new(0);
        let closer = Closer::options().policy(Policy::Never).build();
        let one = |folder: &Path| {
            let mut own = vec![Vec::new(); operations.len()];
            let mut result = Ok(());
            // The first file is done in any case: without it there would be nothing to say.
            while result.is_ok() {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= self.most.max(1) || (number > 0 && self.is_over()) {
                    break;
                }
                result = self.step.apply(folder, number, &closer, &mut own);
            }
            let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
            times.iter_mut().zip(own).for_each(|(all, own)| all.extend(own));
            if let Err(error) = result {
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        };
        let begun = Instant::now();
        let mut threads = 1;
        thread::scope(|scope| {
            for folder in &folders[1..] {
                // Where the system has no more threads for us, fewer are what it can do.
                threads += usize::from(thread::Builder::new().spawn_scoped(scope, || one(folder)).is_ok());
            }
            one(&folders[0]);
        });
        let elapsed = begun.elapsed();
        if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        first(closer.wait())?;
        let times = times.into_inner().unwrap_or_else(PoisonError::into_inner);
        let files = times.first().map_or(0, Vec::len) as u64;
        let operations =
            operations.iter().zip(times).filter_map(|(name, times)| Some((*name, Samples::new(times)?))).collect();
        Ok(Series { step: self.step, threads, files, elapsed, operations })
    }

    /// Syncs once for all.
    fn batch(&self, folder: &Path) -> Result<Series> {
        let make = |batch: &SyncBatch, number| batch.write(path(folder, number), CONTENT);
        self.whole(SyncBatch::new(), make, |batch| first(batch.finish().map_err(|failed| failed.errors().clone())))
    }

    /// Closes where the closer thinks best.
    fn handed_over(&self, folder: &Path) -> Result<Series> {
        let make = |closer: &Closer, number| {
            let path = path(folder, number);
            let file = File::create_new(&path).map_err(|error| Error::new(Operation::Open, &path, error))?;
            (&file).write_all(CONTENT).map_err(|error| Error::new(Operation::Write, &path, error))?;
            closer.close_at(file, &path);
            Ok(())
        };
        self.whole(Closer::new(), make, |closer| first(closer.wait()))
    }

    /// Into many folders, as a tree has them.
    fn tree(&self, folder: &Path) -> Result<Series> {
        let make = |tree: &TreeWriter, number| {
            tree.file(format!("{:02}/{number:06}", number % TREE_FOLDERS), Content::from_static(CONTENT))
        };
        self.whole(TreeWriter::open(folder)?, make, |tree| first(tree.finish().map_err(Errors::from)))
    }

    /// What has no times of single files: it takes until its end.
    fn whole<T>(
        &self,
        whole: T,
        make: impl Fn(&T, usize) -> Result<()>,
        finish: impl FnOnce(T) -> Result<()>,
    ) -> Result<Series> {
        // Half of the time is for the end.
        let begun = Instant::now();
        let half = self.until.saturating_duration_since(begun) / 2;
        let mut files = 0;
        while files < self.most.max(1) && (files == 0 || (begun.elapsed() < half && !self.observer.stopped())) {
            make(&whole, files)?;
            files += 1;
        }
        finish(whole)?;
        Ok(Series {
            step: self.step,
            threads: 1,
            files: files as u64,
            elapsed: begun.elapsed(),
            operations: Vec::new(),
        })
    }
}

/// The first of the errors.
fn first<T>(done: std::result::Result<T, Errors>) -> Result<()> {
    match done.map_err(|errors| errors.into_iter().next()) {
        Err(Some(error)) => Err(error),
        _ => Ok(()),
    }
}

fn path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{number:06}"))
}

fn renamed(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{number:06}.renamed"))
}

impl Step {
    /// Does the step to one file, and adds the time of each call.
    fn apply(self, folder: &Path, number: usize, closer: &Closer, times: &mut [Vec<Duration>]) -> Result<()> {
        let path = &path(folder, number);
        let mut times = times.iter_mut();
        // Each call ends where the next begins.
        let mut lap = Instant::now();
        let mut timed = |operation: Operation, result: io::Result<()>| {
            let now = Instant::now();
            let took = now - std::mem::replace(&mut lap, now);
            result.map_err(|error| Error::new(operation, path, error))?;
            times.next().expect("as many operations as it names").push(took);
            Ok::<(), Error>(())
        };
        let options = |set: fn(&mut OpenOptions) -> &mut OpenOptions| set(&mut OpenOptions::new()).open(path);
        let opened = match self {
            Step::Renamed => return timed(Operation::Rename, fs::rename(path, renamed(folder, number))),
            Step::Removed => return timed(Operation::Remove, fs::remove_file(renamed(folder, number))),
            Step::New | Step::Synced | Step::Batch | Step::HandedOver | Step::Tree => {
                options(|options| options.write(true).create_new(true))
            }
            Step::Truncated => options(|options| options.write(true).truncate(true)),
            Step::InPlace => options(|options| options.write(true)),
            Step::Appended => options(|options| options.append(true)),
        };
        let file = match opened {
            Ok(file) => file,
            Err(error) => return timed(Operation::Open, Err(error)),
        };
        timed(Operation::Open, Ok(()))?;
        timed(Operation::Write, (&file).write_all(CONTENT))?;
        match self {
            Step::InPlace => timed(Operation::Write, file.set_len(CONTENT.len() as u64))?,
            Step::Synced => timed(Operation::Sync, File::sync_all(&file))?,
            _ => {}
        }
        closer.close_at(file, path);
        timed(Operation::Close, Ok(()))
    }
}
