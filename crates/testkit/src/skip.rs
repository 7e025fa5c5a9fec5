//! Tests that cannot run everywhere.

use std::fmt::Display;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::{Disk, SlowMount};

/// What a test needs of the machine; see [`skip_unless!`](crate::skip_unless).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The user is root.
    Root,
    /// The user is not root.
    NotRoot,
    /// A [`SlowMount`] can be mounted: FUSE, libfuse's headers and a C compiler.
    Fuse,
    /// A [`Disk`] can be mounted from an image file: root and loop devices.
    LoopDevices,
    /// A [`Preload`](crate::Preload) can be used: a C compiler.
    Preload,
    /// A program on the search path.
    Program(&'static str),
}

impl Need {
    /// Whether the need is met, or why not. What takes long to find out is found out once per process.
    pub fn check(self) -> Result<(), String> {
        static FUSE: OnceLock<Result<(), String>> = OnceLock::new();
        static LOOP: OnceLock<Result<(), String>> = OnceLock::new();
        static PRELOAD: OnceLock<Result<(), String>> = OnceLock::new();
        // SAFETY: no memory is shared; geteuid cannot fail.
        let root = unsafe { libc::geteuid() } == 0;
        // Tried, not guessed: what is on the disk says little about what a container allows.
        match self {
            Need::Root if root => Ok(()),
            Need::Root => Err("needs root".into()),
            Need::NotRoot if root => Err("root is allowed what it tests for".into()),
            Need::NotRoot => Ok(()),
            Need::Fuse => FUSE.get_or_init(|| tried("FUSE", SlowMount::options().mount())).clone(),
            Need::LoopDevices => LOOP.get_or_init(|| tried("loop devices", Disk::ext4().megabytes(8).mount())).clone(),
            Need::Preload => PRELOAD.get_or_init(|| tried("a C compiler", crate::preload::library())).clone(),
            Need::Program(name) => on_search_path(name),
        }
    }
}

fn tried<T>(what: &str, result: std::io::Result<T>) -> Result<(), String> {
    result.map(drop).map_err(|e| format!("needs {what}: {e}"))
}

fn on_search_path(name: &str) -> Result<(), String> {
    let search = Command::new("sh").args(["-c", "command -v \"$0\"", name]).stdout(Stdio::null()).status();
    match search {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!("needs the program {name}")),
    }
}

/// Says that the running test does not test anything here: prints `skipped: <test>: <why>` as a line of its own, which the
/// test harness does not swallow. The test returns after it.
pub fn skip(why: impl Display) {
    let thread = std::thread::current();
    let line = format!("skipped: {}: {why}\n", thread.name().unwrap_or("an unnamed test"));
    // Not eprint!, which the harness captures in tests that pass.
    std::io::stderr().write_all(line.as_bytes()).expect("standard error takes a line");
}

/// Returns from the test, with a line that says why ([`skip`]), unless every [`Need`] is met.
///
/// ```
/// use manyfiles_testkit::{Need, skip_unless};
/// fn a_full_disk_is_reported() {
///     skip_unless!(Need::LoopDevices);
/// }
/// # a_full_disk_is_reported();
/// ```
#[macro_export]
macro_rules! skip_unless {
    ($($need:expr),+ $(,)?) => {
        $(if let Err(why) = $crate::Need::check($need) {
            return $crate::skip(why);
        })+
    };
}
