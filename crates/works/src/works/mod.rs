//! Works, and what each entrant does for them: plain `std`, rayon, manyfiles.
//!
//! A work is a value: [`NewFiles`], [`Records`], [`OnePath`], [`DurableFiles`], [`DurableRecords`]. Each entrant is one
//! method of it: it gets a folder that is not there yet, does the work in it, and returns what that took. So each can
//! be the run of an [`Entrant`](manyfiles_measure::contest::Entrant), beside others that only the caller knows:
//!
//! ```
//! use manyfiles_measure::contest::{Check, Entrant, Goal, timed};
//! use manyfiles_works::{Corpus, Interrupt, works::{Folders, NewFiles}};
//!
//! let corpus = Corpus::pages(100, 4);
//! let (check, never): (Check<'_>, _) = (Box::new(|folder| corpus.check(folder)), Interrupt::never());
//! let work = NewFiles::new(&corpus.files, Folders::Once, &never);
//! let mut entrants = vec![
//!     Entrant::new("TreeWriter", Goal::Shown, &check, Box::new(|folder| work.with_tree_writer(folder))),
//!     Entrant::new("std loop", Goal::Shown, &check, Box::new(|folder| work.with_std(folder))),
//! ];
//! # let dir = tempfile::tempdir()?;
//! # for entrant in &mut entrants {
//! #     let folder = dir.path().join(&entrant.name);
//! #     (entrant.run)(&folder)?;
//! #     check(&folder)?;
//! # }
//! # Ok::<(), anyhow::Error>(())
//! ```

mod durable_files;
mod durable_records;
mod new_files;
mod one_path;
mod records;

pub use durable_files::DurableFiles;
pub use durable_records::DurableRecords;
pub use new_files::{Folders, NewFiles, pool};
pub use one_path::OnePath;
pub use records::Records;
