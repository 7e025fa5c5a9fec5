//! [`Plan`]: the action on each entry.

use std::collections::{HashMap, HashSet};
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use manyfiles::Error;
use manyfiles::tree::{Node, Refusal, Symlink, check};

use crate::args::{Conflict, Options};
use crate::job::Job;
use crate::sys;
use crate::terminal::Question;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Symlink,
    HardLink,
    /// A device, a FIFO or a socket.
    Node,
}

/// An entry, with the figures that decide where its name is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub path: &'a Path,
    pub is: Is<'a>,
    pub bytes: u64,
    pub modified: Option<SystemTime>,
}

/// What an entry is, with the details of its kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Is<'a> {
    File,
    Folder,
    /// With what it says.
    Symlink(&'a Symlink),
    HardLink {
        /// The path that it is a second name for.
        existing: &'a Path,
        /// Where it cannot be made, it becomes a file with the content.
        or_file: bool,
    },
    Node(Node),
}

impl Is<'_> {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Is::File => Kind::File,
            Is::Folder => Kind::Folder,
            Is::Symlink(_) => Kind::Symlink,
            Is::HardLink { .. } => Kind::HardLink,
            Is::Node(_) => Kind::Node,
        }
    }
}

/// The action on an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
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
    /// An existing file is in the way, or the source cannot be read.
    Fail,
}

impl Action {
    pub(crate) const ALL: [Action; 11] = [
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
    pub(crate) fn is_failure(self) -> bool {
        matches!(self, Action::Conflict | Action::Refuse | Action::Fail)
    }

    /// Whether something would be written.
    pub(crate) fn writes(self) -> bool {
        !self.is_failure() && !matches!(self, Action::Keep | Action::Skip)
    }
}

/// An entry, and the action on it.
pub(crate) struct Line {
    pub action: Action,
    pub path: PathBuf,
    /// Unknown for what could not be read.
    pub kind: Option<Kind>,
    pub bytes: u64,
    pub why: Option<String>,
}

/// Takes entries as a tree would, and tells the action on each.
pub(crate) struct Plan<'a> {
    root: PathBuf,
    on_conflict: Option<Conflict>,
    would_ask: bool,
    /// Paths that the entries so far would make, each with its kind and time.
    made: HashMap<PathBuf, (Kind, Option<SystemTime>)>,
    /// The files among them that stay as they were if their content is the same.
    compared: HashSet<PathBuf>,
    /// The names that entries so far would not get.
    renamed: HashSet<PathBuf>,
    last_wins: bool,
    /// Whether links to folders that are there are written through.
    follows: bool,
    tell: &'a mut dyn FnMut(Line),
}

impl<'a> Plan<'a> {
    /// A plan for the entries of `job`, which tells each line when it is known.
    pub(crate) fn new(job: &dyn Job, options: &Options, tell: &'a mut dyn FnMut(Line)) -> Plan<'a> {
        Plan {
            root: job.root().to_path_buf(),
            on_conflict: options.on_conflict,
            would_ask: options.on_conflict.is_none() && Question::can_be_asked(),
            made: HashMap::new(),
            compared: HashSet::new(),
            renamed: HashSet::new(),
            last_wins: job.last_wins(),
            follows: job.follows_folder_links(),
            tell,
        }
    }

    /// An entry that would be handed over.
    pub(crate) fn entry(&mut self, entry: Entry<'_>) {
        let Entry { path, is, bytes, .. } = entry;
        let (action, why) = match check(path) {
            Ok(path) => {
                let path = self.through_links(path);
                let modified = self.time_of(&entry);
                let (action, why) = self.decide(&path, is, modified);
                if action == Action::Compare {
                    self.compared.insert(path.clone());
                } else if action.writes() && action != Action::Rename {
                    self.compared.remove(&path);
                }
                if action == Action::Rename {
                    self.renamed.insert(path);
                } else if action == Action::Keep || action.writes() {
                    self.make_the_way(&path);
                    self.made.insert(path, (is.kind(), modified));
                }
                (action, why)
            }
            Err(refusal) => (Action::Refuse, Some(reason(refusal))),
        };
        self.line(action, path, is.kind(), bytes, why);
    }

    /// The path below the root at which an entry is, if links to folders that are there are followed on its way. A path
    /// that leads out of the root stays as it is.
    fn through_links(&self, path: PathBuf) -> PathBuf {
        if !self.follows {
            return path;
        }
        let mut at = PathBuf::new();
        let names = path.components().count();
        for (number, name) in path.components().enumerate() {
            at.push(name);
            if number + 1 < names
                && self.is_followed(&at)
                && let (Ok(root), Ok(real)) = (self.root.canonicalize(), self.root.join(&at).canonicalize())
                && let Ok(below) = real.strip_prefix(root)
            {
                at = below.to_path_buf();
            }
        }
        at
    }

    /// Whether a link that is there, and that no entry has made, leads to a folder.
    fn is_followed(&self, path: &Path) -> bool {
        self.follows && !self.made.contains_key(path) && fs::metadata(self.root.join(path)).is_ok_and(|is| is.is_dir())
    }

    /// The folders that are made on the way to an entry.
    fn make_the_way(&mut self, path: &Path) {
        for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            if self.what_is_at(above).is_some() {
                break;
            }
            self.made.insert(above.to_path_buf(), (Kind::Folder, None));
        }
    }

