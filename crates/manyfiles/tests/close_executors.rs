//! The closer on every executor: one table of tests over all that this build has. `--all-features` has all.

#[cfg(feature = "tokio")]
#[path = "support/again.rs"]
mod again;
#[path = "support/executors.rs"]
mod executors;
#[path = "support/on_close.rs"]
mod on_close;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
#[cfg(feature = "tokio")]
use std::time::Duration;

use executors::{Own, Row, table};
use manyfiles::close::{Closer, Options, Policy};
use on_close::{OnClose, held};

const POLICIES: [Policy; 3] = [Policy::Adaptive, Policy::Always, Policy::Never];

/// Runs `case` for each executor: inside of its runtime, where there is one, and outside.
fn everywhere(case: impl Fn(&dyn Fn() -> Options, &str) + Send + Sync + 'static) {
    let case = Arc::new(case);
    for row in table() {
        let Row { name, options, inside, .. } = row;
        let options: Arc<dyn Fn() -> Options + Send + Sync> = options.into();
        case(&*options, &format!("{name}, outside"));
        let (case, options) = (Arc::clone(&case), Arc::clone(&options));
        let (done, is_done) = channel();
        inside(Box::new(move || {
            case(&*options, &format!("{name}, inside"));
            done.send(()).unwrap();
        }));
        is_done.recv().expect("a runtime swallowed the panic above");
    }
}

#[test]
fn everything_is_closed_and_each_panic_is_told_once_with_its_path() {
    everywhere(|options, name| {
        for policy in POLICIES {
            let closer = options().policy(policy).build();
            let closed = Arc::new(AtomicUsize::new(0));
            // After a wait a closer is as good as new.
            for round in 1..=2 {
                for n in 0..300 {
                    let closed = Arc::clone(&closed);
                    closer.close_at(
                        OnClose(move || {
                            closed.fetch_add(1, Ordering::Relaxed);
                            if n % 100 == 0 {
                                std::panic::resume_unwind(Box::new("broken"));
                            }
                        }),
                        n.to_string(),
                    );
                }
                let errors = closer.wait().unwrap_err();
                assert_eq!(closed.load(Ordering::Relaxed), round * 300, "{name}, {policy:?}");
                let mut told: Vec<_> = errors.iter().map(|error| error.path().unwrap().to_owned()).collect();
                told.sort();
                assert_eq!(told, ["0", "100", "200"].map(PathBuf::from), "{name}, {policy:?}");
                closer.wait().expect("told once");
                assert_eq!(closer.pending(), 0);
            }
        }
    });
}

#[test]
fn dropping_a_closer_waits_also_during_a_panic() {
    everywhere(|options, name| {
        let closed = Arc::new(AtomicUsize::new(0));
        let closer = options().policy(Policy::Always).build();
        let count = Arc::clone(&closed);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            for _ in 0..100 {
                let count = Arc::clone(&count);
                closer.close(OnClose(move || {
                    count.fetch_add(1, Ordering::Relaxed);
                }));
            }
            let _closer = closer;
            std::panic::resume_unwind(Box::new("the program's own panic"));
        }))
        .unwrap_err();
        assert_eq!(closed.load(Ordering::Relaxed), 100, "{name}");
    });
}

