//! Tile-at-a-time ingestion: `tiles FOLDER [ROWS]`.
//!
//! An array is stored as one file of tiles for each column, as array stores do. Rows arrive one after the other, so each file
//! grows by one tile at a time: a `FileWriter` for each keeps its handle and gathers tiles into blocks. A small file for each
//! column says what it holds; these, and a manifest that names them all, appear only once everything else is on the disk. A
//! crash at any moment leaves the manifest of before, and the tiles that it names.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use manyfiles::sync::{SyncBatch, sync_folder};
use manyfiles::writer::{FileWriter, SyncPolicy};

const COLUMNS: usize = 8;
const TILE: usize = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let folder = args.next().ok_or("usage: tiles FOLDER [ROWS]")?;
    let folder = Path::new(&folder);
    let rows: usize = match args.next() {
        Some(rows) => rows.to_str().ok_or("ROWS is a number")?.parse()?,
        None => 1_000,
    };
    std::fs::create_dir_all(folder)?;

    let start = Instant::now();
    // Nobody looks at a tile before the manifest names it, so one sync for each file at its end is soon enough.
    let options = FileWriter::options().preallocate((rows * TILE) as u64).sync(SyncPolicy::OnClose);
    let path = |column: usize, what: &str| folder.join(format!("column-{column}.{what}"));
    let mut columns = (0..COLUMNS)
        .map(|column| options.clone().create(path(column, "tiles")))
        .collect::<manyfiles::Result<Vec<_>>>()?;
    for row in 0..rows {
        for (column, file) in columns.iter_mut().enumerate() {
            file.write_at(&tile(row, column), (row * TILE) as u64)?;
        }
    }
    let mut bytes = 0;
    for file in columns {
        let written = file.close()?; // on the disk, or an error that says which file is not
        assert_eq!(written.durable, written.bytes);
        bytes += written.bytes;
    }
    let ingested = start.elapsed();

    // The description of each column, whole or not at all, with one sync for all of them.
    let descriptions = SyncBatch::options().atomic(true).build();
    for column in 0..COLUMNS {
        descriptions.write(path(column, "json"), format!("{{\"rows\": {rows}, \"tile\": {TILE}}}\n"))?;
    }
    descriptions.finish()?;
    // And last what makes it all visible.
    let manifest = SyncBatch::options().atomic(true).build();
    manifest.write(folder.join("manifest.json"), format!("{{\"columns\": {COLUMNS}, \"rows\": {rows}}}\n"))?;
    manifest.finish()?;
    // The folder's own name.
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        sync_folder(parent)?;
    }

    println!(
        "{} tiles, {bytes} bytes in {ingested:?}; visible and durable after {:?}",
        rows * COLUMNS,
        start.elapsed()
    );
    Ok(())
}

/// What a compressor would have made of a part of the array.
fn tile(row: usize, column: usize) -> Vec<u8> {
    (0..TILE).map(|n| (n ^ row ^ (column << 4)) as u8).collect()
}
