//! One line that says what is being measured, where somebody watches.

use std::io::{IsTerminal, stderr};

/// Puts the line there.
pub fn show(line: &str) {
    if stderr().is_terminal() {
        eprint!("\r\x1b[K{line}");
    }
}

/// Takes it away.
pub fn clear() {
    show("");
}
