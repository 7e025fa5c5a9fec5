//! Every order in which the threads of a small scene can run, by loom:
//! `RUSTFLAGS="--cfg loom" cargo test -p manyfiles --release --lib close::tests::orders`

mod settling;

use std::io;
use std::path::Path;
use std::time::Duration;

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

use crate::close::Executor;
use crate::close::policy::Policy;
use crate::close::pool::Pool;
use crate::close::spawn::{Spawn, Threads};

/// Threads leave as soon as there is nothing to do: each look at an empty queue is a timeout.
const AT_ONCE: Duration = Duration::ZERO;
/// Threads stay until the pool is shut down; loom knows no timeouts.
const FOR_EVER: Duration = Duration::MAX;

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

/// One scene: what has been closed, and the pool.
#[derive(Clone)]
struct Scene {
    closed: Arc<AtomicUsize>,
    pool: std::sync::Arc<Pool>,
}

impl Scene {
    fn new(capacity: usize, threads: usize, idle: Duration, spawn: impl Spawn + 'static) -> Scene {
        let pool = Pool::new(Policy::Always, capacity, threads, None, None, Box::new(spawn), idle);
        Scene { closed: Arc::new(AtomicUsize::new(0)), pool }
    }

    fn on(executor: impl Executor + 'static, spawn: impl Spawn + 'static) -> Scene {
        let pool = Pool::new(Policy::Always, 4, 2, None, Some(Box::new(executor)), Box::new(spawn), AT_ONCE);
        Scene { closed: Arc::new(AtomicUsize::new(0)), pool }
    }

    fn close(&self) {
        self.pool.close(Counted(Arc::clone(&self.closed)), None::<&Path>, None);
    }

    fn closed(&self) -> usize {
        self.closed.load(Ordering::Acquire)
    }
}

#[test]
fn a_close_handed_over_while_the_last_thread_leaves_is_not_lost() {
    loom::model(|| {
        let scene = Scene::new(2, 1, AT_ONCE, Threads);
        scene.close();
        scene.close();
        assert!(scene.pool.wait().check().is_ok());
        assert_eq!(scene.closed(), 2);
        scene.pool.shut_down();
    });
}

#[test]
fn an_idle_thread_is_woken_for_every_close() {
    loom::model(|| {
        let scene = Scene::new(2, 1, FOR_EVER, Threads);
        for n in 1..=3 {
            scene.close();
            assert!(scene.pool.wait().check().is_ok());
            assert_eq!(scene.closed(), n);
        }
        scene.pool.shut_down();
    });
}

#[test]
fn two_threads_share_the_work_and_both_leave_at_the_shut_down() {
    loom::model(|| {
        let scene = Scene::new(4, 2, FOR_EVER, Threads);
        scene.close();
        scene.close();
        scene.pool.shut_down();
        assert_eq!(scene.closed(), 2);
    });
}

#[test]
fn a_wait_sees_its_own_closes_while_another_thread_hands_over() {
    // With three preemptions at most it takes seconds, and half a minute without that bound, in which it passes too.
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(3);
    orders.check(|| {
        let scene = Scene::new(4, 1, AT_ONCE, Threads);
        let other = scene.clone();
        let other = thread::spawn(move || other.close());
        scene.close();
        assert!(scene.pool.wait().check().is_ok());
        assert!(scene.closed() >= 1);
        other.join().unwrap();
        assert!(scene.pool.wait().check().is_ok());
        assert_eq!(scene.closed(), 2);
        scene.pool.shut_down();
    });
}

#[test]
fn two_waits_at_once_both_return() {
    loom::model(|| {
        let scene = Scene::new(4, 1, AT_ONCE, Threads);
        scene.close();
        let other = scene.clone();
        let other = thread::spawn(move || {
            assert!(other.pool.wait().check().is_ok());
            assert_eq!(other.closed(), 1);
        });
        assert!(scene.pool.wait().check().is_ok());
        assert_eq!(scene.closed(), 1);
        other.join().unwrap();
        scene.pool.shut_down();
    });
}

