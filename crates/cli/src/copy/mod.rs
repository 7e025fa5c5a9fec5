//! `manyfiles copy SRC… DST`.
//!
//! [`target`] says what goes where, by the rules of `cp -a`, and refuses what would destroy something; [`walk`] finds what is
//! in the sources, one folder at a time, without following links; [`hand_over`] gives each entry to the tree. The bytes are
//! not read here: the tree's threads clone or copy each file inside the kernel.

mod hand_over;
mod hard_links;
mod target;
mod walk;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use manyfiles::Error;

use crate::args;
use crate::dry_run::{Kind, Plan};
use crate::filter::Filter;
use crate::human::{bytes, entries};
use crate::job::{CannotBegin, Job, Source, Words};
use crate::session::Session;
use crate::sys;
use crate::terminal::InputRead;
use hand_over::HandOver;
use hard_links::HardLinks;
use target::Target;
use walk::Found;

pub const WORDS: Words = Words { command: "copy", done: "copied", sources: "sources" };

/// Sources whose place is known and free of contradictions.
pub struct Copy {
    target: Target,
    filter: Filter,
    /// Entries found so far.
    found: Arc<AtomicU64>,
    args: args::Copy,
}

impl Copy {
    /// Checks all arguments, and touches nothing.
    pub fn check(args: args::Copy) -> Result<Copy, CannotBegin> {
        let filter = Filter::new(&args.options.include, &args.options.exclude).map_err(CannotBegin::because)?;
        let target = Target::of(&args.sources, &args.destination)?;
        Ok(Copy { target, filter, found: Arc::default(), args })
    }

    /// Walks through all sources and shows each entry that is to be copied, its path being the one below the root.
    /// Says why it ended before the end, with the source it was at.
    fn each(&self, visit: &mut dyn FnMut(Result<&Found, Error>) -> ControlFlow<()>) -> Option<(PathBuf, String)> {
        let mut budget = Budget { entries: self.args.max_entries.0, bytes: self.args.max_bytes.0 };
        for placed in &self.target.sources {
            let mut over = None;
            let walked = walk::walk(placed, self.target.root_id, &mut |found| {
                let mut found = match found {
                    Ok(found) => found,
                    Err(error) => return go_on(visit(Err(error))),
                };
                self.found.fetch_add(1, Ordering::Relaxed);
                if !self.filter.selects(&found.path) {
                    return ControlFlow::Continue(!self.filter.excludes(&found.path));
                }
                match strip(&found.path, self.args.options.strip_components) {
                    Some(path) => found.path = path,
                    None => return ControlFlow::Continue(true),
                }
                if let Err(limit) = budget.spend(&found.metadata) {
                    over = Some(self.limit_message(limit));
                    return ControlFlow::Break(());
                }
                go_on(visit(Ok(&found)))
            });
            if let Some(why) = over {
                return Some((placed.source.clone(), why));
            }
            if walked.is_break() {
                break;
            }
        }
        None
    }

    fn limit_message(&self, limit: Limit) -> String {
        match limit {
            Limit::Entries => {
                format!("stopped: there are more than {} (--max-entries)", entries(self.args.max_entries.0))
            }
            Limit::Bytes => format!("stopped: the files have more than {} (--max-bytes)", bytes(self.args.max_bytes.0)),
        }
    }

    /// All sources, and what stopped the walk through one.
    fn sources(&self, stopped: Option<Source>) -> Vec<Source> {
        let mut stopped = stopped;
        let sources = self.target.sources.iter().map(|placed| match stopped.take_if(|at| at.path == placed.source) {
            Some(source) => source,
            None => Source { path: placed.source.clone(), error: None },
        });
        sources.collect()
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

    fn input_read(&self) -> Box<dyn Fn() -> InputRead + Send> {
        let found = self.found.clone();
        Box::new(move || InputRead::Entries(found.load(Ordering::Relaxed)))
    }

    fn write(&self, session: &Session) -> Vec<Source> {
        let namer = session.namer();
        let mut hand_over = HandOver::new(session.tree(), &self.args.options);
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
        self.sources(stopped.map(|(path, why)| session.cannot_read(&path, why)))
    }

    fn list(&self, plan: &mut Plan) -> Vec<Source> {
        let mut links = HardLinks::default();
        let stopped = self.each(&mut |found| {
            match found {
                Ok(found) => self.plan(found, &mut links, plan),
                Err(error) => plan.failure(&error),
            }
            ControlFlow::Continue(())
        });
        self.sources(stopped.map(|(path, why)| Source { path, error: Some(why) }))
    }
}

impl Copy {
    fn plan(&self, found: &Found, links: &mut HardLinks, plan: &mut Plan) {
        let file_type = found.metadata.file_type();
        let kind = match file_type {
            of if of.is_dir() => Kind::Folder,
            _ if links.earlier_name(found, |_| true).is_some() => Kind::HardLink,
            of if of.is_file() => Kind::File,
            of if of.is_symlink() => Kind::Symlink,
            _ if self.args.options.special_files && sys::node(&found.metadata).is_some() => Kind::Node,
            _ => return plan.failure(&hand_over::unwanted(found)),
        };
        let bytes = if kind == Kind::File { found.metadata.len() } else { 0 };
        plan.entry(&found.path, kind, bytes, found.metadata.modified().ok()); // every file system here keeps that time
    }
}

/// How much may still be copied.
struct Budget {
    entries: u64,
    bytes: u64,
}

#[derive(Clone, Copy)]
enum Limit {
    Entries,
    Bytes,
}

impl Budget {
    fn spend(&mut self, metadata: &fs::Metadata) -> Result<(), Limit> {
        let bytes = if metadata.is_file() { metadata.len() } else { 0 };
        self.entries = self.entries.checked_sub(1).ok_or(Limit::Entries)?;
        self.bytes = self.bytes.checked_sub(bytes).ok_or(Limit::Bytes)?;
        Ok(())
    }
}

/// Goes on, and into the folder that was shown.
fn go_on(flow: ControlFlow<()>) -> ControlFlow<(), bool> {
    match flow {
        ControlFlow::Continue(()) => ControlFlow::Continue(true),
        ControlFlow::Break(()) => ControlFlow::Break(()),
    }
}

/// The path without its first `n` parts; `None` if it has no more than those. The root stays the root.
fn strip(path: &Path, n: usize) -> Option<PathBuf> {
    if n == 0 || path == Path::new(".") {
        return Some(path.to_path_buf());
    }
    let mut parts = path.components();
    parts.by_ref().take(n).for_each(drop);
    let rest = parts.as_path();
    (!rest.as_os_str().is_empty()).then(|| rest.to_path_buf())
}
