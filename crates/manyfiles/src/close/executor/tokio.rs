//! tokio.

use tokio::runtime::Handle;

use super::Executor;

/// Closes on tokio's blocking threads (`spawn_blocking`), never on one that runs futures. Outside a runtime, and when
/// it has shut down, the closer's own threads close.
///
/// Up to 64 blocking threads are taken while closes wait. Where a runtime has few (`max_blocking_threads`, 512 unless
/// set), leave some to others with [`Options::threads`](crate::close::Options::threads): closes that hang may take all
/// of them. Other closes then go on by the closer's own threads, and the runtime's own blocking tasks wait.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use manyfiles::close::{Closer, executor::Tokio};
///
/// let closer = Closer::options().executor(Tokio::new()).build();
/// let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
/// runtime.block_on(async {
///     closer.close(tokio::fs::File::open("Cargo.toml").await?);
///     tokio::task::spawn_blocking(move || closer.wait()).await??;
///     Ok(())
/// })
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tokio {
    handle: Option<Handle>,
}

impl Tokio {
    /// The runtime in which the handle is dropped.
    pub fn new() -> Tokio {
        Tokio::default()
    }

    /// This runtime, wherever the handle is dropped.
    pub fn with_handle(handle: Handle) -> Tokio {
        Tokio { handle: Some(handle) }
    }
}

impl Executor for Tokio {
    fn execute(&self, work: Box<dyn FnOnce() + Send>) {
        let current = || Handle::try_current().ok();
        if let Some(handle) = self.handle.clone().or_else(current) {
            // Dropping the join handle detaches the work.
            drop(handle.spawn_blocking(work));
        }
    }

    fn callers_may_block(&self) -> bool {
        false
    }
}
