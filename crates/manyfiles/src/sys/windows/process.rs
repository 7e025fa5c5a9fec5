//! This process and others.

use std::io;

/// Lets `what` run when `main` returns. `std::process::exit` ends the process without it.
pub(crate) fn at_exit(what: extern "C" fn()) -> io::Result<()> {
    unsafe extern "C" {
        /// The C library's.
        fn atexit(what: extern "C" fn()) -> std::ffi::c_int;
    }
    // SAFETY: the function takes nothing, and stays where it is as long as this code does.
    match unsafe { atexit(what) } {
        0 => Ok(()),
        _ => Err(io::Error::other("no room for another function that runs at exit")),
    }
}

/// Windows has no fork.
pub(crate) fn around_forks(
    _before: extern "C" fn(),
    _parent: extern "C" fn(),
    _child: extern "C" fn(),
) -> io::Result<()> {
    Ok(())
}

/// A process, told from all that ever ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) started: u64,
    /// Zero: what one process says of itself is not compared with what others are.
    pub(crate) world: u64,
}

/// This process. In place of the time it started, a number that hardly any other has.
pub(crate) fn own_process() -> Process {
    use std::hash::{BuildHasher, Hasher};
    let started = std::collections::hash_map::RandomState::new().build_hasher().finish();
    Process { id: std::process::id(), started, world: 0 }
}

/// Not found out here, so that it does.
pub(crate) fn is_running(_id: u32, _started: u64) -> bool {
    true
}

/// Not known.
pub(crate) fn have_one_kernel(_one: u64, _other: u64) -> bool {
    false
}
