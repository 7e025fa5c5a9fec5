//! Calls on files by name, as `Vfs`, `Closer` and `fs` have them, and their model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use manyfiles_testkit::Random;

use super::story::Answer;
use super::subject::{Bytes, Numbered, Seen, Threads};
use super::versions::Versions;

/// A name of a thread's own: the folder is the thread's, the number the file's.
pub type Name = usize;

pub const NAMES: usize = 4;

pub fn path(folder: &Path, thread: usize, name: Name) -> PathBuf {
    folder.join(format!("t{thread}")).join(["a", "b", "c", "d"][name])
}

pub fn prepare(folder: &Path) -> std::io::Result<()> {
    (0..3).try_for_each(|thread| std::fs::create_dir(folder.join(format!("t{thread}"))))
}

#[derive(Clone, Debug)]
pub enum Call {
    /// The file has these bytes alone.
    Write(Name, Bytes),
    /// As `Write`, old or new at any time.
    Put(Name, Bytes),
    /// Created, or cut to nothing, and written in pieces.
    Create(Name, Vec<Bytes>),
    Append(Name, Bytes),
    /// As `Append`, and with the system when it returns.
    AppendNow(Name, Bytes),
    Read(Name),
    Size(Name),
    Copy(Name, Name),
    Rename(Name, Name),
    Remove(Name),
    Touch(Name),
    Flush(Name),
    Sync(Name),
    List,
    Wait,
}

impl Call {
    /// One that all three types have.
    pub fn common(random: &mut Random) -> Call {
        let (name, other) = (random.below(NAMES), random.below(NAMES));
        match random.below(20) {
            0..3 => Call::Write(name, Bytes::new(random)),
            3..6 => Call::create(random, name),
            6..9 => Call::Append(name, Bytes::new(random)),
            9..12 => Call::Read(name),
            12..14 if name != other => Call::Copy(name, other),
            14..16 if name != other => Call::Rename(name, other),
            16 => Call::Remove(name),
            17 => Call::List,
            18 => Call::Wait,
            _ => Call::Size(name),
        }
    }

    /// One that a `Vfs` has.
    pub fn of_vfs(random: &mut Random) -> Call {
        let name = random.below(NAMES);
        match random.below(14) {
            0 => Call::Put(name, Bytes::new(random)),
            1 => Call::Touch(name),
            2 => Call::Flush(name),
            3 => Call::Sync(name),
            4..6 => Call::AppendNow(name, Bytes::short(random)),
            6..9 => Call::Append(name, Bytes::short(random)),
            _ => match Call::common(random) {
                Call::Write(name, bytes) => Call::Append(name, bytes),
                other => other,
            },
        }
    }

    fn create(random: &mut Random, name: Name) -> Call {
        let pieces = random.below(4);
        Call::Create(name, (0..pieces).map(|_| Bytes::new(random)).collect())
    }

    pub fn names(&self) -> Vec<Name> {
        match *self {
            Call::Write(name, _) | Call::Put(name, _) | Call::Create(name, _) | Call::Append(name, _) => vec![name],
            Call::AppendNow(name, _) | Call::Read(name) | Call::Size(name) | Call::Remove(name) => vec![name],
            Call::Touch(name) | Call::Flush(name) | Call::Sync(name) => vec![name],
            Call::Copy(one, other) | Call::Rename(one, other) => vec![one, other],
            Call::List | Call::Wait => vec![],
        }
    }

    /// Whether what had the name is removed, created anew or replaced.
    pub fn makes_anew(&self, name: Name) -> bool {
        match self {
            Call::Create(made, _) | Call::Put(made, _) | Call::Copy(_, made) => *made == name,
            Call::Rename(_, made) | Call::Remove(made) => *made == name,
            _ => false,
        }
    }

    /// Fails where the first name is that of no file.
    fn needs_a_file(&self) -> bool {
        use Call::{Copy, Read, Remove, Rename, Size, Sync};
        matches!(self, Read(_) | Size(_) | Copy(..) | Rename(..) | Remove(_) | Sync(_))
    }
}

