//! Writes files in a plain loop, with and without `FastClose`, and says what each took: `fast_close FOLDER [FILES]`.
//!
//! On a fast disk there is nothing to see, which is the point. Try a folder on a network file system, a FUSE mount, or
//! under a virus scanner.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use manyfiles::close::{self, FastClose};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let folder = args.next().ok_or("usage: fast_close FOLDER [FILES]")?;
    let files: usize = match args.next() {
        Some(files) => files.to_str().ok_or("FILES is a number")?.parse()?,
        None => 1000,
    };
    let (plain, fast) = (Path::new(&folder).join("plain"), Path::new(&folder).join("fast"));
    fs::create_dir_all(&plain)?;
    fs::create_dir_all(&fast)?;

    let start = Instant::now();
    for n in 0..files {
        let mut file = File::create(plain.join(format!("{n}.txt")))?;
        writeln!(file, "This is file number {n}.")?;
    }
    println!("File:      {files} files written and closed in {:?}", start.elapsed());

    let start = Instant::now();
    let guard = close::guard();
    for n in 0..files {
        let mut file = FastClose::new(File::create(fast.join(format!("{n}.txt")))?);
        writeln!(file, "This is file number {n}.")?;
    }
    let written = start.elapsed();
    guard.finish()?; // every close that failed is in this error
    println!("FastClose: {files} files written in {written:?}, closed in {:?}", start.elapsed());
    Ok(())
}
