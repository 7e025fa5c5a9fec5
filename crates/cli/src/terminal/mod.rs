//! Standard error, shared by everything that is told while the work goes on: messages, the progress bar and the question.
//!
//! Each takes the [`Screen`] while it writes, so that none garbles another. Nothing here fails the job; a
//! reader that goes away in the middle stops it, as it stops every program that writes into a pipe.

mod display;
mod failures;
mod question;
mod screen;
mod waiting;
mod watch;

pub use display::{Display, time_left};
pub use failures::Failures;
pub use question::{About, AboutEntry, Question};
pub use screen::Screen;
pub use waiting::Waiting;
pub use watch::{InputRead, Watch};
