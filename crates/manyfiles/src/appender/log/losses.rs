//! [`Damage`] and [`Missing`]: what a log had and has no more.

use std::fmt;
use std::io;

use crate::Error;
use crate::appender::position::Position;

/// Bytes in a file of records that were durable once and are not what they were.
/// [`Error::damage`] has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// Where they begin in the file.
    pub offset: u64,
    /// How many there are up to the next whole record, or the end.
    pub bytes: u64,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { offset, bytes } = self;
        write!(
            f,
            "it is damaged: {bytes} bytes at {offset} were durable and have changed; reading shows what is left, \
             and a copy may have them"
        )
    }
}

impl std::error::Error for Damage {}

impl Error {
    /// What was damaged, if this is an error of a log about [`Damage`].
    pub fn damage(&self) -> Option<Damage> {
        self.io_error().get_ref()?.downcast_ref().copied()
    }

    /// Which records are missing, if this is an error of a log about [`Missing`] ones.
    pub fn missing(&self) -> Option<Missing> {
        self.io_error().get_ref()?.downcast_ref().copied()
    }
}

impl From<Damage> for io::Error {
    fn from(damage: Damage) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, damage)
    }
}

/// Records that are not in the log any more, because their files were removed: by
/// [`Appender::remove_before`](crate::appender::Appender::remove_before), by an appender that
/// [keeps](crate::appender::Options::keep_files) only so many, or by another program. [`Error::missing`] has it; the
/// error's kind is `NotFound`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// The first position that is missing.
    pub from: Position,
    /// Where the log goes on, if it does. This is not behind `from` where the file of a follower was cut, or replaced:
    /// by a backup, or by the first one of a log that was begun anew under the same name, say.
    pub to: Option<Position>,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position(from) = self.from;
        match self.to {
            Some(Position(to)) if to <= from => write!(
                f,
                "it was removed, cut, or replaced: not all that was read up to position {from} is in the log any more, \
                 and what follows is read from position {to} on"
            ),
            Some(Position(to)) => {
                write!(f, "the records from position {from} up to {to} are missing: their file is gone")
            }
            None => write!(f, "the records from position {from} on are missing: their file is gone"),
        }
    }
}

impl std::error::Error for Missing {}

impl From<Missing> for io::Error {
    fn from(missing: Missing) -> io::Error {
        io::Error::new(io::ErrorKind::NotFound, missing)
    }
}
