//! Names for files that are not complete yet, and what becomes of those that a process left when it was killed.
//!
//! A file that is to replace something is made as `.manyfiles-PROCESS-STARTED-WORLD-COUNT` beside it and renamed. A
//! later run removes what a dead one left: it looks through the names of a folder once. Such a file is removed only if
//! its maker is surely gone. The name says which process that was: its number with the time at which it started, and
//! the world that both belong to (machine, start of the machine, namespace of process numbers). In the own world the
//! system says whether that process runs. Of another world (another container, another host of a network file system,
//! the time before the machine was started again) no system can be asked. There a file counts as left when nothing
//! about it changed for a day, by the file system's own clock, which a run reads from a temporary file of its own.
//! Unless root, a process removes only what belongs to its own user. For files no lock is needed, and no call for each.
//! A folder in which a whole tree is made has a lock besides ([`left_folder`]).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use crate::origin::get_or_make;
use crate::sys::{self, Dir, EntryKind, Process, Stat};

const PREFIX: &str = ".manyfiles-";

/// For makers of another world: no write takes as long.
const LEFT: Duration = Duration::from_secs(24 * 60 * 60);

/// In a larger folder no more names are looked at.
const MOST_NAMES: usize = 16 << 10;

/// This process. The system is asked once, and again in a child that was forked.
fn own_process() -> Process {
    static OWN: OnceLock<Process> = OnceLock::new();
    let own = *get_or_make(&OWN, sys::own_process);
    if own.id == std::process::id() { own } else { sys::own_process() }
}

/// A name that nothing has, but for chance. Short, so that it fits wherever the final name does.
pub(crate) fn name() -> OsString {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let Process { id, started, world } = own_process();
    format!("{PREFIX}{id:x}-{started:x}-{world:x}-{:x}", COUNT.fetch_add(1, Relaxed)).into()
}

/// Removes what dead processes left in a folder. `own`, a temporary file that this process has just made there, tells
/// the file system's time. This is a courtesy: what cannot be listed or removed stays, and nothing fails for it.
///
/// `is_kept` says of a name whether the run has an entry of that name. Such a file is never removed.
pub(crate) fn tidy(dir: &Dir, own: Option<&OsStr>, is_kept: impl Fn(&OsStr) -> bool) {
    let Ok(names) = dir.names(MOST_NAMES) else { return };
    let mut now = None;
    for name in names {
        let Some(maker) = maker_of(&name) else { continue };
        if maker == own_process() {
            continue;
        }
        // Where the time is not known nothing counts as old.
        let now = *now.get_or_insert_with(|| {
            own.and_then(|own| dir.stat(own).ok()).map_or(SystemTime::UNIX_EPOCH, |own| own.changed)
        });
        if dir.stat(&name).is_ok_and(|left| is_left(&maker, &left, now)) && !is_kept(&name) {
            drop(dir.remove(&name));
        }
    }
}

fn is_left(maker: &Process, left: &Stat, now: SystemTime) -> bool {
    if !is_ours_to_remove(left) || left.kind == EntryKind::Folder {
        return false;
    }
    let own = own_process();
    if own.world != 0 && maker.world == own.world {
        return !sys::is_running(maker.id, maker.started);
    }
    // The time of change of a file with a second name says nothing of when this name was given.
    left.links == 1 && now.duration_since(left.changed).is_ok_and(|age| age > LEFT)
}

fn is_ours_to_remove(left: &Stat) -> bool {
    sys::is_privileged() || left.owner.0 == sys::own_user()
}

/// A folder that a dead process left. While this is kept no other process takes the folder for its own.
pub(crate) struct LeftFolder {
    _held: Option<File>,
}

