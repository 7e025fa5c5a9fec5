//! What a long work is.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

/// Whatever went wrong, as a sentence.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The file system that a work is done on, made for it alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Tmpfs,
    /// In an image file.
    Ext4,
}

impl Place {
    pub fn name(self) -> &'static str {
        match self {
            Place::Tmpfs => "tmpfs",
            Place::Ext4 => "ext4",
        }
    }
}

/// How much of a work is to be done.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Seconds for all works together, in a debug build.
    pub small: bool,
    /// For works that go on for a time.
    pub time: Duration,
}

impl Size {
    pub fn choose(self, large: u64, small: u64) -> u64 {
        if self.small { small } else { large }
    }
}

/// Memory that a type keeps until its end, as its documentation says.
#[derive(Clone, Copy, Debug)]
pub struct Holds {
    /// The most bytes for each.
    pub bytes: u64,
    /// For each what.
    pub each: &'static str,
    /// How many there are of them in a work of this size.
    pub count: fn(Size) -> u64,
}

/// Something large, done with the library's public calls alone.
///
/// Its three parts run in different processes: `prepare` and `check` in the parent, `run` in the child that is watched.
pub trait Work: Sync {
    /// Short, and a file's name.
    fn name(&self) -> &'static str;

    /// What is done, with its numbers.
    fn what(&self, size: Size) -> String;

    /// What it counts, in the plural.
    fn unit(&self) -> &'static str {
        "files"
    }

    fn place(&self) -> Place;

    /// What grows by design.
    fn holds(&self) -> Option<Holds> {
        None
    }

    /// What has to be there before.
    fn prepare(&self, _folder: &Path, _size: Size) -> Result<()> {
        Ok(())
    }

    /// Does it, and returns how many of its units were done.
    fn run(&self, folder: &Path, size: Size) -> Result<u64>;

    /// Whether all of it is there, each byte, and nothing else.
    fn check(&self, folder: &Path, size: Size, done: u64) -> Result<()>;
}
