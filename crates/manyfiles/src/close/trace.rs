//! Failed closes as `tracing` events.

use super::panics::contain;
use crate::Error;

/// Emits one event of level ERROR, target `manyfiles::close`, with the fields `path` (if it is known), `os_error` (if
/// there is one) and the message.
pub(super) fn failed(error: &Error) {
    // A subscriber is a user's code, and this may be a drop.
    contain(|| {
        tracing::error!(
            target: "manyfiles::close",
            path = error.path().map(|path| tracing::field::display(path.display())),
            os_error = error.raw_os_error(),
            "{error}"
        );
    });
}
