//! The runtimes' files in a wrapper: every method is the file's own, and its close is like any other.
#![cfg(any(feature = "async-std", feature = "smol", feature = "tokio"))]

use std::io::{self, IoSlice, SeekFrom};
use std::mem::size_of;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use manyfiles::close::{self, FastClose, FastCloseable};

/// Says which of its methods was called.
#[derive(Default)]
struct Calls(Vec<&'static str>);

impl FastCloseable for Calls {}

impl Calls {
    fn called<T: Default>(&mut self, method: &'static str) -> Poll<io::Result<T>> {
        self.0.push(method);
        Poll::Ready(Ok(T::default()))
    }
}

fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// Writes, reads and seeks through a runtime's extension traits, which both kinds have under the same names.
macro_rules! a_file_can_be_written_and_read_through_it {
    ($file:ty, $block_on:expr) => {{
        assert_eq!(size_of::<FastClose<$file>>(), size_of::<$file>());
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        let std = std::fs::File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        let plain = format!("{:?}", <$file>::from(std.try_clone().unwrap()));
        let name = plain.split([' ', '(']).next().unwrap();
        $block_on(async {
            let mut file: FastClose<$file> = <$file>::from(std).into();
            assert!(format!("{file:?}").starts_with(name), "{file:?}");
            file.write_all(b"some ").await.unwrap();
            let written = file.write_vectored(&[IoSlice::new(b"te"), IoSlice::new(b"xt")]).await.unwrap();
            file.write_all(&b"text"[written..]).await.unwrap();
            file.flush().await.unwrap();
            assert_eq!(file.seek(SeekFrom::Start(5)).await.unwrap(), 5);
            let mut four = [0; 4];
            file.read_exact(&mut four).await.unwrap();
            assert_eq!(&four, b"text");
            assert_eq!(file.metadata().await.unwrap().len(), 9); // the file's own method
        });
        close::wait().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"some text");
    }};
}

#[cfg(feature = "tokio")]
mod on_tokio {
    use super::*;
    use tokio::fs::File;
    use tokio::io::{AsyncRead, AsyncReadExt, AsyncSeek, AsyncSeekExt, AsyncWrite, AsyncWriteExt, ReadBuf};

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap()
    }

    #[test]
    fn a_file_can_be_written_and_read_through_it() {
        let runtime = runtime();
        a_file_can_be_written_and_read_through_it!(File, |future| runtime.block_on(future));
    }

    impl AsyncRead for Calls {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            self.called("read")
        }
    }

    impl AsyncWrite for Calls {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            self.called("write")
        }
        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.called("flush")
        }
        fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.called("shutdown")
        }
        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            self.called("write_vectored")
        }
        fn is_write_vectored(&self) -> bool {
            true
        }
    }

    impl AsyncSeek for Calls {
        fn start_seek(mut self: Pin<&mut Self>, _: SeekFrom) -> io::Result<()> {
            self.0.push("start_seek");
            Ok(())
        }
        fn poll_complete(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<u64>> {
            self.called("complete")
        }
    }

    #[test]
    fn every_method_is_the_handles_own_and_none_the_traits_default() {
        let mut file = FastClose::new(Calls::default());
        let cx = &mut context();
        assert!(Pin::new(&mut file).poll_read(cx, &mut ReadBuf::new(&mut [0])).is_ready());
        assert!(Pin::new(&mut file).poll_write(cx, b"a").is_ready());
        assert!(Pin::new(&mut file).poll_write_vectored(cx, &[]).is_ready());
        assert!(Pin::new(&mut file).poll_flush(cx).is_ready());
        assert!(Pin::new(&mut file).poll_shutdown(cx).is_ready());
        Pin::new(&mut file).start_seek(SeekFrom::Start(0)).unwrap();
        assert!(Pin::new(&mut file).poll_complete(cx).is_ready());
        assert!(file.is_write_vectored());
        let expected = ["read", "write", "write_vectored", "flush", "shutdown", "start_seek", "complete"];
        assert_eq!(file.0, expected);
    }

    #[test]
    fn a_write_in_flight_arrives_though_the_file_is_dropped() {
        let temp = tempfile::tempdir().unwrap();
        let runtime = runtime();
        for n in 0..200 {
            let path = temp.path().join(n.to_string());
            runtime.block_on(async {
                let mut file = FastClose::new(File::create(&path).await.unwrap());
                file.write_all(b"in flight").await.unwrap();
                if n % 2 == 0 {
                    file.flush().await.unwrap();
                }
            });
        }
        close::wait().unwrap();
        drop(runtime); // waits for its writes
        for n in 0..200 {
            assert_eq!(std::fs::read(temp.path().join(n.to_string())).unwrap(), b"in flight");
        }
    }

    #[test]
    fn a_file_may_be_dropped_outside_of_its_runtime_and_after_its_end() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        let runtime = runtime();
        let create = || FastClose::new(runtime.block_on(File::create(&path)).unwrap());
        let (outside, after) = (create(), create());
        drop(outside);
        drop(runtime);
        drop(after);
        close::wait().unwrap();
    }
}

