//! A value whose close is a test's own code.
#![allow(dead_code, reason = "not every test uses all")]

use std::sync::mpsc::{Receiver, Sender, channel};

/// Runs something when it is closed.
pub struct OnClose<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for OnClose<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A handle whose close takes until the sender is dropped.
pub fn held() -> (Sender<()>, OnClose<impl FnMut() + Send>) {
    let (release, released): (_, Receiver<()>) = channel();
    (release, OnClose(move || assert!(released.recv().is_err())))
}
