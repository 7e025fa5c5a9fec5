//! git as an entrant: repositories to check out of and to add to.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use manyfiles_testkit::Need;

use crate::process::said_by;

/// A repository by itself: it has no work tree of its own.
#[derive(Clone)]
pub struct Repository(PathBuf);

impl Repository {
    /// An empty one. Errors where git is not installed.
    pub fn empty(folder: &Path) -> Result<Repository> {
        Need::Program("git").check().map_err(anyhow::Error::msg)?;
        let repository = Repository::at(folder);
        said_by(repository.git(&["core.bare=true"]).args(["init", "--quiet"]))?;
        Ok(repository)
    }

    /// The one that is there.
    pub fn at(folder: &Path) -> Repository {
        Repository(folder.to_owned())
    }

    /// One whose index and only pack hold what is below `source`.
    pub fn packed(source: &Path, folder: &Path) -> Result<Repository> {
        let repository = Repository::empty(folder)?;
        said_by(&mut repository.add(source, &[]))?;
        let tree = said_by(repository.git(&[]).arg("write-tree"))?;
        // What nothing refers to would not be packed.
        let mut commit = repository.git(&["user.name=benchmark", "user.email=benchmark"]);
        let commit = said_by(commit.args(["commit-tree", "-m", "tree", tree.trim()]))?;
        said_by(repository.git(&[]).args(["update-ref", "refs/heads/tree", commit.trim()]))?;
        said_by(repository.git(&[]).args(["repack", "-a", "-d", "-q"]))?;
        Ok(repository)
    }

    /// `git add` of all that is below `source`.
    pub fn add(&self, source: &Path, settings: &[&str]) -> Command {
        let mut git = self.git_in(source, settings);
        git.args(["add", "--all", "--", "."]);
        git
    }

    /// Writes all that the index names below `to`.
    pub fn check_out(&self, to: &Path, settings: &[&str]) -> Command {
        let mut prefix = to.as_os_str().to_owned();
        prefix.push("/");
        // It wants to be in a work tree, and looks at none of its files. The repository itself can't be one.
        let mut git = self.git_in(self.0.parent().unwrap_or(&self.0), settings);
        git.args(["checkout-index", "--all", "--prefix"]).arg(prefix);
        git
    }

    fn git_in(&self, work_tree: &Path, settings: &[&str]) -> Command {
        let mut git = self.git(&[&["core.bare=false"], settings].concat());
        git.arg("--work-tree").arg(work_tree).current_dir(work_tree);
        git
    }

    /// Errors unless so many objects lie there loose, each a file.
    pub fn has_loose(&self, objects: usize) -> Result<()> {
        let said = said_by(self.git(&[]).arg("count-objects"))?;
        ensure!(said.split(' ').next() == Some(&objects.to_string()), "{objects} were added, and git says: {said}");
        Ok(())
    }

    /// git on this repository, whatever its user has configured.
    fn git(&self, settings: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_DIR", &self.0);
        for setting in settings {
            git.args(["-c", setting]);
        }
        git
    }
}
