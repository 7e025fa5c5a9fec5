//! `manyfiles worktree REPO NEW`.
//!
//! git registers the worktree and its branch, and writes its index, with all files missing ([`half`], [`git`]). Then the
//! files that another checkout has just so ([`index`], [`fill`]; [`attributes`] says which git changes on the way) are
//! cloned from there, and their numbers put into the index. git checks out what is left, so that whatever is not
//! understood here is done by git. [`with`] brings ignored folders along.

mod attributes;
mod fill;
mod git;
mod half;
mod index;
mod with;

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use manyfiles::Error;
use manyfiles::tree::{Observer, Options, Report, TreeWriter};
use serde_json::{Map, Value};

use crate::args;
use crate::filter::Filter;
use crate::human::{count, counted, duration};
use crate::report::{INCOMPLETE, json_failure, json_path, print_json, tell_cannot_begin};
use crate::stop::Stop;
use crate::terminal::{Failures, Screen, Showing};
use crate::words::{CannotBegin, Words};
use attributes::{Configured, converted};
use git::{Git, Refused, worktrees};
use half::Half;
use index::Index;

const WORDS: Words = Words { command: "worktree", done: "made", sources: "sources" };

pub(crate) fn run(args: &args::Worktree) -> ExitCode {
    match Making::begin(args) {
        Ok(making) => making.run(),
        Err(why) => tell_cannot_begin(WORDS, &why, args.json),
    }
}

impl From<Refused> for CannotBegin {
    fn from(refused: Refused) -> CannotBegin {
        CannotBegin(refused.0.lines().map(str::to_owned).collect())
    }
}

/// A worktree that is being made.
struct Making<'a> {
    args: &'a args::Worktree,
    filter: Option<Filter>,
    repository: Git,
    /// The checkout whose files are used.
    source: Option<Git>,
    new: PathBuf,
    stop: Stop,
    screen: Arc<Screen>,
    shown: Arc<Shown>,
    started: Instant,
}

/// What the progress shows.
#[derive(Default)]
struct Shown {
    tree: Mutex<Option<Observer>>,
    total: AtomicU64,
}

/// What came of it.
#[derive(Default)]
struct Made {
    commit: String,
    branch: Option<String>,
    files: u64,
    cloned: u64,
    by_git: u64,
    with: u64,
    /// Why git did more than it had to.
    notes: Vec<String>,
    failures: Vec<Error>,
    /// What went wrong after the worktree was there.
    wrong: Vec<String>,
}

/// Why there is no worktree.
enum Ended {
    Stopped,
    Failed(Vec<String>),
}

impl From<Refused> for Ended {
    fn from(refused: Refused) -> Ended {
        Ended::Failed(CannotBegin::from(refused).0)
    }
}

impl From<String> for Ended {
    fn from(why: String) -> Ended {
        Ended::Failed(vec![why])
    }
}

