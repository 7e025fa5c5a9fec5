//! raft-engine, TiKV's log: writers form a group, whose leader writes and syncs for all.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};
use raft_engine::{Config, Engine, LogBatch, ReadableSize};

use super::super::append::{RECORD, Waits, measure};
use super::settle::settle;
use crate::contest::{Check, Sample};

/// A file's size. It is larger than what a run writes, so that no run has a change of files in it.
const FILE: u64 = 4 << 20;

/// With zeros in files that are made ready when it is opened, as its documentation advises for a steady latency. Its
/// first file is never one of those, so it is filled before the run. Compression is off: every other entrant stores
/// what it is given.
fn config(folder: &Path) -> Result<Config> {
    Ok(Config {
        dir: folder.to_str().context("the path is no text")?.to_owned(),
        target_file_size: ReadableSize(FILE),
        purge_threshold: ReadableSize(64 << 20),
        batch_compression_threshold: ReadableSize(0),
        enable_log_recycle: true,
        prefill_for_recycle: true,
        prefill_limit: Some(ReadableSize(2 * FILE)),
        ..Config::default()
    })
}

pub fn run(folder: &Path, threads: usize, each: usize, figure: impl Fn(Waits) -> f64) -> Result<Sample> {
    let engine = Engine::open(config(folder)?)?;
    for _ in 0..2 {
        let mut batch = LogBatch::default();
        batch.put(1, b"fills the first file".to_vec(), vec![b'f'; FILE as usize])?;
        engine.write(&mut batch, true)?;
    }
    settle(folder)?;
    let next = AtomicU64::new(0);
    let sample = measure(threads, each, figure, || {
        let mut batch = LogBatch::with_capacity(1);
        batch.put(2, next.fetch_add(1, Ordering::Relaxed).to_be_bytes().to_vec(), RECORD.to_vec())?;
        engine.write(&mut batch, true)?;
        Ok(())
    })?;
    drop(engine);
    Ok(sample)
}

/// Checks that the log holds so many records.
pub fn holds(threads: usize, each: usize) -> Check<'static> {
    Box::new(move |folder| {
        let engine = Engine::open(config(folder)?)?;
        for record in 0..(threads * each) as u64 {
            let found = engine.get(2, &record.to_be_bytes());
            ensure!(found.is_some_and(|found| found == RECORD), "record {record} is not there");
        }
        Ok(())
    })
}
