//! Reads files of an archive in a random order, without unpacking it, and says how long each took:
//!
//! ```sh
//! cargo run --release -p manyfiles-archive --example read_from -- tiles.tar.zst 10000
//! ```

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use manyfiles_archive::{Archive, Kind};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let path = PathBuf::from(args.next().ok_or("give an archive, and perhaps how many files to read")?);
    let count: usize = args.next().and_then(|count| count.to_str()?.parse().ok()).unwrap_or(1000);

    let begun = Instant::now();
    let archive = Archive::open(&path)?;
    let opened = begun.elapsed();
    let mut files = Vec::new();
    archive.walk("", &mut |entry| files.extend((entry.kind == Kind::File).then(|| entry.path.to_path_buf())))?;
    println!("{}: {} files, opened in {opened:.1?}", archive.format(), files.len());
    if files.is_empty() {
        return Ok(());
    }

    let (mut state, mut bytes, mut longest) = (1_u64, 0, Default::default());
    let mut times = Vec::new();
    for _ in 0..count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let path = &files[(state >> 33) as usize % files.len()];
        let begun = Instant::now();
        bytes += archive.read(path)?.len();
        times.push(begun.elapsed());
        longest = times[times.len() - 1].max(longest);
    }
    times.sort();
    println!("{count} files read, {bytes} bytes: {:.1?} each in the middle, {longest:.1?} at most", times[count / 2]);
    Ok(())
}
