//! `manyfiles copy SRC… DST`.
//!
//! [`target`] gives each source its place, by the rules of `cp -a`, and refuses copies that would destroy files;
//! [`crate::walk`] finds the entries in the sources, one folder at a time, without following links; [`select`] leaves
//! out entries that are not wanted; [`hand_over`] gives each entry to the tree, and [`hard_links`] says which names are
//! of one file. The bytes are not read here: the tree's threads clone or copy each file inside the kernel.
//! [`mirror`] is `copy --mirror`, for which the library does the walking too.

mod hand_over;
mod hard_links;
pub(crate) mod mirror;
mod select;
mod target;

use std::collections::HashSet;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use manyfiles::tree::{Keep, Symlink};
use manyfiles::{Error, Operation};

use crate::args::{self, Conflict};
use crate::dry_run::{Entry, Is, Kind, Plan};
use crate::filter::Filter;
use crate::job::Job;
use crate::read::{Read, Source};
use crate::session::Session;
use crate::sys;
use crate::terminal::{About, AboutEntry, InputRead};
use crate::walk::{self, Found, Order};
use crate::words::{CannotBegin, Words};
use crate::work::Work;
use hand_over::HandOver;
pub(crate) use hand_over::unwanted;
use hard_links::HardLinks;
use select::{Budget, Selection, Visit};
use target::Target;

pub(crate) const WORDS: Words = Words { command: "copy", done: "copied", sources: "sources" };

/// Sources with places that are known and do not contradict each other.
pub(crate) struct Copy {
    target: Target,
    filter: Filter,
    /// Entries found so far.
    found: Arc<AtomicU64>,
    args: args::Copy,
}

impl Copy {
    /// Checks all arguments, and touches nothing.
    pub(crate) fn check(mut args: args::Copy) -> Result<Copy, CannotBegin> {
        args.options.set_id |= args.keeping.archive;
        args.options.special_files |= args.keeping.archive;
        can_resume(&args)?;
        let filter = args.options.filter().map_err(CannotBegin::because)?;
        let (destination, sources) = match args.paths.split_last() {
            Some((destination, sources)) if !sources.is_empty() => (destination, sources),
            _ => {
                let only = args.paths.first().map_or("nothing".into(), |path| path.display().to_string());
                return Err(CannotBegin::because(format_args!(
                    "only {only} is given, and a copy has a source and a destination: manyfiles copy SRC... DST"
                )));
            }
        };
        let target = Target::of(sources, destination, args.make_parents)?;
        Ok(Copy { target, filter, found: Arc::default(), args })
    }

    /// Walks through all sources and shows each entry that is to be copied, its path being the one below the root.
    /// Says why it ended before the end, with the source it was at.
    fn each<'a>(&'a self, visit: &'a mut Visit<'a>) -> Option<(PathBuf, String)> {
        let budget = Budget { entries: self.args.max_entries.0, bytes: self.args.max_bytes.0 };
        let (args, target, filter) = (&self.args, &self.target, &self.filter);
        // Where both are to be kept, the second gets another name.
        let may_meet = (args.options.strip_components > 0 || target.may_meet())
            && args.options.on_conflict != Some(Conflict::Rename);
        let taken = may_meet.then(HashSet::new);
        let mut selection = Selection { args, target, filter, budget, visit, over: None, taken };
        for placed in &self.target.sources {
            let walked =
                walk::walk(
                    &placed.source,
                    &placed.path,
                    self.target.root_id,
                    Order::AsFound,
                    &mut |found| match found {
                        Ok(found) => {
                            self.found.fetch_add(1, Ordering::Relaxed);
                            selection.found(placed, found)
                        }
                        Err(error) => match (selection.visit)(Err(error)) {
                            ControlFlow::Continue(()) => ControlFlow::Continue(true),
                            ControlFlow::Break(()) => ControlFlow::Break(()),
                        },
                    },
                );
            if let Some(why) = selection.over.take() {
                return Some((placed.source.clone(), why));
            }
            if walked.is_break() {
                break;
            }
        }
        None
    }

    /// The sources as they were read; `stopped` is the one in which the walk ended early.
    fn read(&self, stopped: Option<Source>) -> Read {
        let mut stopped = stopped;
        let sources = self.target.sources.iter().map(|placed| match stopped.take_if(|at| at.path == placed.source) {
            Some(source) => source,
            None => Source::whole(&placed.source),
        });
        Read { sources: sources.collect(), unmatched: self.filter.unmatched(), ..Read::default() }
    }
}