#[test]
fn a_thread_that_finds_the_queue_full_closes_and_the_bound_holds() {
    loom::model(|| {
        let scene = Scene::new(1, 1, AT_ONCE, Threads);
        for _ in 0..3 {
            scene.close();
            assert!(scene.pool.pending() <= 1);
        }
        scene.pool.shut_down();
        assert_eq!(scene.closed(), 3);
    });
}

#[test]
fn what_a_drop_closes_is_closed_before_it_returns() {
    struct Parent(Scene);
    impl Drop for Parent {
        fn drop(&mut self) {
            self.0.close();
            self.0.close();
        }
    }
    loom::model(|| {
        let scene = Scene::new(2, 1, AT_ONCE, Threads);
        scene.pool.close(Parent(scene.clone()), None::<&Path>, None);
        scene.pool.wait();
        assert_eq!(scene.closed(), 2);
        scene.pool.shut_down();
    });
}

#[test]
fn a_drop_that_waits_waits_for_what_came_before_it_and_never_for_itself() {
    struct Waits(Scene);
    impl Drop for Waits {
        fn drop(&mut self) {
            self.0.pool.wait();
            self.0.closed.fetch_add(1, Ordering::Release);
        }
    }
    loom::model(|| {
        let scene = Scene::new(4, 2, AT_ONCE, Threads);
        scene.pool.close(Waits(scene.clone()), None::<&Path>, None);
        scene.close();
        scene.pool.wait();
        assert_eq!(scene.closed(), 2, "a wait from outside is for the drop that waits, too");
        scene.pool.shut_down();
    });
}

/// Fails to start the n-th thread, counted from 0.
struct AllBut(usize, AtomicUsize);

impl Spawn for AllBut {
    fn spawn(&self, worker: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        if self.1.fetch_add(1, Ordering::Relaxed) == self.0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Threads.spawn(worker)
    }
}

#[test]
fn a_close_that_counted_on_a_thread_that_did_not_start_is_made_all_the_same() {
    for idle in [AT_ONCE, FOR_EVER] {
        loom::model(move || {
            let scene = Scene::new(4, 1, idle, AllBut(0, AtomicUsize::new(0)));
            let other = scene.clone();
            let other = thread::spawn(move || other.close());
            scene.close();
            other.join().unwrap();
            scene.pool.shut_down();
            assert_eq!(scene.closed(), 2);
        });
    }
}

#[test]
fn when_no_second_thread_starts_the_first_is_woken() {
    // Four threads can take too many orders; with two preemptions at most, it takes seconds, and still fails if the
    // waking is left out.
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(2);
    orders.check(|| {
        let scene = Scene::new(4, 2, FOR_EVER, AllBut(1, AtomicUsize::new(0)));
        scene.close();
        let other = scene.clone();
        let other = thread::spawn(move || other.close());
        scene.close();
        other.join().unwrap();
        scene.pool.shut_down();
        assert_eq!(scene.closed(), 3);
    });
}

/// Keeps the work for a runtime that the scene plays. It does at most two things at once.
#[derive(Clone)]
struct Keeps(Arc<Mutex<Vec<Box<dyn FnOnce() + Send>>>>);

impl Keeps {
    fn new() -> Keeps {
        Keeps(Arc::new(Mutex::new(Vec::new())))
    }

