//! The command against a plain model and against the programs that its users know.

pub(crate) mod archive;
pub(crate) mod case;
pub(crate) mod compare;
pub(crate) mod copying;
pub(crate) mod differs;
pub(crate) mod model;
pub(crate) mod programs;
pub(crate) mod rounds;
mod stories;
pub(crate) mod unpacking;
pub(crate) mod world;
