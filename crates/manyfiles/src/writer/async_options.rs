//! Opening without blocking a worker of tokio.

use std::path::Path;
use std::sync::Arc;

use super::{AsyncFileWriter, Options};
use crate::Result;

/// The calls that open a file on one of tokio's blocking threads. If the future is dropped before it is ready, the file
/// may be opened all the same, and so created or cut. It is closed again then. Outside of a runtime of tokio these
/// calls open at once.
impl Options {
    /// As [`create`](Options::create), for an [`AsyncFileWriter`].
    pub async fn create_async(self, path: impl AsRef<Path>) -> Result<AsyncFileWriter> {
        let path: Arc<Path> = path.as_ref().into();
        AsyncFileWriter::opened(Arc::clone(&path), move || self.create(path)).await
    }

    /// As [`create_new`](Options::create_new), for an [`AsyncFileWriter`].
    pub async fn create_new_async(self, path: impl AsRef<Path>) -> Result<AsyncFileWriter> {
        let path: Arc<Path> = path.as_ref().into();
        AsyncFileWriter::opened(Arc::clone(&path), move || self.create_new(path)).await
    }

    /// As [`append`](Options::append), for an [`AsyncFileWriter`].
    pub async fn append_async(self, path: impl AsRef<Path>) -> Result<AsyncFileWriter> {
        let path: Arc<Path> = path.as_ref().into();
        AsyncFileWriter::opened(Arc::clone(&path), move || self.append(path)).await
    }

    /// As [`open_at`](Options::open_at), for an [`AsyncFileWriter`].
    pub async fn open_at_async(self, path: impl AsRef<Path>, offset: u64) -> Result<AsyncFileWriter> {
        let path: Arc<Path> = path.as_ref().into();
        AsyncFileWriter::opened(Arc::clone(&path), move || self.open_at(path, offset)).await
    }
}