impl<'a> Making<'a> {
    /// Touches nothing.
    fn begin(args: &'a args::Worktree) -> Result<Making<'a>, CannotBegin> {
        let filter =
            Filter::new(&args.with, &[]).map_err(|why| CannotBegin::because(why.replace("--include", "--with")))?;
        let absolute = |path: &Path| {
            let told = |error| CannotBegin::because(format_args!("{}: {error}", path.display()));
            std::path::absolute(path).map_err(told)
        };
        let repository = Git(absolute(&args.repository)?);
        let source = source(&repository)?;
        let stop = Stop::on_signals()
            .map_err(|error| CannotBegin::because(format_args!("cannot listen for signals: {error}")))?;
        Ok(Making {
            args,
            filter: (!args.with.is_empty()).then_some(filter),
            repository,
            source,
            new: absolute(&args.new)?,
            screen: Arc::new(Screen::of(&stop)),
            stop,
            shown: Arc::default(),
            started: Instant::now(),
        })
    }

    fn run(self) -> ExitCode {
        let half = match Half::register(&self.repository, &self.new, self.args) {
            Ok(half) => half,
            Err(Refused(why)) => {
                return match self.stop.signal() {
                    Some(signal) => self.tell_stopped(signal, &[]),
                    None => tell_cannot_begin(WORDS, &Refused(why).into(), self.args.json),
                };
            }
        };
        let shown = self.shown.clone();
        let showing = Showing::start(self.screen.clone(), self.args.progress, move |_| shown.look());
        let made = self.make();
        drop(showing);
        // A signal that comes from here on is too late: all is there.
        let made = if self.stop.is_set() { Err(Ended::Stopped) } else { made };
        let mut lines = match made {
            Ok(mut made) => {
                if let Err(Refused(why)) = half.complete() {
                    made.wrong.push(why);
                }
                self.run_hook(&mut made);
                return self.tell(&made);
            }
            Err(Ended::Stopped) => Vec::new(),
            Err(Ended::Failed(lines)) => lines,
        };
        if let Err(Refused(why)) = half.take_away() {
            lines.push(format!("what is there of it could not be removed: {why}"));
        }
        match self.stop.signal() {
            Some(signal) => self.tell_stopped(signal, &lines),
            None => tell_cannot_begin(WORDS, &CannotBegin(lines), self.args.json),
        }
    }

    fn make(&self) -> Result<Made, Ended> {
        let new = Git(self.new.clone());
        let mut made = Made { commit: new.line(&["rev-parse", "HEAD"])?.to_string_lossy().into(), ..Made::default() };
        let branch = new.line(&["symbolic-ref", "--quiet", "--short", "HEAD"]).ok();
        made.branch = branch.map(|name| name.to_string_lossy().into());
        let filled = match self.fill(&new, &mut made) {
            Ok(filled) => filled,
            Err(Left::Ended(ended)) => return Err(ended),
            Err(Left::ToGit(why)) => {
                made.notes.push(why);
                None
            }
        };
        self.check_stop()?;
        match filled {
            Some(left) if left.is_empty() => {}
            Some(left) => {
                let mut input = left.join(&0);
                input.push(0);
                new.read_with(&["checkout-index", "--force", "-u", "--quiet", "-z", "--stdin"], input)?;
            }
            None => {
                new.read(&["reset", "--hard", "--no-recurse-submodules", "--quiet"])?;
                let files = new.read(&["ls-files", "-z"])?;
                made.by_git = files.iter().filter(|&&byte| byte == 0).count() as u64;
            }
        }
        self.check_stop()?;
        self.bring_along(&mut made)?;
        self.check_stop()?;
        Ok(made)
    }

    /// Copies what it can, and returns the paths that git has to check out. `None`: all.
    fn fill(&self, new: &Git, made: &mut Made) -> Result<Option<Vec<Vec<u8>>>, Left> {
        let Some(old) = &self.source else {
            return Err(Left::ToGit("the repository is bare, and has no checkout to take files from".into()));
        };
        let configured = Configured::of(new);
        if configured != Configured::of(old) {
            return Err(Left::ToGit("the two worktrees have different configurations".into()));
        }
        if configured.sparse {
            return Err(Left::ToGit("the checkout is sparse (core.sparseCheckout)".into()));
        }
        if configured.autocrlf {
            return Err(Left::ToGit("line ends are changed in all files (core.autocrlf)".into()));
        }
        let hash = made.commit.len() / 2;
        let path = old.path("index")?;
        let source = Index::read(&path, hash)
            .map_err(|error| Left::ToGit(format!("the index {} cannot be used: {error}", path.display())))?;
        // For this moment without what would only have to be kept up to date; git makes it again.
        let plain = ["-c", "core.splitIndex=false", "-c", "core.fsmonitor=false", "-c", "index.sparse=false"];
        new.read(&[&plain[..], &["read-tree", "HEAD"]].concat())?;
        let path = new.path("index")?;
        let mut wanted = Index::read(&path, hash)
            .map_err(|error| Left::ToGit(format!("the index {} cannot be used: {error}", path.display())))?;
        let candidates = fill::candidates(&wanted, &source, !configured.no_symlinks);
        let paths = wanted.entries().iter().map(|entry| wanted.path(entry));
        let converted = converted((new, &wanted), (old, &source), &configured, paths)?;
        self.check_stop()?;
        self.shown.total.store(candidates.len() as u64, Relaxed);
        let begun = |tree: &TreeWriter| self.attach(tree);
        let filled = fill::fill(self.options(), &self.new, (&wanted, source), &old.0, (candidates, &converted), begun);
        let filled = filled.map_err(|error| Left::Ended(error.to_string().into()))?;
        self.check_stop()?;
        if let Some(full) = filled.report.failures.iter().find(|error| is_fatal(error)) {
            return Err(Left::Ended(full.to_string().into()));
        }
        made.files = filled.files.len() as u64;
        made.cloned = filled.report.cloned.min(made.files);
        let have: HashSet<usize> = filled.files.iter().map(|(number, _)| *number).collect();
        let left: Vec<_> = wanted.entries().iter().enumerate().filter(|(number, _)| !have.contains(number)).collect();
        let left: Vec<_> = left.into_iter().map(|(_, entry)| wanted.path(entry).to_vec()).collect();
        made.by_git = left.len() as u64;
        if let Some(first) = filled.report.failures.first() {
            let files = counted(filled.report.failures.len() as u64, "file", "files");
            made.notes.push(format!("{files} could not be copied, and git made them; the first: {first}"));
        }
        if filled.untrusted > 0 {
            let files = counted(filled.untrusted, "file", "files");
            made.notes.push(format!("{files} may have been changed in the source since git looked at them"));
        }
        if !converted.is_empty() {
            let files = counted(converted.len() as u64, "file is", "files are");
            made.notes.push(format!("{files} changed on the way by filters, line ends or encodings"));
        }
        for (number, stat) in &filled.files {
            wanted.set(*number, stat);
        }
        write_index(&path, &wanted.into_bytes())
            .map_err(|error| Left::Ended(format!("cannot write {}: {error}", path.display()).into()))?;
        Ok(Some(left))
    }

    fn bring_along(&self, made: &mut Made) -> Result<(), Ended> {
        let Some(filter) = &self.filter else { return Ok(()) };
        let paths = self.source.as_ref().map_or(Ok(Vec::new()), |old| with::ignored(old, filter))?;
        let (Some(old), false) = (&self.source, paths.is_empty()) else {
            made.wrong.push("--with: nothing that git ignores matches".into());
            return Ok(());
        };
        let tree = self.options().exact_permissions(true).open(&self.new).map_err(|error| error.to_string())?;
        self.attach(&tree);
        self.shown.total.store(0, Relaxed);
        for path in &paths {
            with::hand_over(&tree, &old.0, path, &self.new, &|| self.stop.is_set());
        }
        let report: Report = tree.finish().unwrap_or_else(|incomplete| incomplete.into_report());
        made.with = report.files + report.symlinks;
        made.cloned += report.cloned;
        made.failures = report.failures;
        Ok(())
    }

    fn options(&self) -> Options {
        match self.args.jobs {
            0 => TreeWriter::options(),
            jobs => TreeWriter::options().threads(jobs),
        }
    }

    /// Shows how far the tree is, and stops it when all is to stop.
    fn attach(&self, tree: &TreeWriter) {
        *self.shown.tree.lock().unwrap_or_else(PoisonError::into_inner) = Some(tree.observer());
        let canceller = tree.canceller();
        self.stop.attach(move || canceller.cancel());
    }

    fn check_stop(&self) -> Result<(), Ended> {
        if self.stop.is_set() { Err(Ended::Stopped) } else { Ok(()) }
    }

    /// As `git worktree add` runs it.
    fn run_hook(&self, made: &mut Made) {
        let none = "0".repeat(made.commit.len());
        let hook = ["hook", "run", "--ignore-missing", "post-checkout", "--", &none, &made.commit, "1"];
        if let Err(Refused(why)) = Git(self.new.clone()).read(&hook) {
            made.wrong.push(format!("the hook post-checkout failed: {why}"));
        }
    }

    fn tell(&self, made: &Made) -> ExitCode {
        let mut failures = Failures::new(self.args.verbose >= 1);
        failures.name(&self.screen, made.failures.iter());
        self.screen.say_all(failures.counted());
        self.screen.say_all(&made.wrong);
        let is_whole = made.failures.is_empty() && made.wrong.is_empty();
        let code = if is_whole { 0 } else { INCOMPLETE };
        if !self.args.quiet {
            self.screen.say_all(self.summary(made));
        }
        if self.args.json { print_json(&self.object(made, code, &[]), code) } else { code.into() }
    }

    fn tell_stopped(&self, signal: i32, lines: &[String]) -> ExitCode {
        self.screen.say_all(lines);
        if !self.args.quiet {
            self.screen.say(format_args!("stopped: nothing of {} stays", self.new.display()));
        }
        let code = 128 + signal as u8;
        if self.args.json { print_json(&self.object(&Made::default(), code, lines), code) } else { code.into() }
    }

    /// `made ../fix (branch fix, 1a2b3c4d5e) in 0.71 s: 80,000 files from . (79,990 cloned), 10 checked out by git`
    fn summary(&self, made: &Made) -> Vec<String> {
        let commit = &made.commit[..made.commit.len().min(10)];
        let on = made.branch.as_ref().map_or("no branch".into(), |branch| format!("branch {branch}"));
        let mut line =
            format!("made {} ({on}, {commit}) in {}: ", self.args.new.display(), duration(self.started.elapsed()));
        if let Some(source) = self.source.as_ref().filter(|_| made.files > 0) {
            let files = counted(made.files, "file", "files");
            line += &format!("{files} from {} ({} cloned), ", source.0.display(), count(made.cloned));
        }
        line += &format!("{} checked out by git", count(made.by_git));
        if made.with > 0 {
            line += &format!(", {} of --with", count(made.with));
        }
        let mut lines = vec![line];
        if self.args.verbose > 0 || made.files == 0 {
            lines.extend(made.notes.iter().cloned());
        }
        lines
    }

    fn object(&self, made: &Made, code: u8, errors: &[String]) -> Value {
        let mut object = Map::new();
        object.insert("command".into(), WORDS.command.into());
        let status = match code {
            0 => "complete",
            INCOMPLETE => "incomplete",
            _ => "stopped",
        };
        object.insert("status".into(), status.into());
        object.insert("exit_code".into(), code.into());
        json_path(&mut object, "worktree", &self.new);
        match &self.source {
            Some(source) => json_path(&mut object, "source", &source.0),
            None => drop(object.insert("source".into(), Value::Null)),
        }
        object.insert("commit".into(), Some(&*made.commit).filter(|commit| !commit.is_empty()).into());
        object.insert("branch".into(), made.branch.clone().into());
        for (key, number) in
            [("files", made.files), ("cloned", made.cloned), ("by_git", made.by_git), ("with", made.with)]
        {
            object.insert(key.into(), number.into());
        }
        object.insert("notes".into(), made.notes.clone().into());
        object.insert("failures".into(), made.failures.iter().map(json_failure).collect());
        object.insert("errors".into(), made.wrong.iter().chain(errors).cloned().collect::<Vec<_>>().into());
        object.insert("signal".into(), self.stop.signal().filter(|_| code > INCOMPLETE).into());
        object.insert("seconds".into(), ((self.started.elapsed().as_secs_f64() * 1e6).round() / 1e6).into());
        object.into()
    }
}

/// Why files are not taken from the source.
enum Left {
    /// git does it all.
    ToGit(String),
    Ended(Ended),
}

impl From<Refused> for Left {
    fn from(refused: Refused) -> Left {
        Left::Ended(refused.into())
    }
}

impl From<Ended> for Left {
    fn from(ended: Ended) -> Left {
        Left::Ended(ended)
    }
}

impl Shown {
    fn look(&self) -> (Option<f64>, String) {
        let tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(progress) = tree.as_ref().map(Observer::progress) else { return (None, "git is at work".into()) };
        let (done, total) = (progress.entries_done, self.total.load(Relaxed));
        match total {
            0 => (None, counted(done, "file", "files")),
            total => (Some(done as f64 / total as f64), format!("{} of {} files", count(done), count(total))),
        }
    }
}

/// Whether git would meet the same error.
fn is_fatal(error: &Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
}

/// The checkout that `git` is in; of a bare repository its first worktree.
fn source(git: &Git) -> Result<Option<Git>, Refused> {
    let root = |git: &Git| git.line(&["rev-parse", "--show-toplevel"]).map(|root| Git(root.into()));
    let all = worktrees(git)?; // an error if it is no repository
    if let Ok(root) = root(git) {
        return Ok(Some(root));
    }
    let others = all.into_iter().filter(|it| !it.is_bare && it.locked.is_none());
    Ok(others.map(|it| Git(it.path)).find_map(|git| root(&git).ok()))
}

/// As git does it: `index.lock` says that it is being written, and takes its place.
fn write_index(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut lock = path.as_os_str().to_owned();
    lock.push(".lock");
    let mut file = fs::File::create_new(&lock)?;
    let written = file.write_all(bytes).and_then(|()| fs::rename(&lock, path));
    written.inspect_err(|_| drop(fs::remove_file(&lock)))
}
