//! What a FileWriter may write to: anything that takes bytes, in whatever pieces, and records of any size.
#![cfg(feature = "full")]

use std::fs;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex};

use manyfiles::writer::{FileWriter, SyncPolicy};

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
