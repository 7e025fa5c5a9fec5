//! Standard error, shared by everything that is told while the work goes on: messages, the progress bar and the question.
//!
//! Each takes the [`Screen`] while it writes, so that none garbles another. Nothing here fails the job: whoever closed
//! standard error does not want to hear.

mod display;
mod question;
mod screen;
mod watch;

pub use display::{Display, time_left};
pub use question::Question;
pub use screen::Screen;
pub use watch::{InputRead, Watch};
