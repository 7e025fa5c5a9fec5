//! Unix.

mod clock;
mod data;
mod dir;
mod error;
mod forbidden;
mod handle;
mod identity;
mod in_use;
mod links;
mod location;
mod lock;
#[cfg(target_os = "linux")]
mod magic;
mod mapping;
mod mirror;
mod name;
mod open;
mod process;
mod removal;
mod rename;
mod rights;
mod sync;
mod system_path;
mod thread;
mod xattrs;

pub(crate) use clock::*;
pub(crate) use data::*;
pub(crate) use dir::*;
pub(crate) use error::*;
pub(crate) use forbidden::*;
pub(crate) use handle::*;
pub(crate) use identity::*;
pub(crate) use in_use::*;
pub(crate) use location::*;
pub(crate) use lock::*;
pub(crate) use mapping::*;
pub(crate) use name::*;
pub(crate) use open::*;
pub(crate) use process::*;
pub(crate) use removal::Listing;
pub(crate) use rename::*;
pub(crate) use rights::*;
pub(crate) use sync::*;
pub(crate) use system_path::*;
pub(crate) use thread::*;
pub(crate) use xattrs::*;
