//! Settling: what is in the way is closed first, whoever closes it.

use super::*;
use crate::close::handle::Handle;
use crate::close::settle::{Name, Place};

/// Hands over what is known by a name.
fn close_named(scene: &Scene, name: &str, handle: impl Send + 'static) {
    scene.pool.hand_over_at(Place::At(Name::new(name)), Handle::new(handle), None);
}

fn settle(scene: &Scene, name: &str) {
    scene.pool.settle(&Name::new(name));
}

#[test]
fn what_was_settled_is_closed_whoever_closes_it() {
    loom::model(|| {
        let scene = Scene::new(4, 1, FOR_EVER, Threads);
        let named = Arc::new(AtomicUsize::new(0));
        close_named(&scene, "/other", Counted(Arc::clone(&scene.closed)));
        close_named(&scene, "/folder/file", Counted(Arc::clone(&named)));
        settle(&scene, "/folder");
        assert_eq!(named.load(Ordering::Acquire), 1);
        scene.pool.shut_down();
        assert_eq!(scene.closed(), 1);
    });
}

#[test]
fn what_others_handed_over_before_is_settled_too() {
    loom::model(|| {
        let scene = Scene::new(4, 1, AT_ONCE, Threads);
        let other = scene.clone();
        let other = thread::spawn(move || close_named(&other, "/file", Counted(Arc::clone(&other.closed))));
        other.join().unwrap();
        settle(&scene, "/file");
        assert_eq!(scene.closed(), 1);
        scene.pool.shut_down();
    });
}

#[test]
fn two_threads_settle_one_file() {
    loom::model(|| {
        let scene = Scene::new(4, 1, AT_ONCE, Threads);
        close_named(&scene, "/file", Counted(Arc::clone(&scene.closed)));
        let other = scene.clone();
        let other = thread::spawn(move || {
            settle(&other, "/file");
            assert_eq!(other.closed(), 1);
        });
        settle(&scene, "/file");
        assert_eq!(scene.closed(), 1);
        other.join().unwrap();
        scene.pool.shut_down();
    });
}

#[test]
fn settling_all_waits_for_all_and_leaves_no_thread_without_its_job() {
    loom::model(|| {
        let scene = Scene::new(4, 1, FOR_EVER, Threads);
        scene.close();
        scene.close();
        scene.pool.settle_all();
        assert_eq!(scene.closed(), 2);
        scene.close();
        scene.pool.shut_down();
        assert_eq!(scene.closed(), 3);
    });
}

#[test]
fn two_drops_that_settle_each_other_both_return() {
    struct Settles(Scene, &'static str);
    impl Drop for Settles {
        fn drop(&mut self) {
            settle(&self.0, self.1);
            self.0.closed.fetch_add(1, Ordering::Release);
        }
    }
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(3);
    orders.check(|| {
        let scene = Scene::new(4, 2, AT_ONCE, Threads);
        close_named(&scene, "/one", Settles(scene.clone(), "/two"));
        close_named(&scene, "/two", Settles(scene.clone(), "/one"));
        scene.pool.wait();
        scene.pool.shut_down();
    });
}

#[test]
fn a_drop_that_waits_and_one_that_settles_it_both_return() {
    struct Waits(Scene);
    impl Drop for Waits {
        fn drop(&mut self) {
            self.0.pool.wait();
        }
    }
    struct Settles(Scene);
    impl Drop for Settles {
        fn drop(&mut self) {
            settle(&self.0, "/waits");
        }
    }
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(3);
    orders.check(|| {
        let scene = Scene::new(4, 2, AT_ONCE, Threads);
        close_named(&scene, "/waits", Waits(scene.clone()));
        close_named(&scene, "/settles", Settles(scene.clone()));
        scene.pool.settle_all();
        scene.pool.shut_down();
    });
}
