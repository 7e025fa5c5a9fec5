//! Many new files: plain std, rayon, FastClose, TreeWriter.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use manyfiles::close::{self, FastClose};
use manyfiles::tree::TreeWriter;
use manyfiles_measure::contest::{Check, Run, Sample, timed};
use rayon::prelude::*;

use super::Work;
use crate::corpus::Corpus;
use crate::font;
use crate::session::{Interrupt, Session};
use crate::slow_handle::SlowHandle;

pub(super) fn one_folder(work: &Work, session: &Session<'_>) {
    contest(work, session, &Corpus::pages(2_300, 1));
}

pub(super) fn folders(work: &Work, session: &Session<'_>) {
    contest(work, session, &Corpus::pages(10_000, 600));
}

pub(super) fn font(work: &Work, session: &Session<'_>) {
    contest(work, session, &font::font());
}

fn contest(work: &Work, session: &Session<'_>, corpus: &Corpus) {
    let check: Check<'_> = Box::new(|folder| corpus.check(folder));
    let writing = Writing { corpus, interrupt: &session.interrupt, slow: session.options.simulate_close };
    let writing = &writing;
    let mut entrants: Vec<(&str, Run<'_>)> = vec![
        ("std loop", Box::new(|root| writing.with_std(root))),
        ("rayon", Box::new(|root| writing.with_rayon(root))),
        ("FastClose loop", Box::new(|root| writing.with_fast_close(root))),
    ];
    if session.options.simulate_close.is_some() {
        session.leave_out(
            format!("{}: TreeWriter", work.name),
            "it closes its files itself, and no slower than the disk does",
        );
    } else {
        entrants.push(("TreeWriter", Box::new(|root| writing.with_tree_writer(root))));
    }
    session.contest(work, &check, entrants);
}

struct Writing<'a> {
    corpus: &'a Corpus,
    interrupt: &'a Interrupt,
    slow: Option<Duration>,
}

impl Writing<'_> {
    /// What most programs do.
    fn with_std(&self, root: &Path) -> Result<Sample> {
        timed(|| self.loop_in(root, |path, bytes| self.write(path, bytes)))
    }

    /// The folders, and then the files as a parallel iterator on rayon's own threads.
    fn with_rayon(&self, root: &Path) -> Result<Sample> {
        timed(|| {
            self.make_folders(root)?;
            self.corpus.files.par_iter().try_for_each(|(path, bytes)| self.write(&root.join(path), bytes))
        })
    }

    fn with_fast_close(&self, root: &Path) -> Result<Sample> {
        timed(|| {
            let written = self.loop_in(root, |path, bytes| match self.slow {
                Some(wait) => Ok(FastClose::new(SlowHandle::new(File::create(path)?, wait)).write_all(bytes)?),
                None => Ok(FastClose::new(File::create(path)?).write_all(bytes)?),
            });
            // Also after a failure: what is pending must be closed before its folder is removed.
            close::wait()?;
            written
        })
    }

    fn with_tree_writer(&self, root: &Path) -> Result<Sample> {
        timed(|| {
            let tree = TreeWriter::open(root)?;
            let handed_over = self.corpus.files.iter().try_for_each(|(path, bytes)| {
                self.interrupt.check()?;
                Ok(tree.file(path, Arc::clone(bytes))?)
            });
            if let Err(error) = handed_over {
                tree.canceller().cancel();
                // The first error is the one to tell.
                drop(tree.finish());
                return Err(error);
            }
            tree.finish()?;
            Ok(())
        })
    }

    /// Each folder is made when its first file comes.
    fn loop_in(&self, root: &Path, write: impl Fn(&Path, &[u8]) -> Result<()>) -> Result<()> {
        let mut folder = PathBuf::new();
        for (path, bytes) in &self.corpus.files {
            self.interrupt.check()?;
            let path = root.join(path);
            let parent = path.parent().expect("it is below the root");
            if parent != folder {
                fs::create_dir_all(parent)?;
                folder = parent.to_owned();
            }
            write(&path, bytes)?;
        }
        Ok(())
    }

    fn make_folders(&self, root: &Path) -> Result<()> {
        fs::create_dir(root)?;
        self.corpus.folders().into_iter().try_for_each(|folder| Ok(fs::create_dir(root.join(folder))?))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.interrupt.check()?;
        match self.slow {
            Some(wait) => SlowHandle::new(File::create(path)?, wait).write_all(bytes)?,
            None => File::create(path)?.write_all(bytes)?,
        }
        Ok(())
    }
}
