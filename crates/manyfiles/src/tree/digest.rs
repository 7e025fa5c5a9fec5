//! Sums over the content of files, made by the program's own code.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A sum over a file's content, made while the file is written. Any hash fits in a few lines; `manyfiles` brings none.
/// A panic in it is a failure of the file.
pub trait Digest: Send {
    /// Takes the next bytes. The zeros of holes come as bytes.
    fn update(&mut self, bytes: &[u8]);

    /// The digest of all that came.
    fn finish(self: Box<Self>) -> Vec<u8>;
}

/// Makes a digest for each file.
#[derive(Clone)]
pub(super) struct NewDigest(pub(super) Arc<dyn Fn() -> Box<dyn Digest> + Send + Sync>);

impl fmt::Debug for NewDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewDigest")
    }
}

impl NewDigest {
    pub(super) fn begin(&self) -> RunningDigest {
        RunningDigest(catch_unwind(AssertUnwindSafe(|| (self.0)())).ok())
    }
}

/// The digest of a file that is being written. `None` in it: the program's code panicked, and the end says so.
pub(super) struct RunningDigest(Option<Box<dyn Digest>>);

impl RunningDigest {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        let Some(digest) = &mut self.0 else { return };
        if catch_unwind(AssertUnwindSafe(|| digest.update(bytes))).is_err() {
            self.discard();
        }
    }

    /// What is left out reads as zeros.
    pub(super) fn zeros(&mut self, mut len: u64) {
        const ZEROS: [u8; 4096] = [0; 4096];
        while len > 0 && self.0.is_some() {
            let some = len.min(ZEROS.len() as u64);
            self.update(&ZEROS[..some as usize]);
            len -= some;
        }
    }

    pub(super) fn finish(mut self) -> io::Result<Vec<u8>> {
        let panicked = || io::Error::other("the program's digest of this file panicked");
        let digest = self.0.take().ok_or_else(panicked)?;
        catch_unwind(AssertUnwindSafe(|| digest.finish())).map_err(|_| panicked())
    }

    /// A panic while it is dropped has nothing to add to what led here.
    fn discard(&mut self) {
        let digest = self.0.take();
        catch_unwind(AssertUnwindSafe(|| drop(digest))).unwrap_or(());
    }
}

impl Drop for RunningDigest {
    fn drop(&mut self) {
        self.discard();
    }
}
