//! AsyncFileWriter: the same bytes, the same failures, and no worker that waits for a disk.
#![cfg(all(feature = "tokio", not(loom)))]

use std::fs;
use std::future::Future;
use std::io::{self, ErrorKind, SeekFrom, Write};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use manyfiles::close::Closer;
use manyfiles::writer::{AsyncFileWriter, FileWriter, SyncPolicy};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};

fn runtimes() -> [Runtime; 2] {
    [Builder::new_current_thread().build().unwrap(), Builder::new_multi_thread().worker_threads(2).build().unwrap()]
}

#[test]
fn every_way_of_opening_has_a_twin() {
    let temp = tempfile::tempdir().unwrap();
    for runtime in runtimes() {
        let path = temp.path().join("file");
        runtime.block_on(async {
            let options = || AsyncFileWriter::options().buffer_size(10).sync(SyncPolicy::OnClose);
            let write = async |mut file: AsyncFileWriter, bytes: &[u8]| {
                file.write_all(bytes).await.unwrap();
                file.close().await.unwrap().durable
            };
            assert_eq!(write(options().create_new_async(&path).await.unwrap(), b"long before").await, 11);
            let there = options().create_new_async(&path).await.unwrap_err();
            assert_eq!(there.kind(), std::io::ErrorKind::AlreadyExists);
            write(options().create_async(&path).await.unwrap(), b"0123").await;
            write(options().append_async(&path).await.unwrap(), b"4567").await;
            write(options().open_at_async(&path, 2).await.unwrap(), b"xy").await;
            assert_eq!(std::fs::read(&path).unwrap(), b"01xy4567");
            let none = options().open_at_async(temp.path().join("none"), 0).await.unwrap_err();
            assert_eq!(none.kind(), std::io::ErrorKind::NotFound);
        });
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn records_of_every_length_arrive_in_order() {
    let temp = tempfile::tempdir().unwrap();
    for runtime in runtimes() {
        for size in [0, 7, 5000, 256 << 10] {
            for second_thread in [false, true] {
                for policy in [SyncPolicy::Never, SyncPolicy::EveryBytes(900), SyncPolicy::Every(Duration::ZERO)] {
                    let path = temp.path().join("file");
                    let options = FileWriter::options().buffer_size(size).second_thread(second_thread).sync(policy);
                    let expected = runtime.block_on(async {
                        let mut file = options.create_async(&path).await.unwrap();
                        let mut expected = Vec::new();
                        for len in (0..40).chain([1000, 4097, 70_000, 300_000]) {
                            let record = vec![len as u8; len];
                            file.write_all(&record).await.unwrap();
                            expected.extend(record);
                        }
                        let written = file.close().await.unwrap();
                        assert_eq!(written.bytes, expected.len() as u64);
                        assert_eq!(written.durable, if policy == SyncPolicy::Never { 0 } else { written.bytes });
                        expected
                    });
                    assert!(fs::read(&path).unwrap() == expected, "{size} {second_thread} {policy:?}");
                }
            }
        }
    }
}

#[test]
fn places_flushes_and_syncs_work_as_without_async() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut file = AsyncFileWriter::create(&path).await.unwrap();
            file.write_all(b"0123456789").await.unwrap();
            file.flush().await.unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"0123456789");
            file.write_at(b"AB", 2).await.unwrap();
            assert_eq!(file.seek(SeekFrom::End(-1)).await.unwrap(), 9);
            file.write_all(b"Z").await.unwrap();
            file.sync().await.unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"01AB45678Z");
            assert_eq!(file.write_at(b"x", u64::MAX).await.unwrap_err().kind(), ErrorKind::InvalidInput);
            file.write_all(b"!").await.expect("a wrong call breaks nothing");
            let written = file.close().await.unwrap();
            assert_eq!((written.bytes, written.durable), (14, 13));
        });
        assert_eq!(fs::read(&path).unwrap(), b"01AB45678Z!");
    }
}

#[test]
fn tokio_s_traits_work_on_it_and_shutdown_closes() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut file = AsyncFileWriter::create(&path).await.unwrap();
            let bytes = vec![5; 1 << 20];
            tokio::io::copy(&mut &bytes[..], &mut file).await.unwrap();
            AsyncWriteExt::write_all(&mut file, b"end").await.unwrap();
            AsyncWriteExt::shutdown(&mut file).await.unwrap();
            AsyncWriteExt::write_all(&mut file, b"too late").await.unwrap_err();
            file.flush().await.unwrap_err();
            assert_eq!(file.close().await.unwrap().bytes, (1 << 20) + 3, "shutdown's answer is close's too");
        });
        assert_eq!(fs::metadata(&path).unwrap().len(), (1 << 20) + 3);
    }
}

/// Fails from its second call on.
struct Failing(u32);

