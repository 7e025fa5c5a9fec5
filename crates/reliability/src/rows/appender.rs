//! `Appender`.

use std::path::Path;

use manyfiles::appender::{Appender, Options};

use super::row::{DURABLE, Row, ours};
use crate::scene::{Scene, bytes};
use crate::told::Tale;

pub fn rows() -> Vec<Row> {
    vec![
        ours(DURABLE, "Appender::append_durable", records, |folder, tale| {
            durable(Appender::options().framed(true), folder, tale);
        }),
        ours(DURABLE, "Appender, rotate_bytes", records, |folder, tale| {
            durable(Appender::options().framed(true).rotate_bytes(2000), folder, tale);
        }),
        ours(DURABLE, "Appender::append, close", records, appended),
    ]
}

pub fn the_records() -> Vec<Vec<u8>> {
    (0..10).map(|n| bytes(100 + n, 300)).collect()
}

fn records() -> Scene {
    Scene { records: the_records(), ..Scene::default() }
}

fn durable(options: Options, folder: &Path, tale: &mut Tale) {
    let Some(appender) = tale.ours(options.open(folder.join("dst/log"))) else {
        return;
    };
    for record in the_records() {
        if tale.ours(appender.append_durable(&record)).is_none() {
            break;
        }
        tale.acknowledged += 1;
    }
    let begun = tale.told.len();
    tale.told.extend(appender.take_upkeep_errors().iter().map(Into::into));
    // The close repeats the first failure there was.
    tale.ours(appender.close());
    tale.without_repetition(begun);
}

fn appended(folder: &Path, tale: &mut Tale) {
    let Some(appender) = tale.ours(Appender::options().framed(true).open(folder.join("dst/log"))) else {
        return;
    };
    let mut receipts = Vec::new();
    for record in the_records() {
        receipts.extend(tale.ours(appender.append(&record)));
    }
    let begun = tale.told.len();
    let closed = tale.ours(appender.close()).is_some();
    tale.without_repetition(begun);
    if closed {
        tale.acknowledged = receipts.len();
    }
}
