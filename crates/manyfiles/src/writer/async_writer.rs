//! [`AsyncFileWriter`]: the same for tokio.

use std::future::poll_fn;
use std::io::{self, SeekFrom};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle};

use super::{FileWriter, Options, Written};
use crate::close::{self, Closer};
use crate::{Error, Operation, Result};

/// A [`FileWriter`] for tokio: records go into its buffer at once, and what reaches the operating system does so on one
/// of tokio's blocking threads while the task waits. A worker is never blocked, not by a drop either.
///
/// All that [`FileWriter`] says holds: the four states, sticky failure, policies. What is different:
///
/// - A write that fills the buffer returns when it has been handed to the blocking thread; a failure there is told by
///   the next call, at the latest by [`flush`](AsyncFileWriter::flush), [`sync`](AsyncFileWriter::sync) or
///   [`close`](AsyncFileWriter::close).
/// - A future that is dropped before it is ready takes nothing back: of a record that was being written, a beginning
///   may be in the file, and a flush or sync that had begun goes on.
/// - A drop hands the writer to a blocking thread and does not wait. Its errors are kept by the
///   [`Closer`](crate::close::Closer) once it has come to that, and so are those of a `close` whose future is dropped
///   before it is ready. `close` the writer, and wait for it, where they matter.
/// - Under [`SyncPolicy::Every`](super::SyncPolicy::Every) every record takes the way over a blocking thread.
///
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # let temp = tempfile::tempdir()?;
/// # let path = temp.path().join("log");
/// use manyfiles::writer::AsyncFileWriter;
///
/// # runtime.block_on(async {
/// let mut log = AsyncFileWriter::append(&path).await?;
/// for n in 0..1000 {
///     log.write_all(format!("line {n}\n").as_bytes()).await?;
/// }
/// log.sync().await?; // on the disk
/// log.close().await?;
/// # Ok::<(), manyfiles::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AsyncFileWriter {
    state: State,
    path: Option<Arc<Path>>,
}

/// What a writer is away for: a poll function may find done what it asked for when it was called before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Errand {
    Flush,
    Other,
}

#[derive(Debug)]
enum State {
    Here(Box<FileWriter>),
    /// On a blocking thread. How it went is known to the writer itself: failure is sticky.
    Away(JoinHandle<Box<FileWriter>>, Errand),
    Closing(JoinHandle<()>, Arc<Outcome>),
    Closed(Result<Written>),
    /// For a moment inside a call, or dropped.
    Nowhere,
}

/// A record that does not fit is copied, to be handed over: so much of it at a time, at least.
const PIECE: usize = 64 << 10;

impl AsyncFileWriter {
    /// The choices, to be followed by a call that opens: [`create_async`](Options::create_async) or another one that
    /// ends in `_async`.
    ///
    /// ```no_run
    /// # async fn open() -> manyfiles::Result<()> {
    /// use manyfiles::writer::AsyncFileWriter;
    ///
    /// let tiles = AsyncFileWriter::options().preallocate(1 << 30).create_async("tiles").await?;
    /// # tiles.close().await?;
    /// # Ok(()) }
    /// ```
    pub fn options() -> Options {
        Options::default()
    }

    /// As [`FileWriter::create`].
    pub async fn create(path: impl AsRef<Path>) -> Result<AsyncFileWriter> {
        AsyncFileWriter::options().create_async(path).await
    }

    /// As [`FileWriter::append`].
    pub async fn append(path: impl AsRef<Path>) -> Result<AsyncFileWriter> {
        AsyncFileWriter::options().append_async(path).await
    }

    /// A writer that `open` makes on a blocking thread.
    pub(super) async fn opened(
        path: Arc<Path>,
        open: impl FnOnce() -> Result<FileWriter> + Send + 'static,
    ) -> Result<AsyncFileWriter> {
        match blocking(open) {
            Ok(opening) => {
                let opened = opening.await.map_err(|error| gone(error, Operation::Open, Some(&path)))?;
                opened.map(AsyncFileWriter::from)
            }
            Err(open) => open().map(AsyncFileWriter::from),
        }
    }

    /// Takes all of `bytes`. Ready at once if they fit the buffer.
    pub async fn write_all(&mut self, mut bytes: &[u8]) -> Result<()> {
        if let State::Here(writer) = &mut self.state
            && writer.push(bytes)
        {
            return Ok(());
        }
        loop {
            let taken = poll_fn(|cx| self.poll_take(cx, bytes)).await?;
            bytes = &bytes[taken..];
            if bytes.is_empty() {
                return Ok(());
            }
        }
    }

