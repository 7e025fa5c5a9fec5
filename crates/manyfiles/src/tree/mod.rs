//! Many files into one folder: fast, bounded, and with a report that loses nothing.
//!
//! [`TreeWriter`] takes (relative path, content, metadata) in any order, from any thread.
//!
//! - **Fast**: folders are spread over threads, each made once and kept open, files opened relative to it. A file
//!   system whose calls wait gets more threads; a fast one does not.
//! - **Bounded**: bytes in flight and open handles. Memory does not grow with the number of files; it does with folders
//!   (some 200 bytes and the name, each).
//! - **Safe**: a path cannot leave the root. No absolute path, no `..`, and no symbolic link is followed on the way
//!   down, not even one that another process makes meanwhile (Linux: `openat2`; elsewhere each component is opened
//!   without following).
//! - **In order**: entries of one path come one after the other, in the order of the calls, hard links included. No
//!   order is kept between different paths. Each thread writes one entry after the other: while the bytes of one are
//!   late (a copy from a slow disk, an `as_ref` that waits), other entries of its folder wait too. A [`TreeFile`] whose
//!   bytes are late holds up its own path alone.
//! - **Honest**: [`finish`](TreeWriter::finish) names every entry that did not arrive, and
//!   [`on_entry`](Options::on_entry) tells what became of each as it happens.
//! - **A good neighbour**: its threads take no signal, and nothing of the program's is copied or changed. After
//!   `finish` nothing is open, and no thread is left.
//!
//! [`remove`] and [`Removal`] remove whole trees; [`Mirror`] makes one tree equal to another.
//!
//! A crash of the process may leave a file that was being written incomplete; a crash of the machine may lose the last
//! seconds, as with [`std::fs::write`], unless [`Durability`] is asked for.

mod above;
mod content;
mod control;
mod digest;
mod engine;
mod jobs;
mod mapped;
mod mirror;
mod options;
mod outcome;
mod pace;
mod path;
mod publish;
mod removal;
mod report;
mod stream;
mod window;
mod writer;

pub use crate::sys::{EntryKind, Keep, Metadata, Node, Refusal, Symlink};
pub use content::Content;
pub use control::{Canceller, Observer};
pub use digest::Digest;
pub use engine::RESUME_FROM;
pub use mapped::MappedFile;
pub use mirror::{Difference, Differences, Mirror, MirrorProgress, Mirrored, NotMirrored, What};
pub use options::{Answer, Durability, OnConflict, Options};
pub use outcome::{Entry, EntryStat, Outcome, Shares};
pub use path::check;
pub use removal::{NotRemoved, Removal, RemovalProgress, Removed, remove};
pub use report::{Incomplete, NotKept, Progress, Report, Times};
pub use stream::TreeFile;
pub use writer::TreeWriter;