/// The folder `name` in `dir`, if a process that is gone left it. `made_as` is the temporary name that it was made
/// with, and `now` is the file system's time.
///
/// A process holds the lock of its folder for as long as it runs, and the kernel gives the lock back when the process
/// is dead. So a folder whose lock is free has no maker any more if this kernel knows all its locks, which is if the
/// maker ran on this start of this machine. Of another machine that shares the file system, or of the time before this
/// machine was started again, the folder is left if nothing in it changed for a day.
pub(crate) fn left_folder(dir: &Dir, name: &OsStr, made_as: &OsStr, now: SystemTime) -> Option<LeftFolder> {
    let maker = maker_of(made_as)?;
    let own = own_process();
    let left = dir.stat(name).ok()?;
    if maker == own || left.kind != EntryKind::Folder || !is_ours_to_remove(&left) {
        return None;
    }
    if own.world != 0 && maker.world == own.world {
        return (!sys::is_running(maker.id, maker.started)).then_some(LeftFolder { _held: None });
    }
    let held = dir.hold(name).ok()?;
    let is_left = held.is_some() && name == made_as && sys::have_one_kernel(maker.world, own.world)
        || now.checked_sub(LEFT).is_some_and(|day_ago| dir.tree_changed_since(name, day_ago).is_ok_and(|it| !it));
    is_left.then_some(LeftFolder { _held: held })
}

/// Whether a file of this name may be taken for a temporary one, on a file system that folds names too.
pub(crate) fn looks_temporary(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    bytes.len() > PREFIX.len() && bytes[..PREFIX.len()].eq_ignore_ascii_case(PREFIX.as_bytes())
}

/// The process that made a temporary of this name. `None`: it is not the name of a temporary.
fn maker_of(name: &OsStr) -> Option<Process> {
    let rest = name.to_str()?.strip_prefix(PREFIX)?;
    // As `format` writes them: no signs, no upper case, nothing missing.
    let hex = |text: &str| {
        let is_hex = !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_hex.then(|| u64::from_str_radix(text, 16).ok()).flatten()
    };
    let mut parts = rest.split('-').map(hex);
    let (id, started, world) = (parts.next()??, parts.next()??, parts.next()??);
    parts.next()??;
    let id = u32::try_from(id).ok()?;
    parts.next().is_none().then_some(Process { id, started, world })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_name_says_who_made_it_and_no_other_name_does() {
        let (one, other) = (name(), name());
        assert_ne!(one, other);
        assert_eq!(maker_of(&one), Some(own_process()));
        for name in [
            ".manyfiles-1-2-3",
            ".manyfiles-1-2-3-4-5",
            ".manyfiles-1-2-3-",
            ".manyfiles-1-2--4",
            ".manyfiles-1-2-+3-4",
            ".manyfiles-1-2-3-A",
            ".manyfiles-100000000-2-3-4",
            ".manyfiles-probe-x",
            "manyfiles-1-2-3-4",
        ] {
            assert_eq!(maker_of(OsStr::new(name)), None, "{name}");
        }
    }

    #[test]
    fn only_what_nobody_writes_any_more_is_left() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("f"), "").unwrap();
        let stat = Dir::open_root(temp.path()).unwrap().stat(OsStr::new("f")).unwrap();
        let own = own_process();
        let is_left = |maker: Process, stat: Stat, age: Duration| is_left(&maker, &stat, stat.changed + age);
        let elsewhere = Process { world: own.world ^ 1, ..own };
        assert!(!is_left(elsewhere, stat, LEFT));
        assert!(is_left(elsewhere, stat, LEFT + Duration::from_secs(1)));
        assert!(!is_left(elsewhere, Stat { links: 2, ..stat }, 2 * LEFT), "it may be a second name of an old file");
        assert!(!is_left(elsewhere, Stat { kind: EntryKind::Folder, ..stat }, 2 * LEFT));
        if own.world != 0 {
            assert!(!is_left(own, stat, 2 * LEFT), "a write may take as long where its process runs");
            assert!(is_left(Process { started: own.started ^ 1, ..own }, stat, Duration::ZERO));
        }
        if !sys::is_privileged() {
            let of_another = Stat { owner: (stat.owner.0 ^ 1, 0), ..stat };
            assert!(!is_left(elsewhere, of_another, 2 * LEFT));
        }
    }
}
