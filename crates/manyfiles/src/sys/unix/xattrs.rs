//! Extended attributes.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;

use super::{Dir, Handle};
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
use crate::error::explained;
use crate::sys::Xattrs;

/// Whether the file has all these already.
pub(crate) fn has_xattrs(file: &Handle, xattrs: &Xattrs) -> bool {
    has(file, xattrs)
}

pub(crate) fn set_xattrs(file: &Handle, xattrs: &Xattrs) -> io::Result<()> {
    set(file, xattrs)
}

impl Dir {
    /// Sets those of the folder `name` through a handle of its own: a symbolic link that took its place is not
    /// followed. A folder that has them is not touched.
    pub(crate) fn set_folder_xattrs(&self, name: &OsStr, xattrs: &Xattrs) -> io::Result<()> {
        use rustix::fs::OFlags;
        let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::io::retry_on_intr(|| rustix::fs::openat(&self.0, name, how, rustix::fs::Mode::empty()))?;
        if has(&folder, xattrs) { Ok(()) } else { set(&folder, xattrs) }
    }
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn has(file: impl AsFd, xattrs: &Xattrs) -> bool {
    xattrs.iter().all(|(name, value)| {
        let mut found = vec![0; value.len() + 1];
        let len = rustix::io::retry_on_intr(|| rustix::fs::fgetxattr(file.as_fd(), name, &mut found[..]));
        len.is_ok_and(|len| found[..len] == *value)
    })
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn set(file: impl AsFd, xattrs: &Xattrs) -> io::Result<()> {
    let flags = rustix::fs::XattrFlags::empty();
    each(xattrs, |name, value| rustix::fs::fsetxattr(file.as_fd(), name, value, flags))
}

/// Sets those of what a path leads to.
#[cfg(target_os = "linux")]
pub(super) fn set_at(path: &str, xattrs: &Xattrs) -> io::Result<()> {
    let flags = rustix::fs::XattrFlags::empty();
    each(xattrs, |name, value| rustix::fs::setxattr(path, name, value, flags))
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn each(xattrs: &Xattrs, set: impl Fn(&[u8], &[u8]) -> rustix::io::Result<()>) -> io::Result<()> {
    for (name, value) in xattrs.iter() {
        rustix::io::retry_on_intr(|| set(name, value)).map_err(|errno| {
            let name = String::from_utf8_lossy(name);
            explained(errno.into(), format!("the extended attribute {name:?} cannot be set"))
        })?;
    }
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn has(_file: impl AsFd, xattrs: &Xattrs) -> bool {
    xattrs.is_empty()
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn set(_file: impl AsFd, xattrs: &Xattrs) -> io::Result<()> {
    let why = "extended attributes are not set on this system";
    if xattrs.is_empty() { Ok(()) } else { Err(io::Error::new(io::ErrorKind::Unsupported, why)) }
}
