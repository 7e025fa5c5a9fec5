//! [`Can`]: the folders that are a trash.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, mkdirat, openat, renameat, statat};
use rustix::io::{Errno, retry_on_intr as again};

use super::info::{Info, content};
use super::open_folder;
use super::place::{Mount, Place, ids_of_it_and_above, mount_of};

/// A trash on one file system.
pub(super) struct Can {
    files: OwnedFd,
    info: OwnedFd,
    /// The folder that its infos' paths are relative to. `None`: they are absolute.
    top: Option<PathBuf>,
}

/// Only its owner may look into a trash.
const PRIVATE: Mode = Mode::RWXU;

impl Can {
    /// This user's trash on the file system of `place`, made if it is not there. The home trash is the first choice.
    pub(super) fn find(place: &Place) -> io::Result<Can> {
        let mut why = Vec::new();
        if let Some(home) = home() {
            match at_home(&home, place.mount) {
                Ok(Some(trash)) => match Can::within(&trash, None) {
                    Ok(can) => return Ok(can),
                    Err(error) => why.push(format!("{}: {error}", home.display())),
                },
                Ok(None) => {} // on another file system
                Err(error) => why.push(format!("{}: {error}", home.display())),
            }
        }
        let top = place.top()?;
        for names in names_at_the_top() {
            let path = names.iter().fold(top.clone(), |path, name| path.join(name));
            match at_the_top(&top, &names).and_then(|trash| Can::within(&trash, Some(top.clone()))) {
                Ok(can) => return Ok(can),
                // An administrator has made no common one, as hardly any does.
                Err(error) if names.len() == 2 && error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => why.push(format!("{}: {error}", path.display())),
            }
        }
        Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("no trash on its file system: {}", why.join("; "))))
    }

    fn within(trash: &OwnedFd, top: Option<PathBuf>) -> io::Result<Can> {
        let [files, info] = ["files", "info"].map(|name| own_folder(trash, name.as_ref()));
        Ok(Can { files: files?, info: info?, top })
    }

    /// Moves it here.
    pub(super) fn take(&self, place: &Place) -> io::Result<()> {
        let path = self.top.as_deref().and_then(|top| place.path.strip_prefix(top).ok()).unwrap_or(&place.path);
        let content = content(path);
        let mut attempt = 0;
        loop {
            let info = Info::create(&self.info, &place.name, &mut attempt, &content)?;
            match self.rename(place, info.name()) {
                Ok(()) => {
                    info.keep();
                    return Ok(());
                }
                // A file that nobody has written an info for.
                Err(Errno::EXIST) => {}
                Err(Errno::XDEV) => {
                    let why = "the system says that it is of another file system than the trash, as of what a lower \
                               layer of an overlay has";
                    return Err(io::Error::new(io::ErrorKind::CrossesDevices, why));
                }
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Renames it to what has no such name yet.
    fn rename(&self, place: &Place, name: &OsStr) -> Result<(), Errno> {
        #[cfg(target_os = "linux")]
        match again(|| {
            let new = rustix::fs::RenameFlags::NOREPLACE;
            rustix::fs::renameat_with(&place.folder, &place.name, &self.files, name, new)
        }) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {} // A file system, or a kernel, without it.
            renamed => return renamed,
        }
        // Who writes here has an info of this name first, and that is ours.
        match again(|| statat(&self.files, name, AtFlags::SYMLINK_NOFOLLOW)) {
            Err(Errno::NOENT) => again(|| renameat(&place.folder, &place.name, &self.files, name)),
            Ok(_) => Err(Errno::EXIST),
            Err(errno) => Err(errno),
        }
    }
}

/// What has a trash in it, is one, or is in one stays: there would be infos without files, and files without infos.
pub(super) fn check_not_in_or_above(place: &Place) -> io::Result<()> {
    let top = place.top()?;
    let at_top = names_at_the_top().map(|names| names.iter().fold(top.clone(), |path, name| path.join(name)));
    // A link is none of ours, whatever it leads to.
    let at_top = at_top.into_iter().filter(|path| path.symlink_metadata().is_ok_and(|it| it.is_dir()));
    let above = place.path.parent().map(ids_of_it_and_above).unwrap_or_default();
    for trash in home().into_iter().chain(at_top) {
        let ids = ids_of_it_and_above(&trash);
        let Some(own) = ids.first() else { continue };
        let what = match () {
            () if *own == place.id => "it is the trash",
            () if ids.contains(&place.id) => "the trash is in it",
            () if above.contains(own) => "it is in the trash",
            () => continue,
        };
        let why = format!("{what}, {}", trash.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    Ok(())
}

/// Where the home trash is, or would be.
fn home() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))?;
    Some(data.join("Trash"))
}

/// The home trash, if it is on that file system. Folders that are missing are made, but not in another user's: root may
/// have that one's home as its own.
fn at_home(path: &Path, mount: Mount) -> io::Result<Option<OwnedFd>> {
    let mut missing = Vec::new();
    let mut at = path;
    let mut folder = loop {
        match open_folder(at) {
            Ok(folder) => break folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let (Some(above), Some(name)) = (at.parent(), at.file_name()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        missing.push(name);
        at = above;
    };
    if mount_of(&folder)? != mount {
        return Ok(None);
    }
    check_owner(&folder)?;
    for name in missing.into_iter().rev() {
        folder = own_folder(&folder, name)?;
    }
    Ok(Some(folder))
}

/// The two that there may be in the top folder of a file system: one in a common folder, which an administrator makes,
/// and one alone.
fn names_at_the_top() -> [Vec<OsString>; 2] {
    let user = rustix::process::geteuid().as_raw();
    [vec![".Trash".into(), user.to_string().into()], vec![format!(".Trash-{user}").into()]]
}

fn at_the_top(top: &Path, names: &[OsString]) -> io::Result<OwnedFd> {
    let top = open_folder(top)?;
    match names {
        [common, own] => {
            let common = open_in(&top, common)?;
            if !Mode::from_raw_mode(fstat(&common)?.st_mode).contains(Mode::SVTX) {
                let why = "the folder that it would be in is not sticky: others could take it away";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
            own_folder(&common, own)
        }
        [own] => own_folder(&top, own),
        _ => unreachable!("one or two names"),
    }
}

/// Opens a folder of this user's, which is made if it is not there.
fn own_folder(above: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    match again(|| mkdirat(above, name, PRIVATE)) {
        Ok(()) | Err(Errno::EXIST) => {}
        // What is there counts, also where nothing can be made.
        Err(errno) if statat(above, name, AtFlags::SYMLINK_NOFOLLOW).is_err() => return Err(errno.into()),
        Err(_) => {}
    }
    let folder = open_in(above, name)?;
    check_owner(&folder)?;
    Ok(folder)
}

/// Opens a folder, and follows no link.
fn open_in(above: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let stat = again(|| statat(above, name, AtFlags::SYMLINK_NOFOLLOW))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is a link or a file, and no folder"));
    }
    let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(again(|| openat(above, name, how, Mode::empty()))?)
}

fn check_owner(folder: impl AsFd) -> io::Result<()> {
    if fstat(folder)?.st_uid == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "the folder is another user's"))
}
