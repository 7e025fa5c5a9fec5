//! `manyfiles log repair`, killed between any two of its system calls, and begun again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use manyfiles::appender::{Appender, Records, check};
use manyfiles_testkit::skip;

use crate::common::{BINARY, manyfiles, names};
use crate::made::{Made, framed, record, rotated};

/// Calls that change names or bytes: between two of them a kill leaves the same, wherever it comes. A question mark is
/// before those that some machines do not have.
const CALLS: &str = "openat,write,pwrite64,?rename,?renameat,?renameat2,?link,?linkat,?unlink,?unlinkat,ftruncate,\
                     ?copy_file_range";

fn strace(folder: &Path, options: &[&str]) -> std::io::Result<std::process::Output> {
    let mut command = Command::new("strace");
    command.args(options).args([BINARY, "log", "repair", "events", "--quiet"]).current_dir(folder).output()
}

/// The calls of a repair, by name and how many of that name there were before it, from the first on that is about the
/// log.
fn calls(folder: &Path) -> Option<Vec<(String, u64)>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let traced = strace(folder, &["-o", file.path().to_str().unwrap(), "-e", &format!("trace={CALLS}")]);
    match traced {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            skip(format_args!("strace may not trace: {}", String::from_utf8_lossy(&output.stderr).trim()));
            return None;
        }
        Err(error) => {
            skip(format_args!("needs strace: {error}"));
            return None;
        }
    }
    let trace = fs::read_to_string(file.path()).unwrap();
    let (mut counts, mut calls) = (BTreeMap::new(), Vec::new());
    let mut has_begun = false;
    for line in trace.lines() {
        let Some((name, _)) = line.split_once('(') else { continue };
        let count = counts.entry(name.to_owned()).or_insert(0_u64);
        *count += 1;
        has_begun |= line.contains("events");
        // Opening changes something where it makes a file.
        if has_begun && (name != "openat" || line.contains("O_CREAT")) {
            calls.push((name.to_owned(), *count));
        }
    }
    Some(calls)
}

/// Every file's bytes, by name.
fn all(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    names(folder).into_iter().map(|name| (name.clone(), fs::read(folder.join(name)).unwrap())).collect()
}

fn write_all(folder: &Path, files: &BTreeMap<String, Vec<u8>>) {
    for name in names(folder) {
        fs::remove_file(folder.join(name)).unwrap();
    }
    files.iter().for_each(|(name, bytes)| fs::write(folder.join(name), bytes).unwrap());
}

/// The records that can be read, in order; a record that is there twice counts once.
fn read(folder: &Path) -> Vec<Vec<u8>> {
    let mut left: Vec<Vec<u8>> = Vec::new();
    for record in Records::open(folder.join("events")).unwrap().flatten() {
        if !left.contains(&record) {
            left.push(record);
        }
    }
    left
}

/// Kills a repair of the log at each of its calls.
fn kill_everywhere(made: &Made) {
    let before = all(made.folder());
    let whole = read(made.folder());
    let Some(calls) = calls(made.folder()) else { return };
    assert!(calls.len() > 5, "{calls:?}");
    let repaired = all(made.folder());
    assert_ne!(repaired, before);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (call, nth) in &calls {
        let story = format!("killed at {call} number {nth}");
        write_all(folder, &before);
        let inject = format!("inject={call}:signal=KILL:when={nth}");
        let killed = strace(folder, &["-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject]).unwrap();
        assert!(!killed.status.success(), "{story}: {killed:?}");
        // No bytes are thrown away, readable or not.
        let now = all(folder);
        for (name, bytes) in &before {
            assert!(
                now.values().any(|other| other == bytes),
                "{story}: what was in {name} is in none of {:?}",
                now.keys()
            );
        }
        assert_eq!(read(folder), whole, "{story}");
        // The next one comes to the same end, but for copies that are kept twice.
        manyfiles(folder, &["log", "repair", "events"]).code(0);
        let again = all(folder);
        for (name, bytes) in &repaired {
            assert!(
                again.get(name) == Some(bytes),
                "{story}: {name} is not what it is after one repair: {:?}",
                again.keys()
            );
        }
        for (name, bytes) in &again {
            assert!(repaired.contains_key(name) || before.values().any(|old| old == bytes), "{story}: {name} is left");
        }
        let report = check(folder.join("events")).unwrap();
        assert!(report.is_sound(), "{story}: {report:?}");
        let appender: Appender = framed().open(folder.join("events")).unwrap();
        appender.append_durable(b"and on").unwrap();
        appender.close().unwrap();
        assert_eq!(read(folder), [&whole[..], &[b"and on".to_vec()]].concat(), "{story}");
    }
}

#[test]
fn a_repair_that_is_killed_between_any_two_calls_throws_nothing_away_and_the_next_one_ends_it() {
    let made = Made::of(rotated(), 40);
    let files = made.files();
    made.damage_file(&files[1]);
    made.damage_file(files.last().unwrap());
    let path = |n: usize| made.folder().join(format!("events.{:06}", files.len() + n));
    fs::copy(made.folder().join(&files[0]), path(1)).unwrap();
    fs::write(path(2), "").unwrap();
    kill_everywhere(&made);
}

#[test]
fn unpacking_the_last_file_that_is_killed_between_any_two_calls_throws_nothing_away() {
    let temp = tempfile::tempdir().unwrap();
    let appender = rotated().compress(true).open(temp.path().join("events")).unwrap();
    for n in 0..20 {
        appender.append_durable(record(n).as_bytes()).unwrap();
    }
    // By name alone: what is compressed goes meanwhile.
    let plain = || {
        let names = fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.ends_with(".zst")).collect::<Vec<_>>()
    };
    let began = Instant::now();
    while plain().len() > 1 {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", appender.take_upkeep_errors());
        std::thread::sleep(Duration::from_millis(5));
    }
    appender.close().unwrap();
    fs::remove_file(temp.path().join(&plain()[0])).unwrap();
    kill_everywhere(&Made { temp, positions: Vec::new() });
}
