//! The trash of freedesktop.org's specification 1.0. What is moved there is renamed, or stays as it is.
//!
//! A copy to another file system would take time and room, lose what a copy does not keep, and leave two halves when it
//! fails. So there is none: what cannot be renamed is an error. Each step is made relative to open folders, and no link
//! is followed to a trash that others could have planted.
//!
//! - [`place`]: where something is, what is mounted there, and on which file system.
//! - [`can`]: the folders that are a trash: found, or made.
//! - [`info`]: the name that something gets there, and the file that tells where it was.
//!
//! A process that is killed leaves an info without a file, which trashes ignore, or has moved it whole.

mod can;
mod info;
mod place;

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::retry_on_intr as again;

use can::Can;
use place::Place;

/// Moves what is at `path` to this user's trash, by a rename. A link is moved itself.
pub(crate) fn trash(path: &Path) -> io::Result<()> {
    let moved = Place::of(path).and_then(|place| {
        place.check_no_mounts()?;
        can::check_not_in_or_above(&place)?;
        Can::find(&place)?.take(&place)
    });
    moved.map_err(|why| {
        let advice = "remove it without --trash, or move it by hand";
        io::Error::new(why.kind(), format!("it cannot be moved to a trash by a rename ({why}): {advice}"))
    })
}

/// Opens a folder by a path that this user chose.
fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    let how = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let how = OFlags::RDONLY;
    Ok(again(|| rustix::fs::openat(CWD, path, how | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()))?)
}
