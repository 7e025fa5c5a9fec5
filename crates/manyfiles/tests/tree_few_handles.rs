//! A tree while the process has nearly no handle left: each test is a process of its own, with a limit of its own.
#![cfg(unix)]

#[path = "support/again.rs"]
mod again;

use std::fs::{self, File};
use std::time::{Duration, Instant};

use again::{again, is_again};
use manyfiles::tree::TreeWriter;
use rustix::process::{Resource, Rlimit, setrlimit};

/// From here on the process may have so many handles open, with those that it has.
fn allow(handles: u64) {
    setrlimit(Resource::Nofile, Rlimit { current: Some(handles), maximum: Some(handles) }).unwrap();
}

#[test]
fn an_old_tree_deeper_than_the_free_handles_is_removed() {
    if !is_again() {
        again("an_old_tree_deeper_than_the_free_handles_is_removed", |_| {});
        return;
    }
    allow(20);
    for levels in [10, 16, 40, 200] {
        let temp = tempfile::tempdir().unwrap();
        let site = temp.path().join("site");
        let deep = "d/".repeat(levels);
        let old = TreeWriter::open(&site).unwrap();
        for level in 0..levels {
            old.file(format!("{}file", "d/".repeat(level)), "old").unwrap();
        }
        old.finish().unwrap();
        let new = TreeWriter::options().publish(true).open(&site).unwrap();
        new.file("new", "new").unwrap();
        new.finish().unwrap();
        let names = |folder: &std::path::Path| -> Vec<_> {
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
        };
        assert_eq!((names(&site), names(temp.path())), (vec!["new".into()], vec!["site".into()]), "{levels} levels");
        // One that is given up is removed, too.
        let given_up = TreeWriter::options().publish(true).open(&site).unwrap();
        given_up.file(format!("{deep}file"), "new").unwrap();
        drop(given_up);
        assert_eq!(names(temp.path()), ["site"], "{levels} levels");
    }
}

#[test]
fn entries_without_a_handle_do_not_wait_one_after_the_other() {
    if !is_again() {
        again("entries_without_a_handle_do_not_wait_one_after_the_other", |_| {});
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    fs::create_dir_all(temp.path().join("tree/there")).unwrap();
    let tree = TreeWriter::open(temp.path().join("tree")).unwrap();
    allow(256);
    let mut held = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        held.push(file);
    }
    let started = Instant::now();
    for n in 0..400 {
        tree.file(format!("there/{n}"), "x").unwrap();
    }
    // Each for itself would wait for a second. The bound is generous: it only tells the two apart.
    let report = tree.finish().unwrap_err().into_report();
    assert_eq!(report.failures.len(), 400, "{:?}", report.failures.first());
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    drop(held);
    // With handles again all is as before.
    let tree = TreeWriter::open(temp.path().join("tree")).unwrap();
    tree.file("there/after", "x").unwrap();
    tree.finish().unwrap();
}
