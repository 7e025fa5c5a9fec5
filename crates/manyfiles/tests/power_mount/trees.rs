//! [`TreeWriter`]: durable at its end, and published whole.

use std::fs;
use std::path::Path;

use manyfiles::tree::{Durability, OnConflict, TreeWriter};
use manyfiles_testkit::model::Remnant;
use manyfiles_testkit::{Op, SlowOptions};

use crate::cut;

const FILES: usize = 60;

fn content(run: usize, n: usize) -> Vec<u8> {
    format!("run {run} file {n} ").repeat(n * 7).into_bytes()
}

fn write(root: &Path, run: usize, durability: Durability, publish: bool) -> bool {
    let options = TreeWriter::options().durability(durability).on_conflict(OnConflict::Replace).publish(publish);
    let Ok(tree) = options.open(root) else { return false };
    for n in 0..FILES {
        // What fails here, finish tells.
        let _ = tree.file(format!("{}/{}/{n}", n % 3, n % 7), content(run, n));
    }
    tree.finish().is_ok()
}

fn has_whole(left: &Remnant, root: &str, run: usize) -> bool {
    (0..FILES).all(|n| left.file(format!("{root}/{}/{}/{n}", n % 3, n % 7)) == Some(&content(run, n)[..]))
}

const FAILURES: [fn(SlowOptions) -> SlowOptions; 2] =
    [|options| options, |options| options.fail_nth(Op::Fsync, libc::EIO, "", 40)];

#[test]
fn a_tree_that_was_promised_is_there() {
    for durability in [Durability::AtFinish, Durability::EachFile] {
        for options in FAILURES {
            cut(
                options,
                |place, _| {
                    // The second run finds the folders of the first one, whether that had an end or not.
                    for _ in 0..2 {
                        if write(&place.root.join("new/tree"), 1, durability, false) {
                            place.told("whole");
                        }
                    }
                },
                |told, left, _| assert!(told.is_empty() || has_whole(left, "new/tree", 1)),
            );
        }
    }
}

#[test]
fn a_file_that_is_replaced_has_its_old_bytes_or_the_new_ones() {
    for durability in [Durability::EachFile, Durability::AtFinish] {
        cut(
            |options| options,
            |place, _| {
                for run in 1..3 {
                    assert!(write(&place.root.join("tree"), run, durability, false));
                    place.told("run");
                }
            },
            |told, left, _| {
                for n in 0..FILES {
                    let Some(bytes) = left.file(format!("tree/{}/{}/{n}", n % 3, n % 7)) else {
                        assert!(told.is_empty(), "{n} is not there");
                        continue;
                    };
                    // Until the first run's end nothing is promised of a name that was free.
                    let runs = match told.len() {
                        0 => continue,
                        1 => 1..3,
                        _ => 2..3,
                    };
                    assert!(
                        runs.clone().any(|run| content(run, n) == bytes),
                        "{n} is of none of {runs:?}, {durability:?}"
                    );
                }
            },
        );
    }
}

#[test]
fn a_published_tree_is_whole_at_every_moment() {
    for durability in [Durability::AtFinish, Durability::EachFile] {
        for options in FAILURES {
            cut(
                options,
                |place, _| {
                    for run in 1..4 {
                        if write(&place.root.join("new/site"), run, durability, true) {
                            place.told(run.to_string());
                        }
                    }
                },
                |told, left, folder| {
                    if !folder.join("new/site").exists() {
                        assert!(told.is_empty(), "the tree is gone");
                        return;
                    }
                    let first = told.last().map_or(1, |run| run.parse().unwrap());
                    assert!((first..4).any(|run| has_whole(left, "new/site", run)), "no whole tree from {first} on");
                    assert!(fs::metadata(folder.join("new/site")).unwrap().is_dir());
                },
            );
        }
    }
}
