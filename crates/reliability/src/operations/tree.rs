//! `TreeWriter` and its streams: entries of all kinds, conflicts with what is there and among each other.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use manyfiles::tree::{Durability, Metadata, OnConflict, TreeWriter};
use manyfiles_testkit::{Call as System, Random};

use super::story::{Answer, Story, digest};
use super::subject::{Bytes, Numbered, Seen, Subject, Threads, on_threads};
use crate::scene::bytes;
use crate::told::{Tale, Told};

pub struct Tree;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conflict {
    Error,
    Skip,
    SkipIdentical,
    Overwrite,
    Replace,
}

#[derive(Clone, Copy, Debug)]
pub struct Options {
    on_conflict: Conflict,
    durability: Durability,
    publish: bool,
    threads: usize,
    bytes_in_flight: usize,
}

/// A path of the thread's own.
type Name = usize;

#[derive(Clone, Debug)]
pub enum Call {
    File(Name, Bytes),
    /// A stream, closed at the end.
    Create(Name, Vec<Bytes>),
    /// A stream that is dropped.
    Drop(Name, Vec<Bytes>),
    CopyFrom(Name, Bytes),
    Folder(Name),
    Symlink(Name),
    HardLink(Name, Name),
}

impl Subject for Tree {
    type Options = Options;
    type Call = Call;
    const FAILS: &'static [System] = &[
        System::Open,
        System::Open,
        System::Write,
        System::Write,
        System::Close,
        System::Fsync,
        System::Syncfs,
        System::Read,
        System::Mkdir,
        System::Rename,
        System::Unlink,
        System::Link,
        System::Ftruncate,
        System::Stat,
        System::Reserve,
        System::List,
    ];

    fn options(random: &mut Random) -> Options {
        use Conflict::{Error, Overwrite, Replace, Skip, SkipIdentical};
        Options {
            on_conflict: random.pick(&[Error, Skip, SkipIdentical, Overwrite, Replace]),
            durability: random.pick(&[Durability::None, Durability::None, Durability::EachFile, Durability::AtFinish]),
            publish: random.percent(30),
            threads: random.pick(&[1, 2, 4]),
            bytes_in_flight: random.pick(&[1, 100_000, 64 << 20]),
        }
    }

    fn call(random: &mut Random, _options: &Options, _thread: usize) -> Call {
        let (name, other) = (random.below(NAMES), random.below(NAMES));
        let pieces = |random: &mut Random| (0..random.below(4)).map(|_| Bytes::new(random)).collect();
        match random.below(16) {
            0..6 => Call::File(name, Bytes::new(random)),
            6..9 => Call::Create(name, pieces(random)),
            9 => Call::Drop(name, pieces(random)),
            10..12 => Call::CopyFrom(name, Bytes::new(random)),
            12 => Call::Symlink(name),
            13..15 if name != other => Call::HardLink(name, other),
            _ => Call::Folder(name),
        }
    }

    fn prepare(options: &Options, folder: &Path) -> std::io::Result<()> {
        for (path, node) in before(options, 3) {
            let path = folder.join("root").join(path);
            std::fs::create_dir_all(path.parent().expect("it is below the folder"))?;
            if let Node::File(bytes) = node {
                std::fs::write(path, bytes)?;
            }
        }
        Ok(())
    }

    fn play(options: &Options, folder: &Path, threads: &Threads<Call>) -> Story {
        let tree = TreeWriter::options()
            .on_conflict(match options.on_conflict {
                Conflict::Error => OnConflict::Error,
                Conflict::Skip => OnConflict::Skip,
                Conflict::SkipIdentical => OnConflict::SkipIdentical,
                Conflict::Overwrite => OnConflict::Overwrite,
                Conflict::Replace => OnConflict::Replace,
            })
            .durability(options.durability)
            .publish(options.publish)
            .threads(options.threads)
            .bytes_in_flight(options.bytes_in_flight)
            .open(folder.join("root"));
        let mut tale = Tale::default();
        let mut story = Story::default();
        if let Some(tree) = tale.ours(tree) {
            let played = |(): &mut (), thread: usize, it: &Numbered<Call>| call(&tree, thread, it);
            story = on_threads(threads, |_| (), played, |(), _| Vec::new());
            tale.tree(tree.finish());
        }
        story.end.extend(tale.told);
        story
    }

    fn judge(options: &Options, threads: &Threads<Call>, seen: &mut Seen) {
        judge(options, threads, seen);
    }
}

const NAMES: usize = 5;

/// Below the root. Names of two threads lie in one folder.
fn path(thread: usize, name: Name) -> PathBuf {
    PathBuf::from(["a", "a", "b", "b/c", "b/c"][name]).join(format!("t{thread}-{name}"))
}

/// A folder has a name that no file has.
fn folder_path(thread: usize, name: Name) -> PathBuf {
    path(thread, name).with_extension("folder")
}

const TARGET: &str = "somewhere/else";

