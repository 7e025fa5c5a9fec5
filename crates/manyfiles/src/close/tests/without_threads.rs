//! The system refuses to start threads, always or at times.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::close::Executor;
use crate::close::policy::Policy;
use crate::close::pool::{IDLE, Pool};
use crate::close::spawn::{Spawn, Threads};

/// Drops all work.
struct Refuses;

impl Executor for Refuses {
    fn execute(&self, work: Box<dyn FnOnce() + Send>) {
        drop(work);
    }
}

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
    Pool::new(Policy::Always, 100, 8, None, None, Box::new(spawn), IDLE)
}

fn pool_that_is_refused(spawn: impl Spawn + 'static) -> Arc<Pool> {
    Pool::new(Policy::Always, 100, 8, None, Some(Box::new(Refuses)), Box::new(spawn), IDLE)
}

#[test]
fn without_threads_the_caller_closes_at_once() {
    let none = || Every(0, AtomicUsize::new(0));
    for pool in [pool(none()), pool_that_is_refused(none())] {
        let closed = Arc::new(AtomicUsize::new(0));
        for n in 1..=10 {
            pool.close(Counted(Arc::clone(&closed)), None::<&Path>, None);
            assert_eq!(closed.load(Ordering::Relaxed), n);
        }
        assert_eq!(pool.pending(), 0);
        assert!(pool.wait().check().is_ok());
    }
}

#[test]
fn a_drop_inside_a_drop_may_wait_without_threads() {
    /// Hands over another that waits.
    struct Outer(Arc<Pool>, Arc<AtomicUsize>);
    impl Drop for Outer {
        fn drop(&mut self) {
            self.0.close(Waits(Arc::clone(&self.0), Counted(Arc::clone(&self.1))), None::<&Path>, None);
        }
    }
    struct Waits(Arc<Pool>, #[expect(dead_code, reason = "counts")] Counted);
    impl Drop for Waits {
        fn drop(&mut self) {
            assert!(self.0.wait().check().is_ok());
        }
    }
    let closed = Arc::new(AtomicUsize::new(0));
    let pool = pool(Every(0, AtomicUsize::new(0)));
    pool.close(Outer(Arc::clone(&pool), Arc::clone(&closed)), None::<&Path>, None);
    assert!(pool.wait().check().is_ok());
    assert_eq!(closed.load(Ordering::Relaxed), 1);
    assert_eq!(pool.pending(), 0);
}

#[test]
fn with_a_thread_now_and_then_nothing_is_lost() {
    let some = || Every(3, AtomicUsize::new(0));
    for pool in [pool(some()), pool_that_is_refused(some())] {
        let closed = Arc::new(AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1_000).for_each(|_| pool.close(Counted(Arc::clone(&closed)), None::<&Path>, None)));
            }
        });
        assert!(pool.wait().check().is_ok());
        assert_eq!(closed.load(Ordering::Relaxed), 4_000);
        pool.shut_down();
    }
}
