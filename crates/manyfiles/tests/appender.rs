//! [`Appender`] and [`Receipt`] as programs see them.
#![cfg(feature = "full")]

use std::fs;
use std::future::Future;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use manyfiles::Operation;
use manyfiles::appender::{Appender, Receipt, Records, State};
use tempfile::TempDir;

fn place() -> (TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("records");
    (temp, path)
}

fn read(path: &PathBuf) -> Vec<Vec<u8>> {
    let mut records = Records::open(path).unwrap();
    let all = records.by_ref().map(|record| record.unwrap()).collect();
    assert_eq!(records.torn_bytes(), 0);
    all
}

#[test]
fn without_frames_the_file_is_the_records_one_behind_the_other() {
    let (_temp, path) = place();
    let appender = Appender::open(&path).unwrap();
    for line in ["one\n", "", "two\n"] {
        appender.append(line.as_bytes()).unwrap();
    }
    assert_eq!(fs::read(&path).unwrap(), b"", "buffered");
    appender.flush().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\n", "written");
    appender.append_durable(b"three\n").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\nthree\n", "durable");
    appender.close().unwrap();
    let again = Appender::open(&path).unwrap();
    again.append(b"four\n").unwrap();
    again.close().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\nthree\nfour\n");
}

#[test]
fn closing_says_how_many_bytes_this_appender_took_without_frames_and_whatever_the_files() {
    for framed in [false, true] {
        for capacity in [0, 100, 256 << 10] {
            for rotate in [None, Some(1_000)] {
                let (_temp, path) = place();
                let mut options = Appender::options().framed(framed).capacity(capacity);
                if let Some(bytes) = rotate {
                    options = options.rotate_bytes(bytes);
                }
                // The second one goes on with a log that is there, and counts its own records alone.
                for lengths in [&[7, 0, 5_000, 300, 99][..], &[1, 2_000], &[]] {
                    let appender = options.clone().open(&path).unwrap();
                    for &length in lengths {
                        appender.append(&vec![b'-'; length]).unwrap();
                    }
                    let bytes = lengths.iter().sum::<usize>() as u64;
                    let written = appender.close().unwrap();
                    let story = format!("framed {framed}, capacity {capacity}, rotate {rotate:?}");
                    assert_eq!((written.bytes, written.durable), (bytes, bytes), "{story}");
                }
            }
        }
    }
}

#[test]
fn records_of_every_thread_are_whole_and_in_its_order_however_large_the_buffer() {
    for capacity in [0, 1, 100, 5_000, 256 << 10] {
        for rotate in [None, Some(4_000)] {
            let (_temp, path) = place();
            let mut options = Appender::options().framed(true).capacity(capacity);
            if let Some(bytes) = rotate {
                options = options.rotate_bytes(bytes);
            }
            let appender = options.open(&path).unwrap();
            thread::scope(|scope| {
                for thread in 0..4 {
                    let appender = &appender;
                    scope.spawn(move || {
                        for n in 0..60 {
                            let record = format!("{thread} {n} {}", "x".repeat(n * 7 % 300));
                            let receipt = appender.append(record.as_bytes()).unwrap();
                            match n % 20 {
                                5 => receipt.wait_written().unwrap(),
                                10 => receipt.wait_durable().unwrap(),
                                _ => {}
                            }
                        }
                    });
                }
            });
            appender.close().unwrap();
            let records = read(&path);
            assert_eq!(records.len(), 240);
            let mut next = [0; 4];
            for record in records {
                let record = String::from_utf8(record).unwrap();
                let mut words = record.splitn(3, ' ');
                let (thread, n): (usize, usize) =
                    (words.next().unwrap().parse().unwrap(), words.next().unwrap().parse().unwrap());
                assert_eq!(n, next[thread], "capacity {capacity}");
                assert_eq!(words.next().unwrap().len(), n * 7 % 300);
                next[thread] += 1;
            }
        }
    }
}

