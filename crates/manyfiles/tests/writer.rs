//! FileWriter: what is written is what was given, in every variant, and each call does what its documentation says.
#![cfg(feature = "full")]

use std::fs::{self, File};
use std::io::{self, ErrorKind, IoSlice, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use manyfiles::Operation;
use manyfiles::close::Closer;
use manyfiles::writer::{FileWriter, Options, SyncPolicy};
use proptest::prelude::*;

/// Buffers of none, of less than a record, of about a page and of many, on this thread and on a second one.
fn variants() -> Vec<(String, Options)> {
    let mut variants = Vec::new();
    for size in [0, 1, 7, 4096, 5000, 20_000, 256 << 10] {
        for second_thread in [false, true] {
            let options = FileWriter::options().buffer_size(size).second_thread(second_thread);
            variants.push((format!("buffer of {size}, second thread {second_thread}"), options));
        }
    }
    let policies = [
        SyncPolicy::OnClose,
        SyncPolicy::EveryBytes(0),
        SyncPolicy::EveryBytes(3000),
        SyncPolicy::Every(Duration::ZERO),
    ];
    for policy in policies {
        for second_thread in [false, true] {
            let options = FileWriter::options().buffer_size(2000).second_thread(second_thread).sync(policy);
            variants.push((format!("{policy:?}, second thread {second_thread}"), options));
        }
    }
    variants
}

#[derive(Clone, Debug)]
enum Step {
    Write(usize),
    WriteVectored(usize, usize),
    WriteAt(u64, usize),
    /// At so many bytes before the end of what was written last.
    Patch(u64, usize),
    SeekStart(u64),
    SeekCurrent(i64),
    SeekEnd(i64),
    Flush,
    Sync,
}

fn step() -> impl Strategy<Value = Step> {
    let len = || prop_oneof![4 => 0..40usize, 2 => 0..3000usize, 1 => 0..30_000usize];
    let at = || prop_oneof![0..200u64, 0..40_000u64];
    prop_oneof![
        8 => len().prop_map(Step::Write),
        1 => (len(), len()).prop_map(|(a, b)| Step::WriteVectored(a, b)),
        2 => (at(), len()).prop_map(|(offset, len)| Step::WriteAt(offset, len)),
        2 => (0..300u64, 0..300usize).prop_map(|(back, len)| Step::Patch(back, len)),
        1 => at().prop_map(Step::SeekStart),
        1 => (-300..300i64).prop_map(Step::SeekCurrent),
        1 => (-300..300i64).prop_map(Step::SeekEnd),
        1 => Just(Step::Flush),
        1 => Just(Step::Sync),
    ]
}

/// What a file is: bytes and a position.
#[derive(Default)]
struct Model {
    bytes: Vec<u8>,
    position: u64,
}

impl Model {
    fn write_at(&mut self, bytes: &[u8], offset: u64) {
        let (from, to) = (offset as usize, offset as usize + bytes.len());
        if !bytes.is_empty() {
            self.bytes.resize(self.bytes.len().max(to), 0);
            self.bytes[from..to].copy_from_slice(bytes);
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.write_at(bytes, self.position);
        self.position += bytes.len() as u64;
    }

    /// As the writer says, or `None` if there is no such place.
    fn seek(&mut self, to: Option<u64>) -> Option<u64> {
        self.position = to?;
        to
    }
}

/// Hundreds of syncs of a disk would take minutes.
fn in_memory() -> tempfile::TempDir {
    #[cfg(target_os = "linux")]
    return manyfiles_testkit::scratch().unwrap();
    #[cfg(not(target_os = "linux"))]
    tempfile::tempdir().unwrap()
}

fn record(len: usize, salt: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 7 + salt * 31 + 1) as u8).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_ends_up_as_a_vector_would(steps in prop::collection::vec(step(), 0..40)) {
        let temp = in_memory();
        for (name, options) in variants() {
            let path = temp.path().join("file");
            let mut file = options.create(&path).unwrap();
            let mut model = Model::default();
            let mut taken = 0;
            for (salt, step) in steps.iter().enumerate() {
                match *step {
                    Step::Write(len) => {
                        let record = record(len, salt);
                        file.write_all(&record).unwrap();
                        model.write(&record);
                        taken += len as u64;
                    }
                    Step::WriteVectored(a, b) => {
                        let (a, b) = (record(a, salt), record(b, salt + 1));
                        let len = file.write_vectored(&[IoSlice::new(&a), IoSlice::new(&b)]).unwrap();
                        prop_assert_eq!(len, a.len() + b.len());
                        model.write(&a);
                        model.write(&b);
                        taken += len as u64;
                    }
                    Step::WriteAt(offset, len) => {
                        let record = record(len, salt);
                        file.write_at(&record, offset).unwrap();
                        model.write_at(&record, offset);
                        taken += len as u64;
                    }
                    Step::Patch(back, len) => {
                        let offset = model.position.saturating_sub(back);
                        let record = record(len, salt);
                        file.write_at(&record, offset).unwrap();
                        model.write_at(&record, offset);
                        taken += len as u64;
                    }
                    Step::SeekStart(to) => {
                        prop_assert_eq!(file.seek(SeekFrom::Start(to)).ok(), model.seek(Some(to)));
                    }
                    Step::SeekCurrent(by) => {
                        let to = model.position.checked_add_signed(by);
                        prop_assert_eq!(file.seek(SeekFrom::Current(by)).ok(), model.seek(to));
                    }
                    Step::SeekEnd(by) => {
                        let to = (model.bytes.len() as u64).checked_add_signed(by);
                        prop_assert_eq!(file.seek(SeekFrom::End(by)).ok(), model.seek(to));
                    }
                    Step::Flush => {
                        file.flush().unwrap();
                        prop_assert_eq!(file.buffered(), 0);
                        prop_assert!(fs::read(&path).unwrap() == model.bytes, "{}: not all was flushed", name);
                    }
                    Step::Sync => {
                        file.sync().unwrap();
                        prop_assert_eq!((file.buffered(), file.durable()), (0, file.written()));
                        prop_assert!(fs::read(&path).unwrap() == model.bytes, "{}: not all was synced", name);
                    }
                }
                prop_assert_eq!(file.position(), model.position, "{}", &name);
                prop_assert!(file.written() + file.buffered() <= taken && file.durable() <= file.written());
            }
            let written = file.close().unwrap();
            prop_assert!(written.bytes <= taken);
            prop_assert!(fs::read(&path).unwrap() == model.bytes, "{}: other bytes", name);
        }
    }
}

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

