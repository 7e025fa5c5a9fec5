//! A worktree that is not complete yet: registered with git, and locked, so that nobody takes it for one that is.
//!
//! The reason of git's lock says that this program fills it. Whether it still does, a lock of the system tells: a run
//! holds the folder in which git keeps what belongs to the worktree, and the system lets go of it when the process ends,
//! however it ends. A process number would not do: another process may have it by now, and one in another container has
//! a number that says nothing here. What was killed is begun anew by the next run of that name.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::git::{Git, Refused, Result, worktrees};
use crate::args;
use crate::sys;

const REASON: &str = "manyfiles: being filled by process ";
const BRANCH: &str = ", made branch ";
const AT: &str = " at ";

pub(super) struct Half {
    git: Git,
    pub(super) new: PathBuf,
    /// The branch that was made for it.
    made: Option<Branch>,
    /// While it is held, other runs see that this one goes on. `None` where the file system has no locks.
    _held: Option<File>,
}

/// A branch that a run has made, and the commit at which it did. Once it is elsewhere, somebody works on it.
struct Branch {
    name: String,
    commit: String,
}

/// So long after git has registered a worktree its run holds the lock, if it goes on.
const SOON: Duration = Duration::from_secs(2);

impl Half {
    /// Has git register `new`, with no file in it.
    pub(super) fn register(git: &Git, new: &Path, args: &args::Worktree) -> Result<Half> {
        // One run at a time: each has to know which branch is its own, and whether another has begun. Where the file
        // system has no locks, git refuses one of two.
        let common = git.0.join(git.line(&["rev-parse", "--git-common-dir"])?);
        let _alone = File::open(common).ok().filter(|folder| folder.lock().is_ok());
        take_away_what_was_killed(git, new)?;
        // git makes a branch of this name only where it is given nothing else.
        let of_folder = || Some(new.file_name()?.to_str()?.to_owned()).filter(|_| args.commit.is_none());
        let name = args.branch.clone().or_else(of_folder);
        let name = name.filter(|name| !args.detach && commit_of(git, name).is_none());
        let made = name.zip(start(git, args)).map(|(name, commit)| Branch { name, commit });
        let reason = match &made {
            Some(Branch { name, commit }) => format!("{REASON}{}{BRANCH}{name}{AT}{commit}", std::process::id()),
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
            if let Some(branch) = made.as_ref().filter(|_| !new.exists()) {
                remove_branch(git, branch);
            }
        })?;
        let held = kept_by_git(new).and_then(|folder| File::open(folder).ok()).filter(|folder| folder.lock().is_ok());
        let new = new.canonicalize().unwrap_or_else(|_| new.to_path_buf());
        Ok(Half { git: git.clone(), new, made, _held: held })
    }

    /// It is complete.
    pub(super) fn complete(self) -> Result<()> {
        self.git.read(&["worktree".as_ref(), "unlock".as_ref(), self.new.as_os_str()]).map(drop)
    }

    /// Takes all of it away again.
    pub(super) fn take_away(self) -> Result<()> {
        remove(&self.git, &self.new, self.made.as_ref())
    }
}

/// The commit that a branch is at.
fn commit_of(git: &Git, branch: &str) -> Option<String> {
    resolve(git, &format!("refs/heads/{branch}"))
}

/// The commit that a new branch is made at. `None` if only git knows.
fn start(git: &Git, args: &args::Worktree) -> Option<String> {
    let start = args.commit.as_deref().unwrap_or("HEAD");
    resolve(git, &format!("{}^{{commit}}", if start == "-" { "@{-1}" } else { start }))
}

fn resolve(git: &Git, name: &str) -> Option<String> {
    git.line(&["rev-parse", "--verify", "--quiet", "--end-of-options", name]).ok()?.into_string().ok()
}

/// Unless it has a commit of its own by now.
fn remove_branch(git: &Git, Branch { name, commit }: &Branch) {
    if commit_of(git, name).as_ref() == Some(commit) {
        drop(git.read(&["branch", "-D", "--quiet", "--", name]));
    }
}

fn remove(git: &Git, new: &Path, made: Option<&Branch>) -> Result<()> {
    // Much faster than git; what cannot be removed, git names. What is there is a worktree only if it says so.
    if std::fs::read(new.join(".git")).is_ok_and(|link| link.starts_with(b"gitdir:")) {
        drop(manyfiles::tree::Removal::new().keep(|path| path == Path::new(".git")).remove(new));
    }
    git.read(&["worktree".as_ref(), "remove".as_ref(), "--force".as_ref(), "--force".as_ref(), new.as_os_str()])?;
    if let Some(branch) = made {
        remove_branch(git, branch);
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
    if is_being_filled(new, process) {
        return Err(Refused(format!("process {process} is making {} now", new.display())));
    }
    let made = made.and_then(|made| made.rsplit_once(AT));
    let made = made.map(|(name, commit)| Branch { name: name.to_owned(), commit: commit.to_owned() });
    remove(git, new, made.as_ref())
}

fn is_being_filled(new: &Path, process: &str) -> bool {
    let by_number = || process.parse().is_ok_and(sys::is_running);
    let Some(folder) = kept_by_git(new) else { return by_number() };
    loop {
        match File::open(&folder).map(|folder| folder.try_lock()) {
            Ok(Ok(())) => match fs::metadata(folder.join("locked")).and_then(|file| file.modified()) {
                Ok(at) if at.elapsed().is_ok_and(|age| age < SOON) => thread::sleep(SOON / 20),
                // Its run is done with it: it is nobody's to take away.
                Err(error) if error.kind() == ErrorKind::NotFound => return true,
                _ => return false,
            },
            Ok(Err(TryLockError::WouldBlock)) => return true,
            // No locks here.
            _ => return by_number(),
        }
    }
}

/// The folder in which git keeps what belongs to a worktree.
fn kept_by_git(new: &Path) -> Option<PathBuf> {
    let link = fs::read(new.join(".git")).ok()?;
    let folder = link.strip_prefix(b"gitdir: ")?;
    Some(new.join(sys::path(folder.strip_suffix(b"\n").unwrap_or(folder))))
}
