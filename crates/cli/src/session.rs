//! [`Session`]: one job being done: the tree, and everything that watches it and can stop it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use manyfiles::tree::{self, Durability, OnConflict, TreeWriter};

use crate::args::{Conflict, Options};
use crate::human::one_line;
use crate::job::Job;
use crate::password::Asker;
use crate::read::{Read, Source};
use crate::report::{self, Outcome, hints};
use crate::stop::Stop;
use crate::terminal::{Failures, Question, Screen, Waiting, Watch};
use crate::words::{CannotBegin, Words};

/// A job from its first entry to its last close.
pub(crate) struct Session {
    words: Words,
    root: PathBuf,
    tree: TreeWriter,
    screen: Arc<Screen>,
    stop: Stop,
    watch: Watch,
    failures: Arc<Mutex<Failures>>,
    waiting: Waiting,
    names: bool,
    started: Instant,
}

impl Session {
    /// Opens the tree, makes its folder if need be, and begins to watch.
    pub(crate) fn begin(job: &dyn Job, options: &Options) -> Result<Session, CannotBegin> {
        let stop = Stop::on_signals()
            .map_err(|error| CannotBegin::because(format_args!("cannot listen for signals: {error}")))?;
        let screen = Arc::new(Screen::of(&stop));
        let started = Instant::now();
        let waiting = Waiting::default();
        let question = || Question::new(screen.clone(), stop.clone(), waiting.clone(), job.root(), job.about());
        let tree = open(job, options, question)?;
        let canceller = tree.canceller();
        stop.attach(move || canceller.cancel());
        let failures = Arc::new(Mutex::new(Failures::new(options.verbose >= 1)));
        let (shown, asked) = (failures.clone(), waiting.clone());
        let watch = Watch::start(screen.clone(), tree.observer(), shown, asked, options.progress, job.input_read())
            .map_err(|error| CannotBegin::because(format_args!("cannot start a thread: {error}")))?;
        let (words, root, names) = (job.words(), job.root().to_path_buf(), options.verbose >= 2);
        Ok(Session { words, root, tree, screen, stop, watch, failures, waiting, names, started })
    }

    /// Where entries are handed over.
    pub(crate) fn tree(&self) -> &TreeWriter {
        &self.tree
    }

    /// Asks for the password of an archive.
    pub(crate) fn asker(&self) -> Asker {
        Asker::of_job(self.screen.clone(), self.stop.clone(), self.waiting.clone())
    }

    /// To see whether the job was told to stop.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Says at once what went wrong with a source, unless that is only because the job was stopped.
    pub(crate) fn cannot_read(&self, path: &Path, error: String) -> Source {
        if self.stop.is_set() {
            return Source::whole(path);
        }
        self.screen.say(&error);
        Source { error: Some(error), ..Source::whole(path) }
    }

    /// Says at once what is strange about a source, if anything is.
    pub(crate) fn warn(&self, warning: Option<&str>) {
        self.screen.say_all(warning);
    }

    /// Names each entry, if asked to.
    pub(crate) fn namer(&self) -> Option<impl Fn(&Path) + Send + Sync + 'static> {
        let screen = self.screen.clone();
        let name = move |path: &Path| screen.print(&format!("{}\n", one_line(&path.to_string_lossy())));
        self.names.then_some(name)
    }

    /// Waits until everything is written and closed, and tells what is still to be told.
    pub(crate) fn finish(self, read: Read) -> Outcome {
        self.watch.all_is_handed_over();
        let report = match self.tree.finish() {
            Ok(report) => report,
            Err(incomplete) => incomplete.into_report(),
        };
        let asked = self.waiting.so_far();
        let elapsed = self.started.elapsed();
        self.watch.end();
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = failures.seen();
        failures.name(&self.screen, report.failures.iter().skip(seen));
        let counted = failures.counted();
        self.screen.say_all(&counted);
        self.screen.say_all(report::nothing_matches(&read));
        let signal = self.stop.signal().filter(|_| report.cancelled);
        let each_is_named = counted.is_empty();
        Outcome { words: self.words, root: self.root, read, report, elapsed, asked, signal, each_is_named }
    }
}

fn open(job: &dyn Job, options: &Options, question: impl FnOnce() -> Question) -> Result<TreeWriter, CannotBegin> {
    let on_conflict = match options.on_conflict {
        Some(Conflict::Error) => OnConflict::Error,
        Some(Conflict::Skip) => OnConflict::Skip,
        Some(Conflict::SkipIdentical) => OnConflict::SkipIdentical,
        Some(Conflict::Overwrite) => OnConflict::Overwrite,
        Some(Conflict::Replace) => OnConflict::Replace,
        Some(Conflict::Newer) => OnConflict::Newer,
        Some(Conflict::Rename) => OnConflict::Rename,
        None if Question::can_be_asked() => {
            let question = question();
            OnConflict::Ask(Arc::new(move |path| question.ask(path)))
        }
        None => OnConflict::Error,
    };
    let exact_permissions = match (options.preserve_permissions, options.no_preserve_permissions) {
        (true, _) => true,
        (false, true) => false,
        (false, false) => job.keeps_permissions(),
    };
    let durability = if options.fsync { Durability::AtFinish } else { Durability::None };
    let mut tree = tree::Options::default()
        .on_conflict(on_conflict)
        .last_wins(job.last_wins())
        .exact_permissions(exact_permissions)
        .keep(job.keep())
        .resume(job.resumes())
        .follow_folder_links(job.follows_folder_links())
        .durability(durability);
    if options.jobs > 0 {
        tree = tree.threads(options.jobs);
    }
    tree.open(job.root()).map_err(|error| {
        let mut lines = vec![error.to_string()];
        lines.extend(hints::for_root(&error));
        CannotBegin(lines)
    })
}
