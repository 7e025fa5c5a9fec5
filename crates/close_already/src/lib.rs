#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub use manyfiles::close::{self, FastClose, FastCloseable};
pub use manyfiles::fs;