/// Takes a few bytes at a time, is interrupted now and then, and counts its flushes.
#[derive(Clone, Default)]
struct Slow(Arc<Mutex<(Vec<u8>, usize, usize)>>);

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (taken, calls, _) = &mut *self.0.lock().unwrap();
        *calls += 1;
        if *calls % 3 == 0 {
            return Err(ErrorKind::Interrupted.into());
        }
        let len = bytes.len().min(5);
        taken.extend(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap().2 += 1;
        Ok(())
    }
}

#[test]
fn anything_that_takes_bytes_can_be_written_to() {
    for second_thread in [false, true] {
        for size in [0, 3, 100] {
            let slow = Slow::default();
            let options = FileWriter::options().buffer_size(size).second_thread(second_thread);
            let mut out = options.from_writer(slow.clone()).unwrap();
            for n in 0..100 {
                writeln!(out, "line {n}").unwrap();
            }
            out.flush().unwrap();
            let expected: String = (0..100).map(|n| format!("line {n}\n")).collect();
            assert_eq!(slow.0.lock().unwrap().0, expected.as_bytes(), "buffer of {size}");
            assert_eq!(slow.0.lock().unwrap().2, 1);
            out.write_all(b"end").unwrap();
            assert_eq!(out.seek(SeekFrom::Start(0)).unwrap_err().kind(), ErrorKind::Unsupported);
            assert_eq!(out.write_at(b"x", 0).unwrap_err().kind(), ErrorKind::Unsupported);
            assert_eq!(out.sync().unwrap_err().kind(), ErrorKind::Unsupported);
            let written = out.close().expect("what cannot be done breaks nothing");
            assert_eq!((written.bytes, written.durable), (expected.len() as u64 + 3, 0));
            assert_eq!(slow.0.lock().unwrap().2, 2);
        }
    }
    let refused = FileWriter::options().sync(SyncPolicy::OnClose).from_writer(Vec::new()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
}

#[test]
fn a_writer_that_takes_nothing_is_an_error_and_not_an_endless_loop() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Ok(0)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for second_thread in [false, true] {
        let mut out = FileWriter::options().second_thread(second_thread).from_writer(Full).unwrap();
        out.write_all(b"x").unwrap();
        assert_eq!(out.flush().unwrap_err().kind(), ErrorKind::WriteZero);
        assert_eq!(out.close().unwrap_err().kind(), ErrorKind::WriteZero);
    }
}

