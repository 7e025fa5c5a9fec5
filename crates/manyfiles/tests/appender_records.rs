//! [`Records`]: what a crash or a bad disk leaves, told apart.
#![cfg(feature = "full")]

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use manyfiles::Error;
use manyfiles::appender::{Appender, Damage, OnDamage, Records};

const HEADER: usize = 96;
const GROUPS: usize = 12;

/// Groups of three records each, every group synced. Returns the records, the file as it was before the closing, the
/// length of the file after each group, and the file after the closing.
struct Made {
    records: Vec<Vec<u8>>,
    open: Vec<u8>,
    ends: Vec<usize>,
    closed: Vec<u8>,
}

/// In memory, where that is to be had: some tests make thousands of files.
fn folder() -> tempfile::TempDir {
    #[cfg(target_os = "linux")]
    return manyfiles_testkit::scratch().unwrap();
    #[cfg(not(target_os = "linux"))]
    tempfile::tempdir().unwrap()
}

/// Every byte is tried where a file takes microseconds, and every eleventh where it takes milliseconds.
const STEP: usize = if cfg!(windows) { 11 } else { 1 };

fn make(path: &Path) -> Made {
    let appender = Appender::options().framed(true).open(path).unwrap();
    let (mut records, mut ends) = (Vec::new(), Vec::new());
    for group in 0..GROUPS {
        for n in 0..3 {
            let record = format!("{group}.{n} ").repeat(group * n % 7 + 1).into_bytes();
            appender.append(&record).unwrap();
            records.push(record);
        }
        appender.sync().unwrap();
        // Not the file's length, which has room for more.
        let mut written = Records::open(path).unwrap();
        assert_eq!(written.by_ref().count(), records.len());
        ends.push(HEADER + written.position().0 as usize);
    }
    let mut open = fs::read(path).unwrap();
    open.truncate(ends[GROUPS - 1]);
    appender.close().unwrap();
    Made { records, open, ends, closed: fs::read(path).unwrap() }
}

/// A log that is this one file.
fn lay(path: &Path, bytes: &[u8]) {
    for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    fs::write(path, bytes).unwrap();
}

fn read(path: &Path) -> (Vec<Vec<u8>>, Vec<Error>, u64) {
    let mut records = Records::open(path).unwrap();
    let (mut whole, mut errors) = (Vec::new(), Vec::new());
    for record in &mut records {
        match record {
            Ok(record) => whole.push(record),
            Err(error) => errors.push(error),
        }
    }
    (whole, errors, records.torn_bytes())
}

fn damage(error: &Error) -> Damage {
    error.damage().unwrap()
}

fn is_subsequence(part: &[Vec<u8>], all: &[Vec<u8>]) -> bool {
    let mut all = all.iter();
    part.iter().all(|record| all.any(|other| other == record))
}

#[test]
fn every_wrong_byte_in_a_closed_file_is_reported_and_the_rest_is_read() {
    let temp = folder();
    let path = temp.path().join("records");
    let made = make(&path);
    let last_mark = made.closed.len() - 16;
    for at in (0..made.closed.len()).step_by(STEP) {
        for wrong in [2, 0x80, 0xFF] {
            let mut bytes = made.closed.clone();
            bytes[at] ^= wrong;
            lay(&path, &bytes);
            let opened = Appender::options().framed(true).open(&path);
            if at >= last_mark {
                // The mark at the end guards what is before it, and nothing guards the mark: nothing is lost with it.
                drop(opened.unwrap());
                lay(&path, &bytes);
                let (records, errors, torn) = read(&path);
                assert!(records == made.records && errors.is_empty() && torn > 0, "byte {at}");
                continue;
            }
            let (records, errors, torn) = read(&path);
            assert_eq!((errors.len(), torn), (1, 0), "byte {at}");
            let Damage { offset, bytes: stretch, .. } = damage(&errors[0]);
            assert!((offset..offset + stretch).contains(&(at as u64)), "byte {at} is not in {stretch} at {offset}");
            assert!(is_subsequence(&records, &made.records), "byte {at}");
            // There are two copies of the header.
            let most = if at < HEADER { 0 } else { 1 };
            assert!(made.records.len() - records.len() <= most, "byte {at} took more than its record with it");
            let error = opened.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData, "byte {at}: {error}");
            assert_eq!(damage(&error).offset, offset);
            assert!(fs::read(&path).unwrap() == bytes, "nothing is changed where there is damage");
        }
    }
}

#[test]
fn a_header_with_both_copies_wrong_is_nobody_s() {
    let temp = folder();
    let path = temp.path().join("records");
    let mut bytes = make(&path).closed;
    bytes[10] ^= 1;
    bytes[HEADER / 2 + 20] ^= 1;
    lay(&path, &bytes);
    assert_eq!(Records::open(&path).unwrap_err().kind(), ErrorKind::InvalidData);
    let opened = Appender::options().framed(true).open(&path);
    assert_eq!(opened.unwrap_err().kind(), ErrorKind::InvalidData);
    assert!(fs::read(&path).unwrap() == bytes, "nothing is changed");
}

