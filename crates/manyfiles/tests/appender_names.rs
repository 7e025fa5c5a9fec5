//! The names of a log's files: which are a log's, and what happens where another program's file has one.
#![cfg(feature = "full")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use manyfiles::appender::{Appender, OnDamage, Options, Records};
use tempfile::TempDir;

const CHILD: &str = "MANYFILES_TEST_APPENDS";

fn place() -> (TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("events");
    (temp, path)
}

fn framed() -> Options {
    Appender::options().framed(true)
}

fn append(options: Options, path: &Path, record: &str) {
    let appender = options.open(path).unwrap();
    appender.append_durable(record.as_bytes()).unwrap();
    appender.close().unwrap();
}

/// What is killed leaves its log as this does.
fn append_and_end(options: Options, path: &Path, records: &[&str]) {
    let appender = options.open(path).unwrap();
    records.iter().for_each(|record| appender.append_durable(record.as_bytes()).unwrap());
    let (folder, kept) = (path.parent().unwrap(), content(path.parent().unwrap()));
    appender.close().unwrap();
    content(folder).keys().for_each(|name| fs::remove_file(folder.join(name)).unwrap());
    kept.iter().for_each(|(name, bytes)| fs::write(folder.join(name), bytes).unwrap());
}

/// Records, and what is told between them.
fn read(path: &Path) -> Vec<Result<String, String>> {
    let records = Records::open(path).unwrap();
    records.map(|item| item.map(|r| String::from_utf8(r).unwrap()).map_err(|e| e.to_string())).collect()
}

fn whole(path: &Path) -> Vec<String> {
    read(path).into_iter().map(Result::unwrap).collect()
}

/// All files of a folder by name.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    files.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn logs_and_files_with_names_near_that_of_a_log_are_left_alone() {
    for options in [framed(), framed().rotate_bytes(100), Appender::options(), Appender::options().rotate_bytes(100)] {
        let (temp, path) = place();
        let near =
            ["events.new", "events.open", "events.tail", "events.tail.new", "events.0000009", "events.manyfiles-x"];
        for name in near {
            append(framed(), &temp.path().join(name), "another log");
        }
        let foreign = "events.manyfiles-0123456789abcdef";
        fs::write(temp.path().join(foreign), "somebody's text").unwrap();
        let before = content(temp.path());
        append(options.clone(), &path, "one");
        append_and_end(options.clone(), &path, &["two"]);
        append(options, &path, "three");
        let after = content(temp.path());
        for (name, bytes) in before {
            assert!(after.get(&name) == Some(&bytes), "{name}");
        }
    }
}

#[test]
fn where_a_note_should_be_somebody_s_file_is_no_note_and_is_kept() {
    let (temp, path) = place();
    for (there, name) in [(false, "open"), (true, "open"), (false, "tail"), (true, "tail")] {
        if there {
            fs::write(&path, "").unwrap();
        }
        let note = temp.path().join(format!("events.manyfiles-{name}"));
        fs::write(&note, "somebody's text that is long enough").unwrap();
        let before = content(temp.path());
        let error = std::io::Error::from(Appender::open(&path).unwrap_err());
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
        assert_eq!(content(temp.path()), before);
        fs::remove_file(&note).unwrap();
        if there {
            fs::remove_file(&path).unwrap();
        }
    }
}

#[test]
fn what_ended_processes_left_is_removed_and_what_is_in_use_is_not() {
    let (temp, path) = place();
    append(framed(), &path, "one");
    let left = temp.path().join("events.manyfiles-00000000000000aa");
    for bytes in [vec![], vec![0; 96], fs::read(&path).unwrap(), fs::read(&path).unwrap()[..20].to_vec()] {
        fs::write(&left, bytes).unwrap();
        append(framed(), &path, "more");
        assert!(!left.exists());
    }
    // Locked, as one that is being made.
    let used = temp.path().join("events.manyfiles-00000000000000bb");
    let making = framed().open(&used).unwrap();
    append(framed(), &path, "more");
    assert!(used.exists());
    making.close().unwrap();
}

#[test]
fn a_log_with_frames_is_refused_to_who_asks_for_none_and_not_changed() {
    for options in [framed(), framed().rotate_bytes(100)] {
        let (temp, path) = place();
        let refused = || {
            for plain in [Appender::options(), Appender::options().rotate_bytes(100)] {
                let before = content(temp.path());
                let error = std::io::Error::from(plain.open(&path).unwrap_err());
                assert!(error.to_string().contains("open the log with framing"), "{error}");
                assert_eq!(error.kind(), ErrorKind::InvalidData);
                assert_eq!(content(temp.path()), before);
            }
        };
        let appender = options.clone().open(&path).unwrap();
        appender.append_durable(b"one").unwrap();
        // On Windows too: no reader is kept from reading.
        refused();
        appender.close().unwrap();
        refused();
        append_and_end(options.clone(), &path, &["two"]);
        refused();
        append(options, &path, "three");
        assert_eq!(whole(&path), ["one", "two", "three"]);
    }
}

#[test]
fn after_the_highest_number_comes_an_error_and_no_panic() {
    let (temp, path) = place();
    append(framed(), &path, "one");
    fs::rename(&path, temp.path().join("events.18446744073709551615")).unwrap();
    let appender = framed().rotate_bytes(100).open(&path).unwrap();
    for _ in 0..2 {
        let error = appender.append_durable(&[b'x'; 200]).unwrap_err();
        assert!(error.to_string().contains("the highest there is"), "{error}");
        assert!(error.path().unwrap().ends_with("events.18446744073709551615"));
    }
    assert!(appender.close().is_err());
    assert_eq!(whole(&path), ["one"]);
}