    fn take(&self) -> Vec<Box<dyn FnOnce() + Send>> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Executor for Keeps {
    fn execute(&self, work: Box<dyn FnOnce() + Send>) {
        self.0.lock().unwrap().push(work);
    }
}

#[test]
fn a_wait_closes_what_an_executor_never_begins() {
    loom::model(|| {
        let executor = Keeps::new();
        let scene = Scene::on(executor.clone(), Threads);
        let other = scene.clone();
        let other = thread::spawn(move || {
            other.close();
            assert!(other.pool.wait().check().is_ok());
        });
        scene.close();
        assert!(scene.pool.wait().check().is_ok());
        other.join().unwrap();
        assert_eq!(scene.closed(), 2);
        // What comes too late does no harm.
        executor.take().into_iter().for_each(|work| work());
        scene.pool.shut_down();
    });
}

#[test]
fn work_that_an_executor_runs_races_with_a_wait_that_helps() {
    loom::model(|| {
        let executor = Keeps::new();
        let scene = Scene::on(executor.clone(), Threads);
        scene.close();
        scene.close();
        let work = executor.take();
        let runtime = thread::spawn(move || work.into_iter().for_each(|work| work()));
        assert!(scene.pool.wait().check().is_ok());
        assert_eq!(scene.closed(), 2);
        runtime.join().unwrap();
        assert_eq!(scene.pool.pending(), 0);
    });
}

#[test]
fn work_that_an_executor_begins_late_is_done_by_a_thread_of_the_pools_own() {
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(2);
    orders.check(|| {
        let executor = Keeps::new();
        let scene = Scene::on(executor.clone(), Threads);
        scene.close();
        scene.close();
        let mut work = executor.take();
        let begun = work.remove(0);
        let runtime = thread::spawn(move || begun());
        scene.pool.replace_late_workers();
        scene.pool.replace_late_workers();
        // What comes too late does no harm.
        work.into_iter().for_each(|work| work());
        runtime.join().unwrap();
        assert!(scene.pool.wait().check().is_ok());
        assert_eq!(scene.pool.pending(), 0);
    });
}

#[test]
fn work_that_a_runtime_drops_is_done_while_another_thread_hands_over() {
    // Fails to start the first thread, the second, or none.
    for refused in [0, 1, usize::MAX] {
        let mut orders = loom::model::Builder::new();
        orders.preemption_bound = Some(2);
        orders.check(move || {
            let executor = Keeps::new();
            let scene = Scene::on(executor.clone(), AllBut(refused, AtomicUsize::new(0)));
            scene.close();
            let work = executor.take();
            let runtime = thread::spawn(move || drop(work));
            scene.close();
            // The second may have found the first one's work gone, or given work of its own.
            drop(executor.take());
            assert!(scene.pool.wait().check().is_ok());
            assert_eq!(scene.closed(), 2);
            runtime.join().unwrap();
            scene.pool.shut_down();
        });
    }
}

#[test]
fn work_that_a_runtime_drops_is_done_though_no_call_waits() {
    loom::model(|| {
        let executor = Keeps::new();
        // Loom fails a model in which the thread has not ended.
        let scene = Scene::on(executor.clone(), Threads);
        scene.close();
        drop(executor.take());
        while scene.closed() == 0 {
            thread::yield_now();
        }
    });
}

#[test]
fn two_drops_that_wait_both_return() {
    struct Waits(Scene);
    impl Drop for Waits {
        fn drop(&mut self) {
            self.0.pool.wait();
            self.0.closed.fetch_add(1, Ordering::Release);
        }
    }
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(3);
    orders.check(|| {
        let scene = Scene::new(4, 2, AT_ONCE, Threads);
        scene.pool.close(Waits(scene.clone()), None::<&Path>, None);
        scene.pool.close(Waits(scene.clone()), None::<&Path>, None);
        scene.pool.wait();
        assert_eq!(scene.closed(), 2);
        scene.pool.shut_down();
    });
}

#[test]
fn a_wait_leaves_a_users_drop_to_other_threads_whatever_the_executor_does() {
    struct Tells(Arc<AtomicUsize>, thread::ThreadId);
    impl Drop for Tells {
        fn drop(&mut self) {
            assert_ne!(thread::current().id(), self.1);
            self.0.fetch_add(1, Ordering::Release);
        }
    }
    loom::model(|| {
        let executor = Keeps::new();
        let scene = Scene::on(executor.clone(), Threads);
        let handle = Tells(Arc::clone(&scene.closed), thread::current().id());
        scene.pool.close(handle, None::<&Path>, None);
        scene.pool.wait();
        assert_eq!(scene.closed(), 1);
        // What comes too late does no harm.
        let work = executor.take();
        thread::spawn(move || work.into_iter().for_each(|work| work())).join().unwrap();
        scene.pool.shut_down();
    });
}
