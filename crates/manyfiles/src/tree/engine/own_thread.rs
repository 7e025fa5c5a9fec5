//! Whether the calling thread works for a tree. Such a thread must not wait for a tree, which may wait for this very
//! thread.

use std::cell::Cell;

thread_local! {
    static WORKS: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is one of a tree's, or runs a tree's callback. In both cases the program's own code asks.
pub(in crate::tree) fn works_for_a_tree() -> bool {
    WORKS.get()
}

/// Says that the calling thread is one of a tree's.
pub(super) fn belongs_to_a_tree() {
    WORKS.set(true);
}

/// Runs a callback of the program's. The calling thread may be one of the program's own. `callback` does not panic.
pub(super) fn in_a_callback<T>(callback: impl FnOnce() -> T) -> T {
    let before = WORKS.replace(true);
    let result = callback();
    WORKS.set(before);
    result
}
