//! Every order in which the threads of a small scene can run, by loom:
//! `RUSTFLAGS="--cfg loom" cargo test -p manyfiles --release --lib appender::tests::orders`

use std::sync::Arc;
use std::time::Duration;

use loom::thread::{self, JoinHandle};
use scene::Scene;

use crate::appender::{Appender, State};

mod scene;
mod tasks;

/// A thread that appends a record and waits until it is durable.
fn durable(appender: &Arc<Appender>, scene: &Scene, record: u8) -> JoinHandle<()> {
    let (appender, scene) = (Arc::clone(appender), scene.clone());
    thread::spawn(move || {
        appender.append_durable(&[record]).unwrap();
        assert!(scene.is_durable(record), "acknowledged too early");
    })
}

/// Orders of three threads are too many; with this many preemptions at most it takes seconds, and hand-over is still
/// seen.
fn bounded(preemptions: usize, scene: impl Fn() + Sync + Send + 'static) {
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(preemptions);
    orders.check(scene);
}

#[test]
fn two_threads_are_both_told_and_neither_too_early() {
    loom::model(|| {
        let scene = Scene::new();
        let appender = scene.open(Appender::options());
        let other = durable(&appender, &scene, 1);
        appender.append_durable(&[2]).unwrap();
        assert!(scene.is_durable(2), "acknowledged too early");
        other.join().unwrap();
        assert!(scene.syncs() <= 2);
    });
}

#[test]
fn the_leader_of_one_group_wakes_that_of_the_next() {
    bounded(3, || {
        let scene = Scene::new();
        let appender = scene.open(Appender::options());
        let others = [durable(&appender, &scene, 1), durable(&appender, &scene, 2)];
        appender.append_durable(&[3]).unwrap();
        assert!(scene.is_durable(3), "acknowledged too early");
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(scene.syncs() <= 3);
    });
}