/// Refuses what would do nothing.
fn can_resume(args: &args::Copy) -> Result<(), CannotBegin> {
    match args.resume && cfg!(windows) {
        true => Err(CannotBegin::because("nothing can be resumed on Windows; leave out --resume")),
        false => Ok(()),
    }
}

impl Job for Copy {
    fn words(&self) -> Words {
        WORDS
    }

    fn root(&self) -> &Path {
        &self.target.root
    }

    fn keeps_permissions(&self) -> bool {
        true
    }

    fn keep(&self) -> Keep {
        self.args.keeping.keep(self.args.options.same_owner)
    }

    fn resumes(&self) -> bool {
        self.args.resume
    }

    fn input_read(&self) -> Box<dyn Fn() -> InputRead + Send> {
        let found = self.found.clone();
        Box::new(move || InputRead::Entries(found.load(Ordering::Relaxed)))
    }

    fn last_wins(&self) -> bool {
        false
    }

    fn about(&self) -> AboutEntry {
        if self.args.options.strip_components > 0 {
            return Box::new(|_| None); // several sources may have had this path
        }
        let placed: Vec<_> =
            self.target.sources.iter().map(|placed| (placed.path.clone(), placed.source.clone())).collect();
        Box::new(move |path| {
            let sources = placed.iter().filter_map(|(at, source)| match at == Path::new(".") {
                true => Some(source.join(path)),
                false if path == at => Some(source.clone()),
                false => path.strip_prefix(at).ok().map(|below| source.join(below)),
            });
            sources.filter_map(|source| source.symlink_metadata().ok()).map(|of| About::of(&of)).next()
        })
    }
}

impl Work for Copy {
    fn write(&self, session: &Session) -> Read {
        let namer = session.namer();
        let mut hand_over = HandOver::new(session, &self.args, self.keep());
        let stopped = self.each(&mut |found| {
            match found {
                Ok(found) => {
                    if let Some(name) = &namer {
                        name(&found.path);
                    }
                    hand_over.entry(found);
                }
                Err(error) => session.tree().fail(error),
            }
            if session.stop().is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let read = self.read(stopped.map(|(path, why)| session.cannot_read(&path, why)));
        let (other_owners, with_attributes) = (hand_over.other_owners, hand_over.with_attributes());
        Read { sockets: hand_over.sockets, other_owners, with_attributes, ..read }
    }

    fn list(&self, plan: &mut Plan) -> Read {
        let mut links = HardLinks::default();
        let stopped = self.each(&mut |found| {
            match found {
                Ok(found) => self.plan(found, &mut links, plan),
                Err(error) => plan.refuse_or_fail(&error),
            }
            ControlFlow::Continue(())
        });
        self.read(stopped.map(|(path, why)| Source { error: Some(why), ..Source::whole(&path) }))
    }
}

impl Copy {
    fn plan(&self, found: &Found, links: &mut HardLinks, plan: &mut Plan) {
        if sys::is_socket(&found.metadata) {
            return plan.skip(&found.path, Kind::Node, "a socket leads to a running program, and a copy of it nowhere");
        }
        let options = &self.args.options;
        let file_type = found.metadata.file_type();
        let node = sys::node(&found.metadata).filter(|_| options.special_files);
        let is_wanted = file_type.is_dir() || file_type.is_file() || file_type.is_symlink() || node.is_some();
        if !is_wanted {
            return plan.refuse_or_fail(&hand_over::unwanted(found));
        }
        let stands = |found: &Found| hard_links::stands(found, &self.target.root, options.on_conflict);
        let first = links.earlier_name(found, stands);
        let read_link = || sys::reach(found.at()).and_then(|reached| Symlink::read(reached.path()));
        let link = match file_type.is_symlink().then(read_link).transpose() {
            Ok(link) => link,
            Err(error) => {
                return plan.fail(&found.path, Kind::Symlink, &Error::new(Operation::Read, &found.source, error));
            }
        };
        let is = match (&first, node) {
            (Some(existing), _) => Is::HardLink { existing, or_file: file_type.is_file() },
            (None, Some(node)) => Is::Node(node),
            (None, None) if file_type.is_dir() => Is::Folder,
            (None, None) => link.as_ref().map_or(Is::File, Is::Symlink),
        };
        if matches!(is, Is::File)
            && let Err(error) = sys::reach(found.at()).and_then(|reached| File::open(reached.path()))
        {
            return plan.fail(&found.path, Kind::File, &Error::new(Operation::Open, &found.source, error));
        }
        let bytes = if matches!(is, Is::File) { found.metadata.len() } else { 0 };
        let modified = found.metadata.modified().ok(); // every file system here keeps that time
        plan.entry(Entry { path: &found.path, is, bytes, modified });
    }
}
