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
mod results;
mod session;
mod show;
mod shown;
mod slow_handle;
pub mod works;

use std::path::Path;
use std::time::Duration;

use manyfiles_measure::{Place, Scratch};

pub use corpus::{Corpus, FileList};
pub use interrupt::Interrupt;
pub use manyfiles_measure::Failure;
pub use results::{LeftOut, Results, Row, Table};
pub use shown::Work;

use session::Session;

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Options {
    /// Counted rounds of each work, where the time suffices. At least [`LEAST_ROUNDS`].
    pub rounds: usize,
    /// When to end, all works together. Tidying up afterwards comes on top.
    pub time: Duration,
    /// Works whose name doesn't contain this are left out.
    pub only: String,
    /// Let closing a file take so much longer, where that is possible: see [`Work::closes_can_be_simulated`].
    pub simulate_close: Option<Duration>,
}

/// A median of fewer rounds says nothing.
pub const LEAST_ROUNDS: usize = 3;

/// So much has to be free: several times what is ever there at once, since what was just removed may not be free yet.
pub const SPACE: u64 = 256 << 20;

impl Default for Options {
    /// Seven rounds of everything, a minute.
    fn default() -> Options {
        Options { rounds: 7, time: Duration::from_secs(60), only: String::new(), simulate_close: None }
    }
}

/// Hears how far [`bench`](bench()) is, and may stop it.
pub trait Observer: Sync {
    /// A run begins; round 0 warms up. `done` of the whole time may be behind, from 0 to 1.
    fn begins(&self, work: &str, entrant: &str, round: usize, done: f64);

    /// Whether to stop. Asked several times a second, from another thread.
    fn stopped(&self) -> bool;
}

/// The works of [`bench`](bench()) that the options leave, in their order.
pub fn works(options: &Options) -> Vec<&'static Work> {
    shown::ALL.iter().filter(|work| work.name.contains(&options.only)).collect()
}

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
