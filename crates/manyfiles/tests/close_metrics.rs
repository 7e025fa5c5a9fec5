//! What a closer counts.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use manyfiles::close::{self, Closer, FastClose, FastCloseable, Metrics, Policy};

/// A handle whose close takes two milliseconds.
struct Slow;

impl Drop for Slow {
    fn drop(&mut self) {
        thread::sleep(Duration::from_millis(2));
    }
}

struct Fails;

impl FastCloseable for Fails {}

impl Drop for Fails {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new("it fails"));
    }
}

#[test]
fn every_close_is_counted_where_it_was_made() {
    let closer = Closer::options().policy(Policy::Never).build();
    assert_eq!(closer.metrics(), Metrics::default());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1_001).for_each(|_| closer.close(())));
        }
    });
    let metrics = closer.metrics();
    assert_eq!((metrics.closed_inline, metrics.handed_over, metrics.peak_pending), (4_004, 0, 0));
    assert_eq!(metrics.time_in_pool, Duration::ZERO);

    let closer = Closer::options().policy(Policy::Always).build();
    (0..100).for_each(|_| closer.close(Slow));
    let pending = closer.metrics().peak_pending;
    assert!((1..=100).contains(&pending), "{pending}");
    while closer.pending() > 0 {
        thread::yield_now(); // a wait would help
    }
    let metrics = closer.metrics();
    assert_eq!((metrics.closed_inline, metrics.handed_over), (0, 100));
    assert!(metrics.time_in_pool >= Duration::from_millis(200), "{metrics:?}");
    assert_eq!(metrics.time_in_callers, Duration::ZERO);
}

#[test]
fn what_a_full_queue_or_a_wait_makes_the_caller_close_is_the_callers_time() {
    let closer = Closer::options().policy(Policy::Always).capacity(1).threads(1).build();
    struct Held(std::sync::mpsc::Receiver<()>);
    impl Drop for Held {
        fn drop(&mut self) {
            assert!(self.0.recv().is_err());
        }
    }
    let (release, released) = channel();
    closer.close(Held(released));
    (0..10).for_each(|_| closer.close(Slow));
    let metrics = closer.metrics();
    assert_eq!((metrics.handed_over, metrics.closed_inline, metrics.peak_pending), (1, 10, 1));
    assert!(metrics.time_in_callers >= Duration::from_millis(20), "{metrics:?}");
    drop(release);
    closer.wait().unwrap();
}

#[test]
fn every_close_is_timed_in_whatever_rhythm_slow_ones_come() {
    struct Sleeps(Duration);
    impl Drop for Sleeps {
        fn drop(&mut self) {
            thread::sleep(self.0);
        }
    }
    for policy in [Policy::Never, Policy::Always, Policy::Adaptive] {
        for every in 2..6 {
            // Two closers in turn: what one learns is nothing to the other.
            let [fast, mixed] = [(); 2].map(|()| Closer::options().policy(policy).build());
            for n in 0..20 * every {
                fast.close(Sleeps(Duration::ZERO));
                mixed.close(Sleeps(Duration::from_millis(if n % every == 0 { 2 } else { 0 })));
            }
            fast.wait().unwrap();
            mixed.wait().unwrap();
            let metrics = mixed.metrics();
            assert_eq!(metrics.handed_over + metrics.closed_inline, 20 * every, "{policy:?}: {metrics:?}");
            let time = metrics.time_in_callers + metrics.time_in_pool;
            assert!(time >= Duration::from_millis(40), "{policy:?}, one in {every}: {metrics:?}");
            if policy == Policy::Adaptive {
                assert!(metrics.handed_over >= 15 * every, "one in {every}: {metrics:?}");
            }
        }
    }
}

#[test]
fn failures_are_counted_also_those_that_a_callback_took() {
    let closer = Closer::options().policy(Policy::Always).build();
    (0..3).for_each(|_| closer.close(Fails));
    assert_eq!(closer.wait().unwrap_err().len(), 3);
    assert_eq!(closer.metrics().failures, 3);

    let closer = Closer::options().policy(Policy::Never).on_error(|_| {}).build();
    (0..3).for_each(|_| closer.close(Fails));
    assert_eq!(closer.metrics().failures, 3);
}

#[test]
fn the_global_closer_counts_too() {
    assert_eq!(close::metrics(), Metrics::default());
    (0..10).for_each(|_| drop(FastClose::new(Fails)));
    close::wait().unwrap_err();
    let metrics = close::metrics();
    assert_eq!((metrics.closed_inline + metrics.handed_over, metrics.failures), (10, 10));
}
