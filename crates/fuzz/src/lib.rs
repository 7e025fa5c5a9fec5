//! What the fuzz targets do with an input. Each fails by a panic.
//!
//! libFuzzer itself finds what does not end (`-timeout`) and what takes too much memory (`-rss_limit_mb`).

pub mod archive;
pub mod names;
pub mod records;
pub mod trace;
