//! All threads of an executor are in closes that hang: other files and values are closed all the same, though no call
//! waits for them.
//!
//! Not on Windows: under wine a process whose threads hang at its end crashed there once in 23 runs, after the test.
#![cfg(not(windows))]

#[path = "support/on_close.rs"]
mod on_close;

use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use manyfiles::close::{Closer, Executor, Options, Policy};
use on_close::OnClose;

type Work = Box<dyn FnOnce() + Send>;

/// Two threads for all the closers that have it, and room for any amount of work before them.
#[derive(Clone)]
struct TwoThreads(Arc<Mutex<Sender<Work>>>);

impl TwoThreads {
    fn new() -> TwoThreads {
        let (sender, receiver) = channel::<Work>();
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..2 {
            let receiver = Arc::clone(&receiver);
            thread::spawn(move || {
                loop {
                    let work = receiver.lock().unwrap().recv();
                    match work {
                        Ok(work) => work(),
                        Err(_) => break,
                    }
                }
            });
        }
        TwoThreads(Arc::new(Mutex::new(sender)))
    }

    fn options(&self) -> Options {
        Closer::options().policy(Policy::Always).executor(self.clone())
    }
}

impl Executor for TwoThreads {
    fn execute(&self, work: Work) {
        self.0.lock().unwrap().send(work).expect("the threads end after the sender");
    }
}

/// Hands over two values whose drops last until the sender is dropped, and returns when both run.
fn hang(closer: &Closer) -> Sender<()> {
    let (release, released) = channel::<()>();
    let released = Arc::new(Mutex::new(released));
    let (begin, begun) = channel();
    for _ in 0..2 {
        let (released, begin) = (Arc::clone(&released), begin.clone());
        closer.close(OnClose(move || {
            begin.send(()).unwrap();
            assert!(released.lock().unwrap_or_else(|lock| lock.into_inner()).recv().is_err());
        }));
    }
    for _ in 0..2 {
        begun.recv().unwrap();
    }
    release
}

/// A minute is long enough for anything, and a failure then.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Files of another volume than the values are of, and more values.
fn everything_else_is_closed(closer: &Closer, hanging: usize) {
    let temp = tempfile::tempdir().unwrap();
    let values = Arc::new(AtomicUsize::new(0));
    for round in 1..=3 {
        for n in 0..20 {
            let path = temp.path().join(format!("{round}-{n}"));
            closer.close_at(File::create(&path).unwrap(), path);
        }
        until("files are closed", || closer.pending() == hanging);
        for _ in 0..100 {
            let values = Arc::clone(&values);
            closer.close(OnClose(move || {
                values.fetch_add(1, Ordering::SeqCst);
            }));
        }
        until("values are dropped", || values.load(Ordering::SeqCst) == round * 100);
        until("values count as closed", || closer.pending() == hanging);
    }
}

fn two_hang_and_the_rest_goes_on(options: impl Fn() -> Options) {
    let (first, second) = (options().build(), options().build());
    let release = hang(&first);
    everything_else_is_closed(&first, 2);
    // Another closer on the same threads.
    everything_else_is_closed(&second, 0);
    drop(release);
    assert_eq!(first.finish().unwrap().handed_over, 2 + 3 * 120);
    // The executor's threads are free again.
    everything_else_is_closed(&second, 0);
    second.finish().unwrap();
}

#[test]
fn closes_that_hang_on_all_threads_of_an_executor_hold_up_no_others() {
    let executor = TwoThreads::new();
    two_hang_and_the_rest_goes_on(|| executor.options());
}

#[cfg(feature = "tokio")]
#[test]
fn closes_that_hang_on_all_blocking_threads_of_tokio_hold_up_no_others() {
    use manyfiles::close::executor::Tokio;
    let runtime = tokio::runtime::Builder::new_multi_thread().max_blocking_threads(2).build().unwrap();
    let handle = runtime.handle().clone();
    two_hang_and_the_rest_goes_on(|| Closer::options().executor(Tokio::with_handle(handle.clone())));
}
