//! Saves a font: `norad-stock IN.ufo OUT.ufo`. Prints the seconds it took.

use std::error::Error;
use std::time::Instant;

use norad::Font;

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = &given[..] else { return Err("usage: norad-stock IN.ufo OUT.ufo".into()) };
    let font = Font::load(from)?;

    let start = Instant::now();
    font.save(to)?;
    println!("{}", start.elapsed().as_secs_f64());
    Ok(())
}
