//! Names that are taken: every policy, for every kind of entry, over every kind of thing that is there.
#![cfg(feature = "full")]
#![cfg(target_os = "linux")]

use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use manyfiles::tree::{Answer, Content, Metadata, Node, OnConflict, Report, TreeWriter};
use manyfiles_testkit::{Call, Need, Preload, Rule, skip_unless, symlink};

mod support;
use support::in_parent;

const KINDS: [&str; 6] = ["file", "stream", "with holes", "symlink", "hard link", "fifo"];
const THERE: [&str; 5] = ["file", "second name", "symlink", "fifo", "folder"];

fn time(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// What was there is of this time.
const OLD: u64 = 1_000_000_000;

/// Hands over the entry "it". A hard link's is the time of the file "target" that it leads to.
fn hand_over(tree: &TreeWriter, kind: &str, modified: SystemTime) {
    let metadata = Metadata::default().modified(modified);
    match kind {
        "file" => tree.file_with("it", "new", metadata).unwrap(),
        "stream" => {
            let mut file = tree.create("it", metadata).unwrap();
            // What fails is in the report.
            drop(file.write_all(&vec![b'n'; 300 << 10]));
            drop(file.close());
        }
        "with holes" => tree.file_with("it", Content::sparse(9, [(2, Content::from("new"))]), metadata).unwrap(),
        "symlink" => tree.symlink("it", "nowhere", metadata).unwrap(),
        "hard link" => tree.hard_link("it", "target").unwrap(),
        "fifo" => tree.node("it", Node::Fifo, metadata).unwrap(),
        kind => panic!("{kind}"),
    }
}

fn is_entry(path: &Path, kind: &str) -> bool {
    let Ok(stat) = std::fs::symlink_metadata(path) else { return false };
    match kind {
        "file" => stat.is_file() && std::fs::read(path).unwrap() == b"new",
        "stream" => stat.is_file() && stat.len() == 300 << 10,
        "with holes" => stat.is_file() && std::fs::read(path).unwrap() == b"\0\0new\0\0\0\0",
        "symlink" => stat.is_symlink() && std::fs::read_link(path).unwrap() == Path::new("nowhere"),
        "hard link" => stat.is_file() && std::fs::read(path).unwrap() == b"target",
        "fifo" => stat.file_type().is_fifo(),
        kind => panic!("{kind}"),
    }
}

/// What the entry is to come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Written,
    Skipped,
    Renamed,
    Failed,
}

fn make_there(root: &Path, there: &str) {
    let it = root.join("it");
    match there {
        "file" => std::fs::write(&it, "the old").unwrap(),
        "second name" => {
            std::fs::write(root.join("first name"), "the old").unwrap();
            std::fs::hard_link(root.join("first name"), &it).unwrap();
        }
        "symlink" => symlink("elsewhere", &it).unwrap(),
        "fifo" => assert!(Command::new("mkfifo").arg(&it).status().unwrap().success()),
        "folder" => {
            std::fs::create_dir(&it).unwrap();
            std::fs::write(it.join("inside"), "precious").unwrap();
        }
        there => panic!("{there}"),
    }
    let touched = Command::new("touch").args(["-h", "-d", &format!("@{OLD}")]).arg(&it).status().unwrap();
    assert!(touched.success());
}