fn call(tree: &TreeWriter, thread: usize, it: &Numbered<Call>) -> Answer {
    let done = |()| String::new();
    let at = |name: Name| path(thread, name);
    let metadata = Metadata::default();
    match &it.call {
        Call::File(name, bytes) => Answer::ours(tree.file(at(*name), bytes.get()), done),
        Call::Create(name, pieces) => stream(tree, &at(*name), pieces, true),
        Call::Drop(name, pieces) => stream(tree, &at(*name), pieces, false),
        Call::CopyFrom(name, bytes) => {
            Answer::ours(tree.copy_from(at(*name), &bytes.get()[..], metadata), |bytes| bytes.to_string())
        }
        Call::Folder(name) => Answer::ours(tree.folder(folder_path(thread, *name), metadata), done),
        Call::Symlink(name) => Answer::ours(tree.symlink(at(*name), TARGET, metadata), done),
        Call::HardLink(name, existing) => Answer::ours(tree.hard_link(at(*name), at(*existing)), done),
    }
}

/// Goes on after an error, which every later call is to repeat.
fn stream(tree: &TreeWriter, path: &Path, pieces: &[Bytes], is_closed: bool) -> Answer {
    let mut file = match tree.create(path, Metadata::default()) {
        Ok(file) => file,
        Err(error) => return Answer::ours(Err::<(), _>(error), |()| String::new()),
    };
    let (mut tale, mut value) = (Tale::default(), String::new());
    for piece in pieces {
        let is_written = tale.call(path, file.write_all(&piece.get())).is_some();
        if is_written && !tale.told.is_empty() && !piece.get().is_empty() {
            value = "a write succeeded after one that failed".into();
        }
    }
    if is_closed {
        let had_failed = !tale.told.is_empty();
        if tale.ours(file.close()).is_some() && had_failed {
            value = "a close succeeded after a write that failed".into();
        }
    }
    Answer { value, told: tale.told }
}

#[derive(Clone, PartialEq, Eq)]
enum Node {
    File(Vec<u8>),
    Link(PathBuf),
    Folder,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Node::File(bytes) => f.write_str(&digest(bytes)),
            Node::Link(target) => write!(f, "a link to {}", target.display()),
            Node::Folder => f.write_str("a folder"),
        }
    }
}

type Nodes = BTreeMap<PathBuf, Node>;

/// Two files of each thread, and one that no entry names.
fn before(_options: &Options, threads: usize) -> Nodes {
    let mut nodes = Nodes::from([(PathBuf::from("b/other"), Node::File(bytes(9, 100)))]);
    for thread in 0..threads {
        nodes.insert(path(thread, 0), Node::File(bytes(10, 5000)));
        nodes.insert(path(thread, 2), Node::File(bytes(11, 300_000)));
    }
    nodes
}

/// All but folders that only lead to others.
fn on_disk(root: &Path) -> Nodes {
    let mut nodes = Nodes::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let node = match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    folders.push(path.clone());
                    Node::Folder
                }
                Ok(kind) if kind.is_symlink() => Node::Link(std::fs::read_link(&path).unwrap_or_default()),
                _ => Node::File(std::fs::read(&path).unwrap_or_default()),
            };
            let below = path.strip_prefix(root).expect("it is below the root").to_path_buf();
            if node != Node::Folder || below.extension().is_some() {
                nodes.insert(below, node);
            }
        }
    }
    nodes
}

/// What one program makes of `nodes` if no call of the system fails.
struct Model {
    nodes: Nodes,
    /// Entries that may fail.
    refused: BTreeSet<PathBuf>,
    /// Entries that must fail.
    impossible: BTreeSet<PathBuf>,
    /// Whose error is an error of another path too.
    sources: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
    /// All that a path may have had at any time.
    ever: BTreeMap<PathBuf, Vec<Node>>,
    /// Whose last entry failed: "a link to it must not get whatever else has the name" (`engine/outcome.rs`).
    astray: BTreeSet<PathBuf>,
    /// A stream of this path was dropped, which fails at once, while entries before it may still wait: whether a link
    /// to it is made depends on the moment.
    open: BTreeSet<PathBuf>,
}

impl Model {
    fn new(options: &Options, nodes: Nodes, threads: &Threads<Call>) -> Model {
        let ever = nodes.iter().map(|(path, node)| (path.clone(), vec![node.clone()])).collect();
        let mut model = Model {
            nodes,
            refused: BTreeSet::new(),
            impossible: BTreeSet::new(),
            sources: BTreeMap::new(),
            ever,
            astray: BTreeSet::new(),
            open: BTreeSet::new(),
        };
        for (thread, calls) in threads.iter().enumerate() {
            for Numbered { call, .. } in calls {
                model.play(options, thread, call);
            }
        }
        model
    }

