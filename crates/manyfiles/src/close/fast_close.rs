//! The wrapper that a program puts around its files. What its drop does is in `dropping.rs`.

#![allow(unsafe_code, reason = "to take the handle out of a value that is not dropped")]

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// A handle whose drop goes to the global [`Closer`](super::Closer); in all else it is the handle itself, and has its
/// size.
///
/// Where closing is slow it happens on another thread, and where it isn't the wrapper costs next to nothing. A drop can
/// return no error: keep a [`guard`](super::guard) to the end of `main`, or call [`wait`](super::wait) when it matters.
/// Errors that no call has taken are printed when the process ends. A lock is held until the close: release it before
/// the drop.
///
/// Not for handles that are counted (`Arc<File>`): wrap what is inside the `Arc`.
///
/// With the features `tokio`, `async-std` and `smol` this wraps those runtimes' files and passes their traits through.
/// Await a `flush` before the drop, as you would without the wrapper:
///
/// | file | what was not flushed | a close's error |
/// |---|---|---|
/// | tokio's | a write in flight is waited for, and its error kept | kept |
/// | async-std's | the drop writes it, and loses the error | lost: the file does not let go of its handle |
/// | smol's | may be lost | lost, as above |
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let temp = tempfile::tempdir()?;
/// # let path = temp.path().join("a.txt");
/// use manyfiles::close::{self, FastClose};
/// use std::fs::File;
/// use std::io::Write;
///
/// let guard = close::guard();
/// let mut file = FastClose::new(File::create(&path)?);
/// file.write_all(b"some text")?;
/// drop(file); // closed here, or soon, on another thread
/// guard.finish()?; // is closed now, without an error
/// assert_eq!(std::fs::read(&path)?, b"some text");
/// # Ok(()) }
/// ```
#[repr(transparent)]
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FastClose<H: Send + 'static>(pub(super) ManuallyDrop<H>);

impl<H: FastCloseable> FastClose<H> {
    /// Wraps a handle.
    #[inline]
    pub fn new(handle: H) -> FastClose<H> {
        handle.fast_close()
    }
}

impl<H: Send + 'static> FastClose<H> {
    /// The handle itself. It will be closed as if it had never been wrapped.
    #[inline]
    pub fn into_inner(self) -> H {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: the handle is taken once: `this` is never used again, and as a `ManuallyDrop` it never runs its
        // drop.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl<H: FastCloseable> From<H> for FastClose<H> {
    fn from(handle: H) -> FastClose<H> {
        handle.fast_close()
    }
}

impl<H: Send + 'static> Deref for FastClose<H> {
    type Target = H;

    #[inline]
    fn deref(&self) -> &H {
        &self.0
    }
}

impl<H: Send + 'static> DerefMut for FastClose<H> {
    #[inline]
    fn deref_mut(&mut self) -> &mut H {
        &mut self.0
    }
}

/// As the handle itself.
impl<H: fmt::Debug + Send + 'static> fmt::Debug for FastClose<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<H: PartialEq + Send + 'static> PartialEq<H> for FastClose<H> {
    fn eq(&self, other: &H) -> bool {
        **self == *other
    }
}

impl<H: PartialOrd + Send + 'static> PartialOrd<H> for FastClose<H> {
    fn partial_cmp(&self, other: &H) -> Option<std::cmp::Ordering> {
        (**self).partial_cmp(other)
    }
}

/// A type that [`FastClose`] can wrap. Implement it for your own: one that owns its handle alone.
///
/// ```
/// use manyfiles::close::{FastClose, FastCloseable};
///
/// struct Log {
///     file: std::fs::File,
/// }
///
/// impl FastCloseable for Log {}
///
/// let log = Log { file: std::fs::File::open("Cargo.toml")? }.fast_close();
/// assert!(log.file.metadata()?.is_file());
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait FastCloseable: Send {
    /// Wraps the handle. There is no other way to make a [`FastClose`], so that an implementation cannot replace this
    /// method.
    #[inline]
    fn fast_close(self) -> FastClose<Self>
    where
        Self: Sized,
    {
        FastClose(ManuallyDrop::new(self))
    }
}

impl FastCloseable for std::fs::File {}

#[cfg(unix)]
impl FastCloseable for std::os::fd::OwnedFd {}

#[cfg(windows)]
impl FastCloseable for std::os::windows::io::OwnedHandle {}
