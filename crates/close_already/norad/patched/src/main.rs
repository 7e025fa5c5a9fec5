//! Saves a font: `norad-patched IN.ufo OUT.ufo`. Prints the seconds until every file is closed.

use std::error::Error;
use std::time::Instant;

use manyfiles::close;
use norad::Font;

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = &given[..] else { return Err("usage: norad-patched IN.ufo OUT.ufo".into()) };
    let font = Font::load(from)?;

    let start = Instant::now();
    font.save(to)?;
    close::wait()?; // what norad left to close is closed now, and an error here names what failed
    println!("{}", start.elapsed().as_secs_f64());
    Ok(())
}
