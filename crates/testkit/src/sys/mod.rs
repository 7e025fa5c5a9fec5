//! The operating system's figures of an entry. One file for each system, with the same function in both.

use std::path::PathBuf;

use crate::kind::Kind;

/// The figures that [`Tree`](crate::Tree) needs of a path, without its content.
pub(crate) struct Facts {
    /// The hash of a file is not in it yet.
    pub(crate) kind: Kind,
    pub(crate) mode: u32,
    /// Seconds and nanoseconds since 1970.
    pub(crate) modified: (i64, i64),
    /// Which file it is, if that file has other names.
    pub(crate) shared: Option<(u64, u64)>,
    pub(crate) allocated: u64,
}

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::facts;
#[cfg(unix)]
pub use unix::{make_fifo, set_link_time};

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::facts;
#[cfg(windows)]
pub use windows::{protect_from_close, send_ctrl_break};

fn link_target(path: &std::path::Path) -> std::io::Result<Kind> {
    std::fs::read_link(path).map(|target: PathBuf| Kind::Symlink(target))
}
