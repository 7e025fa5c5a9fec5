//! Tasks beside threads.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use loom::sync::{Condvar, Mutex};
use loom::thread;

use super::scene::Scene;
use super::{bounded, durable};
use crate::appender::{Appender, Receipt};

/// Wakes a thread of loom's.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    ring: Condvar,
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        *self.rung.lock().unwrap() = true;
        self.ring.notify_one();
    }
}

fn block_on(receipt: &Receipt) -> crate::Result<()> {
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    let mut future = receipt.durable();
    loop {
        if let Poll::Ready(result) = Pin::new(&mut future).poll(&mut Context::from_waker(&waker)) {
            return result;
        }
        let mut rung = bell.rung.lock().unwrap();
        while !*rung {
            rung = bell.ring.wait(rung).unwrap();
        }
        *rung = false;
    }
}

#[test]
fn a_task_is_woken_whoever_syncs() {
    bounded(2, || {
        let scene = Scene::new();
        let appender = scene.open(Appender::options());
        let other = durable(&appender, &scene, 1);
        let receipt = appender.append(&[2]).unwrap();
        block_on(&receipt).unwrap();
        assert!(scene.is_durable(2), "acknowledged too early");
        other.join().unwrap();
    });
}

#[test]
fn tasks_of_two_threads_are_both_woken() {
    bounded(2, || {
        let scene = Scene::new();
        let appender = scene.open(Appender::options());
        let task = |record: u8| {
            let receipt = appender.append(&[record]).unwrap();
            let scene = scene.clone();
            move || {
                block_on(&receipt).unwrap();
                assert!(scene.is_durable(record), "acknowledged too early");
            }
        };
        let other = thread::spawn(task(1));
        task(2)();
        other.join().unwrap();
    });
}

#[test]
fn a_task_hears_of_a_failure() {
    bounded(2, || {
        let scene = Scene::new();
        let appender = scene.open(Appender::options());
        scene.0.lock().unwrap().failing_sync = Some(1);
        let receipt = appender.append(&[2]).unwrap();
        assert_eq!(block_on(&receipt).unwrap_err().raw_os_error(), Some(5));
        assert_eq!(block_on(&receipt).unwrap_err().raw_os_error(), Some(5));
    });
}
