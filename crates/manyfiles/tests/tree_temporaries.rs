//! What is written beside what it replaces has a name that no entry wants, and a later run
//! removes what a dead one left.
#![cfg(feature = "full")]
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use manyfiles::tree::{Metadata, Node, OnConflict, TreeWriter};

const ROOT: &str = "MANYFILES_TEST_ROOT";

fn temporaries(root: &Path) -> Vec<String> {
    let names = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".manyfiles-")).collect()
}

/// A process that is replacing a file in `root`, and has written half of it.
fn one_that_writes(root: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["what_a_killed_process_left_is_removed_by_a_later_run_and_what_a_live_one_writes_is_not"]);
    child.args(["--exact", "--nocapture"]).env(ROOT, root).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = manyfiles_testkit::started(|| child.spawn()).unwrap();
    let mut said = BufReader::new(child.stdout.as_mut().unwrap());
    let mut line = String::new();
    while !line.contains("half written") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended before it wrote");
    }
    child
}

/// What such a process does. False in all others.
fn writes_half_of_a_file_and_waits() -> bool {
    let Some(root) = std::env::var_os(ROOT) else { return false };
    let tree = TreeWriter::options().on_conflict(OnConflict::Replace).open(root).unwrap();
    let mut file = tree.create("long", Metadata::default()).unwrap();
    file.write_all(&[1; 600 << 10]).unwrap();
    println!("half written");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    file.write_all(&[1; 600 << 10]).unwrap();
    file.close().unwrap();
    tree.finish().unwrap();
    true
}

fn replace_something(root: &Path) {
    let tree = TreeWriter::options().on_conflict(OnConflict::Replace).open(root).unwrap();
    tree.file("short", "new").unwrap();
    assert_eq!(tree.finish().unwrap().files, 1);
}

#[test]
fn what_a_killed_process_left_is_removed_by_a_later_run_and_what_a_live_one_writes_is_not() {
    if writes_half_of_a_file_and_waits() {
        return;
    }
    if !Path::new("/proc/self/stat").exists() {
        return manyfiles_testkit::skip("needs /proc");
    }
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("long"), "old").unwrap();
    std::fs::write(temp.path().join("short"), "old").unwrap();
    let (mut killed, mut living) = (one_that_writes(temp.path()), one_that_writes(temp.path()));
    assert_eq!(temporaries(temp.path()).len(), 2);
    killed.kill().unwrap();
    // This process does not wait for it yet: a zombie is no process that writes.
    while !is_zombie(killed.id()) {
        std::thread::yield_now();
    }
    // Files of people that only look like it, and folders.
    for name in [".manyfiles-notes", ".manyfiles-1-2-3", ".manyfiles-probe-abc"] {
        std::fs::write(temp.path().join(name), "mine").unwrap();
    }
    std::fs::create_dir(temp.path().join(".manyfiles-1-1-1-1")).unwrap();
    replace_something(temp.path());
    killed.wait().unwrap();
    let left = temporaries(temp.path());
    assert_eq!(left.len(), 5, "one of two is gone, and all that was not ours is there: {left:?}");
    drop(living.stdin.take());
    assert!(living.wait().unwrap().success(), "it ended as if no other run had been there");
    assert_eq!(temp.path().join("long").metadata().unwrap().len(), 1200 << 10);
    assert_eq!(temporaries(temp.path()).len(), 4);
}

fn is_zombie(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('Z'))
}

/// A folder with such a file was copied, and is written back: over an older copy, or beside.
#[test]
fn an_entry_that_is_named_as_what_a_killed_process_left_is_an_entry() {
    let temp = tempfile::tempdir().unwrap();
    let from = temp.path().join("from");
    std::fs::create_dir(&from).unwrap();
    for name in ["long", "short"] {
        std::fs::write(from.join(name), "old").unwrap();
    }
    let mut killed = one_that_writes(&from);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let [left] = &temporaries(&from)[..] else { panic!("one is left") };
    for policy in [OnConflict::Replace, OnConflict::Overwrite, OnConflict::Skip, OnConflict::Rename] {
        for kind in ["file", "stream", "symlink", "hard link"] {
            let root = temp.path().join("root");
            std::fs::create_dir(&root).unwrap();
            std::fs::write(root.join("short"), "old").unwrap();
            let tree = TreeWriter::options().on_conflict(policy.clone()).open(&root).unwrap();
            match kind {
                "file" => tree.file(left, "an entry").unwrap(),
                "stream" => {
                    let mut stream = tree.create(left, Metadata::default()).unwrap();
                    stream.write_all(&[1; 300 << 10]).unwrap();
                    stream.close().unwrap();
                }
                "symlink" => tree.symlink(left, "nowhere", Metadata::default()).unwrap(),
                _ => {
                    tree.file("other", "an entry").unwrap();
                    tree.hard_link(left, "other").unwrap();
                }
            }
            // All before is there when the folder is looked through.
            while tree.observer().progress().entries_done < 1 + u64::from(kind == "hard link") {
                std::thread::yield_now();
            }
            tree.file("short", "new").unwrap();
            tree.finish().unwrap();
            assert!(root.join(left).symlink_metadata().is_ok(), "{policy:?} {kind}");
            std::fs::remove_dir_all(&root).unwrap();
        }
    }
}

