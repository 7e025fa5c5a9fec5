//! Closes of one file in their order, closes that a call waits for alone, and volumes that hang.

use super::*;
use crate::close::policy::Access;
use crate::close::recognise;
use crate::close::spot::{Affected, Spot};
use crate::sys::{Identity, Location};

fn file(volume: u64, file: u128) -> Identity {
    Identity { volume, file }
}

/// Hands over what is known to be this file.
fn close_file(scene: &Scene, identity: Identity, handle: impl Send + 'static) {
    let spot = Spot::At(Location { identity, mount: 0, path: None });
    scene.pool.hand_over_at(spot, recognise::handle_of(handle), None, Access::Write);
}

fn settle(scene: &Scene, identity: Identity) {
    scene.pool.settle(&Affected::File(identity));
}

#[test]
fn what_was_settled_is_closed_whichever_thread_closes_it() {
    loom::model(|| {
        let scene = Scene::new(4, 1, FOR_EVER, Threads);
        let known = Arc::new(AtomicUsize::new(0));
        close_file(&scene, file(1, 1), Counted(Arc::clone(&scene.closed)));
        close_file(&scene, file(1, 2), Counted(Arc::clone(&known)));
        settle(&scene, file(1, 2));
        assert_eq!(known.load(Ordering::Acquire), 1);
        scene.pool.shut_down();
        assert_eq!(scene.closed(), 1);
    });
}

#[test]
fn what_others_handed_over_before_is_settled_too() {
    loom::model(|| {
        let scene = Scene::new(4, 1, AT_ONCE, Threads);
        let other = scene.clone();
        let other = thread::spawn(move || close_file(&other, file(1, 1), Counted(Arc::clone(&other.closed))));
        other.join().unwrap();
        settle(&scene, file(1, 1));
        assert_eq!(scene.closed(), 1);
        scene.pool.shut_down();
    });
}

#[test]
fn two_threads_settle_one_file() {
    loom::model(|| {
        let scene = Scene::new(4, 1, AT_ONCE, Threads);
        close_file(&scene, file(1, 1), Counted(Arc::clone(&scene.closed)));
        let other = scene.clone();
        let other = thread::spawn(move || {
            settle(&other, file(1, 1));
            assert_eq!(other.closed(), 1);
        });
        settle(&scene, file(1, 1));
        assert_eq!(scene.closed(), 1);
        other.join().unwrap();
        scene.pool.shut_down();
    });
}

/// Expects to be the n-th.
struct InOrder(Arc<AtomicUsize>, usize);

impl Drop for InOrder {
    fn drop(&mut self) {
        assert_eq!(self.0.load(Ordering::Acquire), self.1);
        self.0.store(self.1 + 1, Ordering::Release);
    }
}

#[test]
fn closes_of_one_file_are_made_in_their_order_by_two_threads() {
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(3);
    orders.check(|| {
        let scene = Scene::new(4, 2, AT_ONCE, Threads);
        for n in 0..3 {
            close_file(&scene, file(1, 1), InOrder(Arc::clone(&scene.closed), n));
        }
        assert!(scene.pool.wait().check().is_ok(), "a drop panicked");
        assert_eq!(scene.closed(), 3);
        scene.pool.shut_down();
    });
}

#[test]
fn the_next_close_of_a_file_finds_a_thread_though_all_had_gone_to_sleep() {
    loom::model(|| {
        let scene = Scene::new(4, 2, FOR_EVER, Threads);
        close_file(&scene, file(1, 1), InOrder(Arc::clone(&scene.closed), 0));
        close_file(&scene, file(1, 1), InOrder(Arc::clone(&scene.closed), 1));
        assert!(scene.pool.wait().check().is_ok(), "a drop panicked");
        assert_eq!(scene.closed(), 2);
        scene.pool.shut_down();
    });
}

#[test]
fn a_thread_that_helps_with_a_close_finds_another_for_the_next_of_that_file() {
    for idle in [AT_ONCE, FOR_EVER] {
        let mut orders = loom::model::Builder::new();
        orders.preemption_bound = Some(3);
        orders.check(move || {
            let scene = Scene::new(4, 1, idle, Threads);
            // The system closes the first: a wait may do that itself. The second has a drop, which is left to threads.
            close_file(&scene, file(1, 1), std::fs::File::open("/dev/null").expect("it is there"));
            close_file(&scene, file(1, 1), Counted(Arc::clone(&scene.closed)));
            let other = scene.clone();
            let other = thread::spawn(move || settle(&other, file(1, 1)));
            assert!(scene.pool.wait().check().is_ok());
            assert_eq!(scene.closed(), 1);
            other.join().unwrap();
            scene.pool.shut_down();
        });
    }
}

#[test]
fn a_volume_that_hangs_holds_up_no_other() {
    /// Returns when the other volume's file is closed.
    struct Hangs(Arc<AtomicUsize>);
    impl Drop for Hangs {
        fn drop(&mut self) {
            while self.0.load(Ordering::Acquire) == 0 {
                thread::yield_now();
            }
        }
    }
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(2);
    orders.check(|| {
        // One thread for each volume.
        let scene = Scene::new(4, 1, AT_ONCE, Threads);
        close_file(&scene, file(1, 1), Hangs(Arc::clone(&scene.closed)));
        close_file(&scene, file(2, 1), Counted(Arc::clone(&scene.closed)));
        scene.pool.wait();
        assert_eq!(scene.closed(), 1);
        scene.pool.shut_down();
    });
}

#[test]
fn an_executor_whose_threads_hang_leaves_another_volume_one() {
    struct Hangs(Arc<AtomicUsize>);
    impl Drop for Hangs {
        fn drop(&mut self) {
            while self.0.load(Ordering::Acquire) == 0 {
                thread::yield_now();
            }
        }
    }
    /// One worker, which the scene runs.
    struct One(Keeps);
    impl Executor for One {
        fn execute(&self, work: Box<dyn FnOnce() + Send>) {
            self.0.execute(work);
        }
        fn workers(&self) -> usize {
            1
        }
    }
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(2);
    orders.check(|| {
        let executor = Keeps::new();
        let scene = Scene::on(One(executor.clone()), Threads);
        close_file(&scene, file(1, 1), Hangs(Arc::clone(&scene.closed)));
        let work = executor.take();
        let runtime = thread::spawn(move || work.into_iter().for_each(|work| work()));
        close_file(&scene, file(2, 1), Counted(Arc::clone(&scene.closed)));
        // The worker may not have begun: then a wait starts the thread that closes.
        scene.pool.wait();
        assert_eq!(scene.closed(), 1);
        runtime.join().unwrap();
        executor.take().into_iter().for_each(|work| work());
        scene.pool.shut_down();
    });
}

#[test]
fn two_drops_that_settle_each_other_both_return() {
    struct Settles(Scene, u128);
    impl Drop for Settles {
        fn drop(&mut self) {
            settle(&self.0, file(1, self.1));
            self.0.closed.fetch_add(1, Ordering::Release);
        }
    }
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(3);
    orders.check(|| {
        let scene = Scene::new(4, 2, AT_ONCE, Threads);
        close_file(&scene, file(1, 1), Settles(scene.clone(), 2));
        close_file(&scene, file(1, 2), Settles(scene.clone(), 1));
        scene.pool.wait();
        assert_eq!(scene.closed(), 2);
        scene.pool.shut_down();
    });
}
