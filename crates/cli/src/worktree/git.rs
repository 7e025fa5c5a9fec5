//! Calls of the program git.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// What git said when it failed.
#[derive(Debug)]
pub(super) struct Refused(pub(super) String);

pub(super) type Result<T> = std::result::Result<T, Refused>;

/// git, in a folder.
#[derive(Clone, Debug)]
pub(super) struct Git(pub(super) PathBuf);

impl Git {
    fn command(&self, arguments: &[&OsStr]) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.0).args(arguments);
        // Set in hooks and by some programs; the folder decides here.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"] {
            command.env_remove(name);
        }
        command
    }

    /// What it prints.
    pub(super) fn read<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Vec<u8>> {
        self.read_with(arguments, Vec::new())
    }

    /// What it prints when it is given `input`.
    pub(super) fn read_with<S: AsRef<OsStr>>(&self, arguments: &[S], input: Vec<u8>) -> Result<Vec<u8>> {
        let arguments: Vec<&OsStr> = arguments.iter().map(AsRef::as_ref).collect();
        let told = |error: io::Error| Refused(format!("git cannot be run: {error}"));
        let pipes = [Stdio::piped(), Stdio::piped(), Stdio::piped()];
        let [stdin, stdout, stderr] = pipes;
        let mut git = self.command(&arguments).stdin(stdin).stdout(stdout).stderr(stderr).spawn().map_err(told)?;
        let mut stdin = git.stdin.take().expect("it is a pipe");
        // It prints before it has read all. That it reads no more is told by how it ends.
        let output = thread::scope(|scope| {
            scope.spawn(move || drop(stdin.write_all(&input)));
            git.wait_with_output()
        });
        let output = output.map_err(told)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        let what = arguments.first().map(|word| word.to_string_lossy()).unwrap_or_default();
        Err(Refused(if said.is_empty() { format!("git {what} failed: {}", output.status) } else { said }))
    }

    /// The one line that it prints.
    pub(super) fn line<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<OsString> {
        let mut line = self.read(arguments)?;
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        Ok(OsString::from_vec(line))
    }

    /// Where a file of git's is.
    pub(super) fn path(&self, name: &str) -> Result<PathBuf> {
        Ok(self.0.join(self.line(&["rev-parse", "--git-path", name])?))
    }

    /// The values of these keys: the last one of each counts.
    pub(super) fn config(&self, keys: &str) -> Vec<(String, String)> {
        // It fails if there is none.
        let read = self.read(&["config", "-z", "--get-regexp", keys]).unwrap_or_default();
        let values = read.split(|&byte| byte == 0).filter(|value| !value.is_empty()).map(|value| {
            let value = String::from_utf8_lossy(value);
            // A key alone means yes.
            let (key, value) = value.split_once('\n').unwrap_or((&value, "true"));
            (key.to_ascii_lowercase(), value.to_owned())
        });
        values.collect()
    }
}

/// A worktree, as `git worktree list` tells it.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) path: PathBuf,
    pub(super) is_bare: bool,
    pub(super) locked: Option<String>,
}

pub(super) fn worktrees(git: &Git) -> Result<Vec<Listed>> {
    let told = git.read(&["worktree", "list", "--porcelain", "-z"])?;
    let mut all: Vec<Listed> = Vec::new();
    for line in told.split(|&byte| byte == 0) {
        let (word, rest) = match line.iter().position(|&byte| byte == b' ') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &[][..]),
        };
        match (word, all.last_mut()) {
            (b"worktree", _) => {
                all.push(Listed { path: Path::new(OsStr::from_bytes(rest)).into(), ..Listed::default() })
            }
            (b"bare", Some(last)) => last.is_bare = true,
            (b"locked", Some(last)) => last.locked = Some(String::from_utf8_lossy(rest).into_owned()),
            _ => {}
        }
    }
    Ok(all)
}