#[test]
fn going_on_behind_damage_touches_nothing_and_every_reading_tells_of_it() {
    let temp = folder();
    let path = temp.path().join("records");
    let made = make(&path);
    for (original, files) in [(&made.closed, 1), (&made.open, 2)] {
        for at in (0..made.ends[GROUPS - 2]).step_by(13 * STEP) {
            let mut bytes = original.clone();
            bytes[at] ^= 0x20;
            lay(&path, &bytes);
            let options = Appender::options().framed(true).on_damage(OnDamage::GoOn);
            let appender = options.open(&path).unwrap();
            appender.append_durable(b"behind").unwrap();
            appender.close().unwrap();
            let (records, errors, torn) = read(&path);
            assert_eq!((errors.len(), torn), (1, 0), "byte {at}");
            assert_eq!(records.last().unwrap(), b"behind");
            let before = records.split_last().unwrap().1;
            assert!(is_subsequence(before, &made.records) && made.records.len() - before.len() <= 3, "byte {at}");
            assert_eq!(fs::read_dir(temp.path()).unwrap().count(), files, "byte {at}");
            assert!(fs::read(&path).unwrap().starts_with(&bytes), "byte {at}");
        }
    }
}

#[test]
fn before_the_last_group_of_a_crashed_file_damage_is_told_from_a_torn_tail() {
    let temp = folder();
    let path = temp.path().join("records");
    let made = make(&path);
    let last_group = made.ends[GROUPS - 2];
    for at in (HEADER..made.open.len()).step_by(STEP) {
        let mut bytes = made.open.clone();
        bytes[at] ^= 0x10;
        fs::write(&path, &bytes).unwrap();
        let (records, errors, torn) = read(&path);
        if at < last_group {
            assert_eq!((errors.len(), torn), (1, 0), "byte {at}");
        } else {
            assert!(errors.is_empty() && torn > 0, "byte {at}");
            assert!(records.len() >= made.records.len() - 3 && made.records.starts_with(&records), "byte {at}");
        }
    }
}

#[test]
fn a_file_cut_anywhere_gives_its_whole_records_and_is_gone_on_with() {
    let temp = folder();
    let path = temp.path().join("records");
    let made = make(&path);
    for len in (0..=made.open.len()).step_by(STEP) {
        lay(&path, &made.open[..len]);
        let (records, errors, torn) = read(&path);
        assert!(errors.is_empty() && made.records.starts_with(&records), "cut at {len}");
        let whole = made.ends.iter().filter(|end| **end <= len).count() * 3;
        assert!(records.len() >= whole, "cut at {len}");
        let appender = Appender::options().framed(true).open(&path).unwrap();
        assert!(fs::read(&path).unwrap() == made.open[..len] || len < HEADER, "what is torn is set aside");
        let recovery = appender.recovery();
        assert_eq!(recovery.records, records.len() as u64);
        if len >= HEADER {
            assert_eq!(recovery.torn_bytes, torn, "cut at {len}");
        }
        appender.append_durable(b"and on").unwrap();
        appender.close().unwrap();
        let (after, errors, torn) = read(&path);
        assert!(errors.is_empty() && torn == 0);
        assert_eq!(after.len(), records.len() + 1);
        assert_eq!(after.last().unwrap(), b"and on");
    }
}

#[test]
fn a_hole_before_the_end_of_a_torn_tail_is_part_of_it_and_one_before_it_is_damage() {
    let temp = folder();
    let path = temp.path().join("records");
    let made = make(&path);
    let mut longer = made.open.clone();
    longer.resize(longer.len() + 10_000, 0);
    fs::write(&path, &longer).unwrap();
    let (records, errors, torn) = read(&path);
    assert!(records == made.records && errors.is_empty());
    assert_eq!(torn, 0, "zeros are room for more");
    *longer.last_mut().unwrap() = 1;
    fs::write(&path, &longer).unwrap();
    let (records, errors, torn) = read(&path);
    assert!(records == made.records && errors.is_empty());
    assert_eq!(torn, 10_000);
    let mut hole = made.open;
    hole[made.ends[2]..made.ends[5]].fill(0);
    fs::write(&path, &hole).unwrap();
    let (records, errors, torn) = read(&path);
    assert_eq!((records.len(), errors.len(), torn), (made.records.len() - 9, 1, 0));
    assert_eq!(damage(&errors[0]).bytes as usize, made.ends[5] - made.ends[2]);
}

