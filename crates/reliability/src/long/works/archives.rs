//! Archives of a million entries.

use std::fs;
use std::path::Path;

use manyfiles::tree::{Metadata, TreeWriter};
use manyfiles_archive::{ArchiveWriter, Input, SourceFile, Unpacker};

use crate::long::content::{check_count, check_files, content, path};
use crate::long::work::{Holds, Place, Result, Size, Work};

const FOLDERS: u64 = 1_000;

fn files(size: Size) -> u64 {
    size.choose(1_000_000, 5_000)
}

fn unpack(archive: &Path, to: &Path, size: Size) -> Result<u64> {
    // What the command does: of several entries of one path, the last is the one that counts.
    let tree = TreeWriter::options().last_wins(true).open(to)?;
    let summary = Unpacker::new().unpack(Input::File(archive.into()), &tree)?;
    let report = tree.finish()?;
    if (summary.entries, report.files) != (files(size), files(size)) {
        return Err(format!("{} entries were read, {} files written", summary.entries, report.files).into());
    }
    Ok(report.files)
}

/// A million files on the disk into one archive.
pub struct Pack {
    pub name: &'static str,
    pub file: &'static str,
}

impl Work for Pack {
    fn name(&self) -> &'static str {
        self.name
    }

    fn what(&self, size: Size) -> String {
        format!("`ArchiveWriter`: {} files into a {}", files(size), &self.file[2..])
    }

    fn place(&self) -> Place {
        Place::Tmpfs
    }

    fn holds(&self) -> Option<Holds> {
        // `ArchiveWriter`, "Bounded".
        // Names have 10 bytes here.
        self.file.ends_with(".zip").then_some(Holds { bytes: 110, each: "entry", count: files })
    }

    fn prepare(&self, folder: &Path, size: Size) -> Result<()> {
        let tree = TreeWriter::open(folder.join("files"))?;
        (0..files(size)).try_for_each(|n| tree.file(path(n, FOLDERS), content(n)))?;
        tree.finish()?;
        Ok(())
    }

    fn run(&self, folder: &Path, size: Size) -> Result<u64> {
        let archive = ArchiveWriter::create(folder.join(self.file))?;
        for n in 0..files(size) {
            let name = path(n, FOLDERS);
            archive.file_from(&name, SourceFile::at(folder.join("files").join(&name))?, Metadata::default())?;
        }
        Ok(archive.finish()?.files)
    }

    fn check(&self, folder: &Path, size: Size, done: u64) -> Result<()> {
        if done != files(size) {
            return Err(format!("{done} files in the archive").into());
        }
        // There is room for one of both.
        manyfiles_measure::remove_tree(&folder.join("files"))?;
        check_count(folder, 1)?;
        unpack(&folder.join(self.file), &folder.join("unpacked"), size)?;
        check_files(&folder.join("unpacked"), files(size), FOLDERS)
    }
}

/// An archive of a million files, unpacked.
pub struct Unpack {
    pub name: &'static str,
    pub file: &'static str,
}

impl Work for Unpack {
    fn name(&self) -> &'static str {
        self.name
    }

    fn what(&self, size: Size) -> String {
        format!("`Unpacker`: {} files out of a {}", files(size), &self.file[2..])
    }

    fn place(&self) -> Place {
        Place::Tmpfs
    }

    fn holds(&self) -> Option<Holds> {
        // `tree::Options::last_wins`; and a zip's directory, with a name of 10 bytes, a time, and two numbers of each.
        let bytes = if self.file.ends_with(".zip") { 20 + 46 + 10 + 9 + 8 } else { 20 };
        Some(Holds { bytes, each: "entry", count: files })
    }

    fn prepare(&self, folder: &Path, size: Size) -> Result<()> {
        let archive = ArchiveWriter::create(folder.join(self.file))?;
        (0..files(size)).try_for_each(|n| archive.file(path(n, FOLDERS), content(n), Metadata::default()))?;
        archive.finish()?;
        Ok(())
    }

    fn run(&self, folder: &Path, size: Size) -> Result<u64> {
        unpack(&folder.join(self.file), &folder.join("unpacked"), size)
    }

    fn check(&self, folder: &Path, size: Size, _done: u64) -> Result<()> {
        fs::remove_file(folder.join(self.file))?;
        check_count(folder, 1)?;
        check_files(&folder.join("unpacked"), files(size), FOLDERS)
    }
}