#[test]
fn a_thread_that_comes_back_at_once_does_not_lose_the_others() {
    bounded(2, || {
        let scene = Scene::new();
        let appender = scene.open(Appender::options());
        let others = [durable(&appender, &scene, 1), durable(&appender, &scene, 2)];
        for record in [3, 4] {
            appender.append_durable(&[record]).unwrap();
            assert!(scene.is_durable(record), "acknowledged too early");
        }
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

#[test]
fn who_needs_no_sync_writes_beside_the_leader() {
    loom::model(|| {
        let scene = Scene::new();
        let appender = scene.open(Appender::options());
        let other = durable(&appender, &scene, 1);
        let receipt = appender.append(&[2]).unwrap();
        receipt.wait_written().unwrap();
        assert!(scene.is_written(2));
        other.join().unwrap();
        receipt.wait_durable().unwrap();
        assert!(scene.is_durable(2));
    });
}

#[test]
fn appending_to_full_buffers_goes_on_while_another_syncs() {
    bounded(3, || {
        let scene = Scene::new();
        // One byte is copied, and the second finds the buffer full.
        let appender = scene.open(Appender::options().capacity(4));
        let other = durable(&appender, &scene, 1);
        for n in 0..6 {
            appender.append(&[10 + n]).unwrap();
        }
        other.join().unwrap();
        appender.flush().unwrap();
        assert!((0..6).all(|n| scene.is_written(10 + n)));
    });
}

#[test]
fn records_that_are_not_copied_take_turns_with_the_leader() {
    bounded(3, || {
        let scene = Scene::new();
        // Every append writes.
        let appender = scene.open(Appender::options().capacity(0));
        let other = durable(&appender, &scene, 1);
        let third = {
            let appender = Arc::clone(&appender);
            thread::spawn(move || drop(appender.append(&[2]).unwrap()))
        };
        appender.append(&[3]).unwrap();
        assert!(scene.is_written(3));
        other.join().unwrap();
        third.join().unwrap();
    });
}

#[test]
fn a_new_file_is_begun_while_another_thread_syncs_the_old_one() {
    bounded(3, || {
        let scene = Scene::new();
        let appender = scene.open(Appender::options().rotate_bytes(1));
        let other = durable(&appender, &scene, 1);
        appender.append(&[2]).unwrap();
        let receipt = appender.append(&[3]).unwrap();
        receipt.wait_written().unwrap();
        assert!(scene.is_durable(2), "a file was left that was not durable");
        receipt.wait_durable().unwrap();
        assert!(scene.is_durable(3), "acknowledged too early");
        other.join().unwrap();
    });
}

#[test]
fn a_failed_sync_reaches_both_threads_and_no_success_follows() {
    loom::model(|| {
        let scene = Scene::new();
        let appender = scene.open(Appender::options());
        scene.0.lock().unwrap().failing_sync = Some(1);
        let thread = {
            let appender = Arc::clone(&appender);
            thread::spawn(move || {
                appender.append_durable(&[1]).unwrap_err();
                appender.append_durable(&[1]).unwrap_err();
            })
        };
        appender.append_durable(&[2]).unwrap_err();
        appender.append_durable(&[2]).unwrap_err();
        thread.join().unwrap();
        assert_eq!(scene.syncs(), 1);
    });
}

#[test]
fn a_failed_sync_of_a_file_that_is_left_is_not_covered_up_by_one_of_the_next() {
    bounded(3, || {
        let scene = Scene::new();
        let appender = scene.open(Appender::options().rotate_bytes(1));
        scene.0.lock().unwrap().failing_sync = Some(1);
        let told = {
            let (appender, scene) = (Arc::clone(&appender), scene.clone());
            thread::spawn(move || match appender.append_durable(&[1]) {
                Ok(()) => assert!(scene.is_durable(1), "acknowledged, and gone"),
                Err(error) => assert_eq!(error.raw_os_error(), Some(5)),
            })
        };
        if let Ok(receipt) = appender.append(&[2])
            && receipt.wait_written().is_ok()
            && receipt.wait_durable().is_ok()
        {
            assert!(scene.is_durable(2), "acknowledged, and gone");
        }
        told.join().unwrap();
        appender.sync().unwrap_err();
    });
}

#[test]
fn a_write_that_ends_after_a_sync_has_failed_makes_nothing_written() {
    bounded(3, || {
        let scene = Scene::new();
        let appender = scene.open(Appender::options());
        scene.0.lock().unwrap().failing_sync = Some(1);
        let first = appender.append(&[1]).unwrap();
        let second = {
            let appender = Arc::clone(&appender);
            thread::spawn(move || match appender.append(&[2]) {
                Ok(receipt) => receipt.wait_written().map(|()| receipt).ok(),
                Err(_) => None,
            })
        };
        appender.sync().unwrap_err();
        assert_eq!(first.state(), State::Failed);
        let second = second.join().unwrap();
        // Whatever ended since: there is no success after the failure.
        assert_eq!(first.state(), State::Failed);
        appender.flush().unwrap_err();
        if let Some(second) = second {
            assert_eq!(second.state(), State::Failed);
        }
    });
}

#[test]
fn a_write_that_fails_while_another_syncs_ends_both_for_good() {
    bounded(3, || {
        let scene = Scene::new();
        let appender = scene.open(Appender::options());
        let first = appender.append(&[1]).unwrap();
        first.wait_written().unwrap();
        let other = {
            let appender = Arc::clone(&appender);
            thread::spawn(move || appender.sync().is_ok())
        };
        let second = appender.append(&[2]);
        scene.0.lock().unwrap().failing_write = true;
        let has_failed = second.is_ok_and(|second| second.wait_written().is_err());
        let now = first.state();
        let synced = other.join().unwrap();
        if has_failed {
            assert_eq!(first.state(), now, "what was told once the appender had failed stays so");
            assert!(!synced || scene.is_durable(1));
        }
    });
}

#[test]
fn a_failed_write_reaches_everybody() {
    loom::model(|| {
        let scene = Scene::new();
        let appender = scene.open(Appender::options());
        scene.0.lock().unwrap().failing_write = true;
        let thread = {
            let appender = Arc::clone(&appender);
            thread::spawn(move || appender.append_durable(&[1]).unwrap_err())
        };
        if let Ok(receipt) = appender.append(&[2]) {
            receipt.wait_written().unwrap_err();
        }
        assert_eq!(thread.join().unwrap().raw_os_error(), Some(28));
    });
}

#[test]
fn what_a_flusher_writes_is_written_once_beside_a_thread_that_waits() {
    bounded(3, || {
        let scene = Scene::new();
        let appender = scene.open(Appender::options().flush_every(Duration::from_secs(1)));
        appender.append(&[1]).unwrap();
        let other = durable(&appender, &scene, 2);
        other.join().unwrap();
        assert!(scene.is_durable(1) && scene.is_durable(2));
        assert_eq!(scene.0.lock().unwrap().written, [1, 2]);
    });
}

#[test]
fn closing_beside_a_flusher_loses_nothing_and_leaves_no_thread() {
    bounded(3, || {
        let scene = Scene::new();
        let appender = scene.open(Appender::options().flush_every(Duration::from_secs(1)));
        appender.append(&[1]).unwrap();
        Arc::into_inner(appender).unwrap().close().unwrap();
        assert!(scene.is_durable(1));
    });
}