#[test]
fn only_folders_where_a_name_is_taken_are_looked_through() {
    let temp = tempfile::tempdir().unwrap();
    for folder in ["a", "b"] {
        std::fs::create_dir(temp.path().join(folder)).unwrap();
        std::fs::write(temp.path().join(folder).join("long"), "old").unwrap();
        std::fs::write(temp.path().join(folder).join("short"), "old").unwrap();
        let mut killed = one_that_writes(&temp.path().join(folder));
        killed.kill().unwrap();
        killed.wait().unwrap();
    }
    let tree = TreeWriter::options().on_conflict(OnConflict::Replace).open(temp.path()).unwrap();
    tree.file("a/short", "new").unwrap();
    tree.file("b/new", "new").unwrap();
    tree.finish().unwrap();
    assert_eq!(temporaries(&temp.path().join("a")), [] as [String; 0]);
    assert_eq!(temporaries(&temp.path().join("b")).len(), 1);
}

#[test]
fn every_policy_that_finds_a_name_taken_removes_what_a_killed_process_left() {
    let policies = [
        OnConflict::Error,
        OnConflict::Skip,
        OnConflict::SkipIdentical,
        OnConflict::Overwrite,
        OnConflict::Newer,
        OnConflict::Rename,
    ];
    for policy in policies {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("long"), "old").unwrap();
        std::fs::write(temp.path().join("short"), "old").unwrap();
        let mut killed = one_that_writes(temp.path());
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert_eq!(temporaries(temp.path()).len(), 1);
        let said = format!("{policy:?}");
        let tree = TreeWriter::options().on_conflict(policy).open(temp.path()).unwrap();
        tree.file("short", "old").unwrap();
        drop(tree.finish()); // An error is one of the policies.
        assert_eq!(temporaries(temp.path()), [] as [String; 0], "{said}");
    }
}

#[test]
fn a_temporary_name_that_is_taken_is_no_obstacle_for_any_kind_of_entry() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path();
    let kinds = ["file", "stream", "symlink", "hard link", "fifo"];
    kinds.iter().for_each(|name| std::fs::write(root.join(name), "old").unwrap());
    std::fs::write(root.join("target"), "target").unwrap();
    let tree = TreeWriter::options().on_conflict(OnConflict::Replace).open(root).unwrap();
    // Its name tells what the next ones will be.
    let mut first = tree.create("stream", Metadata::default()).unwrap();
    first.write_all(&[1; 300 << 10]).unwrap();
    let [own] = &temporaries(root)[..] else { panic!("{:?}", temporaries(root)) };
    let (prefix, count) = own.rsplit_once('-').unwrap();
    let count = u64::from_str_radix(count, 16).unwrap();
    for next in 1..200 {
        std::fs::write(root.join(format!("{prefix}-{:x}", count + next)), "in the way").unwrap();
    }
    tree.file("file", "new").unwrap();
    tree.symlink("symlink", "nowhere", Metadata::default()).unwrap();
    tree.hard_link("hard link", "target").unwrap();
    tree.node("fifo", Node::Fifo, Metadata::default()).unwrap();
    first.close().unwrap();
    let report = tree.finish().unwrap();
    assert_eq!((report.files, report.symlinks, report.hard_links, report.nodes), (2, 1, 1, 1));
    assert_eq!(std::fs::read(root.join("file")).unwrap(), b"new");
    assert_eq!(std::fs::read(root.join("hard link")).unwrap(), b"target");
    let left = temporaries(root);
    assert_eq!(left.len(), 199);
    assert!(left.iter().all(|name| std::fs::read(root.join(name)).unwrap() == b"in the way"));
}