#[test]
fn empty_records_and_records_of_zeros_come_back_as_they_were() {
    let (_temp, path) = place();
    let records: Vec<Vec<u8>> = vec![vec![], vec![0; 8], vec![], vec![0xFF; 16], vec![0; 4_096], vec![], vec![0xFF; 4]];
    for _ in 0..2 {
        let appender = Appender::options().framed(true).open(&path).unwrap();
        for record in &records {
            appender.append_durable(record).unwrap();
        }
    }
    assert_eq!(read(&path), [records.clone(), records].concat());
}

#[test]
fn a_record_larger_than_the_buffer_is_written_from_where_it_is() {
    for framed in [false, true] {
        let (_temp, path) = place();
        let appender = Appender::options().framed(framed).capacity(1_000).open(&path).unwrap();
        let large: Vec<u8> = (0..3_000_000_u32).map(|n| n as u8).collect();
        appender.append(b"before").unwrap();
        let receipt = appender.append(&large).unwrap();
        assert_eq!(receipt.state(), State::Written);
        appender.append_durable(b"behind").unwrap();
        appender.close().unwrap();
        let expected = [b"before".to_vec(), large, b"behind".to_vec()];
        if framed {
            assert!(read(&path) == expected);
        } else {
            assert!(fs::read(&path).unwrap() == expected.concat());
        }
    }
}

#[test]
fn a_record_that_no_frame_holds_is_refused_and_nothing_else_suffers() {
    let (_temp, path) = place();
    let appender = Appender::options().framed(true).open(&path).unwrap();
    appender.append(b"before").unwrap();
    // Zeros that are never written take no memory.
    for length in [u64::from(u32::MAX), 1 << 32] {
        let Ok(length) = usize::try_from(length) else { continue };
        let error = appender.append(&vec![0; length]).unwrap_err();
        assert_eq!((error.kind(), error.operation()), (ErrorKind::InvalidInput, Operation::Write));
        assert!(error.to_string().contains("nothing was appended"), "{error}");
    }
    appender.append_durable(b"behind").unwrap();
    appender.close().unwrap();
    assert_eq!(read(&path), [b"before", b"behind"]);
}

