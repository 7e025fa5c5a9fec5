//! What can only be seen from inside: power cuts and failing calls on a model of a disk, and, under loom, every order
//! in which threads can run.

#[cfg(not(loom))]
mod disk;
#[cfg(not(loom))]
mod ends;
#[cfg(not(loom))]
mod failures;
#[cfg(not(loom))]
mod flushing;
#[cfg(not(loom))]
mod following;
#[cfg(not(loom))]
mod moved;
#[cfg(all(not(loom), feature = "zstd"))]
mod packing;
#[cfg(not(loom))]
mod promises;
#[cfg(not(loom))]
mod repairs;
#[cfg(not(loom))]
mod retention;
#[cfg(not(loom))]
mod syncs;
#[cfg(not(loom))]
mod tasks;
#[cfg(not(loom))]
mod threads;

#[cfg(loom)]
mod orders;
