//! [`Model`]: the promises of `manyfiles unpack` as a plain list of steps, one entry after the other.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::case::{Case, Entry, Is, Other, Policy, Setup};
use super::differs::Differs;
use super::world::{Node, What, World};

/// The folder while entries come, and the paths that the model cannot foresee.
pub(crate) struct Model {
    pub world: World,
    setup: Setup,
    policy: Policy,
    /// The program that the command is compared with.
    other: Other,
    /// Paths that this run has made.
    ours: BTreeSet<String>,
    /// Folders that were not there before.
    made: BTreeSet<String>,
    /// Paths of folders that entries have named: no symbolic link of the run gets such a name.
    folders: BTreeSet<String>,
    failed: BTreeSet<String>,
    renamed: HashMap<String, String>,
    pub failures: Vec<Failure>,
    /// Where other programs do something else. The empty path: it may be anywhere.
    pub differs: BTreeMap<String, Differs>,
    /// Folders that have another mode or time with other programs, and hold the same.
    pub folders_differ: BTreeMap<String, Differs>,
    /// Folders that tar takes for finished.
    left: BTreeSet<String>,
    /// Paths of which nothing is promised.
    pub open: BTreeSet<String>,
}

/// An entry that fails.
pub(crate) struct Failure {
    pub what: String,
    /// It may as well count as skipped: its name is taken, and that is reason enough.
    pub perhaps_skipped: bool,
}

enum Choice {
    Write(String),
    Leave,
}

impl Model {
    /// The folder after the whole case.
    pub(crate) fn of(case: &Case) -> Model {
        let mut model = Model::new(
            World::default(),
            Setup { nobody: false, umask: 0, exact: true, set_id: true },
            Policy::Replace,
            case.other,
        );
        case.before.iter().for_each(|entry| model.apply(entry));
        for node in &mut model.world.nodes {
            node.open_bits = 0;
            node.time = node.time.or(Some((1_300_000_000, 0)));
        }
        let mut model = Model::new(model.world, case.setup, case.policy, case.other);
        case.entries.iter().for_each(|entry| model.apply(entry));
        model
    }

    /// The folder as the case finds it.
    pub(crate) fn before(case: &Case) -> World {
        Model::of(&Case { entries: Vec::new(), ..case.clone() }).world
    }

    pub(crate) fn new(world: World, setup: Setup, policy: Policy, other: Other) -> Model {
        Model {
            world,
            setup,
            policy,
            other,
            ours: BTreeSet::new(),
            made: BTreeSet::new(),
            folders: BTreeSet::new(),
            failed: BTreeSet::new(),
            renamed: HashMap::new(),
            failures: Vec::new(),
            differs: BTreeMap::new(),
            folders_differ: BTreeMap::new(),
            left: BTreeSet::new(),
            open: BTreeSet::new(),
        }
    }

    /// The folder after a copy of `source`.
    pub(crate) fn of_copy(case: &Case, source: &World) -> Model {
        let before = Model::before(case);
        let mut model = Model::new(before.clone(), case.setup, case.policy, case.other);
        // Which of its names a file has got in the folder, to which the others are linked.
        let mut stands: HashMap<usize, String> = HashMap::new();
        for (path, &id) in &source.names {
            let node = &source.nodes[id];
            let other_names = source.other_names(path);
            if case.policy == Policy::Newer
                && !other_names.is_empty()
                && other_names.iter().chain([path]).any(|name| before.names.contains_key(name))
            {
                model.differ(path, Differs::NewerAndLinked);
            }
            let is = match stands.get(&id) {
                Some(first) => Is::HardLink(first.clone()),
                None => Is::New(node.what.clone()),
            };
            let time = node.time.expect("every entry of a source has one");
            model.apply(&Entry { path: path.clone(), is, mode: node.mode, time });
            let identical =
                case.policy == Policy::SkipIdentical && model.world.get(path).is_some_and(|it| it.what == node.what);
            if model.ours.contains(path) || identical {
                stands.entry(id).or_insert_with(|| path.clone());
            } else if let Some(renamed) = model.renamed.get(path) {
                stands.entry(id).or_insert_with(|| renamed.clone());
            }
        }
        model
    }

