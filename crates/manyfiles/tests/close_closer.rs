//! The closer, for every policy: all is closed, the bound holds, panics are contained, nothing deadlocks.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use manyfiles::Operation;
use manyfiles::close::{Closer, Policy};

const POLICIES: [Policy; 3] = [Policy::Adaptive, Policy::Always, Policy::Never];

/// Runs something when it is closed.
struct OnClose<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnClose<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A handle whose close takes until the sender is dropped.
fn held() -> (Sender<()>, OnClose<impl FnMut() + Send>) {
    let (release, released): (_, Receiver<()>) = channel();
    (release, OnClose(move || assert!(released.recv().is_err())))
}

#[test]
fn no_close_waits_for_those_that_hang_while_there_may_be_more_threads() {
    let closer = Closer::options().policy(Policy::Always).build();
    let begun = Arc::new(AtomicUsize::new(0));
    let hang = |releases: &mut Vec<Sender<()>>| {
        let (release, released) = channel();
        releases.push(release);
        let begun = Arc::clone(&begun);
        closer.close(OnClose(move || {
            begun.fetch_add(1, Ordering::Relaxed);
            assert!(released.recv().is_err());
        }));
    };
    let until = |count| {
        let limit = Instant::now() + Duration::from_secs(60);
        while begun.load(Ordering::Relaxed) < count {
            assert!(Instant::now() < limit, "{count} closes hang, and {begun:?} have begun");
            thread::sleep(Duration::from_millis(1));
        }
    };
    // While eight hang there is a thread for each, and one that has become idle.
    let mut releases = Vec::new();
    (0..8).for_each(|_| hang(&mut releases));
    let idle = Arc::clone(&begun);
    closer.close(OnClose(move || {
        idle.fetch_add(1, Ordering::Relaxed);
    }));
    until(9);
    thread::sleep(Duration::from_millis(5));
    // That one is woken for the second of these, and takes the first.
    (0..2).for_each(|_| hang(&mut releases));
    until(11);
    drop(releases);
    closer.finish().unwrap();
}

#[test]
fn everything_is_closed_and_each_panic_is_told_once_with_its_path() {
    for policy in POLICIES {
        let closer = Closer::options().policy(policy).build();
        let closed = Arc::new(AtomicUsize::new(0));
        for n in 0..1_000 {
            let closed = Arc::clone(&closed);
            closer.close_at(
                OnClose(move || {
                    closed.fetch_add(1, Ordering::Relaxed);
                    assert!(n % 100 != 0, "number {n} broke");
                }),
                n.to_string(),
            );
        }
        let errors = closer.wait().unwrap_err();
        assert_eq!(closed.load(Ordering::Relaxed), 1_000, "{policy:?}");
        let mut told: Vec<PathBuf> = errors.iter().map(|error| error.path().unwrap().to_owned()).collect();
        told.sort_by_key(|path| path.to_str().unwrap().parse::<u32>().unwrap());
        assert_eq!(told, (0..10).map(|n| PathBuf::from((n * 100).to_string())).collect::<Vec<_>>(), "{policy:?}");
        for error in &errors {
            assert_eq!(error.operation(), Operation::Close);
            let path = error.path().unwrap().display();
            assert_eq!(error.to_string(), format!("cannot close {path}: its drop panicked: number {path} broke"));
        }
        assert!(errors.to_string().starts_with("10 failures; the first: cannot close "), "{errors}");

        closer.wait().expect("told once");
        let file = std::fs::File::open(env!("CARGO_MANIFEST_PATH")).unwrap();
        closer.close(file);
        closer.wait().expect("the threads live on");
    }
}

#[test]
fn a_panic_whose_payload_panics_too_is_contained() {
    struct PanicsAgain;
    impl Drop for PanicsAgain {
        fn drop(&mut self) {
            panic!("the payload");
        }
    }
    for policy in POLICIES {
        let closer = Closer::options().policy(policy).build();
        closer.close(OnClose(|| std::panic::panic_any(PanicsAgain)));
        assert_eq!(closer.wait().unwrap_err().len(), 1, "{policy:?}");
    }
}

#[test]
fn of_a_hundred_thousand_handles_no_more_are_pending_than_allowed() {
    const CAPACITY: usize = 16;
    const CALLERS: usize = 2;
    let closer = Closer::options().policy(Policy::Always).capacity(CAPACITY).build();
    let (alive, most) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..CALLERS {
            scope.spawn(|| {
                for _ in 0..100_000 / CALLERS {
                    most.fetch_max(alive.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    let alive = Arc::clone(&alive);
                    closer.close(OnClose(move || {
                        alive.fetch_sub(1, Ordering::SeqCst);
                    }));
                    assert!(closer.pending() <= CAPACITY);
                }
            });
        }
    });
    closer.wait().unwrap();
    assert_eq!(alive.load(Ordering::SeqCst), 0);
    let most = most.into_inner();
    // Each caller holds one that it is handing over.
    assert!(most <= CAPACITY + CALLERS, "{most} handles were open at once");
    assert!(most > CAPACITY / 2, "the queue was never used: {most}");
}