#[test]
fn every_policy_holds_for_every_kind_of_entry_over_every_kind_of_thing() {
    use Outcome::*;
    let ask = |answer| OnConflict::Ask(Arc::new(move |_: &Path| answer));
    let (older, newer) = (time(OLD - 1), time(OLD + 1));
    // The outcome, where nothing special is there.
    let policies = [
        ("error", OnConflict::Error, newer, Failed),
        ("skip", OnConflict::Skip, newer, Skipped),
        ("skip-identical", OnConflict::SkipIdentical, older, Written),
        ("overwrite", OnConflict::Overwrite, older, Written),
        ("replace", OnConflict::Replace, older, Written),
        ("newer, of an older one", OnConflict::Newer, older, Skipped),
        ("newer, of one as old", OnConflict::Newer, time(OLD), Skipped),
        ("newer, of a newer one", OnConflict::Newer, newer, Written),
        ("rename", OnConflict::Rename, older, Renamed),
        ("ask: fail", ask(Answer::Error), newer, Failed),
        ("ask: skip", ask(Answer::Skip), newer, Skipped),
        ("ask: overwrite", ask(Answer::Overwrite), older, Written),
        ("ask: rename", ask(Answer::Rename), older, Renamed),
    ];
    for (label, policy, modified, usual) in &policies {
        for kind in KINDS {
            for there in THERE {
                let told = format!("{label}: {kind} over {there}");
                let temp = tempfile::tempdir().unwrap();
                let root = temp.path();
                std::fs::write(root.join("target"), "target").unwrap();
                std::fs::File::options()
                    .write(true)
                    .open(root.join("target"))
                    .unwrap()
                    .set_modified(*modified)
                    .unwrap();
                make_there(root, there);
                let is_file = matches!(kind, "file" | "stream" | "with holes" | "hard link");
                let expected = match (*label, kind, there) {
                    // A folder is never replaced, and its time decides nothing.
                    (label, _, "folder") if !matches!(*usual, Skipped | Renamed) || label.starts_with("newer") => {
                        Failed
                    }
                    ("overwrite" | "skip-identical", _, "fifo") if is_file => Failed,
                    _ => *usual,
                };
                let before = std::fs::symlink_metadata(root.join("it")).unwrap();
                let names = std::fs::read_dir(root).unwrap().count();
                let tree = TreeWriter::options().on_conflict(policy.clone()).open(root).unwrap();
                hand_over(&tree, kind, *modified);
                let report = tree.finish().unwrap_or_else(|incomplete| incomplete.into_report());
                let after = std::fs::symlink_metadata(root.join("it")).unwrap();
                let outcome = match &report {
                    Report { failures, .. } if !failures.is_empty() => Failed,
                    Report { skipped: 1, .. } => Skipped,
                    Report { renamed, .. } if !renamed.is_empty() => Renamed,
                    _ => Written,
                };
                assert_eq!(outcome, expected, "{told} {report:?}");
                let counted = report.files + report.symlinks + report.hard_links + report.nodes;
                assert_eq!(counted, u64::from(matches!(outcome, Written | Renamed)), "{told} {report:?}");
                match outcome {
                    Written => assert!(is_entry(&root.join("it"), kind), "{told}"),
                    Renamed => assert!(is_entry(&root.join("it (1)"), kind), "{told}"),
                    Failed => {
                        let failure = report.failures[0].to_string();
                        assert_eq!(report.failures[0].path(), Some(Path::new("it")), "{told} {failure}");
                        assert!(report.failures[0].raw_os_error().is_some(), "{told} {failure}");
                        let says = match there {
                            "folder" if !label.starts_with("ask: fail") => "a folder is there",
                            "fifo" if expected != *usual => "FIFO",
                            _ => "exists",
                        };
                        assert!(failure.contains(says), "{told}: {failure}");
                    }
                    Skipped => {}
                }
                if outcome != Written {
                    let identity =
                        |stat: &std::fs::Metadata| (stat.ino(), stat.mode(), stat.mtime(), stat.ctime_nsec());
                    assert_eq!(identity(&before), identity(&after), "{told}: it stays as it was");
                }
                let left = std::fs::read_dir(root).unwrap().count();
                assert_eq!(left, names + usize::from(outcome == Renamed), "{told}: nothing temporary is left");
                match there {
                    "folder" => assert_eq!(std::fs::read(root.join("it/inside")).unwrap(), b"precious", "{told}"),
                    "second name" => assert_eq!(std::fs::read(root.join("first name")).unwrap(), b"the old", "{told}"),
                    _ => {}
                }
            }
        }
    }
}

/// What a run that changes nothing leaves alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct About {
    name: String,
    number: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    blocks: u64,
    mode: u32,
}

