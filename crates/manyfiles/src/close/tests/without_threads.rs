//! The system refuses to start threads, always or at times.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::close::policy::Policy;
use crate::close::pool::{IDLE, Pool, Spawn, Threads};

/// Starts every n-th thread that is asked for; 0: none.
struct Every(usize, AtomicUsize);

impl Spawn for Every {
    fn spawn(&self, worker: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        let asked = self.1.fetch_add(1, Ordering::Relaxed) + 1;
        if self.0 == 0 || !asked.is_multiple_of(self.0) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Threads.spawn(worker)
    }
}

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        std::thread::yield_now();
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn pool(spawn: impl Spawn + 'static) -> Arc<Pool> {
    Pool::new(Policy::Always, 100, 8, None, Box::new(spawn), IDLE)
}

#[test]
fn without_threads_the_caller_closes_at_once() {
    let closed = Arc::new(AtomicUsize::new(0));
    let pool = pool(Every(0, AtomicUsize::new(0)));
    for n in 1..=10 {
        pool.close(Counted(Arc::clone(&closed)), None::<&Path>);
        assert_eq!(closed.load(Ordering::Relaxed), n);
    }
    assert_eq!(pool.pending(), 0);
    assert!(pool.wait().is_empty());
}

#[test]
fn with_a_thread_now_and_then_nothing_is_lost() {
    let closed = Arc::new(AtomicUsize::new(0));
    let pool = pool(Every(3, AtomicUsize::new(0)));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1_000).for_each(|_| pool.close(Counted(Arc::clone(&closed)), None::<&Path>)));
        }
    });
    assert!(pool.wait().is_empty());
    assert_eq!(closed.load(Ordering::Relaxed), 4_000);
    pool.shut_down();
}
