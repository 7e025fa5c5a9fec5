//! `TreeWriter`: a million files, trees as deep as few are, and folders that cannot be made.

use std::fs;
use std::path::Path;

use manyfiles::tree::TreeWriter;

use crate::long::content::{check_count, check_file, check_files, content, path};
use crate::long::work::{Holds, Place, Result, Size, Work};

const FILES: u64 = 1_000_000;
const FEW_FILES: u64 = 10_000;
/// Bytes that a tree keeps for each folder and each failure, with names as they are here.
const FOLDER: u64 = 220;
const FAILURE: u64 = 250;

/// A million files in so many folders, in turn: no two files that follow each other are in one folder.
pub struct Folders {
    pub name: &'static str,
    pub folders: u64,
}

impl Folders {
    fn folders(&self, size: Size) -> u64 {
        if self.folders == 1 { 1 } else { size.choose(self.folders, self.folders / 100) }
    }
}

impl Work for Folders {
    fn name(&self) -> &'static str {
        self.name
    }

    fn what(&self, size: Size) -> String {
        match self.folders(size) {
            1 => format!("`TreeWriter`: {} files in one folder", size.choose(FILES, FEW_FILES)),
            folders => format!("`TreeWriter`: {} files in {folders} folders", size.choose(FILES, FEW_FILES)),
        }
    }

    fn place(&self) -> Place {
        if self.folders == 1 { Place::Tmpfs } else { Place::Ext4 }
    }

    fn holds(&self) -> Option<Holds> {
        let count = |size: Size| size.choose(100_000, 1_000);
        // docs/design.md, "What is bounded".
        (self.folders > 1).then_some(Holds { bytes: FOLDER, each: "folder", count })
    }

    fn run(&self, folder: &Path, size: Size) -> Result<u64> {
        let folders = self.folders(size);
        let tree = TreeWriter::open(folder.join("tree"))?;
        for n in 0..size.choose(FILES, FEW_FILES) {
            tree.file(path(n, folders), content(n))?;
        }
        Ok(tree.finish()?.files)
    }

    fn check(&self, folder: &Path, size: Size, done: u64) -> Result<()> {
        let files = size.choose(FILES, FEW_FILES);
        if done != files {
            return Err(format!("{done} files in the report, and not {files}").into());
        }
        check_files(&folder.join("tree"), files, self.folders(size))
    }
}

/// A published tree of 500 folders, one in the other, that takes the place of the one before, again and again: the
/// library removes the old one. Every other has names so long that no path of the system leads to its end.
pub struct Deep;

const DEPTH: u64 = 500;
const LONG: usize = 200;

impl Deep {
    fn rounds(size: Size) -> u64 {
        size.choose(100, 2)
    }

    /// Files in each folder.
    fn files(size: Size) -> u64 {
        size.choose(10, 2)
    }

    fn write(folder: &Path, name: &str, files: u64) -> Result<u64> {
        let tree = TreeWriter::options().publish(true).open(folder.join("deep"))?;
        let mut path = String::new();
        for depth in 0..DEPTH {
            path += name;
            path += "/";
            for n in 0..files {
                tree.file(format!("{path}{n}"), content(depth * files + n))?;
            }
        }
        Ok(tree.finish()?.files)
    }
}

impl Work for Deep {
    fn name(&self) -> &'static str {
        "deep"
    }

    fn what(&self, size: Size) -> String {
        let (rounds, files) = (Deep::rounds(size), Deep::files(size));
        format!("`TreeWriter`, published {rounds} times: {DEPTH} folders deep, {files} files in each")
    }

    fn place(&self) -> Place {
        Place::Tmpfs
    }

    fn run(&self, folder: &Path, size: Size) -> Result<u64> {
        let mut files = 0;
        let long = "d".repeat(LONG);
        for _ in 0..Deep::rounds(size) / 2 {
            files += Deep::write(folder, &long, Deep::files(size))?;
            files += Deep::write(folder, "d", Deep::files(size))?;
        }
        Ok(files)
    }

    fn check(&self, folder: &Path, size: Size, done: u64) -> Result<()> {
        let files = Deep::files(size);
        if done != Deep::rounds(size) * DEPTH * files {
            return Err(format!("{done} files in the reports").into());
        }
        // The tree alone: none that was left in the making, none that was replaced.
        check_count(folder, 1)?;
        let mut at = folder.join("deep");
        for depth in 0..DEPTH {
            check_count(&at, if depth == 0 { 1 } else { files + 1 })?;
            at.push("d");
            (0..files).try_for_each(|n| check_file(&at.join(n.to_string()), depth * files + n))?;
        }
        check_count(&at, files)
    }
}

/// Files in folders that cannot be made, because a file has the name of the one above them. Each is a failure of the
/// report.
pub struct Refused;

impl Refused {
    fn files(size: Size) -> u64 {
        size.choose(500_000, 5_000)
    }
}

impl Work for Refused {
    fn name(&self) -> &'static str {
        "refused"
    }

    fn what(&self, size: Size) -> String {
        format!("`TreeWriter`: {} files, each in a folder that cannot be made", Refused::files(size))
    }

    fn unit(&self) -> &'static str {
        "failures"
    }

    fn place(&self) -> Place {
        Place::Tmpfs
    }

    fn holds(&self) -> Option<Holds> {
        // docs/design.md, "What is bounded": the folder and the failure.
        Some(Holds { bytes: FOLDER + FAILURE, each: "failure", count: Refused::files })
    }

    fn prepare(&self, folder: &Path, _size: Size) -> Result<()> {
        fs::write(folder.join("taken"), content(1))?;
        Ok(())
    }

    fn run(&self, folder: &Path, size: Size) -> Result<u64> {
        let tree = TreeWriter::open(folder)?;
        (0..Refused::files(size)).try_for_each(|n| tree.file(format!("taken/{n}/file"), content(n)))?;
        match tree.finish() {
            Err(incomplete) => Ok(incomplete.report().failures.len() as u64),
            Ok(_) => Err("nothing failed".into()),
        }
    }

    fn check(&self, folder: &Path, size: Size, done: u64) -> Result<()> {
        if done != Refused::files(size) {
            return Err(format!("{done} failures were told").into());
        }
        check_count(folder, 1)?;
        check_file(&folder.join("taken"), 1)
    }
}
