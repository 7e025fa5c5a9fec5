//! Writers of every kind, and records.
#![allow(dead_code, reason = "not every test uses all")]

use std::time::Duration;

use manyfiles::writer::{FileWriter, Options, SyncPolicy};

/// Buffers of none, of less than a record, of about a page and of many, on this thread and on a second one.
pub fn variants() -> Vec<(String, Options)> {
    let mut variants = Vec::new();
    for size in [0, 1, 7, 4096, 5000, 20_000, 256 << 10] {
        for second_thread in [false, true] {
            let options = FileWriter::options().buffer_size(size).second_thread(second_thread);
            variants.push((format!("buffer of {size}, second thread {second_thread}"), options));
        }
    }
    let policies = [
        SyncPolicy::OnClose,
        SyncPolicy::EveryBytes(0),
        SyncPolicy::EveryBytes(3000),
        SyncPolicy::Every(Duration::ZERO),
    ];
    for policy in policies {
        for second_thread in [false, true] {
            let options = FileWriter::options().buffer_size(2000).second_thread(second_thread).sync(policy);
            variants.push((format!("{policy:?}, second thread {second_thread}"), options));
        }
    }
    variants
}

pub fn record(len: usize, salt: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 7 + salt * 31 + 1) as u8).collect()
}
