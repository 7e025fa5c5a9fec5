//! `--gitignore`: what git ignores, by the files in the repository.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::walk::Found;

/// What the .gitignore files say that were read so far.
pub(super) struct Ignored {
    /// By folder; `None` for one without such a file.
    files: HashMap<PathBuf, Option<Gitignore>>,
    /// What is wrong with such files.
    pub warnings: Vec<String>,
}

impl Ignored {
    pub(super) fn new() -> Ignored {
        Ignored { files: HashMap::new(), warnings: Vec::new() }
    }

    /// Whether git ignores the entry. What is below an ignored folder is not asked for.
    pub(super) fn has(&mut self, found: &Found) -> bool {
        if found.absolute.file_name().is_some_and(|name| name == ".git") {
            return true;
        }
        let is_folder = found.metadata.is_dir();
        let mut folder = found.absolute.parent();
        // The nearest file that says something decides.
        while let Some(at) = folder {
            let (decided, is_top) = self.ask(at, &found.absolute, is_folder);
            if let Some(is_ignored) = decided {
                return is_ignored;
            }
            if is_top {
                break;
            }
            folder = at.parent();
        }
        false
    }

    /// What the file of this folder says, and whether the folder is the top of a repository.
    fn ask(&mut self, folder: &Path, path: &Path, is_folder: bool) -> (Option<bool>, bool) {
        if !self.files.contains_key(folder) {
            let read = self.read(folder);
            self.files.insert(folder.to_path_buf(), read);
        }
        let decided = self.files[folder].as_ref().and_then(|file| match file.matched(path, is_folder) {
            ignore::Match::None => None,
            ignore::Match::Ignore(_) => Some(true),
            ignore::Match::Whitelist(_) => Some(false),
        });
        (decided, folder.join(".git").exists())
    }

    fn read(&mut self, folder: &Path) -> Option<Gitignore> {
        let mut builder = GitignoreBuilder::new(folder);
        // Later lines win over earlier ones: the repository's own list is the weakest.
        for file in [".git/info/exclude", ".gitignore"] {
            let file = folder.join(file);
            if !file.is_file() {
                continue;
            }
            if let Some(error) = builder.add(&file) {
                self.warnings.push(error.to_string());
            }
        }
        match builder.build() {
            Ok(file) if file.is_empty() => None,
            Ok(file) => Some(file),
            Err(error) => {
                self.warnings.push(format!("{}: {error}", folder.display()));
                None
            }
        }
    }
}
