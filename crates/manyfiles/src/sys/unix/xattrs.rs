//! Extended attributes, access control lists among them: read, set, and taken away.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::io::Errno;

use super::{Dir, Handle};
use crate::error::explained;
use crate::sys::{FileFlags, Keep, Things, Xattrs};

/// Whether the file has all these already.
pub(crate) fn has_xattrs(file: &Handle, xattrs: &Xattrs) -> bool {
    On::Handle(file.as_fd()).has(xattrs)
}

/// Sets them, and returns what could not be kept and need not be.
pub(crate) fn set_xattrs(file: &Handle, xattrs: &Xattrs, keep: &Keep) -> io::Result<Things> {
    On::Handle(file.as_fd()).set(xattrs, keep)
}

/// What is kept of the attributes of an open file, and what is lost because it is not kept, or cannot be read and need
/// not be.
pub(crate) fn xattrs_of(file: impl AsFd, keep: &Keep) -> io::Result<(Xattrs, Things)> {
    On::Handle(file.as_fd()).read(keep)
}

/// The same of what has the path itself, be it a link.
pub(crate) fn xattrs_at(path: &Path, keep: &Keep) -> io::Result<(Xattrs, Things)> {
    On::Name(path).read(keep)
}

/// Takes away what is not `given` of the things that are to be exactly as given. Whether an access control list was
/// taken away: the permissions have to be set then.
pub(crate) fn take_away_other_xattrs(file: impl AsFd, given: &Xattrs, exact: Things) -> io::Result<bool> {
    On::Handle(file.as_fd()).take_away_others(given, exact)
}

/// Whether the file has something of these things that is not `given`.
pub(crate) fn has_other_xattrs(file: &Handle, given: &Xattrs, exact: Things) -> io::Result<bool> {
    Ok(!On::Handle(file.as_fd()).others(given, exact)?.is_empty())
}

/// What a list that is `given` and could not be set says of the group that the file belongs to: without the list, the
/// permission bits would say what anybody in it may do at most.
pub(crate) fn mode_without_list(mode: u32, given: &Xattrs) -> u32 {
    #[cfg(target_os = "linux")]
    if let Some(really) = given.get(b"system.posix_acl_access").and_then(super::mirror::of_owning_group) {
        return mode & !0o070 | (mode >> 3 & 7 & really) << 3;
    }
    let _ = given;
    mode
}

/// Whether `error` says that something cannot be kept here: it is not allowed, or the file system does not have it. All
/// else is a failure.
pub(crate) fn cannot_be_kept(error: &io::Error) -> bool {
    const HERE: [i32; 11] = [
        libc::EPERM,
        libc::EACCES,
        libc::ENOTSUP,
        libc::EOPNOTSUPP,
        libc::EINVAL,
        libc::ENOSYS,
        libc::ENOTTY,
        libc::E2BIG,
        libc::ERANGE,
        libc::EOVERFLOW,
        libc::ENOSPC, // more than the file system takes of the attributes of one file
    ];
    error.raw_os_error().is_some_and(|number| HERE.contains(&number))
}

impl Dir {
    /// Gives the folder `name` its attributes, and its flags but for those that come last, through a handle of its own: a
    /// symbolic link that took its place is not followed. What it has already is not set again. Returns what could not
    /// be kept and need not be.
    pub(crate) fn set_folder_attributes(
        &self,
        name: &OsStr,
        xattrs: &Xattrs,
        exact: Things,
        flags: Option<FileFlags>,
        keep: &Keep,
    ) -> io::Result<Things> {
        use rustix::fs::OFlags;
        let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::io::retry_on_intr(|| rustix::fs::openat(&self.0, name, how, rustix::fs::Mode::empty()))?;
        let on = On::Handle(folder.as_fd());
        let mut lost = if on.has(xattrs) { Things::default() } else { on.set(xattrs, keep)? };
        if !exact.is_empty() {
            on.take_away_others(xattrs, exact)?;
        }
        if let Some(flags) = flags {
            let which = FileFlags::KEPT.without(FileFlags::LAST);
            let all = super::set_flags(&folder, flags, which)?;
            if !all || flags.has(FileFlags::LAST) && !super::is_privileged() {
                lost = lost.with(Things::FLAGS);
            }
        }
        Ok(lost)
    }
}

