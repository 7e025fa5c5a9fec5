//! Who writes new files: the entrants of `manyfiles-works`, and tokio, which only this crate brings. What std, rayon and
//! tokio offer is there as most programs use it, and as those do who have measured: folders made once and before the
//! files, one blocking call for each file, as many threads as suit the place.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

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
    /// `fs::write` for one file after the other, each folder made once.
    StdOnce,
    /// The first loop as a parallel iterator, on rayon's default pool.
    Rayon,
    /// All folders first, then a parallel iterator on a pool of so many threads.
    RayonOn(usize),
    /// The first loop with `tokio::fs`, 64 files at a time.
    Tokio64,
    /// The first loop with `tokio::fs`, a task for each file.
    TokioAll,
    /// All folders first, then `fs::write` in one blocking call of tokio's for each file, so many at a time.
    TokioBlocking(usize),
    /// The loop over std, with each file in a `manyfiles::close::FastClose`.
    FastClose,
}

impl Peer {
    /// Those that work at their best where a file costs the processor's time, each with a thread for each of two cores.
    pub const BEST_ON_TWO_CORES: [Peer; 3] = [Peer::StdOnce, Peer::RayonOn(2), Peer::TokioBlocking(2)];
    /// Those that work at their best where a file costs waiting.
    pub const BEST_WHERE_CALLS_WAIT: [Peer; 2] = [Peer::RayonOn(64), Peer::TokioBlocking(64)];

    const ALL: [Peer; 11] = [
        Peer::FastClose,
        Peer::TreeWriter,
        Peer::Std,
        Peer::StdOnce,
        Peer::Rayon,
        Peer::RayonOn(2),
        Peer::RayonOn(64),
        Peer::Tokio64,
        Peer::TokioAll,
        Peer::TokioBlocking(2),
        Peer::TokioBlocking(64),
    ];

    /// As tables show it.
    pub fn name(self) -> String {
        let name = match self {
            Peer::TreeWriter => "TreeWriter",
            Peer::Std => "std::fs loop",
            Peer::StdOnce => "std::fs loop, folders once",
            Peer::Rayon => "rayon",
            Peer::RayonOn(threads) => return format!("rayon, folders first, {threads} threads"),
            Peer::Tokio64 => "tokio::fs, 64 at a time",
            Peer::TokioAll => "tokio::fs, all at a time",
            Peer::TokioBlocking(at_a_time) => return format!("tokio, a blocking call a file, {at_a_time} at a time"),
            Peer::FastClose => "FastClose loop",
        };
        name.to_owned()
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
            Peer::StdOnce => with_folders_once(corpus).with_std(root),
            Peer::Rayon => files.with_rayon(root),
            Peer::RayonOn(threads) => with_folders_once(corpus).with_rayon_on(threads, root),
            Peer::Tokio64 => timed(|| tokio_fs(corpus, root, 64)),
            Peer::TokioAll => timed(|| tokio_fs(corpus, root, corpus.files.len())),
            Peer::TokioBlocking(at_a_time) => timed(|| {
                with_folders_once(corpus).make_folders(root)?;
                tokio_blocking(corpus, root, at_a_time)
            }),
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

fn with_folders_once(corpus: &Corpus) -> NewFiles<'_> {
    NewFiles::new(&corpus.files, Folders::Once, &NEVER)
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime can be started"));

/// So many tasks, each of which waits for the blocking call of one file after the other.
fn tokio_blocking(corpus: &Arc<Corpus>, root: &Path, at_a_time: usize) -> Result<()> {
    let (next, root): (_, Arc<Path>) = (Arc::new(AtomicUsize::new(0)), root.into());
    RUNTIME.block_on(async {
        let mut calls = JoinSet::new();
        for _ in 0..at_a_time {
            let (corpus, root, next) = (Arc::clone(corpus), Arc::clone(&root), Arc::clone(&next));
            calls.spawn(async move {
                while let Some((path, bytes)) = corpus.files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (path, bytes) = (root.join(path), Arc::clone(bytes));
                    tokio::task::spawn_blocking(move || fs::write(path, bytes)).await??;
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = calls.join_next().await {
            done??;
        }
        Ok(())
    })
}

/// `tokio::fs::write` ends on a blocking thread after the file is closed there, so awaiting it counts the close.
fn tokio_fs(corpus: &Arc<Corpus>, root: &Path, at_a_time: usize) -> Result<()> {
    let (next, root): (_, Arc<Path>) = (Arc::new(AtomicUsize::new(0)), root.into());
    RUNTIME.block_on(async {
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
