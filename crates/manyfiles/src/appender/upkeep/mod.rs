//! What is done with files that are not written to any more: the oldest are removed, the others compressed, as was
//! asked for.
//!
//! Nothing here fails the log. Errors are kept until they are taken.

#[cfg(feature = "zstd")]
pub(in crate::appender) mod packer;
#[cfg(feature = "zstd")]
pub(in crate::appender) mod packing;
pub(in crate::appender) mod retention;

use std::sync::{Arc, PoisonError};

use crate::Error;
use crate::appender::log::series::Series;
use crate::appender::options::{Keep, Options};
use crate::appender::storage::Storage;
use crate::appender::sync::{Mutex, MutexGuard};

pub(in crate::appender) struct Upkeep {
    pub(in crate::appender) storage: Arc<dyn Storage>,
    pub(in crate::appender) series: Series,
    pub(in crate::appender) keep: Keep,
    errors: Mutex<Vec<Error>>,
    /// Files with numbers below this one were removed by this appender. The lock is held while names of files are
    /// removed or replaced: so no file comes back under another name. The names alone do not tell: some systems keep
    /// that of a removed file as long as it is open, to be compressed for instance.
    names: Mutex<u64>,
    #[cfg(feature = "zstd")]
    pub(in crate::appender) packer: crate::appender::upkeep::packer::Packer,
}

/// Of very many errors the first are kept.
const MOST_ERRORS: usize = 64;

impl Upkeep {
    pub(in crate::appender) fn new(storage: Arc<dyn Storage>, series: Series, options: &Options) -> Upkeep {
        Upkeep {
            storage,
            series,
            keep: options.keep,
            errors: Mutex::new(Vec::new()),
            names: Mutex::new(0),
            #[cfg(feature = "zstd")]
            packer: crate::appender::upkeep::packer::Packer::new(options.compress),
        }
    }

    /// A file was begun, or the log opened: all files before this one are not written to any more.
    pub(in crate::appender) fn begin(self: &Arc<Upkeep>, newest: u64) {
        self.remove_old(newest);
        #[cfg(feature = "zstd")]
        self.start_packing(newest);
    }

    /// Returns when nothing is done any more.
    pub(in crate::appender) fn stop(&self) {
        #[cfg(feature = "zstd")]
        self.packer.stop();
    }

    pub(in crate::appender) fn lock_names(&self) -> MutexGuard<'_, u64> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::appender) fn tell(&self, error: Error) {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        if errors.len() < MOST_ERRORS {
            errors.push(error);
        }
    }

    pub(in crate::appender) fn take_errors(&self) -> Vec<Error> {
        std::mem::take(&mut *self.errors.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
