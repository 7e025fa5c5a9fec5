//! The command against a plain model and against the programs that its users know.

pub mod archive;
pub mod case;
pub mod compare;
pub mod copying;
pub mod differs;
pub mod model;
pub mod programs;
pub mod rounds;
mod stories;
pub mod unpacking;
pub mod world;
