//! Works of many files and many records, each done by plain `std`, by rayon and by manyfiles.
//!
//! [`works`](mod@works) are the works alone, to be compared with more than these: manyfiles' own benchmarks add their
//! peers. [`bench`](bench()) lets the entrants do a part of them in turn, in a folder of its own below the one it is
//! given: these are the tables of `manyfiles bench`. [`Results`] hold every time, and tell them as text, JSON, CSV or a
//! picture. The folder is gone when `bench` returns, also where it fails or is stopped.
//!
//! - **Interleaved**: a busy machine hurts all alike; who begins changes from round to round, and one round warms up.
//! - **Checked**: every output, by names and lengths, and a part of the files or all of one by content.
//! - **Whole**: a time counts until the last file is closed, and synced where that is promised. Rows that are lost
//!   stay.
//! - **Bounded**: what does not fit into the time is left out and named; there is never more than one output at a time.

#![deny(unsafe_code)]

mod corpus;
mod font;
mod interrupt;
mod options;
mod results;
mod session;
mod show;
mod shown;
mod slow_handle;
pub mod works;

use std::path::Path;

use manyfiles_measure::{Place, Scratch};

pub use corpus::{Corpus, FileList};
pub use interrupt::Interrupt;
pub use manyfiles_measure::Failure;
pub use options::{LEAST_ROUNDS, Observer, Options};
pub use results::{LeftOut, Results, Row, Table};
pub use shown::{Work, works};

use session::Session;

/// So much has to be free: several times what is ever there at once, since what was just removed may not be free yet.
pub const SPACE: u64 = 256 << 20;

/// Measures in a folder of its own below `dir`, which is removed again.
///
/// # Errors
/// A folder or disk that cannot be written to, too little room, or the observer. A work that fails for another reason
/// is told in the results.
pub fn bench(dir: &Path, options: &Options, observer: &dyn Observer) -> Result<Results, Failure> {
    let place = Place::of(dir)?;
    if let Some(free) = place.free_bytes.filter(|&free| free < SPACE) {
        return Err(Failure::NoSpace(free));
    }
    let scratch = Scratch::below(dir, ".manyfiles-bench-")?;
    let measured = Session::new(scratch.path(), options, observer).run();
    let removed = scratch.remove();
    let (tables, left_out) = measured?;
    removed?;
    Ok(Results { place, options: options.clone(), tables, left_out })
}