#[test]
fn who_finds_the_queue_full_closes_on_its_own_thread() {
    let closer = Closer::options().policy(Policy::Always).capacity(2).build();
    let (release, held_one) = held();
    let (release_other, held_other) = held();
    closer.close(held_one);
    closer.close(held_other);
    assert_eq!(closer.pending(), 2);

    let here = Arc::new(Mutex::new(None));
    let closed_by = Arc::clone(&here);
    closer.close(OnClose(move || *closed_by.lock().unwrap() = Some(thread::current().id())));
    assert_eq!(*here.lock().unwrap(), Some(thread::current().id()));
    assert_eq!(closer.pending(), 2);

    drop((release, release_other));
    closer.wait().unwrap();
    assert_eq!(closer.pending(), 0);
}

#[test]
fn a_wait_returns_while_others_hand_over_without_a_pause() {
    let closer = Closer::options().policy(Policy::Always).build();
    let limit = Instant::now() + Duration::from_secs(60);
    thread::scope(|scope| {
        let mut releases = VecDeque::new();
        let hand_over = |releases: &mut VecDeque<_>| {
            let (release, held) = held();
            closer.close(held);
            releases.push_back(release);
        };
        hand_over(&mut releases);
        let waiter = scope.spawn(|| closer.wait());
        // At every moment one handle is pending, and never so many that this thread would have to close one: only it
        // can release it.
        while !waiter.is_finished() && Instant::now() < limit {
            hand_over(&mut releases);
            releases.pop_front();
            while closer.pending() > 100 {
                thread::yield_now();
            }
        }
        let returned = waiter.is_finished();
        releases.clear();
        waiter.join().unwrap().unwrap();
        assert!(returned, "it waited for what was handed over after it was called");
    });
}

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
fn slow_closes_move_to_other_threads_and_fast_ones_come_back() {
    let closer = Closer::new();
    let close = |takes: Duration| -> Arc<Mutex<Option<ThreadId>>> {
        let thread = Arc::new(Mutex::new(None));
        let closed_by = Arc::clone(&thread);
        closer.close(OnClose(move || {
            thread::sleep(takes);
            *closed_by.lock().unwrap() = Some(thread::current().id());
        }));
        thread
    };
    let here = thread::current().id();
    // A wait closes too, so not here.
    let wait = || thread::scope(|scope| scope.spawn(|| closer.wait().unwrap()).join().unwrap());
    let slow: Vec<_> = (0..10).map(|_| close(Duration::from_millis(2))).collect();
    wait();
    let slow: Vec<_> = slow.iter().map(|thread| thread.lock().unwrap().unwrap() == here).collect();
    assert_eq!(slow, [true, true, false, false, false, false, false, false, false, false]);

    let back = (0..100_000).any(|_| {
        let thread = close(Duration::ZERO);
        wait();
        *thread.lock().unwrap() == Some(here)
    });
    assert!(back, "fast closes were handed over for ever");
}

#[test]
fn many_threads_wait_and_hand_over_at_once() {
    for policy in POLICIES {
        let closer = Closer::options().policy(policy).capacity(8).threads(4).build();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        closer.wait().unwrap();
                    }
                });
            }
            let callers: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        // Wine takes a hundred times as long for threads that wait for each other.
                        for n in 0..if cfg!(windows) { 50 } else { 1_000 } {
                            let closed = Arc::new(AtomicBool::new(false));
                            let flag = Arc::clone(&closed);
                            closer.close(OnClose(move || flag.store(true, Ordering::Relaxed)));
                            if n % 10 == 0 {
                                closer.wait().unwrap();
                                assert!(closed.load(Ordering::Relaxed), "{policy:?}: not closed after a wait");
                            }
                        }
                    })
                })
                .collect();
            callers.into_iter().for_each(|caller| caller.join().unwrap());
            stop.store(true, Ordering::Relaxed);
        });
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

#[test]
fn of_many_failures_the_first_are_kept_and_the_rest_counted() {
    struct Breaks;
    impl Drop for Breaks {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("broken"));
        }
    }
    let closer = Closer::options().policy(Policy::Never).build();
    for n in 0..1_500 {
        closer.close_at(Breaks, format!("{n}"));
    }
    let errors = closer.wait().unwrap_err();
    assert_eq!((errors.len(), errors.omitted(), errors.iter().count()), (1_500, 500, 1_000));
    assert!(errors.to_string().starts_with("1500 failures; the first: cannot close 0"));
    closer.finish().expect("told once");
}
