//! `Archive`: a file of an archive read, and an archive mounted.

use std::fs;
use std::path::Path;

use manyfiles_archive::Archive;

use super::commands::archive;
use super::row::{ARCHIVES, Row, ours};
use crate::scene::{Scene, large, small};
use crate::told::{Tale, Told};

const ARCHIVE: &str = "src/archive.tar";

pub fn rows() -> Vec<Row> {
    vec![ours(ARCHIVES, "Archive::read", archived, read), ours(ARCHIVES, "Archive::mount", archived, mount)]
}

fn archived() -> Scene {
    Scene::default().file_before(ARCHIVE, archive())
}

/// What is in it, under some of its names.
fn contents() -> [(&'static str, Vec<u8>); 3] {
    [("b/hard", small()), ("a/large", large()), ("empty", Vec::new())]
}

fn open(folder: &Path, tale: &mut Tale) -> Option<Archive> {
    // An index that is kept would be another archive's by the next run.
    match Archive::options().cache(None).open(folder.join(ARCHIVE)) {
        Ok(archive) => Some(archive),
        Err(error) => {
            let path = Some(error.archive().to_owned());
            tale.told.push(Told { path, errno: error.raw_os_error(), text: error.to_string() });
            None
        }
    }
}

fn read(folder: &Path, tale: &mut Tale) {
    let Some(archive) = open(folder, tale) else { return };
    for (name, content) in contents() {
        match tale.ours(archive.read(name)) {
            Some(bytes) if bytes != content => tale.wrong.push(name.into()),
            _ => {}
        }
    }
}

fn mount(folder: &Path, tale: &mut Tale) {
    // Should this process die, the mount goes with it.
    // SAFETY: the calls take numbers and constant strings.
    let is_apart = unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(c"none".as_ptr(), c"/".as_ptr(), std::ptr::null(), PRIVATE, std::ptr::null()) == 0
    };
    assert!(is_apart, "root can have mounts of its own");
    let Some(archive) = open(folder, tale) else { return };
    let at = folder.join("dst");
    let Some(mount) = tale.call(&at, archive.mount(&at)) else { return };
    for (name, content) in contents() {
        let path = at.join(name);
        match tale.call(&path, fs::read(&path)) {
            Some(bytes) if bytes != content => tale.wrong.push(path),
            _ => {}
        }
    }
    tale.call(&at, mount.unmount());
}

const PRIVATE: libc::c_ulong = libc::MS_REC | libc::MS_PRIVATE;
