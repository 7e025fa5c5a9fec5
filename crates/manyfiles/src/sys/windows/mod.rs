//! Windows: 10 and later is what it is made for. Where a file system, an older Windows or a server does not know a
//! call, the one before it is used.

mod clock;
mod control;
mod data;
mod dir;
mod error;
mod forbidden;
mod handle;
mod identity;
mod in_use;
mod information;
mod links;
mod location;
mod lock;
mod mapping;
mod mirror;
mod name;
mod native;
mod open;
mod process;
mod removal;
mod rename;
mod rights;
mod sync;
mod system_path;
mod thread;

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