    /// An entry that would be left out.
    pub(crate) fn skip(&mut self, path: &Path, kind: Kind, why: &str) {
        self.line(Action::Skip, path, kind, 0, Some(why.into()));
    }

    /// An entry that would fail.
    pub(crate) fn fail(&mut self, path: &Path, kind: Kind, why: &Error) {
        self.line(Action::Fail, path, kind, 0, Some(why.to_string()));
    }

    fn line(&mut self, action: Action, path: &Path, kind: Kind, bytes: u64, why: Option<String>) {
        // As in the report of a run: without `.` and without a slash at its end.
        let path = match check(path) {
            Ok(path) if path.as_os_str().is_empty() => PathBuf::from("."),
            Ok(path) => path,
            Err(_) => path.components().collect(),
        };
        (self.tell)(Line { action, path, kind: Some(kind), bytes, why });
    }

    /// An entry that would be refused, or cannot be read.
    pub(crate) fn refuse_or_fail(&mut self, error: &Error) {
        let path = error.path().unwrap_or(Path::new("")).to_path_buf();
        let (action, why) = match error.refusal() {
            Some(refusal) => (Action::Refuse, reason(refusal)),
            None => (Action::Fail, error.to_string()),
        };
        (self.tell)(Line { action, path, kind: None, bytes: 0, why: Some(why) });
    }

    fn decide(&self, path: &Path, is: Is<'_>, modified: Option<SystemTime>) -> (Action, Option<String>) {
        let mut above: Vec<_> = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
        above.reverse();
        for above in above {
            match self.what_is_at(above) {
                None => break,
                Some(Kind::Folder) => {}
                Some(Kind::Symlink) if self.is_followed(above) => {}
                Some(Kind::Symlink) => return (Action::Refuse, Some(reason(Refusal::ThroughSymlink))),
                Some(_) => return (Action::Fail, Some(format!("{} is not a folder", above.display()))),
            }
        }
        if let Is::HardLink { existing, or_file: false } = is
            && let Err(why) = self.can_be_linked(existing)
        {
            return (Action::Fail, Some(why));
        }
        match (self.what_is_at(path), is.kind()) {
            (None, _) => (Action::Create, None),
            (Some(Kind::Folder), Kind::Folder) => (Action::Keep, None),
            (Some(Kind::Symlink), Kind::Folder) if self.is_followed(path) => (Action::Keep, None),
            (Some(there), kind) if there != Kind::Folder && kind != Kind::Folder && self.is_ours(path) => {
                (Action::Replace, Some("an earlier entry has this name, and the last one counts".into()))
            }
            (Some(_), Kind::Folder) => (Action::Fail, Some("what has this name is not a folder".into())),
            (Some(Kind::Folder), _) => self.on_folder(),
            (Some(there), _) => self.on_conflict(path, there, is, modified),
        }
    }

    /// Whether an earlier entry of this path is replaced, whatever is done with a file that was there before the run.
    fn is_ours(&self, path: &Path) -> bool {
        // One that is compared is left alone if it is the same; then what comes next is compared as well.
        let is_made = self.made.contains_key(path) && !self.compared.contains(path);
        self.last_wins && (is_made || self.renamed.contains(path))
    }

    /// A folder gives way to nothing, whatever its time.
    fn on_folder(&self) -> (Action, Option<String>) {
        let action = match self.on_conflict {
            None if self.would_ask => Action::Ask,
            Some(Conflict::Skip) => Action::Skip,
            Some(Conflict::Rename) => Action::Rename,
            _ => Action::Fail,
        };
        (action, Some("a folder has this name".into()))
    }