    /// As [`FileWriter::write_at`], on a blocking thread.
    pub async fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        let bytes = bytes.to_vec();
        self.run(move |writer| writer.write_at(&bytes, offset)).await
    }

    /// As [`FileWriter::seek`], on a blocking thread.
    pub async fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.run(move |writer| writer.seek(to)).await
    }

    /// As [`FileWriter::flush`].
    pub async fn flush(&mut self) -> Result<()> {
        poll_fn(|cx| self.poll_flushed(cx)).await
    }

    /// As [`FileWriter::sync`].
    pub async fn sync(&mut self) -> Result<()> {
        self.run(FileWriter::sync).await
    }

    /// As [`FileWriter::close`].
    pub async fn close(mut self) -> Result<Written> {
        poll_fn(|cx| self.poll_close(cx)).await
    }

    /// The writer, when it is here. One that was closed says what closing said, if that was an error.
    fn poll_here(&mut self, cx: &mut Context<'_>) -> Poll<Result<&mut Box<FileWriter>>> {
        if let State::Away(away, _) = &mut self.state {
            self.state = match ready!(Pin::new(away).poll(cx)) {
                Ok(writer) => State::Here(writer),
                Err(error) => State::Closed(Err(gone(error, Operation::Write, self.path.as_deref()))),
            };
        }
        Poll::Ready(match &mut self.state {
            State::Here(writer) => Ok(writer),
            State::Closed(Err(error)) => Err(error.clone()),
            _ => Err(closed(self.path.as_deref())),
        })
    }

    fn poll_take(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let writer = ready!(self.poll_here(cx))?;
        if writer.push(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        if let Err(failure) = writer.tell_failure() {
            return Poll::Ready(Err(failure));
        }
        let piece = bytes[..bytes.len().min(writer.capacity().max(PIECE))].to_vec();
        let taken = piece.len();
        self.send(Errand::Other, move |writer| drop(writer.write_all(&piece)));
        Poll::Ready(Ok(taken))
    }

    /// Lets `work` be done on a blocking thread. How it goes is known to the writer, too: failure is sticky, and counts
    /// as told only when a caller has it: the future that waits for this may be dropped.
    fn send(&mut self, errand: Errand, work: impl FnOnce(&mut FileWriter) + Send + 'static) {
        self.state = match std::mem::replace(&mut self.state, State::Nowhere) {
            State::Here(mut writer) => {
                let there = move || {
                    writer.unheard(work);
                    writer
                };
                match blocking(there) {
                    Ok(away) => State::Away(away, errand),
                    Err(here) => State::Here(here()),
                }
            }
            other => other,
        };
    }

    fn poll_flushed(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        loop {
            // Nothing was written since: what an earlier future began and did not live to see counts as well.
            let done = matches!(&self.state, State::Away(_, Errand::Flush));
            let writer = ready!(self.poll_here(cx))?;
            if let Err(failure) = writer.tell_failure() {
                return Poll::Ready(Err(failure));
            }
            if done {
                return Poll::Ready(Ok(()));
            }
            self.send(Errand::Flush, |writer| drop(writer.flush()));
            if let State::Here(writer) = &mut self.state {
                return Poll::Ready(writer.tell_failure());
            }
        }
    }

    async fn run<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut FileWriter) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        poll_fn(|cx| self.poll_here(cx).map_ok(drop)).await?;
        let result = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&result);
        self.send(Errand::Other, move |writer| {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(work(writer));
        });
        poll_fn(|cx| self.poll_here(cx).map_ok(drop)).await?;
        let result = result.lock().unwrap_or_else(PoisonError::into_inner).take();
        let result = result.expect("a thread that gave the writer back had done its work");
        if let (Err(_), State::Here(writer)) = (&result, &mut self.state) {
            drop(writer.tell_failure()); // it is the one that is returned, or one that changed nothing
        }
        result
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<Written>> {
        if matches!(self.state, State::Here(_) | State::Away(..)) {
            ready!(self.poll_here(cx))?;
            if let State::Here(mut writer) = std::mem::replace(&mut self.state, State::Nowhere) {
                let outcome = Arc::new(Outcome::of(&writer));
                let there = Arc::clone(&outcome);
                self.state = match blocking(move || there.close(&mut writer)) {
                    Ok(closing) => State::Closing(closing, outcome),
                    Err(close) => {
                        close();
                        State::Closed(outcome.take().unwrap_or_else(|| Err(closed(self.path.as_deref()))))
                    }
                };
            }
        }
        if let State::Closing(closing, outcome) = &mut self.state {
            let joined = ready!(Pin::new(closing).poll(cx));
            let path = self.path.as_deref();
            let unknown =
                || Err(joined.err().map_or_else(|| closed(path), |error| gone(error, Operation::Close, path)));
            let closed = outcome.take().unwrap_or_else(unknown);
            self.state = State::Closed(closed);
        }
        match &self.state {
            State::Closed(closed) => Poll::Ready(closed.clone()),
            _ => Poll::Ready(Err(closed(self.path.as_deref()))),
        }
    }
}