#[cfg(any(feature = "async-std", feature = "smol"))]
mod on_futures {
    use super::*;
    use futures_io::{AsyncRead, AsyncSeek, AsyncWrite, IoSliceMut};

    #[cfg(feature = "smol")]
    #[test]
    fn a_file_of_smol_can_be_written_and_read_through_it() {
        use smol::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
        a_file_can_be_written_and_read_through_it!(smol::fs::File, smol::block_on);
    }

    #[cfg(feature = "async-std")]
    #[test]
    fn a_file_of_async_std_can_be_written_and_read_through_it() {
        use async_std::io::{ReadExt, SeekExt, WriteExt};
        a_file_can_be_written_and_read_through_it!(async_std::fs::File, async_std::task::block_on);
    }

    #[cfg(feature = "async-std")]
    #[test]
    fn what_async_std_has_not_written_yet_is_written_before_the_close() {
        use async_std::io::WriteExt;
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        async_std::task::block_on(async {
            let mut file = FastClose::new(async_std::fs::File::create(&path).await.unwrap());
            file.write_all(b"only in its buffer").await.unwrap();
        });
        close::wait().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"only in its buffer");
    }

    impl AsyncRead for Calls {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut [u8]) -> Poll<io::Result<usize>> {
            self.called("read")
        }
        fn poll_read_vectored(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut [IoSliceMut<'_>],
        ) -> Poll<io::Result<usize>> {
            self.called("read_vectored")
        }
    }

    impl AsyncWrite for Calls {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            self.called("write")
        }
        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            self.called("write_vectored")
        }
        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.called("flush")
        }
        fn poll_close(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.called("close")
        }
    }

    impl AsyncSeek for Calls {
        fn poll_seek(mut self: Pin<&mut Self>, _: &mut Context<'_>, _: SeekFrom) -> Poll<io::Result<u64>> {
            self.called("seek")
        }
    }

    #[test]
    fn every_method_is_the_handles_own_and_none_the_traits_default() {
        let mut file = FastClose::new(Calls::default());
        let cx = &mut context();
        assert!(Pin::new(&mut file).poll_read(cx, &mut [0]).is_ready());
        assert!(Pin::new(&mut file).poll_read_vectored(cx, &mut []).is_ready());
        assert!(Pin::new(&mut file).poll_write(cx, b"a").is_ready());
        assert!(Pin::new(&mut file).poll_write_vectored(cx, &[]).is_ready());
        assert!(Pin::new(&mut file).poll_flush(cx).is_ready());
        assert!(Pin::new(&mut file).poll_close(cx).is_ready());
        assert!(Pin::new(&mut file).poll_seek(cx, SeekFrom::Start(0)).is_ready());
        assert_eq!(file.0, ["read", "read_vectored", "write", "write_vectored", "flush", "close", "seek"]);
    }
}
