//! A global closer whose closes stay pending until a call waits for them: no thread ever makes them.

use std::mem;

use manyfiles::close::{self, Closer, Executor, Policy};

struct Held;

impl Executor for Held {
    fn execute(&self, work: Box<dyn FnOnce() + Send>) {
        // Dropped, the work would be done by the closer's own threads.
        mem::forget(work);
    }
}

/// Once per process, before anything is closed.
pub fn every_close_stays_pending() {
    let closer = Closer::options().policy(Policy::Always).executor(Held).capacity(10_000).build();
    close::set_global(closer).expect("nothing has been closed yet");
}
