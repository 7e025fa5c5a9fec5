//! Who writes new files: the entrants of `manyfiles-works`, and tokio, which only this crate brings.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use manyfiles_measure::contest::{Sample, timed};
use manyfiles_testkit::Corpus;
use manyfiles_works::Interrupt;
use manyfiles_works::works::{Folders, NewFiles};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// `manyfiles::tree::TreeWriter`, fed from one thread.
    TreeWriter,
    /// `create_dir_all` and `fs::write` for one file after the other.
    Std,
    /// That loop as a parallel iterator, on rayon's default pool.
    Rayon,
    /// That loop with `tokio::fs`, 64 files at a time.
    Tokio64,
    /// That loop with `tokio::fs`, a task for each file.
    TokioAll,
    /// The loop over std, with each file in a `manyfiles::close::FastClose`.
    FastClose,
}

impl Peer {
    const ALL: [Peer; 6] = [Peer::FastClose, Peer::TreeWriter, Peer::Std, Peer::Rayon, Peer::Tokio64, Peer::TokioAll];

    /// As tables show it.
    pub fn name(self) -> &'static str {
        match self {
            Peer::TreeWriter => "TreeWriter",
            Peer::Std => "std::fs loop",
            Peer::Rayon => "rayon",
            Peer::Tokio64 => "tokio::fs, 64 at a time",
            Peer::TokioAll => "tokio::fs, all at a time",
            Peer::FastClose => "FastClose loop",
        }
    }

    /// The peer that tables show by this name.
    pub fn by_name(name: &str) -> Result<Peer> {
        Peer::ALL.into_iter().find(|peer| peer.name() == name).with_context(|| format!("no peer is called {name}"))
    }

    /// Writes the corpus below `root`, and returns what that took when every file is closed. What pools and runtimes a
    /// peer needs are kept for the next time, as a program that uses them would have them.
    pub fn write(self, corpus: &Arc<Corpus>, root: &Path) -> Result<Sample> {
        let files = NewFiles::new(&corpus.files, Folders::ForEachFile, &NEVER);
        match self {
            Peer::TreeWriter => files.with_tree_writer(root),
            Peer::Std => files.with_std(root),
            Peer::Rayon => files.with_rayon(root),
            Peer::Tokio64 => timed(|| tokio_fs(corpus, root, 64)),
            Peer::TokioAll => timed(|| tokio_fs(corpus, root, corpus.files.len())),
            Peer::FastClose => files.with_fast_close(root),
        }
    }
}

/// No run of this program ends before its time.
pub static NEVER: Interrupt = Interrupt::never();

/// What most programs do for each file.
pub fn write_one(root: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("it is below the root"))?;
    fs::write(path, bytes)?;
    Ok(())
}

/// `tokio::fs::write` ends on a blocking thread after the file is closed there, so awaiting it counts the close.
fn tokio_fs(corpus: &Arc<Corpus>, root: &Path, at_a_time: usize) -> Result<()> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| Runtime::new().expect("a runtime can be started"));
    let (next, root): (_, Arc<Path>) = (Arc::new(AtomicUsize::new(0)), root.into());
    runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for _ in 0..at_a_time {
            let (corpus, root, next) = (Arc::clone(corpus), Arc::clone(&root), Arc::clone(&next));
            tasks.spawn(async move {
                while let Some((path, bytes)) = corpus.files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let path = root.join(path);
                    tokio::fs::create_dir_all(path.parent().expect("it is below the root")).await?;
                    tokio::fs::write(path, bytes).await?;
                }
                Ok::<(), std::io::Error>(())
            });
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        Ok(())
    })
}
