//! A report for people and for programs.

mod compared;
mod folded;
mod html;
mod json;
mod svg;
mod table;
mod text;

pub use compared::{compared, compared_json};
pub use folded::folded;
pub use html::html;
pub use json::json;
pub use table::{Align, Table};
pub use text::{Detail, text};

/// The path as text; control characters, and bytes that are not UTF-8, are replaced.
fn path(path: &[u8]) -> String {
    String::from_utf8_lossy(path).chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