impl Write for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += 1;
        if self.0 > 1 { Err(io::Error::from_raw_os_error(28)) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_failure_is_told_by_a_later_call_and_by_every_one_after_it() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut file =
                AsyncFileWriter::from(FileWriter::options().buffer_size(10).from_writer(Failing(0)).unwrap());
            let mut result = Ok(());
            for _ in 0..10 {
                result = file.write_all(b"0123456").await;
                if result.is_err() {
                    break;
                }
            }
            assert_eq!(result.unwrap_err().raw_os_error(), Some(28));
            assert_eq!(file.write_all(b"").await.unwrap_err().raw_os_error(), Some(28));
            assert_eq!(file.flush().await.unwrap_err().raw_os_error(), Some(28));
            assert_eq!(file.write_all(&[0; 100]).await.unwrap_err().raw_os_error(), Some(28));
            assert_eq!(file.close().await.unwrap_err().raw_os_error(), Some(28));

            let mut file = AsyncFileWriter::from(FileWriter::options().buffer_size(0).from_writer(Failing(1)).unwrap());
            file.write_all(b"x").await.expect("handed over");
            assert_eq!(file.flush().await.unwrap_err().raw_os_error(), Some(28), "flush waits for it");
        });
    }
}

#[test]
fn a_flush_that_was_dropped_half_way_loses_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut file = AsyncFileWriter::create(&path).await.unwrap();
            for n in 0..100u8 {
                file.write_all(&[n]).await.unwrap();
                // Polled once, and dropped wherever it is.
                let mut cx = Context::from_waker(Waker::noop());
                match n % 3 {
                    0 => drop(pin!(file.flush()).as_mut().poll(&mut cx)),
                    1 => drop(pin!(file.sync()).as_mut().poll(&mut cx)),
                    _ => drop(pin!(file.seek(SeekFrom::End(0))).as_mut().poll(&mut cx)),
                }
            }
            file.flush().await.unwrap();
            assert_eq!(fs::read(&path).unwrap(), (0..100).collect::<Vec<u8>>());
            file.close().await.unwrap();
        });
    }
}

/// Tells which thread wrote, and takes its time.
struct Slow(Arc<Mutex<Vec<std::thread::ThreadId>>>);

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        std::thread::sleep(Duration::from_millis(1));
        self.0.lock().unwrap().push(std::thread::current().id());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write(b"").map(drop)
    }
}

#[test]
fn no_worker_ever_writes_not_in_a_drop_either() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let threads = Arc::new(Mutex::new(Vec::new()));
    let slow = Slow(Arc::clone(&threads));
    runtime.block_on(async {
        let mut file = AsyncFileWriter::from(FileWriter::options().buffer_size(100).from_writer(slow).unwrap());
        for _ in 0..10 {
            file.write_all(&[1; 60]).await.unwrap();
        }
        file.flush().await.unwrap();
        file.write_all(&[1; 60]).await.unwrap();
        drop(file);
    });
    drop(runtime);
    let threads = threads.lock().unwrap();
    assert!(threads.len() >= 8, "{threads:?}");
    assert!(!threads.contains(&std::thread::current().id()), "the thread of block_on is the worker");
}

#[test]
fn a_drop_outside_a_runtime_writes_at_once() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    let closer = Arc::new(Closer::new());
    let options = FileWriter::options().closer(Arc::clone(&closer));
    let mut file = AsyncFileWriter::from(options.create(&path).unwrap());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(matches!(std::pin::Pin::new(&mut file).poll_write(&mut cx, b"kept"), Poll::Ready(Ok(4))));
    drop(file);
    closer.wait().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"kept");
}

/// Fails once, after so long that whoever waits has given up.
struct Late(std::sync::mpsc::Receiver<()>);

impl io::Write for Late {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        // The sender is dropped when the future is.
        self.0.recv().unwrap_err();
        Err(io::Error::from_raw_os_error(28))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_error_of_a_future_that_is_given_up_is_kept_by_the_closer_once() {
    use std::future::Future;
    use std::sync::Arc;

    for what in ["close", "write", "told"] {
        for runtime in runtimes() {
            let closer = Arc::new(manyfiles::close::Closer::new());
            let (go, wait) = std::sync::mpsc::channel();
            let options = FileWriter::options().closer(Arc::clone(&closer));
            let mut writer = AsyncFileWriter::from(options.buffer_size(4096).from_writer(Late(wait)).unwrap());
            runtime.block_on(async {
                writer.write_all(b"never arrives").await.unwrap();
                match what {
                    "close" => {
                        let mut close = Box::pin(writer.close());
                        let is_pending =
                            std::future::poll_fn(|cx| std::task::Poll::Ready(close.as_mut().poll(cx).is_pending()));
                        assert!(is_pending.await);
                        drop(close);
                        drop(go);
                    }
                    "write" => {
                        // Handed to a blocking thread; its failure is nobody's yet.
                        writer.write_all(&[1; 10_000]).await.unwrap();
                        drop(writer);
                        drop(go);
                    }
                    _ => {
                        drop(go);
                        writer.flush().await.unwrap_err();
                        writer.close().await.unwrap_err();
                    }
                }
            });
            // Ends when what was handed to blocking threads has.
            drop(runtime);
            match closer.wait() {
                Ok(()) => assert_eq!(what, "told"),
                Err(errors) => {
                    assert_eq!((errors.len(), errors.iter().next().unwrap().raw_os_error()), (1, Some(28)), "{what}");
                    assert_ne!(what, "told");
                }
            }
        }
    }
}