    pub(crate) fn apply(&mut self, entry: &Entry) {
        self.left.extend(self.ours.iter().filter(|folder| !is_at_or_below(&entry.path, folder)).cloned());
        if let Err(why) = self.step(entry) {
            let lenient = !matches!(self.policy, Policy::Error | Policy::Overwrite | Policy::Replace);
            let perhaps_skipped = lenient && self.world.get(&entry.path).is_some();
            self.failures.push(Failure { what: format!("{}: {why}", entry.path), perhaps_skipped });
            if !self.ours.contains(&entry.path) {
                self.failed.insert(entry.path.clone());
            }
        }
    }

    fn step(&mut self, entry: &Entry) -> Result<(), &'static str> {
        self.mind_folders(entry)?;
        let node = match &entry.is {
            Is::New(what) => self.node(what, entry),
            Is::HardLink(existing) => return self.hard_link(entry, existing),
        };
        self.way_to(&entry.path)?;
        if node.what == What::Folder {
            return self.folder(&entry.path, node);
        }
        if let Choice::Write(path) = self.choose(entry, &node)? {
            self.world.put(&path, node);
            self.is_ours(&path);
        } else if self.policy == Policy::SkipIdentical
            && let Some(there) = self.world.get_mut(&entry.path)
        {
            // Its content stays. Other changes matter only if the file has no other name.
            (there.mode, there.open_bits) = (node.mode, 0o7777);
            there.time = None;
        }
        Ok(())
    }

    /// A symbolic link under the name of a folder that an entry has named before is a failure. What a link of the run that
    /// was made is in the way of, [`Model::way_to`] finds.
    fn mind_folders(&mut self, entry: &Entry) -> Result<(), &'static str> {
        self.folders.extend(ancestors(&entry.path).map(str::to_owned));
        match &entry.is {
            Is::New(What::Folder) => drop(self.folders.insert(entry.path.clone())),
            Is::HardLink(existing) => self.folders.extend(ancestors(existing).map(str::to_owned)),
            Is::New(What::Symlink(_)) if self.folders.contains(&entry.path) => {
                self.differ(&entry.path, Differs::FolderInTheWay);
                return Err("a folder of this run has the name");
            }
            _ => {}
        }
        Ok(())
    }

    fn node(&self, what: &What, entry: &Entry) -> Node {
        Node { what: what.clone(), mode: self.setup.mode(entry.mode), open_bits: 0, time: Some(entry.time) }
    }

    fn folder(&mut self, path: &str, node: Node) -> Result<(), &'static str> {
        match self.world.get_mut(path) {
            None => {
                let inherited = self.inherited_bits(path);
                self.world.put(path, Node { open_bits: inherited, ..node });
                self.made.insert(path.to_owned());
            }
            Some(there) if there.what == What::Folder => {
                // An old folder keeps its set-id and sticky bits.
                let kept = if self.made.contains(path) { 0 } else { there.mode & 0o7000 };
                (there.mode, there.time) = (node.mode | kept, node.time);
                there.open_bits |= kept;
                self.left.remove(path);
                self.folders_differ.remove(path);
                if self.other == Other::Unzip || matches!(self.policy, Policy::Error | Policy::Skip | Policy::Newer) {
                    self.folders_differ.insert(path.to_owned(), Differs::FolderThatWasThere);
                }
            }
            Some(_) => {
                self.differ(path, Differs::FolderInTheWay);
                return Err("what has this name is not a folder");
            }
        }
        self.is_ours(path);
        Ok(())
    }

    fn hard_link(&mut self, entry: &Entry, existing: &str) -> Result<(), &'static str> {
        if self.way_is_there(existing)? {
            if self.failed.contains(existing) {
                self.differ(&entry.path, Differs::LinkToFailed);
                self.differ(existing, Differs::LinkToFailed);
                self.tar_makes_the_way(&entry.path);
                return Err("the file that it is a link to was not written");
            }
            let existing = self.renamed.get(existing).cloned().unwrap_or_else(|| existing.to_owned());
            if let Some(differs) = self.differs_at(&existing) {
                self.differ(&entry.path, differs);
            }
            if let Some(&id) = self.world.names.get(&existing)
                && self.world.nodes[id].what != What::Folder
            {
                self.way_to(&entry.path)?;
                if self.world.names.get(&entry.path) == Some(&id) {
                    return Ok(());
                }
                let node = self.world.nodes[id].clone();
                if node.time != Some(entry.time) && self.policy == Policy::Newer {
                    self.differ(&entry.path, Differs::AgeOfLink);
                }
                if let Choice::Write(path) = self.choose(entry, &node)? {
                    self.world.names.insert(path.clone(), id);
                    self.is_ours(&path);
                }
                return Ok(());
            }
        }
        if self.world.get(existing).is_some() {
            self.differ(&entry.path, Differs::LinkToFolder);
        }
        self.tar_makes_the_way(&entry.path);
        Err("what it is a link to is not there, or a folder")
    }

    fn tar_makes_the_way(&mut self, path: &str) {
        let Some(first) = ancestors(path).find(|above| self.world.get(above).is_none()).map(str::to_owned) else {
            return;
        };
        self.differ(&first, Differs::LinkToNothing);
        // The command may do so too.
        self.open.insert(first.clone());
        self.changes_folder_of(&first);
    }

    fn differ(&mut self, path: &str, why: Differs) {
        if !why.concerns(self.other) {
            return;
        }
        self.differs.insert(path.to_owned(), why);
        if let Some((above, _)) = path.rsplit_once('/') {
            self.folders_differ.insert(above.to_owned(), why);
        }
    }

    /// Where the entry goes, if anywhere.
    fn choose(&mut self, entry: &Entry, new: &Node) -> Result<Choice, &'static str> {
        let asked = self.renamed.get(&entry.path).unwrap_or(&entry.path).clone();
        let Some(there) = self.world.get(&asked) else { return Ok(Choice::Write(asked)) };
        if there.what == What::Folder {
            self.differ(&asked, Differs::FolderInTheWay);
            if self.policy == Policy::Rename {
                return Ok(Choice::Write(self.rename(&asked)));
            }
            return Err("a folder has this name");
        }
        if there.what == new.what && matches!(new.what, What::Symlink(_)) {
            self.differ(&asked, Differs::SameSymlink);
        }
        let there = self.world.get(&asked).expect("it was there just now");
        if self.other == Other::Unzip
            && self.policy == Policy::Newer
            && [&there.what, &new.what].iter().any(|what| matches!(what, What::Symlink(_)))
        {
            self.differ(&asked, Differs::AgeOfSymlink);
        }
        let there = self.world.get(&asked).expect("it was there just now");
        if self.policy == Policy::Newer {
            let are_files = [&there.what, &new.what].iter().all(|what| matches!(what, What::File(_)));
            let same_second = there.time.map(|time| time.0) == new.time.map(|time| time.0);
            match same_second {
                _ if !are_files => self.differ(&asked, Differs::AgeOfOtherThanFiles),
                true => self.differ(&asked, Differs::SameAge),
                false => {}
            }
        }
        let there = self.world.get(&asked).expect("it was there just now");
        let keeps = matches!(self.policy, Policy::Error | Policy::Skip | Policy::Newer);
        if self.ours.contains(&asked) {
            if keeps {
                self.differ(&asked, Differs::LastWins);
            }
            self.note_links(&asked);
            return Ok(Choice::Write(asked));
        }
        let choice = match self.policy {
            Policy::Error => return Err("its name is taken"),
            Policy::Skip => Choice::Leave,
            Policy::Newer if there.time >= new.time => Choice::Leave,
            Policy::Overwrite | Policy::SkipIdentical
                if there.what == What::Fifo && matches!(new.what, What::File(_)) =>
            {
                self.differ(&asked, Differs::FifoInTheWay);
                return Err("a FIFO has this name");
            }
            Policy::SkipIdentical if there.what == new.what && matches!(entry.is, Is::New(_)) => Choice::Leave,
            Policy::Overwrite | Policy::Replace | Policy::SkipIdentical | Policy::Newer => Choice::Write(asked.clone()),
            Policy::Rename => Choice::Write(self.rename(&asked)),
        };
        if matches!(choice, Choice::Write(_)) {
            self.note_links(&asked);
        }
        Ok(choice)
    }

    fn rename(&mut self, path: &str) -> String {
        let free = (1..).map(|number| numbered(path, number)).find(|name| self.world.get(name).is_none());
        let free = free.expect("there is no end of numbers");
        self.renamed.insert(path.to_owned(), free.clone());
        free
    }

    fn note_links(&mut self, path: &str) {
        if self.policy != Policy::Overwrite {
            return;
        }
        if self.world.get(path).is_some_and(|there| there.what == What::Fifo || there.mode & 0o200 == 0) {
            self.differ(path, Differs::NotWritable);
        }
        for other in self.world.other_names(path) {
            self.differ(&other, Differs::WritesThroughLinks);
            self.differ(path, Differs::WritesThroughLinks);
        }
    }

    /// Makes the folders above `path` that are not there.
    fn way_to(&mut self, path: &str) -> Result<(), &'static str> {
        self.way_is_there(path)?;
        for above in ancestors(path) {
            if self.world.get(above).is_none() {
                let open_bits = self.inherited_bits(above);
                let mode = 0o777 & !self.setup.umask;
                self.world.put(above, Node { what: What::Folder, mode, open_bits, time: None });
                self.made.insert(above.to_owned());
                self.is_ours(above);
            }
        }
        Ok(())
    }

    /// Whether the folders above `path` are there. An error if something else is in their place.
    fn way_is_there(&mut self, path: &str) -> Result<bool, &'static str> {
        for above in ancestors(path) {
            match self.world.get(above).map(|node| &node.what) {
                None => return Ok(false),
                Some(What::Folder) => {}
                Some(What::Symlink(_)) => {
                    self.differ(above, Differs::FolderInTheWay);
                    self.differ("", Differs::ThroughSymlink);
                    return Err("a symbolic link stands in the way");
                }
                Some(_) => {
                    match self.differs_at(above) {
                        // With the other program the link may have been there first.
                        Some(Differs::LastWins) => self.differ("", Differs::ThroughSymlink),
                        _ => self.differ(above, Differs::FolderInTheWay),
                    }
                    return Err("what is above it is not a folder");
                }
            }
        }
        Ok(true)
    }

    /// A set-group-id bit of the folder above goes to new folders, by the kernel's doing.
    fn inherited_bits(&self, path: &str) -> u32 {
        let above = path.rsplit_once('/').and_then(|(above, _)| self.world.get(above));
        above.map_or(0, |above| (above.mode | above.open_bits) & 0o2000)
    }

    fn is_ours(&mut self, path: &str) {
        self.ours.insert(path.to_owned());
        self.failed.remove(path);
        self.changes_folder_of(path);
    }

    fn changes_folder_of(&mut self, path: &str) {
        let Some((above, _)) = path.rsplit_once('/') else { return };
        if self.left.contains(above) {
            self.folders_differ.insert(above.to_owned(), Differs::FolderTimeTooEarly);
        }
        // The folder it is in has a new time, unless its entry gives it one.
        if !self.ours.contains(above)
            && let Some(folder) = self.world.get_mut(above)
        {
            folder.time = None;
        }
    }

    fn differs_at(&self, path: &str) -> Option<Differs> {
        self.differs.iter().find(|(at, _)| is_at_or_below(path, at)).map(|(_, differs)| *differs)
    }
}

/// The paths above `path`, the uppermost first.
pub(crate) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

pub(crate) fn is_at_or_below(path: &str, above: &str) -> bool {
    above.is_empty() || path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `name (1)`: the names here have no extension.
fn numbered(path: &str, number: u32) -> String {
    format!("{path} ({number})")
}
