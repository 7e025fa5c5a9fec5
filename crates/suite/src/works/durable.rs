//! What survives a power cut: one sync for each file against a batch, one for each record against group commit.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Result, ensure};
use manyfiles::appender::Appender;
use manyfiles::sync::SyncBatch;
use manyfiles_measure::contest::{Check, Sample, timed};

use super::Work;
use crate::corpus::Corpus;
use crate::session::{Interrupt, Session};

const THREADS: usize = 8;
const RECORD: [u8; 100] = [b'r'; 100];

pub(super) fn files(work: &Work, session: &Session<'_>) {
    let corpus = &Corpus::pages(work.amount as usize, 1);
    let check: Check<'_> = Box::new(|folder| corpus.check(folder));
    let interrupt = &session.interrupt;
    let fsync_each = |root: &Path| {
        in_folders(corpus, root, || {
            corpus.files.iter().try_for_each(|(path, bytes)| {
                interrupt.check()?;
                let mut file = File::create(root.join(path))?;
                file.write_all(bytes)?;
                Ok(file.sync_all()?)
            })
        })
    };
    let batch = |atomic: bool| {
        move |root: &Path| {
            in_folders(corpus, root, || {
                let batch = SyncBatch::options().atomic(atomic).build();
                corpus.files.iter().try_for_each(|(path, bytes)| {
                    interrupt.check()?;
                    Ok::<(), anyhow::Error>(batch.write(root.join(path), bytes)?)
                })?;
                batch.finish()?;
                Ok(())
            })
        }
    };
    session.contest(
        work,
        &check,
        vec![
            ("sync_all for each", Box::new(fsync_each)),
            ("SyncBatch", Box::new(batch(false))),
            ("SyncBatch, atomic", Box::new(batch(true))),
        ],
    );
}

fn in_folders(corpus: &Corpus, root: &Path, work: impl FnOnce() -> Result<()>) -> Result<Sample> {
    fs::create_dir(root)?;
    corpus.folders().into_iter().try_for_each(|folder| fs::create_dir(root.join(folder)))?;
    timed(work)
}

pub(super) fn records(work: &Work, session: &Session<'_>) {
    let each = work.amount as usize / THREADS;
    let check: Check<'_> = Box::new(move |folder| {
        let content = fs::read(folder.join("records"))?;
        ensure!(content == RECORD.repeat(each * THREADS), "{} bytes, or others than were written", content.len());
        Ok(())
    });
    let interrupt = &session.interrupt;
    let locked = |folder: &Path| {
        fs::create_dir(folder)?;
        let file = Mutex::new(File::create(folder.join("records"))?);
        timed(|| {
            on_threads(each, interrupt, || {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.write_all(&RECORD)?;
                Ok(file.sync_data()?)
            })
        })
    };
    let appender = |folder: &Path| {
        fs::create_dir(folder)?;
        let appender = Appender::open(folder.join("records"))?;
        let sample = timed(|| on_threads(each, interrupt, || Ok(appender.append_durable(&RECORD)?)))?;
        appender.close()?;
        Ok(sample)
    };
    session.contest(
        work,
        &check,
        vec![("write_all, sync_data, locked", Box::new(locked)), ("Appender", Box::new(appender))],
    );
}

/// Does it so often on each thread.
fn on_threads(each: usize, interrupt: &Interrupt, durable: impl Fn() -> Result<()> + Sync) -> Result<()> {
    let one = || {
        (0..each).try_for_each(|_| {
            interrupt.check()?;
            durable()
        })
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(one)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it returns its errors"))
    })
}