fn all_about(root: &Path) -> Vec<About> {
    let about = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        let stat = entry.metadata().unwrap(); // Of a link itself.
        About {
            name: entry.file_name().into_string().unwrap(),
            number: stat.ino(),
            modified: (stat.mtime(), stat.mtime_nsec()),
            changed: (stat.ctime(), stat.ctime_nsec()),
            blocks: stat.blocks(),
            mode: stat.mode(),
        }
    };
    let mut all: Vec<_> = std::fs::read_dir(root).unwrap().map(about).collect();
    all.sort();
    all
}

#[test]
fn a_second_run_that_skips_what_is_identical_changes_nothing_at_all() {
    let temp = tempfile::tempdir().unwrap();
    let (source, root) = (temp.path().join("source"), temp.path().join("root"));
    let long: Vec<u8> = (0..900_000_u32).map(|n| (n >> 4) as u8).collect();
    std::fs::write(&source, &long).unwrap();
    let metadata = Metadata::default().modified(time(OLD)).mode(0o640);
    let write = |long: &[u8]| {
        let tree = TreeWriter::options().on_conflict(OnConflict::SkipIdentical).exact_permissions(true);
        let tree = tree.open(&root).unwrap();
        tree.file_with("file", "bytes", metadata.clone()).unwrap();
        tree.file("without metadata", "bytes").unwrap();
        tree.file_with("empty", "", metadata.clone()).unwrap();
        tree.file_with("read-only", "bytes", metadata.clone().mode(0o400)).unwrap();
        tree.file_with("set-id", "bytes", metadata.clone().mode(0o6755)).unwrap();
        tree.file_with("copy", Content::copy_of(&source), metadata.clone()).unwrap();
        let pieces = [(70_000, Content::from("one")), (3 << 20, Content::from("two"))];
        tree.file_with("holes", Content::sparse(9 << 20, pieces), metadata.clone()).unwrap();
        tree.file_with("all hole", Content::sparse(5 << 20, []), metadata.clone()).unwrap();
        let mut stream = tree.create("stream", metadata.clone()).unwrap();
        stream.write_all(long).unwrap();
        stream.skip(1 << 20).unwrap();
        stream.write_all(long).unwrap();
        stream.close().unwrap();
        tree.symlink("symlink", "nowhere", metadata.clone()).unwrap();
        tree.node("fifo", Node::Fifo, metadata.clone()).unwrap();
        tree.hard_link("link", "file").unwrap();
        tree.hard_link("link of copy", "copy").unwrap();
        tree.finish().unwrap()
    };
    let first = write(&long);
    assert_eq!((first.files, first.symlinks, first.nodes, first.hard_links, first.skipped), (9, 1, 1, 2, 0));
    let before = all_about(&root);
    let second = write(&long);
    assert_eq!((second.skipped, second.files, second.bytes), (13, 0, 0), "{second:?}");
    assert_eq!(all_about(&root), before);
    // What differs is given what it has not, and only that.
    std::fs::set_permissions(root.join("read-only"), PermissionsExt::from_mode(0o444)).unwrap();
    std::fs::File::options().write(true).open(root.join("holes")).unwrap().set_modified(time(5)).unwrap();
    let mut other = long.clone();
    other[899_999] ^= 1;
    let third = write(&other);
    assert_eq!((third.skipped, third.files), (12, 1), "{third:?}");
    let after = all_about(&root);
    let changed: Vec<_> = after.iter().filter(|about| !before.contains(about)).map(|about| &*about.name).collect();
    assert_eq!(changed, ["holes", "read-only", "stream"]);
    let lasting = |all: &[About]| {
        let all = all.iter().filter(|about| about.name != "stream");
        all.map(|about| About { changed: (0, 0), ..about.clone() }).collect::<Vec<_>>()
    };
    assert_eq!(lasting(&after), lasting(&before));
}

