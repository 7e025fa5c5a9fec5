//! A follower is told when its log is removed, and when another is begun under its name.
#![cfg(feature = "full")]
// On Windows a file cannot be removed while it is read.
#![cfg(unix)]

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use manyfiles::appender::{Appender, Follow, Missing, Options, Position, Records};
use tempfile::TempDir;

/// No test waits that long unless something hangs.
const HANGS: Duration = Duration::from_secs(60);

fn framed() -> Options {
    Appender::options().framed(true)
}

fn rotated() -> Options {
    framed().rotate_bytes(300)
}

fn place() -> (TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    (temp, path)
}

fn append(path: &Path, options: Options, records: std::ops::Range<usize>) {
    let appender = options.open(path).unwrap();
    for n in records {
        appender.append(format!("record {n}").as_bytes()).unwrap();
    }
    appender.close().unwrap();
}

fn remove(path: &Path) {
    for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
}

/// The next record's number.
fn number(follow: &mut Follow) -> usize {
    let record = follow.next_within(HANGS).expect("a record comes").unwrap();
    String::from_utf8(record).unwrap().strip_prefix("record ").unwrap().parse().unwrap()
}

fn take(follow: &mut Follow, records: std::ops::Range<usize>) {
    for n in records {
        assert_eq!(number(follow), n);
    }
}

/// What is told next, with the file that it is about.
fn told(follow: &mut Follow) -> (Missing, PathBuf) {
    let error = follow.next_within(HANGS).expect("it is told").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    (error.missing().unwrap(), error.path().unwrap().to_owned())
}

#[test]
fn a_log_that_is_begun_anew_is_told_and_read_from_its_beginning() {
    // Longer and shorter than the one before, in more files and in fewer, and in others.
    for (before, after) in [(framed(), framed()), (rotated(), rotated()), (framed(), rotated()), (rotated(), framed())]
    {
        for records in [1, 5, 60] {
            let (_temp, path) = place();
            append(&path, before.clone(), 0..30);
            let mut follow = Records::open(&path).unwrap().follow();
            take(&mut follow, 0..30);
            let end = follow.position();
            remove(&path);
            append(&path, after.clone(), 100..100 + records);
            let (missing, file) = told(&mut follow);
            assert!(missing.from >= end && missing.to == Some(Position(0)), "{missing:?}");
            assert!(file.to_str().unwrap().starts_with(path.to_str().unwrap()));
            take(&mut follow, 100..100 + records);
            // It is followed as any other.
            append(&path, after.clone(), 200..240);
            take(&mut follow, 200..240);
            assert!(follow.next_within(Duration::from_millis(100)).is_none(), "nothing is told twice");
        }
    }
}

#[test]
fn a_log_that_is_gone_is_told_once_and_once_more_when_another_one_is_there() {
    for options in [framed(), rotated()] {
        let (_temp, path) = place();
        append(&path, options.clone(), 0..20);
        let mut follow = Records::open(&path).unwrap().follow();
        take(&mut follow, 0..20);
        let end = follow.position();
        remove(&path);
        let (missing, _) = told(&mut follow);
        assert!(missing.from >= end && missing.to.is_none(), "{missing:?}");
        // Long enough for several looks.
        assert!(follow.next_within(Duration::from_secs(3)).is_none(), "it is told once");
        append(&path, options, 50..70);
        assert_eq!(told(&mut follow).0.to, Some(Position(0)));
        take(&mut follow, 50..70);
    }
}

#[test]
fn who_is_behind_is_told_too_and_misses_nothing_of_the_new_log() {
    let (_temp, path) = place();
    append(&path, rotated(), 0..60);
    let mut follow = Records::open(&path).unwrap().follow();
    take(&mut follow, 0..5);
    remove(&path);
    append(&path, rotated(), 100..160);
    // The file that is open is read to its end.
    let (mut seen, mut errors) = (Vec::new(), 0);
    let began = Instant::now();
    while seen.last() != Some(&159) {
        assert!(began.elapsed() < HANGS, "{seen:?}");
        match follow.next_within(HANGS).expect("there is more") {
            Ok(record) => seen.push(String::from_utf8(record).unwrap()["record ".len()..].parse::<usize>().unwrap()),
            Err(error) => {
                assert!(error.missing().is_some(), "{error}");
                errors += 1;
            }
        }
    }
    let new = seen.iter().position(|&n| n >= 100).unwrap();
    assert_eq!(seen[new..], (100..160).collect::<Vec<_>>());
    assert_eq!(seen[..new], (5..5 + new).collect::<Vec<_>>());
    assert_eq!(errors, 1);
}

#[test]
fn a_file_that_lost_its_name_is_read_as_long_as_somebody_writes_to_it() {
    let (temp, path) = place();
    let appender = framed().open(&path).unwrap();
    appender.append(b"record 0").unwrap().wait_written().unwrap();
    let mut follow = Records::open(&path).unwrap().follow();
    take(&mut follow, 0..1);
    fs::rename(&path, temp.path().join("elsewhere")).unwrap();
    assert_eq!(told(&mut follow).0.to, None);
    appender.append(b"record 1").unwrap().wait_written().unwrap();
    take(&mut follow, 1..2);
    fs::rename(temp.path().join("elsewhere"), &path).unwrap();
    appender.append(b"record 2").unwrap().wait_written().unwrap();
    take(&mut follow, 2..3);
    appender.close().unwrap();
    assert!(follow.next_within(Duration::from_secs(2)).is_none(), "it is the same log again");
}

#[test]
fn who_follows_a_file_to_which_nothing_was_written_yet_sees_the_first_record() {
    let (_temp, path) = place();
    fs::write(&path, "").unwrap();
    let mut follow = Records::open(&path).unwrap().follow();
    assert!(follow.next_within(Duration::from_millis(50)).is_none());
    append(&path, framed(), 0..3);
    take(&mut follow, 0..3);
}

#[test]
fn the_last_file_taken_away_by_a_repair_is_told_and_following_goes_on_behind_it() {
    let (_temp, path) = place();
    append(&path, rotated(), 0..60);
    let files = fs::read_dir(path.parent().unwrap()).unwrap().count();
    let older = path.with_extension(format!("{:06}", files + 1));
    fs::copy(path.with_extension("000002"), &older).unwrap();
    let mut follow = Records::open_last(&path, 1).unwrap().follow();
    let mut told = 0;
    while let Some(next) = follow.next_within(Duration::from_millis(100)) {
        told += usize::from(next.is_err());
    }
    let repaired = manyfiles::appender::repair(&path).unwrap();
    assert_eq!(repaired[0].path, older);
    append(&path, rotated(), 60..63);
    let mut seen = Vec::new();
    let began = Instant::now();
    while seen.last() != Some(&b"record 62".to_vec()) {
        assert!(began.elapsed() < HANGS);
        match follow.next_within(HANGS).expect("there is more") {
            Ok(record) => seen.push(record),
            Err(error) => {
                assert!(error.missing().is_some(), "{error}");
                told += 1;
            }
        }
    }
    assert!(
        told > 0 && seen.ends_with(&[b"record 60".to_vec(), b"record 61".to_vec(), b"record 62".to_vec()]),
        "{seen:?}"
    );
}
