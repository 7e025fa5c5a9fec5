//! Standard error, shared by everything that is told while the work goes on: messages, the progress bar and the
//! question.
//!
//! Each takes the [`Screen`] while it writes, so that none garbles another. Nothing here fails the job; a
//! reader that goes away in the middle stops it, as it stops every program that writes into a pipe.

mod display;
mod failures;
mod question;
mod screen;
mod showing;
mod waiting;
mod watch;

pub(crate) use display::{Display, time_left};
pub(crate) use failures::Failures;
pub(crate) use question::{About, AboutEntry, Question};
pub(crate) use screen::Screen;
pub(crate) use showing::{Showing, reading};
pub(crate) use waiting::Waiting;
pub(crate) use watch::{InputRead, Watch};
