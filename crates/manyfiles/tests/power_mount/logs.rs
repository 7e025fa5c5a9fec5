//! [`Appender`]: what was acknowledged is there, and the log can be gone on with.

use std::fs;
use std::path::Path;

use manyfiles::appender::{Appender, Options};
use manyfiles_testkit::{Op, SlowOptions};

use crate::{Place, cut};

const THREADS: usize = 4;
const RECORDS: usize = 40;

fn record(thread: usize, n: usize) -> String {
    format!("<{thread}.{n} {}>\n", "x".repeat((thread * 89 + n * 53) % 900))
}

fn append(place: &Place, options: Options) {
    let Ok(appender) = options.open(place.root.join("logs/log")) else { return };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let appender = &appender;
            scope.spawn(move || {
                for n in 0..RECORDS {
                    let record = record(thread, n);
                    if appender.append_durable(record.as_bytes()).is_ok() {
                        place.told(record.trim_end());
                    }
                }
            });
        }
    });
    let _ = appender.close();
}

/// All bytes of the log's files, one behind the other.
fn all(folder: &Path) -> Vec<u8> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().filter(|path| path.is_file()).flat_map(|path| fs::read(path).unwrap()).collect()
}

fn check(told: &[String], folder: &Path, options: Options) {
    let logs = folder.join("logs");
    if !logs.exists() {
        assert!(told.is_empty(), "the folder is gone");
        return;
    }
    // It is begun again, and repairs what the cut has left.
    let appender = options.open(logs.join("log")).unwrap();
    appender.append_durable(b"<after>\n").unwrap();
    appender.close().unwrap();
    let bytes = String::from_utf8_lossy(&all(&logs)).into_owned();
    for record in told.iter().map(String::as_str).chain(["<after>"]) {
        assert!(bytes.contains(record), "{record:.40} is not there");
    }
}

fn kinds() -> [Options; 4] {
    let plain = Appender::options();
    let framed = plain.clone().framed(true);
    [plain.clone(), framed.clone(), plain.rotate_bytes(9_000), framed.rotate_bytes(9_000)]
}

fn run(options: fn(SlowOptions) -> SlowOptions) {
    for kind in kinds() {
        cut(
            options,
            |place, _| {
                fs::create_dir(place.root.join("logs")).unwrap();
                manyfiles::sync::sync_folder(&place.root).unwrap();
                append(place, kind.clone());
                // A second process goes on with it.
                append(place, kind.clone());
            },
            |told, _, folder| check(told, folder, kind.clone()),
        );
    }
}

#[test]
fn what_was_acknowledged_is_there() {
    run(|options| options);
}

#[test]
fn what_was_acknowledged_is_there_though_a_sync_has_failed() {
    run(|options| options.fail_nth(Op::Fsync, libc::EIO, "logs", 6));
}