/// A writer that was opened already. Opening may block: [`Options::create_async`] and the like do it elsewhere.
impl From<FileWriter> for AsyncFileWriter {
    fn from(writer: FileWriter) -> AsyncFileWriter {
        let path = writer.path().cloned();
        AsyncFileWriter { state: State::Here(Box::new(writer)), path }
    }
}

/// Each error carries the whole [`Error`]. `poll_shutdown` closes the file: it is an error to write afterwards.
impl AsyncWrite for AsyncFileWriter {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_take(cx, bytes).map_err(super::io_error)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flushed(cx).map_err(super::io_error)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_close(cx).map_ok(drop).map_err(super::io_error)
    }
}

impl Drop for AsyncFileWriter {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.state, State::Nowhere) {
            State::Here(writer) => {
                if let Err(drop_it) = blocking(move || drop(writer)) {
                    drop_it();
                }
            }
            // Given up while it was closing: by a timeout, a `select`.
            State::Closing(_, outcome) => outcome.abandon(),
            // A writer that is away is dropped by the thread that has it.
            State::Away(..) | State::Closed(_) | State::Nowhere => {}
        }
    }
}

/// How a close went. The task that waits for the close takes it; if the task gives up, the closer does.
#[derive(Debug)]
struct Outcome {
    closer: Option<Arc<Closer>>,
    state: Mutex<Closing>,
}

#[derive(Debug)]
enum Closing {
    Running,
    Abandoned,
    Done(Result<Written>),
    Taken,
}

impl Outcome {
    fn of(writer: &FileWriter) -> Outcome {
        Outcome { closer: writer.own_closer().cloned(), state: Mutex::new(Closing::Running) }
    }

    /// On the blocking thread. If that never comes to it, because the runtime ends before, the writer is dropped, and
    /// keeps its errors itself.
    fn close(&self, writer: &mut FileWriter) {
        let closed = writer.close_now();
        let mut state = self.lock();
        match *state {
            Closing::Abandoned => self.keep(closed),
            _ => *state = Closing::Done(closed),
        }
    }

    fn take(&self) -> Option<Result<Written>> {
        match std::mem::replace(&mut *self.lock(), Closing::Taken) {
            Closing::Done(closed) => Some(closed),
            _ => None,
        }
    }

    fn abandon(&self) {
        let before = std::mem::replace(&mut *self.lock(), Closing::Abandoned);
        if let Closing::Done(closed) = before {
            self.keep(closed);
        }
    }

    fn keep(&self, closed: Result<Written>) {
        if let Err(error) = closed {
            self.closer.as_deref().unwrap_or_else(|| close::global()).keep(error);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Closing> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts `work` on a blocking thread; gives it back where there is no runtime.
fn blocking<T: Send + 'static, F: FnOnce() -> T + Send + 'static>(work: F) -> Result<JoinHandle<T>, F> {
    match Handle::try_current() {
        Ok(runtime) => Ok(runtime.spawn_blocking(work)),
        Err(_) => Err(work),
    }
}

fn closed(path: Option<&Path>) -> Error {
    super::error(Operation::Write, path, io::Error::other("the file has been closed"))
}

/// The blocking thread did not come back: what was written to panicked there, or the runtime ended before it began.
fn gone(error: JoinError, operation: Operation, path: Option<&Path>) -> Error {
    let message = if error.is_cancelled() {
        "the runtime ended before this was done; what was written since the last flush may not be in the file"
            .to_owned()
    } else {
        error.to_string()
    };
    super::error(operation, path, io::Error::other(message))
}