#[test]
fn no_more_are_pending_than_allowed() {
    everywhere(|options, name| {
        const CAPACITY: usize = 4;
        let closer = options().policy(Policy::Always).capacity(CAPACITY).build();
        let (alive, most) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        for _ in 0..2_000 {
            most.fetch_max(alive.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let alive = Arc::clone(&alive);
            closer.close(OnClose(move || {
                alive.fetch_sub(1, Ordering::SeqCst);
            }));
        }
        closer.wait().unwrap();
        assert_eq!(alive.load(Ordering::SeqCst), 0, "{name}");
        let most = most.into_inner();
        assert!(most <= CAPACITY + 1, "{name}: {most} handles were open at once");
        let metrics = closer.metrics();
        assert!(metrics.peak_pending <= CAPACITY, "{name}: {metrics:?}");
        assert_eq!(metrics.handed_over + metrics.closed_inline, 2_000, "{name}: {metrics:?}");
    });
}

#[test]
fn what_a_drop_hands_over_is_closed_too_and_it_may_wait_for_it() {
    /// Hands over `depth` more generations of two, and waits if it shall.
    struct Family {
        depth: u32,
        waits: bool,
        closer: Arc<Closer>,
        closed: Arc<AtomicUsize>,
    }
    impl Drop for Family {
        fn drop(&mut self) {
            self.closed.fetch_add(1, Ordering::Relaxed);
            if let Some(depth) = self.depth.checked_sub(1) {
                for waits in [true, false] {
                    let (closer, closed) = (Arc::clone(&self.closer), Arc::clone(&self.closed));
                    self.closer.close(Family { depth, waits, closer, closed });
                }
            }
            if self.waits {
                self.closer.wait().unwrap();
            }
        }
    }
    everywhere(|options, name| {
        for (capacity, threads) in [(1, 1), (4, 2), (512, 64)] {
            let closer = Arc::new(options().policy(Policy::Always).capacity(capacity).threads(threads).build());
            let closed = Arc::new(AtomicUsize::new(0));
            closer.close(Family { depth: 5, waits: true, closer: Arc::clone(&closer), closed: Arc::clone(&closed) });
            while closed.load(Ordering::Relaxed) < 63 || closer.pending() > 0 {
                closer.wait().unwrap();
                thread::yield_now();
            }
            assert_eq!(closed.load(Ordering::Relaxed), 63, "{name}: {capacity} {threads}");
        }
    });
}

#[test]
fn a_closer_may_be_dropped_by_a_handle_that_it_closes() {
    for Row { name, options, inside, .. } in table() {
        let (done, is_done) = channel();
        inside(Box::new(move || {
            let closer = Arc::new(options().policy(Policy::Always).build());
            let mut last = Some(Arc::clone(&closer));
            closer.close(OnClose(move || {
                drop(last.take());
                done.send(()).unwrap();
            }));
        }));
        is_done.recv().unwrap_or_else(|_| panic!("{name}"));
    }
}

#[test]
fn an_executors_closes_run_on_its_own_threads() {
    for row in table() {
        let Row { name, options, inside, closes, .. } = row;
        let options: Arc<dyn Fn() -> Options + Send + Sync> = options.into();
        let by_own_thread = || {
            let options = Arc::clone(&options);
            let (tell, told) = channel();
            let (at, is_at) = channel();
            inside(Box::new(move || {
                let closer = options().policy(Policy::Always).threads(1).build();
                closer.close(OnClose(move || tell.send(thread::current().name() == Some("manyfiles-close")).unwrap()));
                at.send(closer).unwrap();
            }));
            is_at.recv().unwrap().wait().unwrap();
            told.recv().unwrap()
        };
        // On a busy machine an executor may not come to its work in time.
        let by_own_thread = if closes { (0..20).all(|_| by_own_thread()) } else { by_own_thread() };
        assert_eq!(by_own_thread, !closes, "{name}");
    }
}

#[test]
fn no_worker_of_a_runtime_is_held_up_by_closes_that_hang() {
    for row in table().into_iter().filter(|row| row.goes_on) {
        let Row { name, options, inside, .. } = row;
        let (releases, here) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(None)));
        let (keep, at) = (Arc::clone(&releases), Arc::clone(&here));
        let slot = Arc::new(Mutex::new(None));
        let closer = Arc::clone(&slot);
        inside(Box::new(move || {
            // The policy is the default one: where callers must not block, even the first close is handed over.
            let options = if name.starts_with("tokio") { options() } else { options().policy(Policy::Always) };
            let closer = options.build();
            for _ in 0..8 {
                let (release, held) = held();
                keep.lock().unwrap().push(release);
                closer.close(held);
            }
            *at.lock().unwrap() = Some(thread::current().id());
            *slot.lock().unwrap() = Some(closer);
        }));
        let closer = closer.lock().unwrap().take().unwrap_or_else(|| panic!("{name}"));
        assert_eq!(closer.pending(), 8, "{name}");
        for _ in 0..8 {
            inside(Box::new(|| {})); // comes back, though eight closes hang
        }
        assert_eq!(closer.pending(), 8, "{name}");
        releases.lock().unwrap().clear();
        closer.wait().unwrap();
    }
}

#[test]
fn no_more_closes_run_at_once_than_the_executor_or_the_options_allow() {
    for (workers, threads, expected) in [(3, 64, 3), (64, 2, 2)] {
        let closer = Closer::options().executor(Own::new(workers)).threads(threads).policy(Policy::Always).build();
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let all = Arc::new(std::sync::Barrier::new(expected));
        for _ in 0..expected * 20 {
            let (running, most, all) = (Arc::clone(&running), Arc::clone(&most), Arc::clone(&all));
            closer.close(OnClose(move || {
                // On a busy machine the closer's own threads may come to the executor's help.
                let counts = usize::from(thread::current().name() != Some("manyfiles-close"));
                most.fetch_max(running.fetch_add(counts, Ordering::SeqCst) + counts, Ordering::SeqCst);
                all.wait(); // so many do run at once
                running.fetch_sub(counts, Ordering::SeqCst);
            }));
        }
        while closer.pending() > 0 {
            thread::yield_now(); // a wait would help
        }
        assert!(most.load(Ordering::SeqCst) <= expected);
    }
}

#[test]
fn closers_that_chose_differently_live_side_by_side() {
    let closers: Vec<_> = table().into_iter().map(|row| (row.options)().policy(Policy::Always).build()).collect();
    let closed = Arc::new(AtomicUsize::new(0));
    for n in 0..closers.len() * 100 {
        let closed = Arc::clone(&closed);
        closers[n % closers.len()].close(OnClose(move || {
            closed.fetch_add(1, Ordering::Relaxed);
        }));
    }
    for closer in &closers {
        closer.wait().unwrap();
    }
    assert_eq!(closed.load(Ordering::Relaxed), closers.len() * 100);
}

