//! Where the drop of a [`FastClose`] goes.

#![allow(unsafe_code, reason = "to take the handle out of a value that is being dropped")]

use std::mem::ManuallyDrop;

use super::fast_close::FastClose;
use super::global::global;
use super::{inside, recognise};

impl<H: Send + 'static> Drop for FastClose<H> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the handle is taken once: a value's drop runs once, nothing uses the value afterwards, and
        // `into_inner`, which takes the handle too, never lets this drop run.
        let handle = unsafe { ManuallyDrop::take(&mut self.0) };
        match inside::pool() {
            // Part of a value that a closer is closing: its close is that closer's, too.
            Some(pool) => pool.close_in_order(recognise::handle_of(handle), None, None),
            None => global().close(handle),
        }
    }
}
