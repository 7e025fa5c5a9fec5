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
fn a_moved_file_is_listed_as_one_and_renamed_unless_it_is_to_be_copied() {
    for (copy, what) in
        [(false, "0 entries written (0 B), 1 moved, 0 removed"), (true, "1 entry written (4 B), 1 removed")]
    {
        let temp = tempdir().unwrap();
        make(temp.path());
        manyfiles(temp.path(), &["copy", "--mirror", "source", "target"]).code(0);
        fs::rename(temp.path().join("source/same"), temp.path().join("source/in/other")).unwrap();
        let mut arguments = vec!["copy", "--mirror", "source", "target"];
        arguments.extend(copy.then_some("--copy-moved"));
        let listed = manyfiles(temp.path(), &[&arguments[..], &["--dry-run"]].concat()).code(0);
        let line = format!("m same -> in{}other", std::path::MAIN_SEPARATOR);
        assert_eq!(listed.out.lines().any(|listed| listed == line), !copy, "{}", listed.out);
        let json = manyfiles(temp.path(), &[&arguments[..], &["--dry-run", "--json"]].concat()).code(0).out;
        let json: Value = serde_json::from_str(&json).unwrap();
        let moved = json["differences"].as_array().unwrap().iter().find(|it| it["what"] == "moved");
        assert_eq!(moved.map(|it| it["from"].as_str()), (!copy).then_some(Some("same")), "{json}");
        assert_eq!(json["removals"], u64::from(copy), "{json}");
        manyfiles(temp.path(), &arguments).code(0).says(what);
        assert_eq!(fs::read_to_string(temp.path().join("target/in/other")).unwrap(), "same");
        assert!(!temp.path().join("target/same").exists());
    }
}

