//! Unpacks or lists one archive and says how long that took: `unpack ARCHIVE [FOLDER]`.

use std::time::Instant;

use manyfiles::tree::TreeWriter;
use manyfiles_archive::{Input, Unpacker};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let archive = args.next().ok_or("usage: unpack ARCHIVE [FOLDER]")?;
    let input = if archive == "-" { Input::Stream(Box::new(std::io::stdin())) } else { Input::File(archive.into()) };
    let start = Instant::now();
    let summary = match args.next() {
        Some(folder) => {
            let tree = TreeWriter::open(folder)?;
            let summary = Unpacker::new().unpack(input, &tree)?;
            tree.finish()?;
            summary
        }
        None => Unpacker::new().list(input, &mut |_| {})?,
    };
    println!("{}: {} entries, {} bytes in {:?}", summary.format, summary.entries, summary.bytes, start.elapsed());
    Ok(())
}