/// The model of one thread's names.
struct Names {
    all: BTreeMap<Name, Versions>,
    /// Whether what is appended may be with the system later.
    buffers: bool,
}

impl Names {
    fn get(&self, name: Name) -> Versions {
        self.all.get(&name).cloned().unwrap_or_else(Versions::nothing)
    }

    fn set(&mut self, name: Name, content: Versions) {
        self.all.insert(name, content);
    }

    fn change(&mut self, name: Name, change: impl FnOnce(&mut Versions)) {
        let mut content = self.get(name);
        change(&mut content);
        self.set(name, content);
    }

    /// The call has returned no error.
    fn done(&mut self, call: &Call, answer: &Answer) -> Option<String> {
        let wrong = |what: &Versions| Some(format!("{:?} returned {} in place of {what:?}", call, answer.value));
        match call {
            Call::Write(name, bytes) | Call::Put(name, bytes) => self.set(*name, Versions::is(bytes.get())),
            Call::Create(name, pieces) => {
                self.set(*name, Versions::is(pieces.iter().flat_map(|piece| piece.get()).collect()));
            }
            Call::Append(name, bytes) => {
                let buffers = self.buffers;
                self.change(*name, |content| content.add(&bytes.get(), buffers));
            }
            Call::AppendNow(name, bytes) => self.change(*name, |content| {
                content.arrive();
                content.add(&bytes.get(), false);
            }),
            // It adds nothing, and looks only whether there is a file.
            Call::Touch(name) => self.change(*name, |content| content.add(b"", true)),
            Call::Read(name) => {
                self.change(*name, Versions::arrive);
                let content = self.get(*name);
                if !content.allows_digest(&answer.value) {
                    return wrong(&content);
                }
            }
            Call::Size(name) => {
                self.change(*name, Versions::arrive);
                let content = self.get(*name);
                if !answer.value.parse().is_ok_and(|len| content.allows_length(len)) {
                    return wrong(&content);
                }
            }
            Call::Copy(from, to) => {
                self.change(*from, Versions::arrive);
                self.set(*to, self.get(*from));
            }
            Call::Rename(from, to) => {
                self.change(*from, Versions::arrive);
                self.set(*to, self.get(*from));
                self.set(*from, Versions::nothing());
            }
            Call::Remove(name) => self.set(*name, Versions::nothing()),
            Call::List => {
                let listed: Vec<_> = answer.value.split(' ').collect();
                for (name, content) in &self.all {
                    if content.is_there().is_some_and(|is| is != listed.contains(&["a", "b", "c", "d"][*name])) {
                        return Some(format!("List returned {} and not {name}: {content:?}", answer.value));
                    }
                }
            }
            Call::Flush(name) | Call::Sync(name) => self.change(*name, Versions::arrive),
            Call::Wait => self.all.values_mut().for_each(Versions::arrive),
        }
        None
    }

    /// The call has returned an error: it has done all, nothing, or the first part of it.
    fn failed(&mut self, call: &Call) {
        // What was on its way may have failed instead.
        call.names().into_iter().for_each(|name| self.change(name, Versions::fail));
        match call {
            // "The old content is there, but for a failed sync of the folder."
            Call::Put(name, bytes) => self.set(*name, self.get(*name).or(Versions::is(bytes.get()))),
            Call::Write(name, bytes) => self.set(*name, self.get(*name).or(Versions::part_of(bytes.get()))),
            Call::Create(name, pieces) => {
                let bytes = pieces.iter().flat_map(|piece| piece.get()).collect();
                self.set(*name, self.get(*name).or(Versions::part_of(bytes)));
            }
            Call::Append(name, bytes) | Call::AppendNow(name, bytes) => {
                let before = self.get(*name);
                self.change(*name, |content| {
                    content.add(&bytes.get(), true);
                    content.fail();
                });
                self.set(*name, before.or(self.get(*name)));
            }
            Call::Touch(name) => self.set(*name, self.get(*name).or(Versions::is(Vec::new()))),
            // One step, which was made or not.
            Call::Remove(name) => self.set(*name, self.get(*name).or(Versions::nothing())),
            Call::Rename(from, to) => {
                self.set(*to, self.get(*to).or(self.get(*from)));
                self.set(*from, self.get(*from).or(Versions::nothing()));
            }
            Call::Copy(from, to) => {
                let part = self.get(*from).beginning();
                let after =
                    if self.get(*from).is_there() == Some(false) { self.get(*to) } else { self.get(*to).or(part) };
                self.set(*to, after);
            }
            Call::Read(_) | Call::Size(_) | Call::Flush(_) | Call::Sync(_) | Call::List | Call::Wait => {}
        }
    }
}

