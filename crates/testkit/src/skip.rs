//! Tests that cannot run everywhere.

use std::fmt::Display;
use std::io::Write;

/// What a test needs of the machine; see [`skip_unless!`](crate::skip_unless).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The user is root.
    Root,
    /// The user is not root.
    NotRoot,
    /// A [`SlowMount`](crate::SlowMount) can be mounted: FUSE, libfuse's headers and a C compiler.
    Fuse,
    /// A [`Disk`](crate::Disk) can be mounted from an image file: root and loop devices.
    LoopDevices,
    /// A [`Disk::overlay`](crate::Disk::overlay) can be mounted: root, and a kernel that has it.
    Overlay,
    /// A [`Preload`](crate::Preload) can be used: a C compiler.
    Preload,
    /// [`symlink`](crate::symlink) makes symbolic links: not on Windows without a privilege, nor under wine.
    Symlinks,
    /// A file that is open for reading can be replaced: not on Windows before 10, nor under wine.
    OpenFilesReplaced,
    /// This is no wine, which finds the end of a file and then writes there where Windows does both at once.
    NotWine,
    /// A program on the search path.
    Program(&'static str),
}

impl Need {
    /// Whether the need is met, or why not. Slow checks are made once per process.
    pub fn check(self) -> Result<(), String> {
        match self {
            Need::Program(name) => on_search_path(name),
            Need::Symlinks => symlinks(),
            Need::OpenFilesReplaced => open_files_replaced(),
            Need::NotWine if cfg!(windows) && std::path::Path::new(r"C:\windows\system32\winecfg.exe").exists() => {
                Err("wine does not append in one step".into())
            }
            Need::NotWine => Ok(()),
            other => other.check_on_this_system(),
        }
    }

    #[cfg(target_os = "linux")]
    fn check_on_this_system(self) -> Result<(), String> {
        use crate::{Disk, SlowMount};
        use std::sync::OnceLock;
        static FUSE: OnceLock<Result<(), String>> = OnceLock::new();
        static LOOP: OnceLock<Result<(), String>> = OnceLock::new();
        static OVERLAY: OnceLock<Result<(), String>> = OnceLock::new();
        static PRELOAD: OnceLock<Result<(), String>> = OnceLock::new();
        fn tried<T>(what: &str, result: std::io::Result<T>) -> Result<(), String> {
            result.map(drop).map_err(|e| format!("needs {what}: {e}"))
        }
        // SAFETY: no memory is shared; geteuid cannot fail.
        let root = unsafe { libc::geteuid() } == 0;
        // Tried, not guessed: files like /dev/fuse say little about the rights of a container.
        match self {
            Need::Root if root => Ok(()),
            Need::Root => Err("needs root".into()),
            Need::NotRoot if root => Err("root is allowed what it tests for".into()),
            Need::NotRoot => Ok(()),
            Need::Fuse => FUSE.get_or_init(|| tried("FUSE", SlowMount::options().mount())).clone(),
            Need::LoopDevices => LOOP.get_or_init(|| tried("loop devices", Disk::ext4().megabytes(8).mount())).clone(),
            Need::Overlay => {
                let mounted = || crate::scratch().and_then(|lower| Disk::overlay(lower.path()));
                OVERLAY.get_or_init(|| tried("overlays", mounted())).clone()
            }
            Need::Preload => PRELOAD.get_or_init(|| tried("a C compiler", crate::preload::library())).clone(),
            Need::Symlinks | Need::OpenFilesReplaced | Need::NotWine | Need::Program(_) => {
                unreachable!("they are checked the same way everywhere")
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn check_on_this_system(self) -> Result<(), String> {
        Err(format!("needs Linux ({self:?})"))
    }
}

fn symlinks() -> Result<(), String> {
    let made = tempfile::tempdir().and_then(|temp| {
        let link = temp.path().join("link");
        crate::symlink("target", &link)?;
        // Wine reports success without making one.
        std::fs::symlink_metadata(link)
    });
    made.map(drop).map_err(|error| format!("needs symbolic links: {error}"))
}

fn open_files_replaced() -> Result<(), String> {
    let replaced = tempfile::tempdir().and_then(|temp| {
        let (old, new) = (temp.path().join("old"), temp.path().join("new"));
        std::fs::write(&old, "")?;
        std::fs::write(&new, "")?;
        let _open = std::fs::File::open(&old)?;
        std::fs::rename(new, old)
    });
    replaced.map_err(|error| format!("needs files that can be replaced while they are open: {error}"))
}

fn on_search_path(name: &str) -> Result<(), String> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    match std::env::split_paths(&search).any(|folder| folder.join(&file).is_file()) {
        true => Ok(()),
        false => Err(format!("needs the program {name}")),
    }
}

/// Says that the running test does not test anything here: prints `skipped: <test>: <why>` as a line of its own, which
/// the test harness does not swallow. The test returns after it.
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
