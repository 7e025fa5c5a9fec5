//! A worktree that is not complete yet: registered with git, and locked, so that nobody takes it for one that is.
//!
//! The reason of the lock says who fills it. What was killed leaves it so, and the next run of that name knows it by
//! that and begins anew.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::git::{Git, Refused, Result, worktrees};
use crate::args;
use crate::sys;

const REASON: &str = "manyfiles: being filled by process ";
const BRANCH: &str = ", made branch ";

pub(super) struct Half {
    git: Git,
    pub(super) new: PathBuf,
    /// The branch that was made for it.
    made: Option<String>,
}

impl Half {
    /// Has git register `new`, with no file in it.
    pub(super) fn register(git: &Git, new: &Path, args: &args::Worktree) -> Result<Half> {
        take_away_what_was_killed(git, new)?;
        let name = args.branch.clone().or_else(|| Some(new.file_name()?.to_str()?.to_owned()));
        let made = name.filter(|name| !args.detach && !has_branch(git, name));
        let reason = match &made {
            Some(name) => format!("{REASON}{}{BRANCH}{name}", std::process::id()),
            None => format!("{REASON}{}", std::process::id()),
        };
        let mut arguments: Vec<&OsStr> =
            ["worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason"].map(OsStr::new).into();
        arguments.push(reason.as_ref());
        if args.detach {
            arguments.push("--detach".as_ref());
        }
        if let Some(name) = &args.branch {
            arguments.extend(["-b".as_ref(), OsStr::new(name)]);
        }
        arguments.extend(["--".as_ref(), new.as_os_str()]);
        arguments.extend(args.commit.as_ref().map(OsStr::new));
        git.read(&arguments).inspect_err(|_| {
            // git makes the branch first.
            if let Some(name) = made.as_deref().filter(|_| !new.exists()) {
                remove_branch(git, name);
            }
        })?;
        let new = new.canonicalize().unwrap_or_else(|_| new.to_path_buf());
        Ok(Half { git: git.clone(), new, made: made.filter(|name| has_branch(git, name)) })
    }

    /// It is complete.
    pub(super) fn complete(self) -> Result<()> {
        self.git.read(&["worktree".as_ref(), "unlock".as_ref(), self.new.as_os_str()]).map(drop)
    }

    /// Takes all of it away again.
    pub(super) fn take_away(self) -> Result<()> {
        remove(&self.git, &self.new, self.made.as_deref())
    }
}

fn has_branch(git: &Git, name: &str) -> bool {
    git.read(&["rev-parse", "--verify", "--quiet", &format!("refs/heads/{name}")]).is_ok()
}

/// It has no commit of its own.
fn remove_branch(git: &Git, name: &str) {
    drop(git.read(&["branch", "-D", "--quiet", "--", name]));
}

fn remove(git: &Git, new: &Path, made: Option<&str>) -> Result<()> {
    // Much faster than git; what cannot be removed, git names. What is there is a worktree only if it says so.
    if std::fs::read(new.join(".git")).is_ok_and(|link| link.starts_with(b"gitdir:")) {
        drop(manyfiles::tree::Removal::new().keep(|path| path == Path::new(".git")).remove(new));
    }
    git.read(&["worktree".as_ref(), "remove".as_ref(), "--force".as_ref(), "--force".as_ref(), new.as_os_str()])?;
    if let Some(name) = made {
        remove_branch(git, name);
    }
    Ok(())
}

fn take_away_what_was_killed(git: &Git, new: &Path) -> Result<()> {
    // As git knows it: its folder may be gone.
    let real = new.parent().and_then(|above| above.canonicalize().ok()).zip(new.file_name());
    let real = real.map(|(above, name)| above.join(name));
    let listed = worktrees(git)?.into_iter().find(|it| it.path == new || Some(&it.path) == real.as_ref());
    let Some(reason) = listed.and_then(|it| it.locked?.strip_prefix(REASON).map(str::to_owned)) else { return Ok(()) };
    let (process, made) = match reason.split_once(BRANCH) {
        Some((process, made)) => (process, Some(made)),
        None => (&*reason, None),
    };
    if process.parse().is_ok_and(sys::is_running) {
        let new = new.display();
        let why = format!(
            "process {process} is making {new} now; if it is something else, 'git worktree remove -f -f {new}' takes \
             away what is there"
        );
        return Err(Refused(why));
    }
    remove(git, new, made)
}
