//! The closer, for every policy: all is closed, the bound holds, panics are contained, nothing deadlocks.

#[path = "support/on_close.rs"]
mod on_close;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use manyfiles::Operation;
use manyfiles::close::{Closer, Policy};
use on_close::{OnClose, held};

const POLICIES: [Policy; 3] = [Policy::Adaptive, Policy::Always, Policy::Never];

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
fn a_thread_that_finds_the_queue_full_closes_by_itself() {
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
