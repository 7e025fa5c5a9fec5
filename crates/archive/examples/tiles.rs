//! 225,000 small files as one archive, and as a folder:
//! `cargo run --release -p manyfiles-archive --example tiles -- DIR`

use std::path::PathBuf;
use std::time::Instant;

use manyfiles::tree::{Metadata, TreeWriter};
use manyfiles_archive::ArchiveWriter;

const TILES: u32 = 225_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = folder.join("manyfiles-tiles");
    std::fs::create_dir_all(&folder)?;
    for name in ["tiles.tar", "tiles.tar.zst", "tiles.zip"] {
        let started = Instant::now();
        let archive = ArchiveWriter::options().replace(true).create(folder.join(name))?;
        for n in 0..TILES {
            archive.file(path(n), tile(n), Metadata::default())?;
        }
        let written = archive.finish()?;
        let seconds = started.elapsed().as_secs_f64();
        let rate = written.bytes as f64 / seconds / 1e6;
        println!("{name}: {seconds:.2} s, {rate:.0} MB of content a second, {} bytes", written.archive_bytes);
    }
    let started = Instant::now();
    let tree = TreeWriter::open(folder.join("tiles"))?;
    for n in 0..TILES {
        tree.file(path(n), tile(n))?;
    }
    tree.finish()?;
    println!("as a folder, by TreeWriter: {:.2} s", started.elapsed().as_secs_f64());
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

fn path(n: u32) -> String {
    format!("{}/{}/{n}.tile", n % 15, n / 15 % 150)
}

/// Some 500 bytes that compress a little.
fn tile(n: u32) -> Vec<u8> {
    (0..400 + n % 200).map(|at| ((at * n) ^ (at >> 3)) as u8 & 0x7f).collect()
}
