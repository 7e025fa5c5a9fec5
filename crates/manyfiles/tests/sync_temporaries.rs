//! What an atomic batch of a killed process has left is removed by the next batch in that folder, and by a tree.
#![cfg(all(target_os = "linux", feature = "full"))]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use manyfiles::sync::SyncBatch;
use manyfiles::tree::{OnConflict, TreeWriter};

const ROOT: &str = "MANYFILES_TEST_ROOT";

fn temporaries(folder: &Path) -> usize {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".manyfiles-")).count()
}

/// A process that has written the files of an atomic batch in `root`, and has not finished it.
fn one_that_writes(root: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["a_batch_of_a_killed_process_leaves_nothing_for_long", "--exact", "--nocapture"])
        .env(ROOT, root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.as_mut().unwrap());
    let mut line = String::new();
    while !line.contains("all written") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended before it wrote");
    }
    child
}

/// What such a process does. False in all others.
fn writes_a_batch_and_waits() -> bool {
    let Some(root) = std::env::var_os(ROOT) else { return false };
    let batch = SyncBatch::options().atomic(true).build();
    for n in 0..3 {
        batch.write(Path::new(&root).join(format!("{n}")), "new").unwrap();
    }
    println!("all written");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    batch.finish().unwrap();
    true
}

fn write_a_batch(folder: &Path) {
    let batch = SyncBatch::options().atomic(true).build();
    batch.write(folder.join("other"), "other").unwrap();
    batch.finish().unwrap();
}

fn replace_in_a_tree(folder: &Path) {
    let tree = TreeWriter::options().on_conflict(OnConflict::Replace).open(folder).unwrap();
    tree.file("taken", "new").unwrap();
    tree.finish().unwrap();
}

#[test]
fn a_batch_of_a_killed_process_leaves_nothing_for_long() {
    if writes_a_batch_and_waits() {
        return;
    }
    if !Path::new("/proc/self/stat").exists() {
        return manyfiles_testkit::skip("needs /proc");
    }
    for next in [write_a_batch, replace_in_a_tree] {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("taken"), "old").unwrap();
        // What only looks like such a file is a user's.
        fs::write(temp.path().join(".manyfiles-notes.tmp"), "mine").unwrap();
        let (mut killed, mut living) = (one_that_writes(temp.path()), one_that_writes(temp.path()));
        assert_eq!(temporaries(temp.path()), 7);
        killed.kill().unwrap();
        killed.wait().unwrap();
        next(temp.path());
        assert_eq!(temporaries(temp.path()), 4, "those of the killed process are gone, and no others");
        drop(living.stdin.take());
        assert!(living.wait().unwrap().success(), "it ended as if no other process had been there");
        assert_eq!(temporaries(temp.path()), 1);
        assert_eq!(fs::read(temp.path().join("0")).unwrap(), b"new");
    }
}

/// A program that makes a batch for each file looks through a folder once.
#[test]
fn a_folder_is_looked_through_once_in_each_process_and_every_folder_is() {
    if writes_a_batch_and_waits() {
        return;
    }
    if !Path::new("/proc/self/stat").exists() {
        return manyfiles_testkit::skip("needs /proc");
    }
    let temp = tempfile::tempdir().unwrap();
    // More than a batch holds open.
    let folders: Vec<_> = (0..200).map(|n| temp.path().join(n.to_string())).collect();
    folders.iter().for_each(|folder| fs::create_dir(folder).unwrap());
    let mut left = one_that_writes(&folders[0]);
    left.kill().unwrap();
    left.wait().unwrap();
    let name = |folder: &Path| fs::read_dir(folder).unwrap().next().unwrap().unwrap().file_name();
    let name = name(&folders[0]);
    folders.iter().for_each(|folder| fs::write(folder.join(&name), "left").unwrap());
    let batch = SyncBatch::options().atomic(true).build();
    folders.iter().for_each(|folder| batch.write(folder.join("new"), "new").unwrap());
    assert_eq!(folders.iter().map(|folder| temporaries(folder)).sum::<usize>(), 200, "one of its own in each");
    batch.finish().unwrap();
    fs::write(folders[0].join(&name), "left").unwrap();
    write_a_batch(&folders[0]);
    assert_eq!(temporaries(&folders[0]), 1);
}