    fn play(&mut self, options: &Options, thread: usize, call: &Call) {
        let all = |pieces: &[Bytes]| pieces.iter().flat_map(|piece| piece.get()).collect::<Vec<_>>();
        let (name, node) = match call {
            Call::File(name, bytes) | Call::CopyFrom(name, bytes) => (name, Node::File(bytes.get())),
            Call::Create(name, pieces) => (name, Node::File(all(pieces))),
            // "Dropped before `close`, it is removed again and is a failure of the report."
            Call::Drop(name, _) => {
                let path = path(thread, *name);
                // One that was skipped before it was dropped is no failure.
                if options.on_conflict != Conflict::Skip || !self.nodes.contains_key(&path) {
                    self.impossible.insert(path.clone());
                }
                self.refused.insert(path.clone());
                self.open.insert(path);
                return;
            }
            Call::Symlink(name) => (name, Node::Link(TARGET.into())),
            Call::Folder(name) => {
                self.nodes.insert(folder_path(thread, *name), Node::Folder);
                return;
            }
            Call::HardLink(name, existing) => {
                let (to, from) = (path(thread, *name), path(thread, *existing));
                let more = self.sources.get(&from).cloned().unwrap_or_default();
                self.sources.entry(to.clone()).or_default().extend(more.into_iter().chain([from.clone()]));
                if self.open.contains(&from) {
                    let mut possible = self.ever.get(&from).cloned().unwrap_or_default();
                    self.ever.entry(to.clone()).or_default().append(&mut possible);
                    self.refused.insert(to.clone());
                    self.open.insert(to);
                    return;
                }
                match self.nodes.get(&from) {
                    Some(node) if !self.astray.contains(&from) => (name, node.clone()),
                    _ => {
                        self.refused.insert(to.clone());
                        self.impossible.insert(to.clone());
                        self.astray.insert(to);
                        return;
                    }
                }
            }
        };
        let path = path(thread, *name);
        self.ever.entry(path.clone()).or_default().push(node.clone());
        match (self.nodes.contains_key(&path), options.on_conflict) {
            (true, Conflict::Error) => {
                self.refused.insert(path.clone());
                self.impossible.insert(path.clone());
                self.astray.insert(path);
            }
            (true, Conflict::Skip) => {}
            _ => {
                self.astray.remove(&path);
                self.nodes.insert(path, node);
            }
        }
    }
}

fn judge(options: &Options, threads: &Threads<Call>, seen: &mut Seen) {
    let root = seen.folder.join("root");
    let before = before(options, 3);
    let begun = if options.publish { Nodes::new() } else { before.clone() };
    let model = Model::new(options, begun, threads);
    let found = on_disk(&root);
    for Numbered { number, .. } in threads.iter().flatten() {
        let answer = seen.answer(*number);
        if answer.value.starts_with("a ") {
            seen.say(format!("{number}: {}", answer.value));
        }
    }
    let all_told: Vec<Told> = seen.story.told().cloned().collect();
    // The path below the root, by whichever folder it was written in.
    let told: BTreeSet<PathBuf> = all_told.iter().filter_map(|it| below(&root, it.path.as_deref()?)).collect();
    for it in &all_told {
        let path = it.path.as_deref().and_then(|path| below(&root, path));
        let is_refused = path.as_ref().is_some_and(|path| model.refused.contains(path));
        let is_of_publishing = options.publish && !model.refused.is_empty();
        if !is_refused && !is_of_publishing && !seen.is_explained(it) {
            seen.say(format!("an error without a reason: {}", it.text));
        }
    }
    for path in &model.impossible {
        if !told.contains(path) && !is_below_any(path, &told) && !options.publish && seen.fired.is_empty() {
            seen.say(format!("{} could not be made, and nobody was told", path.display()));
        }
    }
    if options.publish {
        let is_new = found == model.nodes && model.impossible.is_empty();
        let is_old = found == before;
        if !(is_new || is_old && !all_told.is_empty()) {
            seen.say(format!("neither the old nor the new tree is there: {found:?} in place of {:?}", model.nodes));
        }
        return;
    }
    let paths: BTreeSet<&PathBuf> = found.keys().chain(model.nodes.keys()).chain(before.keys()).collect();
    for path in paths {
        let (now, right) = (found.get(path), model.nodes.get(path));
        let sources = model.sources.get(path).into_iter().flatten();
        let is_doubtful = model.open.contains(path)
            || !seen.fired.is_empty()
                && sources.chain([path]).any(|path| told.contains(path) || is_below_any(path, &told));
        if now == right || path.to_string_lossy().contains(".manyfiles-") {
            continue;
        }
        let is_whole = now.is_none_or(|now| model.ever.get(path).is_some_and(|ever| ever.contains(now)));
        // These two write over the old bytes.
        let in_place = matches!(options.on_conflict, Conflict::Overwrite | Conflict::SkipIdentical);
        let is_linked =
            model.sources.values().any(|sources| sources.contains(path)) || model.sources.contains_key(path);
        if !is_doubtful {
            seen.say(format!("{}: {now:?} in place of {right:?}, and nobody was told", path.display()));
        } else if !is_whole && !in_place && !is_linked {
            seen.say(format!("{}: {now:?} is neither old nor new", path.display()));
        }
    }
}

fn below(root: &Path, told: &Path) -> Option<PathBuf> {
    if told.is_relative() {
        return Some(told.to_path_buf());
    }
    told.strip_prefix(root).ok().map(Path::to_path_buf)
}

/// A folder above it was told.
fn is_below_any(path: &Path, told: &BTreeSet<PathBuf>) -> bool {
    path.ancestors().skip(1).any(|above| told.contains(above))
}
