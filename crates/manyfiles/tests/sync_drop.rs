//! A batch that is dropped without `finish`: what it does, and what it prints.
#![cfg(feature = "full")]

#[path = "support/again.rs"]
mod again;

use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use again::{again, is_again};
use manyfiles::sync::SyncBatch;

const ROOT: &str = "MANYFILES_TEST_ROOT";

/// Runs `test` in a process of its own, with `root`, and returns the lines that manyfiles printed there.
fn printed(test: &str, root: &Path, configure: impl FnOnce(&mut Command)) -> Vec<String> {
    let output = again(test, |command| {
        command.env(ROOT, root);
        configure(command);
    });
    let stderr = String::from_utf8(output.stderr).unwrap();
    stderr.lines().filter_map(|line| line.strip_prefix("manyfiles: ")).map(String::from).collect()
}

fn root() -> PathBuf {
    std::env::var_os(ROOT).unwrap().into()
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

fn unwind(work: impl FnOnce()) {
    catch_unwind(AssertUnwindSafe(work)).expect_err("it panics");
}

#[test]
fn a_batch_that_is_not_atomic_does_what_finish_does_and_prints_what_failed() {
    if is_again() {
        let batch = SyncBatch::new();
        batch.write(root().join("a"), "a").unwrap();
        batch.add_folder(root().join("missing"));
        drop(batch);
        unwind(|| {
            let batch = SyncBatch::new();
            batch.write(root().join("b"), "b").unwrap();
            batch.add_folder(root().join("missing too"));
            panic!("the program's own");
        });
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let test = "a_batch_that_is_not_atomic_does_what_finish_does_and_prints_what_failed";
    let lines = printed(test, temp.path(), |_| {});
    let expected = ["missing", "missing too"].map(|name| format!("cannot sync {}: ", temp.path().join(name).display()));
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines.iter().zip(&expected).all(|(line, start)| line.starts_with(start)), "{lines:?}");
    assert_eq!(names(temp.path()), ["a", "b"]);
}

#[test]
fn an_atomic_batch_removes_its_files_says_so_and_makes_durable_what_was_added() {
    if is_again() {
        let root = root();
        let fill = |old: &str, new: &str| {
            let batch = SyncBatch::options().atomic(true).build();
            batch.write(root.join(old), "changed").unwrap();
            batch.write(root.join(new), "made").unwrap();
            batch.add(File::create(root.join(format!("{new} added"))).unwrap(), root.join("missing").join(new));
            batch
        };
        drop(fill("old", "new"));
        unwind(|| {
            let _batch = fill("old", "newer");
            panic!("the program's own");
        });
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let old = temp.path().join("old");
    fs::write(&old, "as it was").unwrap();
    let test = "an_atomic_batch_removes_its_files_says_so_and_makes_durable_what_was_added";
    let lines = printed(test, temp.path(), |_| {});
    let told = "an atomic batch was dropped before its `finish`: none of its 2 files is written; the first is";
    let dropped = format!("{told} {}", old.display());
    let missing = format!("cannot sync {}: ", temp.path().join("missing").display());
    assert_eq!(lines.len(), 4, "{lines:?}");
    for told in lines.chunks(2) {
        assert!(told[0] == dropped && told[1].starts_with(&missing), "{lines:?}");
    }
    assert_eq!(names(temp.path()), ["new added", "newer added", "old"]);
    assert_eq!(fs::read(&old).unwrap(), b"as it was");
}

#[test]
fn a_file_that_a_dropped_batch_cannot_remove_is_named() {
    if is_again() {
        let batch = SyncBatch::options().atomic(true).build();
        batch.write(root().join("it"), "it").unwrap();
        let [temporary] = &names(&root())[..] else { panic!("one file") };
        fs::remove_file(root().join(temporary)).unwrap();
        return drop(batch);
    }
    let temp = tempfile::tempdir().unwrap();
    let lines = printed("a_file_that_a_dropped_batch_cannot_remove_is_named", temp.path(), |_| {});
    let start = format!("cannot remove {}", temp.path().join(".manyfiles-").display());
    assert!(lines.len() == 2 && lines[0].starts_with(&start), "{lines:?}");
    let dropped = "an atomic batch was dropped before its `finish`";
    assert_eq!(lines[1], format!("{dropped}: {} is not written", temp.path().join("it").display()));
}

#[test]
fn a_batch_prints_nothing_when_there_is_nothing_to_tell_or_finish_has_told_it() {
    if is_again() {
        for atomic in [false, true] {
            let options = SyncBatch::options().atomic(atomic);
            drop(options.clone().build());
            let batch = options.clone().build();
            batch.write(root().join("missing/file"), "x").expect_err("no such folder");
            drop(batch);
            let batch = options.clone().build();
            batch.write(root().join("fine"), "x").unwrap();
            batch.finish().unwrap();
            let batch = options.clone().build();
            batch.add_folder(root().join("missing"));
            batch.finish().expect_err("no such folder");
        }
        let batch = SyncBatch::new();
        batch.write(root().join("dropped"), "x").unwrap();
        return drop(batch);
    }
    let temp = tempfile::tempdir().unwrap();
    let test = "a_batch_prints_nothing_when_there_is_nothing_to_tell_or_finish_has_told_it";
    assert_eq!(printed(test, temp.path(), |_| {}), [] as [&str; 0]);
    assert_eq!(names(temp.path()), ["dropped", "fine"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_dropped_batch_syncs_its_files() {
    use manyfiles::sync::BatchMethod;
    use manyfiles_testkit::{Call, Need, Preload, Rule, skip_unless};

    skip_unless!(Need::Preload);
    const METHODS: [BatchMethod; 2] = [BatchMethod::EachFile, BatchMethod::FileSystem];
    if is_again() {
        for method in METHODS {
            let batch = SyncBatch::options().method(method).build();
            let folder = root().join(format!("{method:?}"));
            fs::create_dir(&folder).unwrap();
            batch.write(folder.join("it"), "it").unwrap();
        }
        return;
    }
    // On tmpfs both methods work.
    let temp = manyfiles_testkit::scratch().unwrap();
    let lines = printed("a_dropped_batch_syncs_its_files", temp.path(), |child| {
        let preload = Preload::new()
            .rule(Rule::fail(Call::Fsync, libc::EIO).path_contains("EachFile/it"))
            .rule(Rule::fail(Call::Syncfs, libc::ENOSPC).path_contains("FileSystem/it"));
        preload.apply(child).unwrap();
    });
    let starts =
        METHODS.map(|method| format!("cannot sync {}: ", temp.path().join(format!("{method:?}/it")).display()));
    assert!(lines.len() == 2 && lines.iter().zip(&starts).all(|(line, start)| line.starts_with(start)), "{lines:?}");
}

#[test]
#[cfg(unix)]
fn a_forked_child_takes_no_file_of_an_atomic_batch_away() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    for finishes in [true, false] {
        let batch = SyncBatch::options().atomic(true).build();
        batch.write(&path, format!("finishes: {finishes}")).unwrap();
        let mut batch = Some(batch);
        // SAFETY: the child touches nothing but its copy of the batch, which has no thread, and ends.
        match unsafe { libc::fork() } {
            0 => {
                let copy = batch.take().unwrap();
                let is_right = !finishes || copy.finish().is_err();
                // SAFETY: ends the child, without what the test harness has registered.
                unsafe { libc::_exit(i32::from(!is_right)) }
            }
            child => {
                let mut status = 0;
                // SAFETY: `child` is this process's child, and `status` is there to be written to.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                assert_eq!(status, 0);
            }
        }
        batch.take().unwrap().finish().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("finishes: {finishes}"));
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
    }
}
