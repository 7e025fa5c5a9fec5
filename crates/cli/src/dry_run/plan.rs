//! [`Plan`]: what would become of each entry.

use std::collections::HashMap;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use manyfiles::Error;
use manyfiles::tree::{Refusal, check};

use crate::args::{Conflict, Options};
use crate::terminal::Question;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    Symlink,
    HardLink,
    /// A device or a FIFO.
    Node,
}

/// What would be done with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Create,
    /// A folder that is there already.
    Keep,
    Skip,
    Compare,
    Overwrite,
    Replace,
    Rename,
    Ask,
    /// The name is taken, and nothing says what to do then.
    Conflict,
    Refuse,
    /// What is there makes it impossible, or the source cannot be read.
    Fail,
}

impl Action {
    pub const ALL: [Action; 11] = [
        Action::Create,
        Action::Keep,
        Action::Skip,
        Action::Compare,
        Action::Overwrite,
        Action::Replace,
        Action::Rename,
        Action::Ask,
        Action::Conflict,
        Action::Refuse,
        Action::Fail,
    ];

    /// Whether the entry would count as failed.
    pub fn is_failure(self) -> bool {
        matches!(self, Action::Conflict | Action::Refuse | Action::Fail)
    }

    /// Whether something would be written.
    pub fn writes(self) -> bool {
        !self.is_failure() && !matches!(self, Action::Keep | Action::Skip)
    }
}

/// An entry and what would become of it.
pub struct Line {
    pub action: Action,
    pub path: PathBuf,
    /// Unknown for what could not be read.
    pub kind: Option<Kind>,
    pub bytes: u64,
    pub why: Option<String>,
}

/// Entries as a tree would take them, and where to tell what would become of them.
pub struct Plan<'a> {
    root: PathBuf,
    on_conflict: Option<Conflict>,
    would_ask: bool,
    /// What the entries so far would make, with its time.
    made: HashMap<PathBuf, (Kind, Option<SystemTime>)>,
    tell: &'a mut dyn FnMut(Line),
}

impl<'a> Plan<'a> {
    /// A plan for entries below `root`, which tells each line when it is known.
    pub fn new(root: &Path, options: &Options, tell: &'a mut dyn FnMut(Line)) -> Plan<'a> {
        Plan {
            root: root.to_path_buf(),
            on_conflict: options.on_conflict,
            would_ask: options.on_conflict.is_none() && Question::can_be_asked(),
            made: HashMap::new(),
            tell,
        }
    }

    /// An entry that would be handed over.
    pub fn entry(&mut self, path: &Path, kind: Kind, bytes: u64, modified: Option<SystemTime>) {
        let (action, why) = match check(path) {
            Ok(path) => {
                let (action, why) = self.decide(&path, kind, modified);
                if action.writes() || action == Action::Keep {
                    self.made.insert(path, (kind, modified));
                }
                (action, why)
            }
            Err(refusal) => (Action::Refuse, Some(reason(refusal))),
        };
        // Put together anew, a path has no slash at its end.
        let path = path.components().collect();
        (self.tell)(Line { action, path, kind: Some(kind), bytes, why });
    }

    /// An entry that would be refused, or cannot be read.
    pub fn failure(&mut self, error: &Error) {
        let path = error.path().unwrap_or(Path::new("")).to_path_buf();
        let (action, why) = match error.refusal() {
            Some(refusal) => (Action::Refuse, reason(refusal)),
            None => (Action::Fail, error.to_string()),
        };
        (self.tell)(Line { action, path, kind: None, bytes: 0, why: Some(why) });
    }

    fn decide(&self, path: &Path, kind: Kind, modified: Option<SystemTime>) -> (Action, Option<String>) {
        let mut above: Vec<_> = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
        above.reverse();
        for above in above {
            match self.what_is_at(above) {
                None => break,
                Some(Kind::Folder) => {}
                Some(Kind::Symlink) => return (Action::Refuse, Some(reason(Refusal::ThroughSymlink))),
                Some(_) => return (Action::Fail, Some(format!("{} is not a folder", above.display()))),
            }
        }
        match (self.what_is_at(path), kind) {
            (None, _) => (Action::Create, None),
            (Some(Kind::Folder), Kind::Folder) => (Action::Keep, None),
            (Some(Kind::Folder), _) => (Action::Fail, Some("a folder has this name".into())),
            (Some(_), Kind::Folder) => (Action::Fail, Some("what has this name is not a folder".into())),
            (Some(_), _) => self.on_conflict(path, modified),
        }
    }

    fn on_conflict(&self, path: &Path, modified: Option<SystemTime>) -> (Action, Option<String>) {
        let taken = Some("its name is taken".to_string());
        match self.on_conflict {
            None if self.would_ask => (Action::Ask, taken),
            None | Some(Conflict::Error) => (Action::Conflict, taken),
            Some(Conflict::Skip) => (Action::Skip, taken),
            Some(Conflict::SkipIdentical) => (Action::Compare, taken),
            Some(Conflict::Overwrite) => (Action::Overwrite, taken),
            Some(Conflict::Replace) => (Action::Replace, taken),
            Some(Conflict::Rename) => (Action::Rename, taken),
            Some(Conflict::Newer) => {
                match modified.zip(self.time_of_what_is_at(path)).is_none_or(|(new, old)| new > old) {
                    true => (Action::Overwrite, Some("what has its name is older".into())),
                    false => (Action::Skip, Some("what has its name is not older".into())),
                }
            }
        }
    }

    fn time_of_what_is_at(&self, path: &Path) -> Option<SystemTime> {
        match self.made.get(path) {
            Some(&(_, modified)) => modified,
            // Gone meanwhile, then: nothing is older than nothing.
            None => fs::symlink_metadata(self.root.join(path)).and_then(|there| there.modified()).ok(),
        }
    }

    /// What would be at the path when its turn comes.
    fn what_is_at(&self, path: &Path) -> Option<Kind> {
        let on_disk = || fs::symlink_metadata(self.root.join(path)).ok().map(|there| kind_of(there.file_type()));
        self.made.get(path).map(|&(kind, _)| kind).or_else(on_disk) // what cannot be looked at counts as free: trying will tell
    }
}

fn kind_of(file_type: FileType) -> Kind {
    match file_type {
        of if of.is_file() => Kind::File,
        of if of.is_dir() => Kind::Folder,
        of if of.is_symlink() => Kind::Symlink,
        _ => Kind::Node,
    }
}

fn reason(refusal: Refusal) -> String {
    let text = refusal.to_string();
    text.strip_prefix("refused: ").map(String::from).unwrap_or(text)
}
