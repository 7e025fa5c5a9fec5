//! Saves a font through [`TreeWriter`]: `save_to_sink IN.ufo OUT.ufo`. Prints the seconds until every file is closed.
//!
//! norad hands each file to a sink, which is any closure that takes a relative path and bytes. `TreeWriter` takes just that, from
//! any thread.

use std::error::Error;
use std::io;
use std::path::Path;
use std::time::Instant;

use manyfiles::tree::TreeWriter;
use norad::{Font, WriteOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = &given[..] else { return Err("usage: save_to_sink IN.ufo OUT.ufo".into()) };
    let font = Font::load(from)?;

    let start = Instant::now();
    save(&font, Path::new(to))?;
    println!("{}", start.elapsed().as_secs_f64());
    Ok(())
}

/// Saves as `Font::save` does: what was there is gone, glyphs that the font no longer has included.
fn save(font: &Font, to: &Path) -> Result<(), Box<dyn Error>> {
    if to.exists() {
        std::fs::remove_dir_all(to)?;
    }
    let tree = TreeWriter::open(to)?;
    let sink = |path: &Path, bytes: &[u8]| tree.file(path, bytes).map_err(io::Error::from);
    font.save_to_sink(&sink, &WriteOptions::default())?;
    tree.finish()?; // an error here names every file that did not arrive, and why
    Ok(())
}