/// A folder, a file that stays and one that moves have attributes and lists, which then change alone.
#[test]
#[cfg(target_os = "linux")]
fn attributes_and_lists_are_compared_and_kept_if_that_is_asked_for() {
    use manyfiles_testkit::{Need, skip_unless};
    skip_unless!(Need::Program("setfattr"), Need::Program("setfacl"), Need::Program("getfacl"));
    let run = |program: &str, args: &[&str], path: &Path| {
        let output = std::process::Command::new(program).args(args).arg(path).output().unwrap();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let shown = |path: &Path| {
        run("getfattr", &["-d", "--absolute-names"], path).lines().skip(1).collect::<String>()
            + &run("getfacl", &["-c", "-n", "--absolute-names"], path)
    };
    for options in [&["-a"][..], &["--xattrs", "--acls"]] {
        let temp = tempdir().unwrap();
        make(temp.path());
        let at = |path: &str| temp.path().join(path);
        let set = |path: &str, value: &str| {
            run("setfattr", &["-n", "user.comment", "-v", value], &at(path));
            run("setfacl", &["-m", "u:12345:rx"], &at(path));
        };
        if std::process::Command::new("setfattr")
            .args(["-n", "user.x"])
            .arg(at("source"))
            .status()
            .is_ok_and(|it| !it.success())
        {
            return manyfiles_testkit::skip("needs a file system with extended attributes");
        }
        for path in ["source/same", "source/in", "source/in/new"] {
            set(path, "one");
        }
        let arguments = [&["copy", "--mirror", "source", "target"][..], options].concat();
        let all = ["", "same", "in", "in/new", "in/changed"];
        let check = |names: &[&str]| {
            for name in names {
                assert_eq!(shown(&at("target").join(name)), shown(&at("source").join(name)), "{options:?} {name}");
            }
        };
        manyfiles(temp.path(), &arguments).code(0);
        check(&all);
        manyfiles(temp.path(), &arguments).code(0).says("0 entries written (0 B), 0 removed, 3 were the same");
        set("source/in", "other");
        run("setfattr", &["-x", "user.comment"], &at("source/same"));
        manyfiles(temp.path(), &arguments).code(0).says("1 entry written");
        check(&all);
        fs::rename(at("source/in/new"), at("source/moved")).unwrap();
        manyfiles(temp.path(), &arguments).code(0).says("1 moved");
        check(&["", "same", "in", "moved"]);
        manyfiles(temp.path(), &["copy", "--mirror", "source", "target"]).code(0).says("0 entries written");
    }
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

#[cfg(target_os = "linux")]
#[test]
fn what_is_mounted_in_the_destination_is_named_and_left_and_the_source_there_is_refused() {
    use std::process::Command;
    manyfiles_testkit::skip_unless!(manyfiles_testkit::Need::Root);
    let temp = tempdir().unwrap();
    make(temp.path());
    fs::create_dir(temp.path().join("other")).unwrap();
    fs::write(temp.path().join("other/precious"), "precious").unwrap();
    let (before, mount) = (names(&temp.path().join("source")), temp.path().join("target/in"));
    for (what, code, why) in [("source", 2, "one is in the other"), ("other", 1, "something is mounted there")] {
        let bound = Command::new("mount").arg("--bind").arg(temp.path().join(what)).arg(&mount).status().unwrap();
        assert!(bound.success());
        let told = manyfiles(temp.path(), &["copy", "--mirror", "source", "target"]);
        assert!(Command::new("umount").arg(&mount).status().unwrap().success());
        told.code(code).says(why);
        assert_eq!(names(&temp.path().join("source")), before);
        assert!(temp.path().join("other/precious").exists() && temp.path().join("target/old/gone").exists());
    }
    // What is left out in a folder that is in the way of a file.
    fs::create_dir(temp.path().join("target/file")).unwrap();
    fs::write(temp.path().join("target/file/log"), "kept").unwrap();
    fs::write(temp.path().join("source/file"), "a file").unwrap();
    manyfiles(temp.path(), &["copy", "--mirror", "--exclude", "log", "source", "target"])
        .code(1)
        .says("left out")
        .says("is not equal yet");
    assert_eq!(fs::read_to_string(temp.path().join("target/file/log")).unwrap(), "kept");
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
fn where_case_is_folded_a_file_keeps_its_spelling_and_two_that_become_one_are_told() {
    let temp = tempdir().unwrap();
    fs::write(temp.path().join("case"), "").unwrap();
    if !temp.path().join("CASE").exists() {
        return manyfiles_testkit::skip("needs a file system that folds case");
    }
    make(temp.path());
    fs::write(temp.path().join("source/README"), "the new one").unwrap();
    fs::write(temp.path().join("target/readme"), "old").unwrap();
    manyfiles(temp.path(), &["copy", "--mirror", "source", "target"]).code(0);
    assert_eq!(fs::read_to_string(temp.path().join("target/readme")).unwrap(), "the new one");
    manyfiles(temp.path(), &["copy", "--mirror", "source", "target"]).code(0).says("0 entries written");
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

/// 20 kills, or as many as `MANYFILES_KILLS` says, each at a random time of a run; the seed is printed.
#[test]
#[cfg(unix)]
fn killed_at_any_time_and_run_again_it_ends_equal_and_touches_nothing_outside() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("MANYFILES_SEED")
        .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64);
    eprintln!("MANYFILES_SEED={seed}");
    let mut state = seed | 1;
    let mut below = |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % n
    };
    let temp = tempdir().unwrap();
    let (source, target, outside) =
        (temp.path().join("source"), temp.path().join("target"), temp.path().join("outside"));
    fs::create_dir(&outside).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(outside.join(name), name).unwrap();
    }
    fs::create_dir(&source).unwrap();
    let run = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manyfiles"));
        command.args(["copy", "--mirror", "-q", "--max-delete", "100000"]).args([&source, &target]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let mut took = Duration::from_millis(10);
    let (mut kills, mut rounds) = (0, 0);
    while kills < number("MANYFILES_KILLS").unwrap_or(20) {
        rounds += 1;
        assert!(rounds < 10_000, "{kills} of {rounds} runs were killed: the rest were too fast");
        // A folder, a file and a link take each other's names.
        for _ in 0..30 {
            let folder = source.join(format!("d{}", below(12)));
            match fs::symlink_metadata(&folder) {
                Ok(there) if there.is_dir() && below(4) > 0 => {}
                Ok(there) if there.is_dir() => fs::remove_dir_all(&folder).unwrap(),
                Ok(_) => fs::remove_file(&folder).unwrap(),
                Err(_) => {}
            }
            match below(8) {
                _ if folder.is_dir() && !folder.is_symlink() => {}
                // A folder of the source has another name by now.
                2 | 3 => drop(fs::rename(source.join(format!("d{}", below(12))), &folder)),
                0 => std::os::unix::fs::symlink("../outside", &folder).unwrap(),
                1 => fs::write(&folder, "a file").unwrap(),
                _ => fs::create_dir(&folder).unwrap(),
            }
            if folder.is_dir() && !folder.is_symlink() {
                for _ in 0..20 {
                    let len = below(20_000) as usize;
                    fs::write(folder.join(format!("f{}", below(30))), vec![below(256) as u8; len]).unwrap();
                }
            }
        }
        let mut child = run().spawn().unwrap();
        std::thread::sleep(Duration::from_micros(below(took.as_micros() as u64 + 1)));
        child.kill().unwrap();
        kills += u64::from(child.wait().unwrap().code().is_none());
        assert_eq!(names(&outside), ["a", "b", "c"]);
        if below(3) == 0 {
            continue; // The source changes again before the next run.
        }
        let begun = Instant::now();
        assert!(run().status().unwrap().success());
        took = begun.elapsed();
        assert_eq!(names(&target), names(&source));
        for name in names(&source) {
            let (ours, theirs) = (target.join(&name), source.join(&name));
            if theirs.is_symlink() {
                assert_eq!(fs::read_link(ours).unwrap(), fs::read_link(theirs).unwrap(), "{name}");
            } else if theirs.is_file() {
                assert!(fs::read(ours).unwrap() == fs::read(theirs).unwrap(), "{name}");
            }
        }
    }
    for name in ["a", "b", "c"] {
        assert_eq!(fs::read_to_string(outside.join(name)).unwrap(), name);
    }
}