    fn on_conflict(
        &self,
        path: &Path,
        there: Kind,
        is: Is<'_>,
        modified: Option<SystemTime>,
    ) -> (Action, Option<String>) {
        let taken = Some("its name is taken".to_string());
        // An entry with bytes does not replace a device or FIFO, unless that is asked for.
        let keeps_nodes = matches!(self.on_conflict, Some(Conflict::Overwrite | Conflict::SkipIdentical));
        if keeps_nodes && there == Kind::Node && matches!(is, Is::File | Is::HardLink { .. }) {
            return (Action::Fail, Some("a device, FIFO or socket has this name".into()));
        }
        match self.on_conflict {
            None if self.would_ask => (Action::Ask, taken),
            None | Some(Conflict::Error) => (Action::Conflict, taken),
            Some(Conflict::Skip) => (Action::Skip, taken),
            Some(Conflict::SkipIdentical) => match self.is_same(path, there, is, modified) {
                Some(true) => (Action::Skip, Some("it is there already".into())),
                Some(false) => (Action::Replace, Some("what has its name is not the same, or has another time".into())),
                None => (Action::Compare, taken),
            },
            Some(Conflict::Overwrite) => (Action::Overwrite, taken),
            Some(Conflict::Replace) => (Action::Replace, taken),
            Some(Conflict::Rename) => (Action::Rename, taken),
            Some(Conflict::Newer) => {
                match modified.zip(self.time_of_what_is_at(path)).is_none_or(|(new, old)| new > old) {
                    true => (Action::Replace, Some("what has its name is older".into())),
                    false => (Action::Skip, Some("what has its name is not older".into())),
                }
            }
        }
    }

    /// Whether the existing file is the same as the entry's. `None`: only its content tells.
    fn is_same(&self, path: &Path, there: Kind, is: Is<'_>, modified: Option<SystemTime>) -> Option<bool> {
        let at = |path: &Path| self.root.join(path);
        let same_time = modified.is_none() || modified == self.time_of_what_is_at(path);
        if let Is::HardLink { existing, .. } = is
            && check(existing).is_ok_and(|existing| self.compared.contains(&existing))
            && self.is_one_file(path, existing)
        {
            return None;
        }
        if self.made.contains_key(path) || is.kind() != there && !matches!(is, Is::HardLink { .. }) {
            return if is.kind() == Kind::File && there == Kind::File { None } else { Some(false) };
        }
        Some(match is {
            Is::File => return None,
            Is::Folder => true,
            Is::Symlink(link) => same_time && Symlink::read(at(path)).is_ok_and(|there| link.becomes(&there)),
            Is::HardLink { existing, .. } => {
                let is_new = check(existing).is_ok_and(|existing| self.made.contains_key(&existing));
                !is_new && self.is_one_file(path, existing)
            }
            Is::Node(node) => {
                same_time && fs::symlink_metadata(at(path)).ok().and_then(|there| sys::node(&there)) == Some(node)
            }
        })
    }

    /// Whether both paths lead to one file now.
    fn is_one_file(&self, one: &Path, other: &Path) -> bool {
        let id = |path: &Path| {
            let path = self.root.join(path);
            fs::symlink_metadata(&path).ok().and_then(|of| sys::file_id(&path, &of))
        };
        id(one).is_some() && id(one) == id(other)
    }

    /// A link is made to the file that has the name when the link's turn comes.
    fn can_be_linked(&self, existing: &Path) -> Result<(), String> {
        let name = existing.display();
        match check(existing).map(|existing| self.what_is_at(&existing)) {
            Ok(Some(Kind::Folder)) => Err(format!("what it is a link to, {name}, is a folder")),
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(format!("what it is a link to, {name}, is not there")),
            Err(refusal) => Err(format!("what it is a link to, {name}: {}", reason(refusal))),
        }
    }

    /// The time that decides: a link has that of what it is a link to.
    fn time_of(&self, entry: &Entry<'_>) -> Option<SystemTime> {
        match entry.is {
            Is::HardLink { existing, .. } => {
                check(existing).ok().and_then(|existing| self.time_of_what_is_at(&existing)).or(entry.modified)
            }
            _ => entry.modified,
        }
    }

    fn time_of_what_is_at(&self, path: &Path) -> Option<SystemTime> {
        match self.made.get(path) {
            Some(&(_, modified)) => modified,
            // The file is gone meanwhile, so it is not older.
            None => fs::symlink_metadata(self.root.join(path)).and_then(|there| there.modified()).ok(),
        }
    }

    /// The file that would be at the path when the entry's turn comes.
    fn what_is_at(&self, path: &Path) -> Option<Kind> {
        let on_disk = || fs::symlink_metadata(self.root.join(path)).ok().map(|there| kind_of(there.file_type()));
        // A path that cannot be looked at counts as free: the run itself will tell.
        self.made.get(path).map(|&(kind, _)| kind).or_else(on_disk)
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
