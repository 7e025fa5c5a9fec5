//! `TreeWriter`: a million files, and trees as deep as few are.

use std::path::Path;

use manyfiles::tree::TreeWriter;

use crate::long::content::{check_count, check_file, check_files, content, path};
use crate::long::work::{Holds, Place, Result, Size, Work};

const FILES: u64 = 1_000_000;
const FEW_FILES: u64 = 10_000;

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
        (self.folders > 1).then_some(Holds { bytes: 230, each: "folder", count })
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
const IN_EACH: u64 = 10;
const LONG: usize = 200;

impl Deep {
    fn rounds(size: Size) -> u64 {
        size.choose(100, 2)
    }

    fn write(folder: &Path, name: &str) -> Result<u64> {
        let tree = TreeWriter::options().publish(true).open(folder.join("deep"))?;
        let mut path = String::new();
        for depth in 0..DEPTH {
            path += name;
            path += "/";
            for n in 0..IN_EACH {
                tree.file(format!("{path}{n}"), content(depth * IN_EACH + n))?;
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
        let rounds = Deep::rounds(size);
        format!("`TreeWriter`, published {rounds} times: {DEPTH} folders deep, {IN_EACH} files in each")
    }

    fn place(&self) -> Place {
        Place::Tmpfs
    }

    fn run(&self, folder: &Path, size: Size) -> Result<u64> {
        let mut files = 0;
        let long = "d".repeat(LONG);
        for _ in 0..Deep::rounds(size) / 2 {
            files += Deep::write(folder, &long)?;
            files += Deep::write(folder, "d")?;
        }
        Ok(files)
    }

    fn check(&self, folder: &Path, size: Size, done: u64) -> Result<()> {
        if done != Deep::rounds(size) * DEPTH * IN_EACH {
            return Err(format!("{done} files in the reports").into());
        }
        // The tree alone: none that was left in the making, none that was replaced.
        check_count(folder, 1)?;
        let mut at = folder.join("deep");
        for depth in 0..DEPTH {
            check_count(&at, if depth == 0 { 1 } else { IN_EACH + 1 })?;
            at.push("d");
            (0..IN_EACH).try_for_each(|n| check_file(&at.join(n.to_string()), depth * IN_EACH + n))?;
        }
        check_count(&at, IN_EACH)
    }
}
