//! Closes that wait for an idle thread, while all other closes hang.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use manyfiles::close::{Closer, Policy};

/// A handle whose close tells that it is begun, and then takes until the channel's sender is dropped.
struct Told(Sender<()>, Arc<Mutex<Receiver<()>>>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.send(()).unwrap();
        while self.1.lock().unwrap().recv_timeout(Duration::from_millis(1)) == Err(RecvTimeoutError::Timeout) {
            thread::yield_now();
        }
    }
}

/// A few closes may be left to an idle thread. When it takes one of them, the others get threads of their own, though
/// nothing else happens: all the other closes hang.
#[test]
fn what_was_left_to_an_idle_thread_is_closed_though_all_other_closes_hang() {
    let closer = Closer::options().policy(Policy::Always).build();
    let (begun, begins) = channel();
    let (release, released) = channel::<()>();
    let held = Arc::new(Mutex::new(released));
    let hand_over = || closer.close(Told(begun.clone(), Arc::clone(&held)));
    let hang = |closes: usize| (0..closes).for_each(|_| hand_over());
    let all_begin = |closes: usize| {
        (0..closes).for_each(|n| {
            assert!(begins.recv_timeout(Duration::from_secs(60)).is_ok(), "{n} of {closes} closes were begun");
        });
    };
    hang(40);
    all_begin(40);
    closer.close(());
    while closer.pending() > 40 {
        thread::sleep(Duration::from_millis(1));
    }
    // Its thread is idle for a tenth of a second.
    hang(4);
    all_begin(4);
    drop(release);
    closer.wait().unwrap();
}
