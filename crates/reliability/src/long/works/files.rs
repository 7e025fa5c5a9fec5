//! `Vfs`: more names than it keeps handles, and files that are put whole.

use std::fs;
use std::path::Path;

use manyfiles::vfs::Vfs;

use super::closes::on_threads;
use crate::long::content::{check_files, content, path};
use crate::long::work::{Place, Result, Size, Work};

const THREADS: u64 = 4;
const FOLDERS: u64 = 1_000;
const HANDLES: usize = 256;
/// How many other files a thread writes before it comes back to one: far more than there are handles.
const APART: u64 = 5_000;

/// A million names, each written in two pieces that are so far apart that its handle is closed between them, and read
/// back at times.
pub struct Names;

impl Names {
    fn files(size: Size) -> u64 {
        size.choose(1_000_000, 8_000)
    }
}

impl Work for Names {
    fn name(&self) -> &'static str {
        "vfs-names"
    }

    fn what(&self, size: Size) -> String {
        format!("`Vfs`: {} names, {HANDLES} handles, {THREADS} threads, two writes each", Names::files(size))
    }

    fn place(&self) -> Place {
        Place::Tmpfs
    }

    fn prepare(&self, folder: &Path, _size: Size) -> Result<()> {
        fs::create_dir(folder.join("files"))?;
        (0..FOLDERS).try_for_each(|n| fs::create_dir(folder.join(format!("files/{n}"))))?;
        Ok(())
    }

    fn run(&self, folder: &Path, size: Size) -> Result<u64> {
        let root = folder.join("files");
        let vfs = Vfs::options().handles(HANDLES).build();
        let files = Names::files(size);
        on_threads(THREADS, |thread| {
            let own: Vec<u64> = (thread..files).step_by(THREADS as usize).collect();
            let write = |n: u64, second: bool| {
                let bytes = content(n);
                let (one, two) = bytes.split_at(bytes.len() / 2);
                vfs.write(root.join(path(n, FOLDERS)), if second { two } else { one })
            };
            let apart = APART.min(own.len() as u64 / 2) as usize;
            for at in 0..own.len() + apart {
                if let Some(&n) = own.get(at) {
                    write(n, false)?;
                }
                if let Some(&n) = at.checked_sub(apart).and_then(|at| own.get(at)) {
                    write(n, true)?;
                    if at % 10 == 0 && vfs.read(root.join(path(n, FOLDERS)))? != content(n) {
                        return Err(format!("file {n} is read back with other bytes").into());
                    }
                }
            }
            Ok(())
        })?;
        vfs.finish()?;
        Ok(files)
    }

    fn check(&self, folder: &Path, size: Size, _done: u64) -> Result<()> {
        check_files(&folder.join("files"), Names::files(size), FOLDERS)
    }
}

/// Files that are put whole, into ever new folders.
pub struct Puts;

impl Puts {
    fn files(size: Size) -> u64 {
        size.choose(500_000, 4_000)
    }

    fn folders(size: Size) -> u64 {
        size.choose(100_000, 1_000)
    }
}

impl Work for Puts {
    fn name(&self) -> &'static str {
        "vfs-puts"
    }

    fn what(&self, size: Size) -> String {
        format!("`Vfs::put`: {} files in {} folders", Puts::files(size), Puts::folders(size))
    }

    fn place(&self) -> Place {
        Place::Tmpfs
    }

    fn prepare(&self, folder: &Path, size: Size) -> Result<()> {
        fs::create_dir(folder.join("files"))?;
        (0..Puts::folders(size)).try_for_each(|n| fs::create_dir(folder.join(format!("files/{n}"))))?;
        Ok(())
    }

    fn run(&self, folder: &Path, size: Size) -> Result<u64> {
        let root = folder.join("files");
        let (files, folders) = (Puts::files(size), Puts::folders(size));
        let vfs = Vfs::new();
        // Folder after folder, so that new ones come all the time.
        for number in 0..folders {
            for n in (number..files).step_by(folders as usize) {
                vfs.put(root.join(path(n, folders)), content(n))?;
            }
        }
        vfs.finish()?;
        Ok(files)
    }

    fn check(&self, folder: &Path, size: Size, _done: u64) -> Result<()> {
        check_files(&folder.join("files"), Puts::files(size), Puts::folders(size))
    }
}