/// Sets those of what a path leads to, and takes away others of the `exact` things.
#[cfg(target_os = "linux")]
pub(super) fn set_at(path: &str, xattrs: &Xattrs, exact: Things, keep: &Keep) -> io::Result<Things> {
    let lost = On::Path(path).set(xattrs, keep)?;
    if !exact.is_empty() {
        On::Path(path).take_away_others(xattrs, exact)?;
    }
    Ok(lost)
}

/// Whose attributes.
#[derive(Clone, Copy)]
enum On<'a> {
    Handle(BorrowedFd<'a>),
    /// What the path leads to.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "handles have no paths there"))]
    Path(&'a str),
    /// What has the path itself.
    Name(&'a Path),
}

impl On<'_> {
    fn has(self, xattrs: &Xattrs) -> bool {
        xattrs.iter().all(|(name, value)| self.value(name).is_ok_and(|found| found == value))
    }

    fn read(self, keep: &Keep) -> io::Result<(Xattrs, Things)> {
        let (mut kept, mut lost) = (Xattrs::default(), Things::default());
        let read = self.each_name(&mut |name| {
            let Some(thing) = Keep::thing(name) else { return Ok(()) };
            if !keep.keeps_attribute(name) {
                lost = lost.with(thing);
                return Ok(());
            }
            match self.value(name) {
                Ok(value) => kept.set(name, &value),
                Err(error) if is_missing(&error) => {} // taken away meanwhile
                Err(error) if !keep.requires_attribute(name) && cannot_be_kept(&error) => lost = lost.with(thing),
                Err(error) => return Err(about(name, error, "read")),
            }
            Ok(())
        });
        match read {
            Err(error) if cannot_be_kept(&error) && !keep.demands(Things::XATTRS.with(Things::ACLS)) => {
                Ok((kept, lost.with(Things::XATTRS)))
            }
            read => read.map(|()| (kept, lost)),
        }
    }

    fn set(self, xattrs: &Xattrs, keep: &Keep) -> io::Result<Things> {
        let mut lost = Things::default();
        for (name, value) in xattrs.iter() {
            match self.set_one(name, value) {
                Ok(()) => {}
                Err(error) if !keep.requires_attribute(name) && cannot_be_kept(&error) => {
                    lost = lost.with(Keep::thing(name).unwrap_or_default());
                }
                Err(error) => return Err(about(name, error, "set")),
            }
        }
        Ok(lost)
    }

    fn others(self, given: &Xattrs, exact: Things) -> io::Result<Vec<Box<[u8]>>> {
        let mut others = Vec::new();
        self.each_name(&mut |name| {
            if Keep::thing(name).is_some_and(|thing| exact.has(thing)) && given.get(name).is_none() {
                others.push(name.into());
            }
            Ok(())
        })?;
        Ok(others)
    }

    fn take_away_others(self, given: &Xattrs, exact: Things) -> io::Result<bool> {
        let mut was_list = false;
        for name in self.others(given, exact)? {
            was_list |= Keep::thing(&name) == Some(Things::ACLS);
            match self.remove(&name) {
                Err(error) if !is_missing(&error) => return Err(about(&name, error, "taken away")),
                _ => {}
            }
        }
        Ok(was_list)
    }
}

fn about(name: &[u8], error: io::Error, what: &str) -> io::Error {
    let name = String::from_utf8_lossy(name);
    explained(error, format!("the extended attribute {name:?} cannot be {what}"))
}

#[cfg(target_vendor = "apple")]
const MISSING: Errno = Errno::NOATTR;
#[cfg(not(target_vendor = "apple"))]
const MISSING: Errno = Errno::NODATA;

fn is_missing(error: &io::Error) -> bool {
    error.raw_os_error() == Some(MISSING.raw_os_error())
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
mod calls {
    use rustix::fs::XattrFlags;
    use rustix::io::retry_on_intr as again;

    use super::*;

    /// No list of names and no value of Linux is longer. Other systems say how long theirs are, up to what is believed.
    const LONGEST: usize = if cfg!(target_os = "linux") { 64 << 10 } else { 16 << 20 };

    impl On<'_> {
        /// Shows each name. A file system without attributes has none.
        pub(super) fn each_name(self, visit: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
            let mut small = [0; 1024];
            let names = match into_small(&mut small, |names| self.list(names)) {
                Ok(names) => names,
                Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(()),
                #[cfg(target_os = "linux")]
                Err(Errno::BADF) => return Ok(()), // a handle that only looks names up
                Err(errno) => return Err(explained(errno.into(), "the names of extended attributes cannot be read")),
            };
            names.split(|&byte| byte == 0).filter(|name| !name.is_empty()).try_for_each(visit)
        }

        fn list(self, names: &mut [u8]) -> rustix::io::Result<usize> {
            again(|| match self {
                On::Handle(file) => rustix::fs::flistxattr(file, &mut *names),
                On::Path(path) => rustix::fs::listxattr(path, &mut *names),
                On::Name(path) => rustix::fs::llistxattr(path, &mut *names),
            })
        }

        pub(super) fn value(self, name: &[u8]) -> io::Result<Vec<u8>> {
            let mut small = [0; 1024];
            let value = into_small(&mut small, |value| {
                again(|| match self {
                    On::Handle(file) => rustix::fs::fgetxattr(file, name, &mut *value),
                    On::Path(path) => rustix::fs::getxattr(path, name, &mut *value),
                    On::Name(path) => rustix::fs::lgetxattr(path, name, &mut *value),
                })
            })?;
            Ok(value.into_owned())
        }

        pub(super) fn set_one(self, name: &[u8], value: &[u8]) -> io::Result<()> {
            let flags = XattrFlags::empty();
            Ok(again(|| match self {
                On::Handle(file) => rustix::fs::fsetxattr(file, name, value, flags),
                On::Path(path) => rustix::fs::setxattr(path, name, value, flags),
                On::Name(path) => rustix::fs::lsetxattr(path, name, value, flags),
            })?)
        }

        pub(super) fn remove(self, name: &[u8]) -> io::Result<()> {
            Ok(again(|| match self {
                On::Handle(file) => rustix::fs::fremovexattr(file, name),
                On::Path(path) => rustix::fs::removexattr(path, name),
                On::Name(path) => rustix::fs::lremovexattr(path, name),
            })?)
        }
    }

    /// Fills a small buffer, or one that is large enough.
    fn into_small<'a>(
        small: &'a mut [u8],
        fill: impl Fn(&mut [u8]) -> rustix::io::Result<usize>,
    ) -> rustix::io::Result<std::borrow::Cow<'a, [u8]>> {
        match fill(small) {
            Ok(len) => return Ok((&small[..len]).into()),
            Err(Errno::RANGE) => {}
            Err(errno) => return Err(errno),
        }
        let mut large = Vec::new();
        let mut len = LONGEST.min(64 << 10);
        loop {
            large.resize(len, 0);
            match fill(&mut large) {
                Ok(len) => {
                    large.truncate(len);
                    return Ok(large.into());
                }
                Err(Errno::RANGE) if len < LONGEST => len = (len * 4).min(LONGEST),
                Err(errno) => return Err(errno),
            }
        }
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
impl On<'_> {
    fn each_name(self, _visit: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        Ok(())
    }

    fn value(self, _name: &[u8]) -> io::Result<Vec<u8>> {
        Err(MISSING.into())
    }

    fn set_one(self, _name: &[u8], _value: &[u8]) -> io::Result<()> {
        Err(explained(Errno::NOTSUP.into(), "extended attributes are not set on this system"))
    }

    fn remove(self, _name: &[u8]) -> io::Result<()> {
        Ok(())
    }
}
