//! The machinery below [`TreeWriter`](super::TreeWriter): threads that take entries of one folder at a time and write
//! them.
//!
//! An entry comes in through [`admission`] and waits in the [`queue`] of its folder ([`folders`]). [`threads`] starts
//! or wakes a thread for it; [`pace`] says how many there should be. A thread runs [`worker`], with what it has for
//! itself in a [`lane`]: [`place`] is the first half of an entry (its name; [`conflict`] if that is taken,
//! [`placement`] is what came of it), [`fill`] the second (its bytes: [`write`], [`copy`], [`compare`]). [`make`] makes
//! what has no bytes, [`link`] hard links in their order; [`access`] has the rules of owners and permissions.
//! [`pipeline`] gives the halves to two threads where one folder is all there is. [`streams`] are files that callers
//! write on their own threads. [`finish`] does what comes last, and [`durable`] waits for the disk if asked to.
//! [`outcome`] and [`counts`] are what came of it all. [`shared`] is the tree itself, and [`control`] the part of it
//! that has no handles.

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
mod folders;
mod give_name;
mod job;
mod lane;
mod link;
mod lock;
mod make;
mod name;
mod outcome;
mod own_thread;
mod pace;
mod pipeline;
mod place;
mod placement;
mod questions;
mod queue;
mod shared;
mod stopwatch;
mod streams;
mod temporary;
mod threads;
mod worker;
mod write;

pub(super) use self::control::Control;
pub(super) use self::copy::BUFFER;
pub(super) use self::durable::parents_of_missing;
pub(super) use self::job::{Job, Work};
pub(super) use self::own_thread::works_for_a_tree;
pub(super) use self::shared::Shared;
pub(super) use self::streams::Stream;
