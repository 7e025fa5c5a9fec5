//! The work that an executor is given: what becomes of it that is begun late, dropped, or never begun. No test here
//! runs work for long, since other work would be late then.

#[path = "support/on_close.rs"]
mod on_close;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use manyfiles::close::{Closer, Executor, Policy};
use on_close::OnClose;

type Work = Box<dyn FnOnce() + Send>;

/// A runtime that begins nothing.
#[derive(Clone, Default)]
struct Keeps(Arc<Mutex<Vec<Work>>>);

impl Executor for Keeps {
    fn execute(&self, work: Work) {
        self.0.lock().unwrap().push(work);
    }
}

#[test]
fn work_that_a_runtime_drops_when_it_ends_is_done_by_the_closers_own_threads() {
    let runtime = Keeps::default();
    let closer = Closer::options().executor(runtime.clone()).policy(Policy::Always).build();
    let (tell, told) = channel();
    for _ in 0..100 {
        let tell = tell.clone();
        closer.close(OnClose(move || tell.send(thread::current().name() == Some("manyfiles-close")).unwrap()));
    }
    assert_eq!(closer.pending(), 100);
    let work = std::mem::take(&mut *runtime.0.lock().unwrap());
    assert_eq!(work.len(), 64);
    drop(work);
    for _ in 0..100 {
        assert!(told.recv_timeout(Duration::from_secs(60)).expect("lost with the runtime"));
    }
}

#[test]
fn a_wait_needs_no_thread_of_a_runtime_that_never_begins() {
    let runtime = Keeps::default();
    let closer = Closer::options().executor(runtime.clone()).policy(Policy::Always).build();
    let closed = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        let closed = Arc::clone(&closed);
        closer.close(OnClose(move || {
            closed.fetch_add(1, Ordering::Relaxed);
        }));
    }
    closer.wait().unwrap();
    assert_eq!(closed.load(Ordering::Relaxed), 100);
    // And what it begins late finds nothing to do.
    let work = std::mem::take(&mut *runtime.0.lock().unwrap());
    work.into_iter().for_each(|work| work());
    assert_eq!(closer.pending(), 0);
}

#[test]
fn work_gives_its_thread_back_now_and_then() {
    let runtime = Keeps::default();
    let closer = Closer::options().executor(runtime.clone()).policy(Policy::Always).threads(1).build();
    for _ in 0..100 {
        closer.close(());
    }
    let given = || std::mem::take(&mut *runtime.0.lock().unwrap());
    let mut left = vec![100];
    let mut work = given();
    while let Some(one) = work.pop() {
        assert!(work.is_empty(), "one at a time was allowed");
        one();
        left.push(closer.pending());
        work = given();
    }
    assert_eq!(left, [100, 84, 68, 52, 36, 20, 4, 0]);
}
