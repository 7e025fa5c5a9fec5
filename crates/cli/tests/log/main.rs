//! `manyfiles log`, with logs that an appender made: whole, rotated, torn, damaged, and while one is at work in them.

mod cat;
mod check;
#[path = "../common/mod.rs"]
mod common;
#[cfg(target_os = "linux")]
mod killed;
mod made;
mod repair;
mod tail;
