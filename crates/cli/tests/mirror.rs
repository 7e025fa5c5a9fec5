//! `manyfiles copy --mirror`: what becomes equal, what is refused, and what is told.

mod common;

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::tempdir;

use common::manyfiles;

/// A source, and a target that differs: one file new, one changed, one and a folder to go, one the same.
fn make(root: &Path) {
    fs::create_dir_all(root.join("source/in")).unwrap();
    fs::create_dir_all(root.join("target/in")).unwrap();
    fs::create_dir_all(root.join("target/old")).unwrap();
    for (path, content) in [
        ("source/same", "same"),
        ("source/in/changed", "after"),
        ("source/in/new", "new"),
        ("target/in/changed", "before it"),
        ("target/in/gone", "gone"),
        ("target/old/gone", "gone"),
    ] {
        fs::write(root.join(path), content).unwrap();
    }
    fs::copy(root.join("source/same"), root.join("target/same")).unwrap();
    let time = fs::metadata(root.join("source/same")).unwrap().modified().unwrap();
    fs::File::options().write(true).open(root.join("target/same")).unwrap().set_modified(time).unwrap();
}

fn names(root: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut left = vec![root.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                left.push(entry.path());
            }
            let path = entry.path().strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            names.push(path);
        }
    }
    names.sort();
    names
}

#[test]
fn the_target_becomes_equal_and_a_second_run_writes_nothing() {
    let temp = tempdir().unwrap();
    make(temp.path());
    manyfiles(temp.path(), &["copy", "--mirror", "source", "target"])
        .code(0)
        .says("target is equal now")
        .says("2 entries written")
        .says("3 removed, 1 were the same");
    assert_eq!(names(&temp.path().join("target")), ["in", "in/changed", "in/new", "same"]);
    assert_eq!(fs::read_to_string(temp.path().join("target/in/changed")).unwrap(), "after");
    manyfiles(temp.path(), &["copy", "--mirror", "source", "target"])
        .code(0)
        .says("0 entries written (0 B), 0 removed, 3 were the same");
}

#[test]
fn a_target_that_is_not_there_is_made_and_a_folder_above_it_only_if_asked() {
    let temp = tempdir().unwrap();
    make(temp.path());
    manyfiles(temp.path(), &["copy", "--mirror", "source", "new"]).code(0);
    assert_eq!(names(&temp.path().join("new")), names(&temp.path().join("source")));
    manyfiles(temp.path(), &["copy", "--mirror", "source", "a/b"]).code(2).says("the folder a is not there");
    manyfiles(temp.path(), &["copy", "--mirror", "--make-parents", "source", "a/b"]).code(0);
    assert_eq!(names(&temp.path().join("a/b")), names(&temp.path().join("source")));
}

#[test]
fn a_dry_run_lists_each_difference_and_touches_nothing() {
    let temp = tempdir().unwrap();
    make(temp.path());
    let before = names(temp.path());
    let listed = manyfiles(temp.path(), &["copy", "--mirror", "--dry-run", "source", "target"])
        .code(0)
        .says("3 entries to remove; 1 are the same; nothing was touched");
    for line in ["> in/changed", "+ in/new", "- in/gone", "- old/"] {
        let line = line.replace('/', std::path::MAIN_SEPARATOR_STR);
        let line = line.strip_suffix('\\').map_or(line.clone(), |folder| format!("{folder}/"));
        assert!(listed.out.lines().any(|listed| listed == line), "{line}: {}", listed.out);
    }
    assert_eq!(names(temp.path()), before);
    let json = manyfiles(temp.path(), &["copy", "--mirror", "--dry-run", "--json", "source", "target"]).code(0).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["removals"], &json["unchanged"]), (&3.into(), &1.into()), "{json}");
}

#[test]
fn what_would_remove_too_much_is_refused_and_nothing_is_touched() {
    let temp = tempdir().unwrap();
    make(temp.path());
    fs::create_dir(temp.path().join("empty")).unwrap();
    let before = names(temp.path());
    manyfiles(temp.path(), &["copy", "--mirror", "empty", "target"])
        .code(2)
        .says("is it mounted?")
        .says("target is as it was")
        .says("--max-delete N says");
    manyfiles(temp.path(), &["copy", "--mirror", "--max-delete", "2", "source", "target"]).code(2).says("3 names");
    assert_eq!(names(temp.path()), before);
    manyfiles(temp.path(), &["copy", "--mirror", "--max-delete", "9", "empty", "target"]).code(0);
    assert_eq!(names(&temp.path().join("target")), [""; 0]);
}

#[test]
fn what_cannot_be_meant_is_refused_with_the_reason() {
    let temp = tempdir().unwrap();
    make(temp.path());
    let before = names(temp.path());
    for (paths, why) in [
        (&["source", "source"][..], "the target is in the source"),
        (&["source", "source/in/new-folder"], "the target is in the source"),
        (&["source/in", "source"], "it would be removed"),
        (&["source/same", "target"], "is not a folder"),
        (&["nothing", "target"], "cannot read nothing"),
        (&["source", "in", "target"], "3 paths are given"),
        (&["source"], "1 path is given"),
    ] {
        let arguments: Vec<_> = ["copy", "--mirror"].iter().chain(paths).copied().collect();
        manyfiles(temp.path(), &arguments).code(2).says(why);
    }
    for option in [&["--include", "x"][..], &["--on-conflict", "skip"], &["--strip-components", "1"]] {
        let arguments: Vec<_> = ["copy", "--mirror", "source", "target"].iter().chain(option).copied().collect();
        manyfiles(temp.path(), &arguments).code(2).says("cannot be used with");
    }
    manyfiles(temp.path(), &["copy", "--max-delete", "1", "source", "target"]).code(2).says("--mirror");
    assert_eq!(names(temp.path()), before);
}

#[test]
fn what_is_excluded_is_neither_copied_nor_removed() {
    let temp = tempdir().unwrap();
    make(temp.path());
    let exclude = ["copy", "--mirror", "--exclude", "gone", "--exclude", "new", "source", "target"];
    manyfiles(temp.path(), &exclude).code(0);
    let expected = ["in", "in/changed", "in/gone", "old", "old/gone", "same"];
    assert_eq!(names(&temp.path().join("target")), expected);
}

#[test]
fn the_report_as_json_counts_what_was_done() {
    let temp = tempdir().unwrap();
    make(temp.path());
    let json = manyfiles(temp.path(), &["copy", "--mirror", "--json", "source", "target"]).code(0).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    for (key, value) in [("files", 2), ("bytes", 8), ("removed", 3), ("unchanged", 1), ("not_removed", 0)] {
        assert_eq!(json[key], value, "{key}: {json}");
    }
    assert_eq!(json["status"], "complete");
}

#[test]
fn by_content_finds_what_has_the_same_length_and_time() {
    let temp = tempdir().unwrap();
    make(temp.path());
    let (source, target) = (temp.path().join("source/same"), temp.path().join("target/same"));
    let time = fs::metadata(&source).unwrap().modified().unwrap();
    fs::write(&target, "sane").unwrap();
    fs::File::options().write(true).open(&target).unwrap().set_modified(time).unwrap();
    manyfiles(temp.path(), &["copy", "--mirror", "source", "target"]).code(0);
    assert_eq!(fs::read_to_string(&target).unwrap(), "sane");
    manyfiles(temp.path(), &["copy", "--mirror", "--by-content", "source", "target"]).code(0);
    assert_eq!(fs::read_to_string(&target).unwrap(), "same");
}
