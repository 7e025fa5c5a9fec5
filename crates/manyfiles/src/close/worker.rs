//! A worker on its way to an executor.

use std::sync::Arc;

use super::pool::Pool;

/// The work that an [`Executor`](super::Executor) is given. It has a place reserved among the pool's threads, and jobs may
/// be counting on it; so if it is dropped before it ran, the pool hears of it.
pub(super) struct Worker(Option<Arc<Pool>>);

impl Worker {
    pub(super) fn new(pool: Arc<Pool>) -> Worker {
        Worker(Some(pool))
    }

    pub(super) fn run(mut self) {
        if let Some(pool) = self.0.take() {
            pool.work_on_executor();
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(pool) = self.0.take() {
            pool.replace_worker();
        }
    }
}
