//! Many threads, or tasks, append records to one file; one sync makes the records of all of them durable.
//!
//! [`Appender`] takes records, [`Receipt`] says how far one has come, [`Records`] reads framed ones back.
//!
//! A record is in one of four [states](State):
//!
//! | state | it is | a crash of the process | a crash of the machine, a power cut |
//! |---|---|---|---|
//! | [buffered](State::Buffered) | in this process's memory | takes it | takes it |
//! | [written](State::Written) | with the operating system | leaves it | may take it, all or a part, and later ones but not it |
//! | [durable](State::Durable) | on the disk | leaves it | leaves it |
//! | [failed](State::Failed) | never durable by this appender; perhaps written | may have left it | may have left it |
//!
//! - **No early acknowledgement.** A record is durable when a sync that began after its write has succeeded. One sync
//!   serves all threads and tasks that wait: while it runs, others gather for the next one. A thread that waits does
//!   the work; a thread of its own is only started for tasks that await.
//! - **Failure is sticky.** A failed write, sync or close reaches every call that waits and every later call; no
//!   success follows it, but for records that were durable before.
//! - **Bounded.** Two buffers of [`capacity`](Options::capacity) bytes, however many threads append. A thread that
//!   finds them full waits.
//! - **In order.** Records of one thread are in the file in the order in which it appended them, and a record is whole
//!   or not there.
//! - **Framed, if asked for** ([`framed`](Options::framed)): length and checksum around each record, so that what a
//!   crash tore is found and set aside, and what the disk forgot is found and reported. Records then have
//!   [positions](Position) to read on from, and [`Records::follow`] waits for those that come.
//! - **An unclean end means a new beginning.** After a kill or a failed sync nothing that is only seen in the page
//!   cache counts as durable: [opening](Options::open) goes on in a next file, or writes the doubtful end again.
//! - **Rotated, if asked for**: a new file each so many bytes or so often, durable before anything in it is
//!   acknowledged.

#![deny(unsafe_code)]

#[expect(clippy::module_inception, reason = "the folder is named for the type")]
mod appender;
mod asynchronous;
mod care;
mod closing;
mod commit;
mod file;
mod log;
mod opening;
mod options;
mod position;
mod reading;
mod receipt;
mod recovery;
mod storage;
mod sync;
mod upkeep;

#[cfg(test)]
mod tests;

pub use appender::Appender;
pub use asynchronous::{UntilDurable, UntilWritten};
pub use care::check::{FileEnd, FileReport, Report, check, check_with};
pub use care::plan::{PlannedRepair, RepairPlan, plan_repair};
pub use care::repair::{Repaired, repair};
pub use closing::Closing;
pub use log::ending::Misfit;
pub use log::losses::{Damage, Missing};
pub use options::{OnDamage, Options};
pub use position::Position;
pub use reading::follow::Follow;
pub use reading::records::Records;
pub use receipt::{Receipt, State};
pub use recovery::Recovery;