#[test]
fn records_that_hold_files_of_records_are_no_records_of_their_own() {
    let temp = folder();
    let path = temp.path().join("records");
    let inner = make(&path).closed;
    fs::remove_file(&path).unwrap();
    let appender = Appender::options().framed(true).open(&path).unwrap();
    // Nothing is synced, so that no room is made behind it.
    appender.append(b"first").unwrap();
    appender.append(&inner).unwrap().wait_written().unwrap();
    let bytes = fs::read(&path).unwrap();
    drop(appender);
    // The end of the record is missing; what it holds has marks that would make damage of that.
    for missing in [1, 16, 200] {
        lay(&path, &bytes[..bytes.len() - missing]);
        let (records, errors, torn) = read(&path);
        assert_eq!((records.len(), errors.len()), (1, 0), "{missing}");
        assert!(torn as usize > inner.len() - missing);
    }
}

#[test]
fn a_torn_tail_before_the_last_file_is_damage_and_a_missing_file_an_error() {
    let temp = folder();
    let path = temp.path().join("records");
    let options = Appender::options().framed(true).rotate_bytes(300);
    let appender = options.open(&path).unwrap();
    for n in 0..12 {
        appender.append(format!("record {n:02} {}", ".".repeat(20)).as_bytes()).unwrap();
    }
    appender.close().unwrap();
    let file = |n: u32| temp.path().join(format!("records.{n:06}"));
    let (all, errors, _) = read(&path);
    assert!(all.len() == 12 && errors.is_empty());
    let second = fs::read(file(2)).unwrap();
    fs::write(file(2), &second[..second.len() - 3]).unwrap();
    let (records, errors, torn) = read(&path);
    assert_eq!((records.len(), errors.len(), torn), (11, 1, 0));
    assert_eq!(errors[0].path(), Some(&*file(2)));
    fs::remove_file(file(2)).unwrap();
    let (records, errors, _) = read(&path);
    assert!(records.len() < 11);
    assert_eq!((errors.len(), errors[0].kind(), errors[0].path()), (1, ErrorKind::NotFound, Some(&*file(2))));
}

#[test]
fn what_is_not_there_and_what_is_no_file_of_records_are_errors() {
    let temp = folder();
    let path = temp.path().join("records");
    assert_eq!(Records::open(&path).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(Records::open(temp.path()).is_err(), "a folder");
    fs::write(&path, "text, and enough of it to be no header").unwrap();
    assert_eq!(Records::open(&path).unwrap_err().kind(), ErrorKind::InvalidData);
}

#[test]
fn an_empty_file_is_begun_and_one_behind_others_is_refused_and_left_alone() {
    let temp = folder();
    let path = temp.path().join("records");
    fs::write(&path, "").unwrap();
    let appender = Appender::options().framed(true).open(&path).unwrap();
    appender.append(b"first").unwrap();
    appender.close().unwrap();
    assert_eq!(read(&path).0, [b"first"]);
    let behind = temp.path().join("records.000001");
    fs::write(&behind, "").unwrap();
    let error = Appender::options().framed(true).open(&path).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::InvalidData, Some(&*behind)));
    assert_eq!(fs::read(&behind).unwrap(), b"");
    fs::remove_file(&behind).unwrap();
    drop(Appender::options().framed(true).open(&path).unwrap());
}

#[test]
fn an_appender_s_file_can_be_read_while_it_is_at_work() {
    let temp = folder();
    let path = temp.path().join("records");
    let appender = Appender::options().framed(true).open(&path).unwrap();
    for n in 1..=20 {
        appender.append(b"more").unwrap().wait_written().unwrap();
        let (records, errors, torn) = read(&path);
        assert_eq!((records.len(), errors.len(), torn), (n, 0, 0));
    }
}

#[test]
fn a_long_record_with_a_wrong_byte_is_passed_over_and_found_out_without_being_kept() {
    let temp = folder();
    let path = temp.path().join("records");
    let appender = Appender::options().framed(true).open(&path).unwrap();
    appender.append(&vec![7; 2_000_000]).unwrap();
    appender.append(b"behind").unwrap();
    appender.close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[1_000_000] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let (records, errors, torn) = read(&path);
    assert_eq!((records, errors.len(), torn), (vec![b"behind".to_vec()], 1, 0));
    assert_eq!(damage(&errors[0]).bytes, 2_000_008);
}

#[cfg(not(feature = "zstd"))]
#[test]
fn a_compressed_file_without_the_feature_says_which_one_reads_it() {
    let temp = folder();
    let path = temp.path().join("records");
    let appender = Appender::options().framed(true).rotate_bytes(300).open(&path).unwrap();
    for n in 0..12 {
        appender.append(format!("record {n:02} {}", ".".repeat(20)).as_bytes()).unwrap();
    }
    appender.close().unwrap();
    let packed = temp.path().join("records.000002.zst");
    fs::rename(temp.path().join("records.000002"), &packed).unwrap();
    let (records, errors, _) = read(&path);
    assert!(records.len() < 12 && records.last().unwrap().starts_with(b"record 11"));
    assert_eq!(errors[0].kind(), ErrorKind::Unsupported);
    assert_eq!(errors[0].path(), Some(&*packed));
    assert!(errors[0].to_string().contains("feature `zstd`"), "{}", errors[0]);
}