#[cfg(unix)]
#[test]
fn a_log_behind_a_symbolic_link_is_one_log_by_either_name() {
    for options in [framed(), framed().rotate_bytes(100), Appender::options()] {
        let (temp, link) = place();
        let folder = temp.path().join("data");
        fs::create_dir(&folder).unwrap();
        let real = folder.join("real");
        // It leads to nothing at first: the log is made where it leads.
        std::os::unix::fs::symlink("data/real", &link).unwrap();
        for (n, path) in [&link, &real, &link, &link, &real].into_iter().enumerate() {
            let appender = options.clone().open(path).unwrap();
            appender.append_durable(format!("<{n}>").as_bytes()).unwrap();
            let kept = content(&folder);
            appender.close().unwrap();
            if n % 2 == 0 {
                content(&folder).keys().for_each(|name| fs::remove_file(folder.join(name)).unwrap());
                kept.iter().for_each(|(name, bytes)| fs::write(folder.join(name), bytes).unwrap());
            }
        }
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 2, "all is where the log is");
        let all = ["<0>", "<1>", "<2>", "<3>", "<4>"];
        if content(&folder).get("real").is_some_and(|bytes| bytes.starts_with(b"<")) {
            append(options, &link, "");
            assert_eq!(fs::read(&real).unwrap(), all.concat().as_bytes());
            assert_eq!(content(&folder).len(), 1);
        } else {
            assert_eq!((whole(&link), whole(&real)), (all.map(String::from).to_vec(), all.map(String::from).to_vec()));
        }
    }
}

#[test]
fn a_path_that_ends_in_a_separator_is_no_file_s() {
    let (temp, path) = place();
    let path = PathBuf::from(format!("{}/", path.display()));
    for options in [framed(), framed().rotate_bytes(100), Appender::options().rotate_bytes(100)] {
        let error = std::io::Error::from(options.open(&path).unwrap_err());
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
    assert!(content(temp.path()).is_empty());
}

/// Each place of a log that was not closed, with one bit that flipped: what was read before is read after, in whatever
/// file it is.
#[test]
fn going_on_behind_damage_keeps_every_record_that_was_read_before() {
    let (temp, path) = place();
    let records: Vec<String> = (0..5).map(|n| format!("old {n} {}", ".".repeat(16))).collect();
    append_and_end(framed(), &path, &records.iter().map(String::as_str).collect::<Vec<_>>());
    let original = fs::read(&path).unwrap();
    let end = original.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    let mut damaged = 0;
    for at in 96..end {
        content(temp.path()).keys().for_each(|name| fs::remove_file(temp.path().join(name)).unwrap());
        let mut bytes = original[..end].to_vec();
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let mut expected: Vec<String> = read(&path).into_iter().flatten().collect();
        damaged += usize::from(expected.len() < 5);
        // The second opening finds what the first one made.
        for n in 0..2 {
            let new = format!("new {n}");
            append_and_end(framed().on_damage(OnDamage::GoOn), &path, &[&new]);
            expected.push(new);
            let after: Vec<String> = read(&path).into_iter().flatten().collect();
            assert_eq!(after, expected, "byte {at}, opening {n}");
        }
    }
    assert!(damaged > 100, "the flipped bits did nothing");
}

/// Run by the test below in processes of their own.
#[test]
fn child_appends() {
    let Ok(words) = std::env::var(CHILD) else { return };
    let [kind, record, path] = words.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{words}") };
    let mut go = [0];
    std::io::stdin().read_exact(&mut go).unwrap();
    for _ in 0..200 {
        match options_of(kind, record).open(path) {
            Ok(appender) => {
                appender.append_durable(record.as_bytes()).unwrap();
                appender.close().unwrap();
                println!("acknowledged {record}");
                return;
            }
            Err(error) => assert_eq!(std::io::Error::from(error).kind(), ErrorKind::ResourceBusy),
        }
        thread::yield_now();
    }
}

fn options_of(kind: &str, record: &str) -> Options {
    match kind {
        "framed" => framed(),
        // Two programs that do not agree whether the log is rotated.
        "mixed" if record == "<1>" => framed(),
        "mixed" | "rotated" => framed().rotate_bytes(100),
        _ => Appender::options(),
    }
}

#[test]
fn processes_that_begin_a_log_at_once_lose_nothing_of_what_was_acknowledged() {
    let program = std::env::current_exe().unwrap();
    let mut acknowledged = 0;
    for round in 0..60 {
        let kind = ["framed", "rotated", "mixed", "plain"][round % 4];
        let (temp, path) = place();
        let mut children: Vec<_> = (0..4)
            .map(|n| {
                let mut child = Command::new(&program);
                child.args(["child_appends", "--exact", "--nocapture"]);
                child.env(CHILD, format!("{kind} <{n}> {}", path.display()));
                child.stdin(Stdio::piped()).stdout(Stdio::piped());
                manyfiles_testkit::started(|| child.spawn()).unwrap()
            })
            .collect();
        // All are there before any of them goes.
        thread::sleep(std::time::Duration::from_millis(20));
        for child in &mut children {
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"!").unwrap();
        }
        let mut told = String::new();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{kind}, round {round}");
            told += &String::from_utf8(output.stdout).unwrap();
        }
        let text = if kind == "plain" { fs::read_to_string(&path).unwrap() } else { whole(&path).concat() };
        for n in 0..4 {
            let record = format!("<{n}>");
            if told.contains(&format!("acknowledged {record}")) {
                acknowledged += 1;
                assert!(
                    text.contains(&record),
                    "{kind}, round {round}: {record} is gone: {:?}",
                    content(temp.path()).keys()
                );
            }
        }
        assert!(content(temp.path()).keys().all(|name| !name.contains(".manyfiles-")), "nothing is left over");
    }
    assert!(acknowledged >= 60);
}
