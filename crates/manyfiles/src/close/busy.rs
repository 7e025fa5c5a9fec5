//! A file of tokio's that was dropped with a read or write in flight.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use tokio::fs::File;
use tokio::io::AsyncWrite;

use super::panics;

/// Waits for the read or write in flight, on a thread that may block and is none of the runtime's. Returns the write's
/// result, and the file. Fails if the runtime has ended and dropped the work.
pub(super) fn finish(mut file: File) -> io::Result<(io::Result<()>, std::fs::File)> {
    panics::as_error(move || {
        let written = block_on(poll_fn(|cx| Pin::new(&mut file).poll_flush(cx)));
        (written, block_on(file.into_std()))
    })
}

fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
