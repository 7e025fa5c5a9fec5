//! The rows of the matrix: operations, each with its scene.

mod appender;
mod archive;
mod close;
mod commands;
mod mirror;
mod peers;
mod removal;
mod row;
mod sync;
mod tree;
mod vfs;
mod writer;

pub use commands::manyfiles_path as commands_path;
pub use row::{How, Row, TABLES};

/// All rows, those of a table together.
pub fn all() -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(tree::rows());
    rows.extend(removal::rows());
    rows.extend(mirror::rows());
    rows.extend(close::rows());
    rows.extend(writer::rows());
    rows.extend(appender::rows());
    rows.extend(vfs::rows());
    rows.extend(sync::rows());
    rows.extend(archive::rows());
    rows.extend(commands::rows());
    rows.extend(peers::rows());
    rows.sort_by_key(|row| TABLES.iter().position(|table| *table == row.group));
    rows
}