/// Judges programs of such calls. `buffers`: what is appended may be with the system later.
pub fn judge(threads: &Threads<Call>, seen: &mut Seen, buffers: bool) {
    for (thread, calls) in threads.iter().enumerate() {
        let mut names = Names { all: BTreeMap::new(), buffers };
        // What `wait` has told another thread of this one's files may have come before any call of this thread.
        let told_elsewhere = told_by_waits_of_others(threads, seen, thread);
        for Numbered { number, call } in calls {
            told_elsewhere.iter().for_each(|name| names.change(*name, Versions::fail));
            let answer = seen.answer(*number);
            let first = call.names().first().map(|name| names.get(*name));
            let is_missing = first.as_ref().and_then(Versions::is_there) == Some(false) && call.needs_a_file();
            if answer.is_ok() {
                if is_missing {
                    seen.say(format!("{number}: {call:?} succeeded, and there is no file"));
                }
                let wrong = names.done(call, &answer).map(|wrong| format!("{number}: {wrong}"));
                seen.problems.extend(wrong);
            } else {
                let may_be_missing = first.as_ref().and_then(Versions::is_there) != Some(true) && call.needs_a_file();
                let is_missing = |text: &str| text.contains("No such file") || text.contains("not found");
                for told in &answer.told {
                    let is_known = may_be_missing && is_missing(&told.text);
                    if !is_known && !seen.is_explained(told) {
                        seen.say(format!("{number}: {call:?} failed without a reason: {}", told.text));
                    }
                }
                if !(may_be_missing && answer.told.iter().all(|told| is_missing(&told.text))) {
                    names.failed(call);
                }
            }
            // Others than the call's own: what was handed over before has failed.
            let told: Vec<_> = answer.told.iter().filter_map(|told| told.path.as_deref()).collect();
            for name in (0..NAMES).filter(|name| told.contains(&&*path(&seen.folder, thread, *name))) {
                names.change(name, Versions::fail);
            }
        }
        told_elsewhere.iter().for_each(|name| names.change(*name, Versions::fail));
        // What the end says of a file that buffers: the last bytes may be missing.
        let told: Vec<_> = seen.story.end.iter().filter_map(|told| told.path.clone()).collect();
        for (name, content) in &mut names.all {
            let path = path(&seen.folder, thread, *name);
            if told.contains(&path) {
                content.fail();
            }
            if let Some(wrong) = content.compare(&path) {
                seen.say(wrong);
            }
        }
    }
    for told in seen.story.end.clone() {
        if !seen.is_explained(&told) {
            seen.say(format!("the end failed without a reason: {}", told.text));
        }
    }
}

/// The names of a thread's files that a `wait` of another thread has told an error of.
fn told_by_waits_of_others(threads: &Threads<Call>, seen: &Seen, thread: usize) -> Vec<usize> {
    let others = threads.iter().enumerate().filter(|(other, _)| *other != thread).flat_map(|(_, calls)| calls);
    let waits = others.filter(|it| matches!(it.call, Call::Wait));
    let told: Vec<_> = waits.flat_map(|it| seen.answer(it.number).told).filter_map(|told| told.path).collect();
    (0..NAMES).filter(|name| told.contains(&path(&seen.folder, thread, *name))).collect()
}
