//! [`Session`]: one job being done: the tree, and everything that watches it and can stop it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use manyfiles::tree::{self, Durability, OnConflict, TreeWriter};

use crate::args::{Conflict, Options};
use crate::human::one_line;
use crate::job::{CannotBegin, Job, Source, Words};
use crate::report::{Outcome, hints};
use crate::stop::Stop;
use crate::terminal::{Question, Screen, Watch};

/// A job from its first entry to its last close.
pub struct Session {
    words: Words,
    root: PathBuf,
    tree: TreeWriter,
    screen: Arc<Screen>,
    stop: Stop,
    watch: Watch,
    names: bool,
    started: Instant,
}

impl Session {
    /// Opens the tree, makes its folder if need be, and begins to watch.
    pub fn begin(job: &dyn Job, options: &Options) -> Result<Session, CannotBegin> {
        let screen = Arc::new(Screen::default());
        let stop = Stop::on_signals()
            .map_err(|error| CannotBegin::because(format_args!("cannot listen for signals: {error}")))?;
        let started = Instant::now();
        let tree = open(job, options, &screen, &stop)?;
        stop.attach(tree.canceller());
        let watch = Watch::start(screen.clone(), tree.observer(), options.progress, job.input_read())
            .map_err(|error| CannotBegin::because(format_args!("cannot start a thread: {error}")))?;
        let (words, root, names) = (job.words(), job.root().to_path_buf(), options.verbose >= 2);
        Ok(Session { words, root, tree, screen, stop, watch, names, started })
    }

    /// Where entries are handed over.
    pub fn tree(&self) -> &TreeWriter {
        &self.tree
    }

    /// To see whether the job was told to stop.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Says at once what went wrong with a source, unless that is only because the job was stopped.
    pub fn cannot_read(&self, path: &Path, error: String) -> Source {
        if self.stop.is_set() {
            return Source { path: path.to_path_buf(), error: None };
        }
        self.screen.say(&error);
        Source { path: path.to_path_buf(), error: Some(error) }
    }

    /// Names each entry, if asked to.
    pub fn namer(&self) -> Option<impl Fn(&Path) + Send + Sync + 'static> {
        let screen = self.screen.clone();
        let name = move |path: &Path| screen.print(&format!("{}\n", one_line(&path.to_string_lossy())));
        self.names.then_some(name)
    }

    /// Waits until everything is written and closed, and tells what is still to be told.
    pub fn finish(self, sources: Vec<Source>) -> Outcome {
        self.watch.all_is_handed_over();
        let report = match self.tree.finish() {
            Ok(report) => report,
            Err(incomplete) => incomplete.into_report(),
        };
        let elapsed = self.started.elapsed();
        let told = self.watch.end();
        self.screen.say_all(report.failures.iter().skip(told));
        let signal = self.stop.signal().filter(|_| report.cancelled);
        Outcome { words: self.words, root: self.root, sources, report, elapsed, signal }
    }
}

fn open(job: &dyn Job, options: &Options, screen: &Arc<Screen>, stop: &Stop) -> Result<TreeWriter, CannotBegin> {
    let on_conflict = match options.on_conflict {
        Some(Conflict::Error) => OnConflict::Error,
        Some(Conflict::Skip) => OnConflict::Skip,
        Some(Conflict::SkipIdentical) => OnConflict::SkipIdentical,
        Some(Conflict::Overwrite) => OnConflict::Overwrite,
        Some(Conflict::Replace) => OnConflict::Replace,
        Some(Conflict::Newer) => OnConflict::Newer,
        Some(Conflict::Rename) => OnConflict::Rename,
        None if Question::can_be_asked() => {
            let question = Question::new(screen.clone(), stop.clone());
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
    let mut tree =
        tree::Options::default().on_conflict(on_conflict).exact_permissions(exact_permissions).durability(durability);
    if options.jobs > 0 {
        tree = tree.threads(options.jobs);
    }
    tree.open(job.root()).map_err(|error| {
        let mut lines = vec![error.to_string()];
        lines.extend(hints::for_root(&error));
        CannotBegin(lines)
    })
}
