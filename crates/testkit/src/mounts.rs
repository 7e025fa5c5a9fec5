//! Where mounts are put, and how they go away again, even those of a process that was killed.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use tempfile::TempDir;

use crate::cc::run;
use crate::scratch::{PREFIX, new_folder};

/// A temporary folder for what belongs on a disk.
pub(crate) fn disk_folder() -> io::Result<TempDir> {
    new_folder(std::env::temp_dir())
}

/// Unmounts and removes mounts that killed processes left behind. Once per process; failures are ignored.
pub(crate) fn sweep() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let orphaned = |path: &Path| {
            let owner = path.components().find_map(|part| {
                let name = part.as_os_str().to_str()?.strip_prefix(PREFIX)?;
                name.split_once('-')?.0.parse::<u32>().ok()
            });
            owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
        };
        for mount in mounted().unwrap_or_default().into_iter().rev().filter(|mount| orphaned(mount)) {
            report(unmount(&mount));
        }
        for parent in [PathBuf::from("/dev/shm"), std::env::temp_dir()] {
            for folder in std::fs::read_dir(parent).into_iter().flatten().flatten() {
                if orphaned(&folder.path()) {
                    report(std::fs::remove_dir_all(folder.path()));
                }
            }
        }
    });
}

/// The mount points of this system, in the order they were mounted.
pub(crate) fn mounted() -> io::Result<Vec<PathBuf>> {
    let text = std::fs::read_to_string("/proc/self/mountinfo")?;
    Ok(text.lines().filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from).collect())
}

pub(crate) fn is_mounted(path: &Path) -> io::Result<bool> {
    Ok(mounted()?.iter().any(|mount| mount == path))
}

/// Unmounts; if something still uses the mount, takes it out of the tree at least.
pub(crate) fn unmount(path: &Path) -> io::Result<()> {
    if !is_mounted(path)? {
        return Ok(());
    }
    // SAFETY: no memory is shared; geteuid cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        run(Command::new("fusermount3").arg("-uz").arg(path))?;
        return Ok(());
    }
    if run(Command::new("umount").arg(path)).is_err() {
        run(Command::new("umount").arg("-l").arg(path))?;
    }
    Ok(())
}

/// Prints an error of a `drop`, which cannot return it.
pub(crate) fn report(result: io::Result<()>) {
    if let Err(e) = result {
        eprintln!("testkit: cannot clean up: {e}");
    }
}
