//! Drops of users' values in a closer, for every policy: such a drop hands over, waits, panics, or drops the closer.

#[path = "support/on_close.rs"]
mod on_close;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use manyfiles::close::{Closer, Policy};
use on_close::OnClose;

const POLICIES: [Policy; 3] = [Policy::Adaptive, Policy::Always, Policy::Never];

#[test]
fn what_a_drop_hands_over_is_closed_too() {
    /// Hands over `depth` more generations of two.
    struct Family {
        depth: u32,
        closer: Arc<Closer>,
        closed: Arc<AtomicUsize>,
    }
    impl Drop for Family {
        fn drop(&mut self) {
            self.closed.fetch_add(1, Ordering::Relaxed);
            if let Some(depth) = self.depth.checked_sub(1) {
                for _ in 0..2 {
                    let (closer, closed) = (Arc::clone(&self.closer), Arc::clone(&self.closed));
                    self.closer.close(Family { depth, closer, closed });
                }
            }
        }
    }
    for policy in POLICIES {
        for (capacity, threads) in [(1, 1), (2, 1), (4, 2), (512, 64)] {
            let closer = Arc::new(Closer::options().policy(policy).capacity(capacity).threads(threads).build());
            let closed = Arc::new(AtomicUsize::new(0));
            closer.close(Family { depth: 9, closer: Arc::clone(&closer), closed: Arc::clone(&closed) });
            // One wait is for the generation that is pending, and the next one for what that has handed over.
            while closer.pending() > 0 {
                closer.wait().unwrap();
            }
            assert_eq!(closed.load(Ordering::Relaxed), 1_023, "{policy:?} {capacity} {threads}");
        }
    }
}

#[test]
fn a_closer_may_be_dropped_by_a_handle_that_it_closes() {
    for policy in POLICIES {
        let (done, is_done) = channel();
        let closer = Arc::new(Closer::options().policy(policy).build());
        let (release, released) = channel::<()>();
        let mut last = Some(Arc::clone(&closer));
        closer.close(OnClose(move || {
            if policy == Policy::Always {
                assert!(released.recv().is_err()); // until the other reference is gone
            }
            drop(last.take());
            done.send(()).unwrap();
        }));
        drop(closer);
        drop(release);
        is_done.recv().unwrap();
    }
}

#[test]
fn a_callback_may_wait_and_hand_over() {
    for policy in POLICIES {
        let closer = Arc::new_cyclic(|this: &std::sync::Weak<Closer>| {
            let this = this.clone();
            Closer::options()
                .policy(policy)
                .on_error(move |_| {
                    if let Some(closer) = this.upgrade() {
                        closer.close(());
                        closer.wait().unwrap();
                    }
                })
                .build()
        });
        for _ in 0..10 {
            closer.close(OnClose(|| panic!("for the callback")));
        }
        closer.wait().unwrap();
    }
}

#[test]
fn a_failure_on_which_the_callback_panics_is_kept_for_wait() {
    for policy in POLICIES {
        let closer = Closer::options().policy(policy).on_error(|_| panic!("the callback")).build();
        closer.close_at(OnClose(|| panic!("the handle")), "kept");
        let errors = closer.wait().unwrap_err();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors.iter().next().unwrap().path(), Some(Path::new("kept")), "{policy:?}");
    }
}

#[test]
fn a_drop_waits_also_during_a_panic() {
    for policy in POLICIES {
        let closed = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&closed);
        let panicked = thread::spawn(move || {
            let closer = Closer::options().policy(policy).build();
            for n in 0..100 {
                let count = Arc::clone(&count);
                closer.close(OnClose(move || {
                    count.fetch_add(1, Ordering::Relaxed);
                    assert!(n % 50 != 0, "a handle's own panic, to be printed");
                }));
            }
            panic!("the program's own panic");
        })
        .join()
        .unwrap_err();
        assert_eq!(*panicked.downcast::<&str>().unwrap(), "the program's own panic");
        assert_eq!(closed.load(Ordering::Relaxed), 100, "{policy:?}");
    }
}

#[test]
fn handles_dropped_by_an_unwinding_thread_may_panic() {
    struct Gives(Arc<Closer>);
    impl Drop for Gives {
        fn drop(&mut self) {
            self.0.close_at(OnClose(|| panic!("while unwinding: {}", thread::panicking())), "given");
        }
    }
    for policy in POLICIES {
        let closer = Arc::new(Closer::options().policy(policy).build());
        let gives = Gives(Arc::clone(&closer));
        thread::spawn(move || {
            let _gives = gives;
            panic!("the program's own panic");
        })
        .join()
        .unwrap_err();
        assert_eq!(closer.wait().unwrap_err().len(), 1, "{policy:?}");
    }
}

#[test]
fn what_a_closed_value_closes_belongs_to_the_closer_of_the_value() {
    use manyfiles::close::{self, FastClose, FastCloseable};
    /// Breaks when it is closed.
    struct Part;
    impl FastCloseable for Part {}
    impl Drop for Part {
        fn drop(&mut self) {
            thread::sleep(std::time::Duration::from_millis(2));
            std::panic::resume_unwind(Box::new("a part broke"));
        }
    }
    for policy in [Policy::Adaptive, Policy::Always, Policy::Never] {
        let closer = Closer::options().policy(policy).build();
        for n in 0..20 {
            // The wrapper itself, and wrappers inside of something else: none goes on to the global closer.
            closer.close_at(FastClose::new(Part), format!("{n}"));
            closer.close((FastClose::new(Part), vec![FastClose::new(Part)]));
        }
        assert_eq!(closer.wait().expect_err("all broke").len(), 60, "{policy:?}");
        close::wait().expect("nothing is the global closer's");
    }
    assert_eq!(close::metrics(), close::Metrics::default());
}
