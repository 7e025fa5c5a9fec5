//! The ground of the project's tests and benchmarks. Mounts and injected errors are there on Linux only, and mostly
//! need root; trees, corpora and [`skip_unless!`] are there on every system.
//!
//! - [`SlowMount`]: a FUSE mount. The test says how long its operations take, and which fail.
//! - [`Preload`]: the same for system calls of one child process, by `LD_PRELOAD`; needs no privileges.
//! - [`Disk`]: an ext4, XFS, btrfs or tmpfs of its own, of any size, full, read-only or with a quota.
//! - [`model::Disk`]: a model of a disk, which loses what a real disk may lose in a power cut.
//! - [`Tree`]: the content of a folder, and a readable difference between two of them.
//! - [`Corpus`]: the same many files every time; [`Random`]: the same numbers; [`seeds`] and [`cases`]: which,
//!   and how many.
//! - [`skip_unless!`]: a test that cannot run here says so on a line of its own, and why.
//! - [`Hostility`]: a program that gets signals, forks, closes its standard streams, may open few files…
//! - [`Lacking`]: an old kernel, a container that forbids calls, a file system that can do little.
//! - [`make_trouble`]: another process that renames, cuts, removes and links below a folder, by a seed.
//! - [`nofile_limit`]: a child process that may have few open files.
//!
//! A mount is unmounted on drop; if the process was killed, by the next process that mounts something.

#[cfg(target_os = "linux")]
mod cc;
mod corpus;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod disk;
#[cfg(target_os = "linux")]
mod hostile;
mod kind;
#[cfg(target_os = "linux")]
mod lacking;
#[cfg(target_os = "linux")]
mod limit;
pub mod model;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod neighbour;
#[cfg(target_os = "linux")]
mod preload;
mod random;
mod scratch;
mod skip;
#[cfg(target_os = "linux")]
mod slow;
mod started;
mod sys;
mod tree;

pub use corpus::Corpus;
#[cfg(target_os = "linux")]
pub use device::Device;
#[cfg(target_os = "linux")]
pub use disk::{Disk, DiskOptions};
#[cfg(target_os = "linux")]
pub use hostile::Hostility;
pub use kind::Kind;
#[cfg(target_os = "linux")]
pub use lacking::Lacking;
#[cfg(target_os = "linux")]
pub use limit::nofile_limit;
#[cfg(target_os = "linux")]
pub use neighbour::make_trouble;
#[cfg(target_os = "linux")]
pub use preload::{Call, Preload, Rule};
pub use random::{Random, cases, seeds};
#[cfg(windows)]
pub use scratch::slow_close_folder;
pub use scratch::{scratch, symlink};
pub use skip::{Need, skip};
#[cfg(target_os = "linux")]
pub use slow::{Op, SlowMount, SlowOptions};
pub use started::started;
#[cfg(unix)]
pub use sys::{make_fifo, set_link_time};
#[cfg(windows)]
pub use sys::{protect_from_close, send_ctrl_break};
pub use tree::{Compare, Differences, Entry, Tree};
