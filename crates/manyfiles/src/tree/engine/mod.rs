//! The machinery below [`TreeWriter`](super::TreeWriter): threads that take entries of one folder at a time and write
//! them.
//!
//! - **Coming in**: an entry is checked and counted in [`admission`] and waits in the [`queue`] of its folder
//!   ([`folders`]), in the order of its name ([`name`]).
//! - **Threads**: [`threads`] starts or wakes one, [`pace`] says how many there should be ([`thread_counts`]). A thread
//!   runs [`worker`], has a [`lane`] for itself, and learns from each batch ([`lesson`]). [`pipeline`] gives the halves
//!   of an entry to two threads where one folder is all there is.
//!   [`folder_links`] says which links to folders an entry may be written through.
//! - **One entry** is a [`step`], or two: [`place`] is the first half (its name; [`conflict`] if that is taken,
//!   [`placement`] is what came of it), [`fill`] the second (its bytes, by the [`piece`]: [`write`], [`copy`],
//!   [`compare`]; [`sharing`] what needs no bytes of its own). [`make`] makes what has no bytes, [`link`] hard links in
//!   their order. [`partial`] is a copy that a later run may go on with. [`access`] has the rules of
//!   owners and permissions, [`temporary`] the names of what is not complete yet, [`give_name`] the end of those.
//! - **Streams**: [`streams`] are files that callers write on their own threads.
//! - **The end**: [`finish`] does what comes last ([`flags_at_the_end`] are part of that), and [`durable`] says what is synced.
//! - **What came of it**: [`outcome`] and [`counts`] keep it, [`telling`] tells the program.
//! - **The tree itself** is [`shared`]; [`control`] is the part of it that has no handles.

mod access;
mod admission;
mod compare;
mod conflict;
mod control;
mod copy;
mod counts;
mod durable;
mod fill;
mod finish;
mod flags_at_the_end;
mod folder_links;
mod folders;
mod give_name;
mod job;
mod lane;
mod lesson;
mod link;
mod lock;
mod look_away;
mod make;
mod name;
mod outcome;
mod own_thread;
mod partial;
mod piece;
mod pipeline;
mod place;
mod placement;
mod questions;
mod queue;
mod shared;
mod sharing;
mod step;
mod stopwatch;
mod streams;
mod telling;
mod temporary;
mod thread_counts;
mod threads;
mod worker;
mod write;

pub(super) use self::compare::read_full;
pub(super) use self::control::Control;
pub(super) use self::job::{Job, Work};
pub(super) use self::name::folded;
pub(super) use self::own_thread::works_for_a_tree;
pub use self::partial::RESUME_FROM;
pub(super) use self::partial::{looks_partial, partial_name};
pub(super) use self::piece::BUFFER;
pub(super) use self::shared::Shared;
pub(super) use self::streams::Stream;
