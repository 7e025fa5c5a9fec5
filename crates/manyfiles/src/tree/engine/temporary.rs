//! Names for what is not complete yet, and what becomes of those that a process left when it was killed.
//!
//! What is to replace something is made as `.manyfiles-PROCESS-STARTED-WORLD-COUNT` beside it and renamed. A later run
//! takes away what a dead one left: in each folder where it finds a name taken it looks through the names once. Such a
//! file is removed only if the process that made it is surely gone. The name says which process that was: its number,
//! the time it started, and the world that both belong to (machine, start of the machine, namespace of process
//! numbers). In the own world the system says whether that process runs. Of another world (another container, another
//! host of a network file system, the time before the machine was started again) the system knows nothing. There a file
//! counts as left when nothing about it has changed for a day, by the file system's own clock, which a run reads from a
//! file that it makes to replace another. A process that is not root's removes only what belongs to its own user. No
//! lock is needed, and no call for each file.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use super::folders::FolderId;
use super::lock::lock;
use crate::sys::{self, Dir, EntryKind, Process, Stat};

const PREFIX: &str = ".manyfiles-";

/// Where the system does not know the process: no write takes as long.
const LEFT: Duration = Duration::from_secs(24 * 60 * 60);

/// In a larger folder it looks no further.
const MOST_NAMES: usize = 16 << 10;

/// Those of one tree.
#[derive(Debug, Default)]
pub(in crate::tree) struct Temporaries {
    process: OnceLock<Process>,
    /// Folders that were looked through, and whether the time was known then.
    swept: Mutex<HashSet<(FolderId, bool)>>,
}

impl Temporaries {
    fn process(&self) -> Process {
        *self.process.get_or_init(sys::own_process)
    }

    /// A name that nothing has, but for chance. Short, so that it fits wherever the final name does.
    pub(in crate::tree) fn name(&self) -> OsString {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let Process { id, started, world } = self.process();
        format!("{PREFIX}{id:x}-{started:x}-{world:x}-{:x}", COUNT.fetch_add(1, Relaxed)).into()
    }

    /// Whether a name is a temporary one of a process that is surely gone.
    pub(in crate::tree) fn is_of_the_dead(&self, name: &OsStr) -> bool {
        let own = self.process();
        maker_of(name).is_some_and(|maker| {
            own.world != 0 && maker.world == own.world && maker != own && !sys::is_running(maker.id, maker.started)
        })
    }

    /// Removes what dead processes left in a folder, the first time that this run comes there, and again the first time
    /// that it makes a temporary there, `own`, which tells the file system's time. It is a courtesy: what cannot be
    /// listed or removed stays, and no entry fails for it.
    pub(super) fn sweep(&self, folder: FolderId, dir: &Dir, own: Option<&OsStr>) {
        if !lock(&self.swept).insert((folder, own.is_some())) {
            return;
        }
        let Ok(names) = dir.names(MOST_NAMES) else { return };
        let mut now = None;
        for name in names {
            let Some(maker) = maker_of(&name) else { continue };
            if maker == self.process() {
                continue;
            }
            // Without it nothing counts as old.
            let now = *now.get_or_insert_with(|| {
                own.and_then(|own| dir.stat(own).ok()).map_or(SystemTime::UNIX_EPOCH, |own| own.changed)
            });
            if dir.stat(&name).is_ok_and(|left| self.is_left(&maker, &left, now)) {
                drop(dir.remove(&name));
            }
        }
    }

    fn is_left(&self, maker: &Process, left: &Stat, now: SystemTime) -> bool {
        let may = sys::is_privileged() || left.owner.0 == sys::own_user();
        if !may || left.kind == EntryKind::Folder {
            return false;
        }
        let own = self.process();
        if own.world != 0 && maker.world == own.world {
            return !sys::is_running(maker.id, maker.started);
        }
        // A second name of a file says nothing of when it was given.
        left.links == 1 && now.duration_since(left.changed).is_ok_and(|age| age > LEFT)
    }
}

/// The process that made a temporary of this name. `None` if the name is not that of a temporary.
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
        let temporaries = Temporaries::default();
        let (one, other) = (temporaries.name(), temporaries.name());
        assert_ne!(one, other);
        assert_eq!(maker_of(&one), Some(temporaries.process()));
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
        let temporaries = Temporaries::default();
        let own = temporaries.process();
        let is_left =
            |maker: Process, stat: Stat, age: Duration| temporaries.is_left(&maker, &stat, stat.changed + age);
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