#[test]
fn after_a_panic_of_what_is_written_to_nothing_is_written_twice() {
    struct Breaks(Arc<Mutex<usize>>);
    impl Write for Breaks {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            *self.0.lock().unwrap() += 1;
            std::panic::resume_unwind(Box::new("broken"));
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for second_thread in [false, true] {
        let calls = Arc::new(Mutex::new(0));
        let options = FileWriter::options().buffer_size(10).second_thread(second_thread);
        let mut out = options.from_writer(Breaks(Arc::clone(&calls))).unwrap();
        let attempt = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            out.write_all(b"0123456789012345678901234567890").and_then(|()| out.flush())
        }));
        assert!(!matches!(attempt, Ok(Ok(()))), "second thread {second_thread}");
        out.write_all(b"").unwrap_err();
        out.flush().unwrap_err();
        drop(out);
        assert_eq!(*calls.lock().unwrap(), 1, "second thread {second_thread}");
    }
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

/// Four gibibytes and a byte, of which none is in memory but the page of zeros that they all are.
#[cfg(target_os = "linux")]
#[test]
fn a_record_of_four_gibibytes_is_written_whole() {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
    const LEN: usize = (4 << 30) + 1;
    struct Counts(Arc<Mutex<u64>>);
    impl Write for Counts {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            *self.0.lock().unwrap() += bytes.len() as u64;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    // SAFETY: no hint is given: the kernel chooses addresses that nothing uses.
    let mapped =
        unsafe { mmap_anonymous(std::ptr::null_mut(), LEN, ProtFlags::READ, MapFlags::PRIVATE | MapFlags::NORESERVE) };
    let mapped = mapped.unwrap();
    // SAFETY: the mapping is `LEN` bytes long, readable, never written, and unmapped after the last use of this slice.
    let record = unsafe { std::slice::from_raw_parts(mapped.cast::<u8>(), LEN) };

    let mut null = FileWriter::create("/dev/null").unwrap();
    null.write_all(b"before").unwrap();
    null.write_all(record).unwrap();
    assert_eq!(null.close().unwrap().bytes, LEN as u64 + 6);

    let count = Arc::new(Mutex::new(0));
    let mut out = FileWriter::from_writer(Counts(Arc::clone(&count)));
    out.write_all(record).unwrap();
    assert_eq!(out.close().unwrap().bytes, LEN as u64);
    assert_eq!(*count.lock().unwrap(), LEN as u64);
    // SAFETY: `record` is not used any more.
    unsafe { munmap(mapped, LEN) }.unwrap();
}

#[test]
fn standard_traits_work_on_it() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    let mut file = FileWriter::create(&path).unwrap();
    io::copy(&mut io::repeat(b'r').take(100_000), &mut file).unwrap();
    Seek::seek(&mut file, SeekFrom::Start(10)).unwrap();
    write!(file, "{:>5}", 42).unwrap();
    assert_eq!(file.stream_position().unwrap(), 15);
    Write::flush(&mut file).unwrap();
    drop(file);
    manyfiles::close::wait().unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!((bytes.len(), &bytes[9..16]), (100_000, &b"r   42r"[..]));
    fn is_send<T: Send>() {}
    is_send::<FileWriter>();
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
