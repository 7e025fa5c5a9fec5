//! FileWriter: what is written is what was given, in every variant, and each call does what its documentation says.
#![cfg(feature = "full")]

#[path = "support/writers.rs"]
mod writers;

use std::fs::{self, File};
use std::io::{ErrorKind, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use manyfiles::Operation;
use manyfiles::close::Closer;
use manyfiles::writer::{FileWriter, SyncPolicy};
use writers::{record, variants};

#[test]
fn records_of_every_short_length_arrive_in_order() {
    let temp = tempfile::tempdir().unwrap();
    for (name, options) in variants() {
        let path = temp.path().join("file");
        let mut file = options.create(&path).unwrap();
        let mut expected = Vec::new();
        for len in (0..70).chain([255, 1000, 4095, 4096, 4097, 9000, 70_000]) {
            let record = record(len, len);
            file.write_all(&record).unwrap();
            expected.extend(record);
        }
        let written = file.close().unwrap();
        assert_eq!(written.bytes, expected.len() as u64, "{name}");
        assert!(fs::read(&path).unwrap() == expected, "{name}");
    }
}

#[test]
fn create_cuts_append_adds_and_open_at_leaves_the_rest() {
    let temp = tempfile::tempdir().unwrap();
    for (name, options) in variants() {
        let path = temp.path().join("file");
        fs::write(&path, "something older and longer").unwrap();
        let mut file = options.clone().create(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"", "{name}: create cuts at once");
        file.write_all(b"0123456789").unwrap();
        file.close().unwrap();

        let mut file = options.clone().append(&path).unwrap();
        fs::write(&path, "somebody else made it longer").unwrap();
        file.write_all(b"; the end").unwrap();
        file.close().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "somebody else made it longer; the end", "{name}");

        let mut file = options.clone().open_at(&path, 9).unwrap();
        assert_eq!(file.position(), 9);
        file.write_all(b"ELSE").unwrap();
        file.close().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "somebody ELSE made it longer; the end", "{name}");

        let error = options.clone().create_new(&path).unwrap_err();
        assert_eq!((error.kind(), error.operation()), (ErrorKind::AlreadyExists, Operation::Create));
        assert_eq!(error.path(), Some(&*path));
        fs::remove_file(&path).unwrap();
        assert_eq!(options.clone().open_at(&path, 0).unwrap_err().kind(), ErrorKind::NotFound);
        options.clone().create_new(&path).unwrap().close().unwrap();
        let mut file = options.append(temp.path().join("new")).unwrap();
        file.write_all(b"x").unwrap();
        assert_eq!(file.close().unwrap().bytes, 1);
        fs::remove_file(temp.path().join("new")).unwrap();
    }
}

#[test]
fn an_open_file_is_written_from_where_it_is() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    let mut plain = File::create(&path).unwrap();
    plain.write_all(b"header").unwrap();
    let mut file = FileWriter::from_file(plain, &path).unwrap();
    assert_eq!(file.position(), 6);
    file.write_all(b", body").unwrap();
    file.close().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "header, body");
}

#[test]
fn a_record_that_fits_the_buffer_is_appended_in_one_piece() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    // Two writers with blocks that no record fills: what one hands over at a time are whole lines.
    let mut writers: Vec<_> = (0..2).map(|_| FileWriter::options().buffer_size(1000).append(&path).unwrap()).collect();
    for n in 0..400 {
        let line = format!("{}{}\n", "ab".repeat(n % 70), n);
        writers[n % 2].write_all(line.as_bytes()).unwrap();
    }
    for writer in writers {
        writer.close().unwrap();
    }
    let text = fs::read_to_string(&path).unwrap();
    let mut seen = vec![false; 400];
    for line in text.lines() {
        let n: usize = line.trim_start_matches(['a', 'b']).parse().unwrap();
        assert_eq!(line, format!("{}{n}", "ab".repeat(n % 70)));
        assert!(!std::mem::replace(&mut seen[n], true));
    }
    assert!(seen.iter().all(|&seen| seen));
}

#[test]
fn the_four_states_are_told_apart() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    let mut file = FileWriter::options().buffer_size(10).create(&path).unwrap();
    let states = |file: &FileWriter| (file.buffered(), file.written(), file.durable());
    file.write_all(b"01234567").unwrap();
    assert_eq!(states(&file), (8, 0, 0));
    assert_eq!(fs::read(&path).unwrap(), b"");
    file.write_all(b"890123").unwrap();
    assert_eq!(states(&file), (4, 10, 0));
    file.flush().unwrap();
    assert_eq!(states(&file), (0, 14, 0));
    assert_eq!(fs::read(&path).unwrap(), b"01234567890123");
    file.sync().unwrap();
    assert_eq!(states(&file), (0, 14, 14));
    file.write_all(b"a record as long as the buffer").unwrap();
    assert_eq!(states(&file), (0, 44, 14));
    assert!(file.failure().is_none());
    let written = file.close().unwrap();
    assert_eq!((written.bytes, written.durable), (44, 14));
}