#[cfg(feature = "tokio")]
mod on_tokio {
    use std::time::Instant;

    use super::*;
    use manyfiles::close::executor::Tokio;
    use tokio::runtime::Builder;

    /// A runtime shuts down while its one blocking thread is busy and work for it waits.
    fn pending_at_the_shut_down(closes: usize) -> (Closer, Arc<AtomicUsize>) {
        let runtime = Builder::new_multi_thread().worker_threads(1).max_blocking_threads(1).build().unwrap();
        let (release, released) = channel::<()>();
        let (begin, begun) = channel();
        runtime.spawn_blocking(move || {
            begin.send(()).unwrap();
            assert!(released.recv().is_err());
        });
        begun.recv().unwrap();
        let closer = Closer::options().executor(Tokio::with_handle(runtime.handle().clone())).build();
        let closed = Arc::new(AtomicUsize::new(0));
        for _ in 0..closes {
            let closed = Arc::clone(&closed);
            closer.close(OnClose(move || {
                closed.fetch_add(1, Ordering::Relaxed);
            }));
        }
        assert_eq!((closer.pending(), closed.load(Ordering::Relaxed)), (closes, 0));
        runtime.shutdown_background();
        drop(release);
        (closer, closed)
    }

    #[test]
    fn closes_pending_when_the_runtime_shuts_down_are_made_all_the_same() {
        let (closer, closed) = pending_at_the_shut_down(100);
        closer.wait().unwrap();
        assert_eq!(closed.load(Ordering::Relaxed), 100);
        closer.close(());
        closer.wait().unwrap();
    }

    #[test]
    fn they_are_made_though_no_call_waits() {
        let (closer, closed) = pending_at_the_shut_down(100);
        let limit = Instant::now() + Duration::from_secs(60);
        while closed.load(Ordering::Relaxed) < 100 {
            assert!(Instant::now() < limit, "lost with the runtime");
            thread::yield_now();
        }
        closer.wait().unwrap();
    }

    #[test]
    fn a_close_that_runs_at_the_shut_down_is_waited_for_by_the_runtime() {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let closer = Closer::options().executor(Tokio::with_handle(runtime.handle().clone())).build();
        let (begin, begun) = channel();
        let closed = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&closed);
        closer.close(OnClose(move || {
            begin.send(()).unwrap();
            thread::sleep(Duration::from_millis(20));
            count.fetch_add(1, Ordering::Relaxed);
        }));
        begun.recv().unwrap();
        drop(runtime);
        assert_eq!(closed.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn the_global_closer_can_be_one_on_a_runtime() {
        use super::again::{again, is_again};
        use manyfiles::close::{self, FastClose, FastCloseable};

        struct Tells(std::sync::mpsc::Sender<(thread::ThreadId, Option<String>)>);
        impl FastCloseable for Tells {}
        impl Drop for Tells {
            fn drop(&mut self) {
                let thread = thread::current();
                self.0.send((thread.id(), thread.name().map(String::from))).unwrap();
            }
        }
        if !is_again() {
            again("on_tokio::the_global_closer_can_be_one_on_a_runtime", |_| {});
            return;
        }
        close::set_global(Closer::options().executor(Tokio::new()).build()).unwrap();
        let (tell, told) = channel();
        let handle = || FastClose::new(Tells(tell.clone()));
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("of-tokio").build().unwrap();
        let (inside, outside, after) = (handle(), handle(), handle());
        let worker = runtime.block_on(runtime.spawn(async {
            drop(inside);
            thread::current().id()
        }));
        let (thread, name) = told.recv().unwrap();
        assert!(thread != worker.unwrap(), "a worker of the runtime had to close");
        assert_eq!(name.as_deref(), Some("of-tokio"));
        drop(outside);
        // A thread of its own, unless the one of the runtime looks for more just then.
        let name = told.recv().unwrap().1;
        assert!(matches!(name.as_deref(), Some("manyfiles-close" | "of-tokio")), "{name:?}");
        drop(runtime);
        drop(after);
        assert_eq!(told.recv().unwrap().1.as_deref(), Some("manyfiles-close"));
        close::wait().unwrap();
    }

    #[test]
    fn a_task_that_is_dropped_by_the_shut_down_loses_no_handle() {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let closer = Arc::new(Closer::options().executor(Tokio::new()).build());
        let closed = Arc::new(AtomicUsize::new(0));
        let (count, its_closer) = (Arc::clone(&closed), Arc::clone(&closer));
        let (begin, begun) = channel();
        runtime.spawn(async move {
            // Closed when the task is dropped in mid-wait, by a runtime that takes no more work.
            let _hands_over = OnClose(move || {
                let count = Arc::clone(&count);
                its_closer.close(OnClose(move || {
                    count.fetch_add(1, Ordering::Relaxed);
                }));
            });
            begin.send(()).unwrap();
            std::future::pending::<()>().await;
        });
        begun.recv().unwrap();
        drop(runtime);
        closer.wait().unwrap();
        assert_eq!(closed.load(Ordering::Relaxed), 1);
    }
}