#[test]
fn what_is_no_file_to_append_to_is_refused_and_left_alone() {
    let (temp, path) = place();
    let open = |path: &PathBuf, framed: bool| Appender::options().framed(framed).open(path).unwrap_err();
    let error = open(&temp.path().to_owned(), false);
    assert_eq!(error.operation(), Operation::Open, "a folder: {error}");
    assert_eq!(error.path(), Some(temp.path()));
    let error = open(&temp.path().join("missing").join("records"), false);
    assert_eq!(error.kind(), ErrorKind::NotFound, "no folder for it: {error}");
    fs::write(&path, "a line of text, longer than a header").unwrap();
    assert!(open(&path.join("below"), false).raw_os_error().is_some(), "a path through a file");
    for text in ["a line of text, longer than a header", "short"] {
        fs::write(&path, text).unwrap();
        let error = open(&path, true);
        assert_eq!(error.kind(), ErrorKind::InvalidData, "no frames: {error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(Records::open(&path).unwrap_err().kind(), ErrorKind::InvalidData);
    }
    let error = Appender::options().rotate_bytes(100).open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "a file in the place of files with numbers: {error}");
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_refused() {
    let (_temp, path) = place();
    let error = Appender::open("/dev/null").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    assert!(Appender::open(&path).is_err());
}

#[test]
fn a_file_takes_one_appender_at_a_time() {
    for rotate in [false, true] {
        let (_temp, path) = place();
        let options = if rotate { Appender::options().rotate_bytes(10) } else { Appender::options() };
        let first = options.clone().open(&path).unwrap();
        for _ in 0..3 {
            first.append_durable(b"123456789").unwrap();
            let error = options.clone().open(&path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ResourceBusy, "{error}");
        }
        let receipt = first.append(b"last").unwrap();
        drop(first);
        // Though a receipt is left.
        let second = options.open(&path).unwrap();
        second.append_durable(b"1").unwrap();
        receipt.wait_durable().unwrap();
    }
}

#[test]
fn rotated_files_are_numbered_and_gone_on_with() {
    let (temp, path) = place();
    let options = Appender::options().framed(true).rotate_bytes(100);
    for life in 0..3 {
        let appender = options.clone().open(&path).unwrap();
        for n in 0..5 {
            appender.append(format!("{life} {n} {}", "-".repeat(20)).as_bytes()).unwrap();
        }
        appender.close().unwrap();
    }
    let mut names: Vec<String> =
        fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(names.len() > 3);
    for (n, name) in names.iter().enumerate() {
        assert_eq!(*name, format!("records.{:06}", n + 1));
    }
    let order = |records: Vec<Vec<u8>>| -> Vec<String> {
        records.into_iter().map(|record| String::from_utf8(record).unwrap()[..3].to_owned()).collect()
    };
    let all: Vec<String> = (0..3).flat_map(|life| (0..5).map(move |n| format!("{life} {n}"))).collect();
    assert_eq!(order(read(&path)), all);
    // Files that are not needed any more may go, from the lowest up.
    fs::remove_file(temp.path().join(&names[0])).unwrap();
    assert_eq!(order(read(&path)).last(), all.last());
    let appender = options.open(&path).unwrap();
    appender.append_durable(b"after").unwrap();
    assert!(!temp.path().join(&names[0]).exists());
}

#[test]
fn a_receipt_outlives_its_appender_and_goes_to_other_threads() {
    let (_temp, path) = place();
    let appender = Appender::open(&path).unwrap();
    let receipts: Vec<Receipt> = (0..10).map(|n| appender.append(&[n]).unwrap()).collect();
    drop(appender);
    thread::scope(|scope| {
        for receipt in &receipts {
            scope.spawn(|| {
                receipt.wait_durable().unwrap();
                receipt.wait_written().unwrap();
                block_on(receipt.written()).unwrap();
                block_on(receipt.clone().into_future()).unwrap();
                assert_eq!(receipt.state(), State::Durable);
            });
        }
    });
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn tasks_wait_without_a_runtime_and_beside_threads() {
    let (_temp, path) = place();
    let appender = Arc::new(Appender::options().framed(true).open(&path).unwrap());
    thread::scope(|scope| {
        for worker in 0..4 {
            let appender = &appender;
            scope.spawn(move || {
                for n in 0..50 {
                    let record = format!("{worker} {n}");
                    if worker < 2 {
                        appender.append_durable(record.as_bytes()).unwrap();
                        continue;
                    }
                    block_on(async {
                        let receipt = appender.append(record.as_bytes()).unwrap();
                        receipt.written().await.unwrap();
                        assert!(receipt.state() >= State::Written);
                        receipt.durable().await.unwrap();
                        assert_eq!(receipt.state(), State::Durable);
                        receipt.await.unwrap();
                    });
                }
            });
        }
    });
    Arc::into_inner(appender).unwrap().close().unwrap();
    assert_eq!(read(&path).len(), 200);
}

#[test]
fn one_thread_s_many_tasks_share_their_syncs() {
    let (_temp, path) = place();
    let appender = Appender::open(&path).unwrap();
    let receipts: Vec<Receipt> = (0..500).map(|n: u32| appender.append(&n.to_le_bytes()).unwrap()).collect();
    // All are polled before any is waited for; some are given up.
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut waiting: Vec<_> = receipts.iter().map(|receipt| Box::pin(receipt.durable())).collect();
    waiting.retain_mut(|future| future.as_mut().poll(&mut context).is_pending());
    waiting.truncate(400);
    while !waiting.is_empty() {
        waiting.retain_mut(|future| match future.as_mut().poll(&mut context) {
            Poll::Ready(result) => {
                result.unwrap();
                false
            }
            Poll::Pending => true,
        });
        if !waiting.is_empty() {
            thread::park();
        }
    }
    drop(waiting);
    appender.sync().unwrap();
    assert!(receipts.iter().all(|receipt| receipt.state() == State::Durable));
}

#[test]
fn a_delay_is_a_maximum_and_changes_nothing_but_time() {
    for delay in [Duration::ZERO, Duration::from_millis(1), Duration::MAX] {
        let (_temp, path) = place();
        let appender = Appender::options().framed(true).max_delay(delay).open(&path).unwrap();
        // A single thread has no other to wait for.
        for n in 0..20 {
            appender.append_durable(&[n]).unwrap();
        }
        appender.close().unwrap();
        assert_eq!(read(&path).len(), 20);
    }
}
