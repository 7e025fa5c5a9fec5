//! A follower goes on in a copy of its file, and is told where records that it has read are not in the log any more.
#![cfg(feature = "full")]
// On Windows a file cannot be replaced while it is read.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use manyfiles::appender::{Appender, Follow, Missing, Options, Position, Records, repair};
use tempfile::TempDir;

/// No test waits that long unless something hangs.
const HANGS: Duration = Duration::from_secs(60);

fn framed() -> Options {
    Appender::options().framed(true)
}

fn place() -> (TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    (temp, path)
}

fn append(path: &Path, records: std::ops::Range<usize>) {
    append_with(path, framed(), records);
}

fn append_with(path: &Path, options: Options, records: std::ops::Range<usize>) {
    let appender = options.open(path).unwrap();
    for n in records {
        appender.append(format!("record {n:04}").as_bytes()).unwrap();
    }
    appender.close().unwrap();
}

/// A backup is put in the place of a file, as programs do that: a copy is moved there.
fn put_back(backup: &Path, path: &Path) {
    let copy = path.with_extension("copy");
    fs::copy(backup, &copy).unwrap();
    fs::rename(copy, path).unwrap();
}

fn number(record: Vec<u8>) -> usize {
    String::from_utf8(record).unwrap().strip_prefix("record ").unwrap().parse().unwrap()
}

fn take(follow: &mut Follow, records: std::ops::Range<usize>) {
    for n in records {
        assert_eq!(number(follow.next_within(HANGS).expect("a record comes").unwrap()), n);
    }
}

fn told(follow: &mut Follow) -> Missing {
    let error = follow.next_within(HANGS).expect("it is told").unwrap_err();
    error.missing().unwrap_or_else(|| panic!("{error}"))
}

fn follow(path: &Path, records: std::ops::Range<usize>) -> Follow {
    let mut follow = Records::open(path).unwrap().follow();
    take(&mut follow, records);
    follow
}

#[test]
fn a_file_replaced_by_an_equal_copy_is_followed_without_a_word() {
    let (_temp, path) = place();
    append(&path, 0..20);
    let mut follow = follow(&path, 0..20);
    put_back(&path.clone(), &path);
    append(&path, 20..40);
    take(&mut follow, 20..40);
    // Several times, and while nothing is appended; and across rotation.
    put_back(&path.clone(), &path);
    assert!(follow.next_within(Duration::from_secs(2)).is_none());
    put_back(&path.clone(), &path);
    append(&path, 40..60);
    take(&mut follow, 40..60);
    put_back(&path.clone(), &path);
    append_with(&path, framed().rotate_bytes(900), 60..200);
    take(&mut follow, 60..200);
    assert!(follow.next_within(Duration::from_secs(2)).is_none(), "nothing is told, and nothing twice");
}

#[test]
fn an_older_backup_in_the_place_of_a_file_is_told_and_what_comes_in_it_is_read() {
    // Longer than what was read in the end, and shorter; and with a next file, before anybody has looked.
    for (count, options) in [(3, framed()), (50, framed()), (80, framed().rotate_bytes(600))] {
        let (temp, path) = place();
        append(&path, 0..5);
        let backup = temp.path().join("backup");
        fs::copy(&path, &backup).unwrap();
        let backed_up = Records::open(&path).unwrap();
        let _all = backed_up.count();
        append(&path, 5..20);
        let mut follow = follow(&path, 0..20);
        let end = follow.position();
        put_back(&backup, &path);
        append_with(&path, options, 500..500 + count);
        let missing = told(&mut follow);
        let to = missing.to.expect("there is more");
        assert!(missing.from >= end && to > Position(0) && to < end, "{missing:?}");
        take(&mut follow, 500..500 + count);
        assert!(follow.next_within(Duration::from_secs(2)).is_none(), "it is told once");
    }
}

#[test]
fn a_backup_with_nothing_behind_it_is_told_too() {
    let (temp, path) = place();
    append(&path, 0..5);
    let backup = temp.path().join("backup");
    fs::copy(&path, &backup).unwrap();
    append(&path, 5..20);
    let mut follow = follow(&path, 0..20);
    let end = follow.position();
    put_back(&backup, &path);
    let missing = told(&mut follow);
    assert!(missing.to.unwrap() < end && follow.position() == missing.to.unwrap());
    assert!(follow.next_within(Duration::from_secs(2)).is_none(), "it is told once");
    append(&path, 700..703);
    take(&mut follow, 700..703);
}

#[test]
fn a_file_that_is_cut_is_told_and_what_comes_behind_the_cut_is_read() {
    // With a look in between, and without one: the next appender goes on in a next file.
    for has_looked in [true, false] {
        let (_temp, path) = place();
        append(&path, 0..40);
        let mut follow = follow(&path, 0..40);
        let end = follow.position();
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(500).unwrap();
        let mut to = None;
        if has_looked {
            to = Some(told(&mut follow));
        }
        append(&path, 100..110);
        let missing = to.unwrap_or_else(|| told(&mut follow));
        assert!(missing.from >= end && missing.to.unwrap() < Position(500 - 96), "{missing:?}");
        take(&mut follow, 100..110);
        assert!(follow.next_within(Duration::from_secs(2)).is_none(), "it is told once");
    }
}

#[test]
fn a_file_that_was_cut_and_has_grown_beyond_what_was_read_is_told_and_read_again() {
    let (_temp, path) = place();
    append(&path, 0..3);
    // To where it is as good as new: an appender goes on in it.
    let header = 96;
    append(&path, 3..10);
    let mut follow = follow(&path, 0..10);
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(header).unwrap();
    append(&path, 300..340);
    let missing = told(&mut follow);
    assert_eq!(missing.to, Some(Position(0)), "nothing tells from where on it is new");
    take(&mut follow, 300..340);
    assert!(follow.next_within(Duration::from_secs(2)).is_none(), "it is told once");
}

#[test]
fn a_damaged_file_that_is_repaired_or_replaced_by_a_good_copy_is_gone_on_with() {
    for repairs in [true, false] {
        let (temp, path) = place();
        append(&path, 0..20);
        let backup = temp.path().join("backup");
        fs::copy(&path, &backup).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let at = bytes.windows(11).position(|window| window == b"record 0010").unwrap();
        bytes[at] ^= 1;
        fs::write(&path, bytes).unwrap();
        let mut follow = Records::open(&path).unwrap().follow();
        take(&mut follow, 0..10);
        assert!(follow.next_within(HANGS).unwrap().unwrap_err().damage().is_some());
        take(&mut follow, 11..20);
        if repairs {
            assert_eq!(repair(&path).unwrap().len(), 1);
        } else {
            put_back(&backup, &path);
        }
        append(&path, 20..30);
        take(&mut follow, 20..30);
        assert!(follow.next_within(Duration::from_secs(2)).is_none(), "nothing more is told");
    }
}