#[test]
fn each_policy_syncs_when_it_says() {
    let temp = tempfile::tempdir().unwrap();
    let durable_after = |policy, lens: &[usize]| {
        let mut file = FileWriter::options().sync(policy).create(temp.path().join("file")).unwrap();
        let steps: Vec<u64> = lens
            .iter()
            .map(|&len| {
                file.write_all(&vec![b'x'; len]).unwrap();
                file.durable()
            })
            .collect();
        (steps, file.close().unwrap().durable)
    };
    let lens = [4, 4, 2, 9, 1, 0, 25];
    assert_eq!(durable_after(SyncPolicy::Never, &lens), (vec![0; 7], 0));
    assert_eq!(durable_after(SyncPolicy::OnClose, &lens), (vec![0; 7], 45));
    assert_eq!(durable_after(SyncPolicy::EveryBytes(10), &lens), (vec![0, 0, 10, 10, 20, 20, 45], 45));
    assert_eq!(durable_after(SyncPolicy::EveryBytes(0), &lens), (vec![4, 8, 10, 19, 20, 20, 45], 45));
    assert_eq!(durable_after(SyncPolicy::EveryBytes(u64::MAX), &lens), (vec![0; 7], 45));
    assert_eq!(durable_after(SyncPolicy::Every(Duration::ZERO), &lens), (vec![4, 8, 10, 19, 20, 20, 45], 45));
    assert_eq!(durable_after(SyncPolicy::Every(Duration::MAX), &lens), (vec![0; 7], 45));
}

#[test]
fn what_is_reserved_is_neither_in_the_file_nor_kept_when_it_closes() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    for (close, second_thread) in [(true, false), (true, true), (false, false)] {
        let options = FileWriter::options().preallocate(8 << 20).second_thread(second_thread);
        let mut file = options.create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
        file.write_all(&vec![1; 300_000]).unwrap();
        if close {
            file.close().unwrap();
        } else {
            drop(file);
        }
        assert_eq!(fs::metadata(&path).unwrap().len(), 300_000);
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let allocated = fs::metadata(&path).unwrap().blocks() * 512;
            assert!(allocated < 1 << 20, "{allocated} bytes are still taken");
        }
    }
    // More than was reserved is no error either.
    let mut file = FileWriter::options().preallocate(10).create(&path).unwrap();
    file.write_all(&[1; 1000]).unwrap();
    assert_eq!(file.close().unwrap().bytes, 1000);
    assert_eq!(fs::read(&path).unwrap(), [1; 1000]);
}

#[test]
fn a_place_that_no_file_has_is_refused_and_breaks_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    let mut file = FileWriter::create(&path).unwrap();
    file.write_all(b"abc").unwrap();
    for refused in [
        file.write_at(b"x", 1 << 63).unwrap_err(),
        file.write_at(b"x", u64::MAX).unwrap_err(),
        file.seek(SeekFrom::Start(u64::MAX)).unwrap_err(),
        file.seek(SeekFrom::Current(-4)).unwrap_err(),
        file.seek(SeekFrom::End(i64::MIN)).unwrap_err(),
    ] {
        assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{refused}");
        assert_eq!(refused.path(), Some(&*path));
    }
    assert_eq!(FileWriter::open_at(&path, u64::MAX).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(file.position(), 3);
    file.write_all(b"d").unwrap();
    file.close().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"abcd");
}

#[test]
fn a_hole_is_left_only_where_something_is_written_behind_it() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    let mut file = FileWriter::create(&path).unwrap();
    file.write_all(b"abc").unwrap();
    file.seek(SeekFrom::Start(1000)).unwrap();
    file.flush().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 3);
    file.write_all(b"x").unwrap();
    file.close().unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!((bytes.len(), &bytes[..4], bytes[1000]), (1001, &b"abc\0"[..], b'x'));
}

#[test]
fn what_is_no_file_to_write_in_is_an_error_with_its_path() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("file"), "").unwrap();
    let through = temp.path().join("file/below");
    let nowhere = temp.path().join("none/file");
    for path in [temp.path(), &through, &nowhere, Path::new(""), Path::new("a\0b")] {
        for opened in [FileWriter::create(path), FileWriter::append(path), FileWriter::open_at(path, 0)] {
            let error = opened.unwrap_err();
            assert_eq!(error.path(), Some(path), "{error}");
            assert!(matches!(error.operation(), Operation::Create | Operation::Open), "{error}");
        }
    }
    #[cfg(unix)]
    assert_eq!(FileWriter::create(temp.path()).unwrap_err().kind(), ErrorKind::IsADirectory);
}

#[test]
fn a_dropped_writer_writes_what_it_can_and_leaves_the_file_to_its_closer() {
    let temp = tempfile::tempdir().unwrap();
    for (name, options) in variants() {
        let closer = Arc::new(Closer::new());
        let path = temp.path().join("file");
        let mut file = options.closer(Arc::clone(&closer)).create(&path).unwrap();
        file.write_all(&[7; 12_345]).unwrap();
        drop(file);
        closer.wait().unwrap();
        assert!(fs::read(&path).unwrap() == [7; 12_345], "{name}");
    }
}
