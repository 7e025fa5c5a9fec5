//! Executors' code: wakers that panic, call back, or come while a sync is under way.

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use super::disk::{Call, Disk, Fault};
use crate::appender::{Appender, Receipt, State};

/// No test waits that long unless something hangs.
const HANGS: Duration = Duration::from_secs(60);

fn open() -> Appender {
    let path: PathBuf = std::path::absolute("/disk/records").unwrap();
    Appender::new(&path, Appender::options(), Arc::new(Disk::default())).unwrap()
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Panics>) {
        panic!("a waker that panics, as this test wants it");
    }
}

struct Tells(Mutex<Sender<()>>);

impl Wake for Tells {
    fn wake(self: Arc<Tells>) {
        self.0.lock().unwrap().send(()).unwrap_or(());
    }
}

fn tells() -> (Waker, Receiver<()>) {
    let (sender, receiver) = channel();
    (Waker::from(Arc::new(Tells(Mutex::new(sender)))), receiver)
}

#[test]
fn a_waker_that_panics_stops_nobody_else() {
    let appender = open();
    for n in 0..3 {
        let receipt = appender.append(&[n]).unwrap();
        let (waker, woken) = tells();
        let bad = Waker::from(Arc::new(Panics));
        let (mut bad_future, mut good_future) = (pin!(receipt.durable()), pin!(receipt.durable()));
        let _ = bad_future.as_mut().poll(&mut Context::from_waker(&bad));
        if good_future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            woken.recv_timeout(HANGS).unwrap();
        }
        receipt.wait_durable().unwrap();
        appender.append_durable(b"and on").unwrap();
    }
    appender.close().unwrap();
}

/// A waker that asks a receipt when it is woken, and when it is dropped.
struct Asks(Receipt);

impl Wake for Asks {
    fn wake(self: Arc<Asks>) {
        self.0.state();
    }
}

impl Drop for Asks {
    fn drop(&mut self) {
        self.0.state();
    }
}

#[test]
fn a_waker_may_ask_the_receipt_when_it_is_woken_or_dropped() {
    let appender = open();
    let receipt = appender.append(b"one").unwrap();
    let (sender, done) = channel();
    let asked = receipt.clone();
    thread::spawn(move || {
        for _ in 0..3 {
            let waker = Waker::from(Arc::new(Asks(asked.clone())));
            let mut future = pin!(asked.durable());
            while future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                thread::yield_now();
            }
        }
        sender.send(()).unwrap();
    });
    done.recv_timeout(HANGS).expect("it has locked itself out");
    assert_eq!(receipt.state(), State::Durable);
}

#[test]
fn a_task_that_awaits_a_write_does_not_wait_for_a_sync_under_way() {
    let disk = Disk::default();
    let path: PathBuf = std::path::absolute("/disk/records").unwrap();
    let appender = Appender::new(&path, Appender::options(), Arc::new(disk.clone())).unwrap();
    let gate = disk.hold_syncs();
    let durable = appender.append(b"durable").unwrap();
    let (durable_waker, _durable_woken) = tells();
    let mut durable_future = pin!(durable.durable());
    assert!(durable_future.as_mut().poll(&mut Context::from_waker(&durable_waker)).is_pending());
    gate.wait_until_one_is_held();
    let written = appender.append(b"written").unwrap();
    let (waker, woken) = tells();
    let mut future = pin!(written.written());
    if future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        woken.recv_timeout(HANGS).expect("it waits for the sync");
    }
    assert_eq!((written.state(), durable.state()), (State::Written, State::Written));
    gate.open();
    durable.wait_durable().unwrap();
}

#[test]
fn a_failure_that_only_a_dropped_future_would_have_heard_of_is_still_to_be_told() {
    let disk = Disk::default();
    let path: PathBuf = std::path::absolute("/disk/records").unwrap();
    let appender = Appender::new(&path, Appender::options(), Arc::new(disk.clone())).unwrap();
    disk.inject(Call::Write, 1, Fault::Fail { errno: 28, for_good: false });
    let receipt = appender.append(b"one").unwrap();
    let (waker, woken) = tells();
    {
        let mut future = pin!(receipt.durable());
        if future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            woken.recv_timeout(HANGS).unwrap();
        }
    }
    assert_eq!(receipt.state(), State::Failed);
    assert!(!appender.group.is_told(), "the task was woken, and never asked");
    assert_eq!(appender.close().unwrap_err().raw_os_error(), Some(28));
}

#[test]
fn closing_blocks_no_task_and_its_result_comes_when_all_is_durable() {
    let disk = Disk::default();
    let path: PathBuf = std::path::absolute("/disk/records").unwrap();
    let appender = Appender::new(&path, Appender::options(), Arc::new(disk.clone())).unwrap();
    let receipt = appender.append(b"one").unwrap();
    let gate = disk.hold_syncs();
    let (waker, woken) = tells();
    let mut closing = pin!(appender.close_async());
    gate.wait_until_one_is_held();
    assert!(closing.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert_ne!(receipt.state(), State::Durable);
    gate.open();
    woken.recv_timeout(HANGS).expect("the task is not woken");
    match closing.as_mut().poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(result) => {
            let written = result.unwrap();
            assert_eq!((written.bytes, written.durable), (3, 3));
        }
        Poll::Pending => panic!("it was woken for nothing"),
    }
    assert_eq!(receipt.state(), State::Durable);
}

#[test]
fn a_close_that_fails_tells_its_task_and_one_whose_future_was_dropped_closes_all_the_same() {
    let path: PathBuf = std::path::absolute("/disk/records").unwrap();
    for is_dropped in [false, true] {
        let disk = Disk::default();
        let appender = Appender::new(&path, Appender::options(), Arc::new(disk.clone())).unwrap();
        let receipt = appender.append(b"one").unwrap();
        if !is_dropped {
            disk.inject(Call::Sync, 1, Fault::Fail { errno: 5, for_good: false });
        }
        let (waker, woken) = tells();
        let mut closing = Box::pin(appender.close_async());
        if is_dropped {
            drop(closing);
            receipt.wait_durable().unwrap();
            continue;
        }
        let mut polled = closing.as_mut().poll(&mut Context::from_waker(&waker));
        if polled.is_pending() {
            woken.recv_timeout(HANGS).unwrap();
            polled = closing.as_mut().poll(&mut Context::from_waker(&waker));
        }
        let Poll::Ready(Err(error)) = polled else { panic!("{polled:?}") };
        assert_eq!(error.raw_os_error(), Some(5));
    }
}