#[test]
fn identical_bytes_with_other_metadata_do_not_change_what_has_another_name_outside() {
    let temp = tempfile::tempdir().unwrap();
    let (outside, root) = (temp.path().join("outside"), temp.path().join("root"));
    std::fs::create_dir(&root).unwrap();
    std::fs::write(&outside, "same").unwrap();
    std::fs::set_permissions(&outside, PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::hard_link(&outside, root.join("f")).unwrap();
    let tree = TreeWriter::options().on_conflict(OnConflict::SkipIdentical).open(&root).unwrap();
    tree.file_with("f", "same", Metadata::default().mode(0o644).modified(time(5))).unwrap();
    tree.finish().unwrap();
    assert_eq!(outside.metadata().unwrap().mode() & 0o777, 0o600);
    let stat = root.join("f").metadata().unwrap();
    assert_eq!((stat.nlink(), stat.mode() & 0o777, stat.modified().unwrap()), (1, 0o644, time(5)));
}

#[test]
fn many_entries_of_one_name_take_as_many_calls_as_there_are_entries() {
    skip_unless!(Need::Preload);
    const MANY: usize = 1500;
    let name = "many_entries_of_one_name_take_as_many_calls_as_there_are_entries";
    // Looking through all numbers for each would be a million calls.
    let rule = Rule::fail(Call::Open, libc::EIO).path_contains("root/").after(3 * MANY as u64 + 100);
    if in_parent(name, |command| {
        Preload::new().rule(rule).apply(command).unwrap();
    }) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::options().on_conflict(OnConflict::Rename).open(temp.path().join("root")).unwrap();
    (0..MANY).for_each(|n| tree.file("a.tar.gz", n.to_string()).unwrap());
    let report = tree.finish().unwrap();
    assert_eq!((report.files, report.renamed.len()), (MANY as u64, MANY - 1));
    for n in 1..MANY {
        let path = temp.path().join(format!("root/a ({n}).tar.gz"));
        assert_eq!(std::fs::read_to_string(path).unwrap(), n.to_string());
    }
}

/// The names in a folder that are opened while `work` runs.
fn opened_in(folder: &Path, work: impl FnOnce()) -> Vec<String> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes()).unwrap();
    // SAFETY: both take a descriptor, a string that lives, and numbers.
    let watch = unsafe {
        let watch = libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC);
        assert!(watch >= 0 && libc::inotify_add_watch(watch, path.as_ptr(), libc::IN_OPEN) >= 0);
        watch
    };
    work();
    let mut names = Vec::new();
    let mut buffer = [0_u8; 64 << 10];
    loop {
        // SAFETY: the buffer is as long as it is said to be.
        let len = unsafe { libc::read(watch, buffer.as_mut_ptr().cast(), buffer.len()) };
        let Ok(len @ 1..) = usize::try_from(len) else { break };
        let mut at = 0;
        while at < len {
            let number = |at: usize| u32::from_ne_bytes(buffer[at..at + 4].try_into().unwrap());
            let name_len = number(at + 12) as usize;
            let name = &buffer[at + 16..at + 16 + name_len];
            names.push(String::from_utf8(name.iter().copied().take_while(|&byte| byte != 0).collect()).unwrap());
            at += 16 + name_len;
        }
    }
    // SAFETY: nothing else owns it.
    unsafe { libc::close(watch) };
    names
}

#[test]
fn what_is_no_file_is_never_opened() {
    let policies = [OnConflict::Overwrite, OnConflict::Replace, OnConflict::SkipIdentical, OnConflict::Newer];
    for policy in policies {
        for kind in KINDS {
            let temp = tempfile::tempdir().unwrap();
            std::fs::write(temp.path().join("target"), "target").unwrap();
            let names = opened_in(temp.path(), || {
                for round in 0..2 {
                    make_there_again(temp.path());
                    let tree = TreeWriter::options().on_conflict(policy.clone()).open(temp.path()).unwrap();
                    // With what was there before the first run in mind, and with what was learnt from it.
                    hand_over(&tree, kind, time(OLD + 1 + round));
                    drop(tree.finish());
                }
            });
            assert!(!names.iter().any(|name| name == "it"), "{policy:?} {kind}: {names:?}");
        }
    }
}

fn make_there_again(root: &Path) {
    drop(std::fs::remove_file(root.join("it"))); // It is not there at first.
    make_there(root, "fifo");
}
