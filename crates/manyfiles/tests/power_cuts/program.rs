//! A program of calls that a seed chooses, on a few files with several names, and what it was told.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use manyfiles::close::Closer;
use manyfiles::vfs::{CreateOptions, Vfs};
use manyfiles::writer::{FileWriter, SyncPolicy};
use manyfiles::{Error, Operation};
use manyfiles_testkit::model::{Disk, FileId, Random};

use crate::promises::Promises;

/// Beside each other, in a folder, and the ways there.
pub const FOLDERS: [&str; 1] = ["d"];
pub const LINKS: [(&str, &str); 2] = [("way", "d"), ("soft", "a")];
/// Each with the name that it has in the model.
const NAMES: [(&str, &str); 9] = [
    ("a", "/a"),
    ("b", "/b"),
    ("c", "/c"),
    ("d/a", "/d/a"),
    ("d/b", "/d/b"),
    ("d/../a", "/a"),
    ("way/a", "/d/a"),
    ("way/../c", "/c"),
    ("soft", "/a"),
];
/// The last one is a link itself: what has to do with names would be about the link.
const NO_LINK: u64 = NAMES.len() as u64 - 1;

pub struct Program<'a> {
    pub vfs: Vfs,
    pub disk: Disk,
    pub root: &'a Path,
    pub random: Random,
    pub promises: &'a mut Promises,
    /// What was told.
    pub told: Vec<Error>,
    pub story: String,
    /// Numbers the bytes, so that no two pieces are the same.
    pub pieces: &'a mut u64,
    /// Files that the call in hand may have changed in any way.
    pub in_hand: Vec<FileId>,
    pub closer: Arc<Closer>,
    /// A file was made empty or thrown away, and nobody is told any more what was wrong with it.
    pub forgave: bool,
    /// Whether each call is printed.
    pub shows: bool,
}

#[derive(Clone)]
struct Name {
    path: PathBuf,
    name: PathBuf,
}

impl Program<'_> {
    fn name(&mut self, limit: u64) -> Name {
        let (spelled, name) = NAMES[self.random.below(limit) as usize];
        Name { path: self.root.join(spelled), name: PathBuf::from(name) }
    }

    fn piece(&mut self) -> Vec<u8> {
        *self.pieces += 1;
        let len = match self.random.below(12) {
            0 => 0,
            1..=6 => 1 + self.random.below(300),
            7..=9 => self.random.below(5_000),
            10 => 4096 * self.random.below(4),
            _ => self.random.below(40_000),
        };
        let mut tag = Random(*self.pieces);
        // Never zeros, which are what holes show.
        let pattern: Vec<u8> = (0..61).map(|_| 1 + tag.below(255) as u8).collect();
        pattern.into_iter().cycle().take(len as usize).collect()
    }

    /// Prints a call of a series that is lived again.
    fn show(&self, call: &str, answer: &dyn std::fmt::Debug) {
        if self.shows {
            let names: Vec<_> = self.disk.all_names().into_iter().map(|(name, FileId(id))| (name, id)).collect();
            println!("{call}: {answer:?}; {} steps, {} failed, {names:?}", self.disk.steps(), self.disk.failed());
        }
    }

    fn find(&self, name: &Name) -> Option<FileId> {
        self.disk.find(&name.name)
    }

    /// An error names a file of this program's, and somebody has made a call fail, or there is no such file.
    fn told(&mut self, error: Error, names: &[&Name], call: &str) {
        let story = &self.story;
        let path = error.path().unwrap_or_else(|| panic!("{story}: {call}: no path: {error}"));
        assert!(path.starts_with(self.root), "{story}: {call}: {error}");
        if !self.disk.is_over() && !names.iter().any(|name| self.disk.find(&name.name).is_none()) {
            let is_injected = error.raw_os_error().is_some_and(|number| [5, 28].contains(&number));
            assert!(is_injected, "{story}: {call}: a call that should have gone well failed: {error}");
        }
        self.told.push(error);
    }

    /// After an error the program asks what became of the file.
    fn settle(&mut self, name: &Name) {
        let Some(id) = self.find(name) else { return };
        let flushed = self.vfs.flush(&name.path);
        self.show(&format!("flush {:?}", name.path), &flushed);
        if self.disk.is_over() {
            return;
        }
        match flushed {
            Ok(()) if !self.in_hand.contains(&id) => self.promises.is_written(&self.disk, id, &self.story),
            Ok(()) => self.promises.may_be_written(&self.disk, id, &self.story),
            Err(error) => {
                self.promises.may_be_written(&self.disk, id, &self.story);
                self.told(error, &[], "flush");
                // Told once.
                let again = self.vfs.flush(&name.path);
                assert!(again.is_ok() || self.disk.is_over(), "{}: told twice: {again:?}", self.story);
            }
        }
    }

    /// Does one thing. False when everything has stopped.
    pub fn step(&mut self) -> bool {
        self.in_hand.clear();
        self.promises.look(&self.disk);
        match self.random.below(38) {
            0..=8 => self.write(),
            9..=11 => self.append(),
            12..=15 => self.sync(),
            16 => self.flush(),
            17..=18 => self.put(),
            19..=20 => self.rename(),
            21 => self.remove(),
            22 => self.touch(),
            23..=24 => self.copy(),
            25 => self.read(),
            26..=27 => self.create_writer(),
            28..=30 => self.link(),
            31 => self.fail_write_back(),
            _ => self.file_writer(),
        }
        !self.disk.is_over()
    }

    fn write(&mut self) {
        let (name, bytes) = (self.name(NAMES.len() as u64), self.piece());
        let before = self.find(&name);
        if let Some(id) = before {
            // Should everything stop within the call.
            self.promises.of(id).maybe.clone_from(&bytes);
        }
        let written = self.vfs.write(&name.path, &bytes);
        self.show(&format!("write {:?} {}", name.path, bytes.len()), &written);
        if self.disk.is_over() {
            if let (None, Some(id)) = (before, self.find(&name)) {
                self.promises.of(id).maybe = bytes;
            }
            return;
        }
        match (written, self.find(&name)) {
            (Ok(()), id) => {
                let id = id.unwrap_or_else(|| {
                    panic!("{}: {name} was written, and is not there", self.story, name = name.name.display())
                });
                let known = self.promises.of(id);
                known.maybe.clear();
                known.taken.extend(bytes);
            }
            (Err(error), id) => {
                if let Some(id) = id {
                    self.promises.of(id).maybe = bytes;
                }
                self.failed(error, &name, "write");
            }
        }
    }

    /// A call that writes has failed: the next ones say so, too, and do nothing, until the file is flushed.
    fn failed(&mut self, error: Error, name: &Name, call: &str) {
        self.told(error, &[], call);
        if let Some(id) = self.find(name) {
            self.in_hand.push(id);
        }
        self.settle(name);
    }

    fn append(&mut self) {
        let (name, bytes) = (self.name(NAMES.len() as u64), self.piece());
        if let Some(id) = self.find(&name) {
            self.promises.of(id).maybe.clone_from(&bytes);
        }
        let appended = self.vfs.append(&name.path, &bytes);
        self.show(&format!("append {:?} {}", name.path, bytes.len()), &appended);
        let Some(id) = self.find(&name) else { return self.told(appended.unwrap_err(), &[&name], "append") };
        self.promises.of(id).maybe.clone_from(&bytes);
        if self.disk.is_over() {
            return;
        }
        match appended {
            Ok(()) => {
                let known = self.promises.of(id);
                let bytes = std::mem::take(&mut known.maybe);
                known.taken.extend(bytes);
                self.promises.is_written(&self.disk, id, &self.story);
            }
            Err(error) => self.failed(error, &name, "append"),
        }
    }

    fn sync(&mut self) {
        let name = self.name(NAMES.len() as u64);
        let synced = self.vfs.sync(&name.path);
        self.show(&format!("sync {:?}", name.path), &synced);
        if self.disk.is_over() {
            return;
        }
        match (synced, self.find(&name)) {
            (Ok(()), Some(id)) => {
                self.promises.is_written(&self.disk, id, &self.story);
                self.promises.is_durable(&self.disk, id, Some(&name.name), &self.story);
            }
            (Ok(()), None) => panic!("{}: nothing was synced", self.story),
            (Err(error), None) => self.told(error, &[&name], "sync"),
            (Err(error), Some(id)) => {
                self.told(error, &[], "sync");
                if self.disk.losses(id) > self.promises.of(id).losses {
                    let again = self.vfs.sync(&name.path);
                    assert!(again.is_err(), "{}: a sync has failed, and then one went well", self.story);
                }
                self.in_hand.push(id);
                self.settle(&name);
            }
        }
    }

    fn flush(&mut self) {
        let name = self.name(NAMES.len() as u64);
        self.settle(&name);
    }

    fn put(&mut self) {
        let (name, bytes) = (self.name(NAMES.len() as u64), self.piece());
        let before = self.find(&name);
        if before.is_none() && std::fs::read_link(&name.path).is_ok() {
            // A link that leads to nothing would be replaced itself.
            return;
        }
        let made = self.disk.files_made();
        let put = self.vfs.put(&name.path, &bytes);
        self.show(&format!("put {:?} {}", name.path, bytes.len()), &put);
        let new: Vec<FileId> = (made..self.disk.files_made()).map(FileId).collect();
        for &id in &new {
            self.promises.may_replace(&name.name, id, &bytes);
            self.promises.of(id).maybe.clone_from(&bytes);
        }
        if self.disk.is_over() {
            return;
        }
        match put {
            Ok(()) => {
                let id = self.find(&name).unwrap();
                assert!(Some(id) != before && new == [id], "{}: not put anew", self.story);
                self.forgive(before);
                let known = self.promises.of(id);
                (known.there, known.maybe) = (bytes, Vec::new());
                self.promises.is_written(&self.disk, id, &self.story);
                self.promises.is_durable(&self.disk, id, Some(&name.name), &self.story);
            }
            Err(error) => {
                let is_folder_s = error.operation() == Operation::Sync && error.path() != Some(&*name.path);
                let after = self.find(&name);
                assert!(after == before || is_folder_s, "{}: replaced, and yet {error}", self.story);
                self.told(error, &[], "put");
                self.in_hand.extend(after);
                self.settle(&name);
            }
        }
    }

    fn rename(&mut self) {
        let (from, to) = (self.name(NO_LINK), self.name(NO_LINK));
        let (moved, gone) = (self.find(&from), self.find(&to));
        self.promises.will_rename(&self.disk, &from.name, &to.name);
        let renamed = self.vfs.rename(&from.path, &to.path);
        self.show(&format!("rename {:?} {:?}", from.path, to.path), &renamed);
        if self.disk.is_over() {
            return;
        }
        match renamed {
            Ok(()) => {
                assert!(self.find(&to) == moved && moved.is_some(), "{}: not renamed", self.story);
                self.forgive(gone.filter(|_| gone != moved));
            }
            Err(error) => {
                assert_eq!((self.find(&from), self.find(&to)), (moved, gone), "{}: {error}", self.story);
                self.told(error, &[&from], "rename");
                self.in_hand.extend(moved);
                self.settle(&from);
                self.settle(&to);
            }
        }
    }

    fn remove(&mut self) {
        let name = self.name(NO_LINK);
        let before = self.find(&name);
        self.promises.will_remove(&name.name);
        let removed = self.vfs.remove(&name.path);
        self.show(&format!("remove {:?}", name.path), &removed);
        if self.disk.is_over() {
            return;
        }
        match removed {
            Ok(()) => {
                assert!(self.find(&name).is_none() && before.is_some(), "{}: not removed", self.story);
                self.forgive(before);
            }
            Err(error) => {
                assert_eq!(self.find(&name), before, "{}: {error}", self.story);
                self.told(error, &[&name], "remove");
                self.settle(&name);
            }
        }
    }

    /// A file has lost a name.
    fn forgive(&mut self, file: Option<FileId>) {
        let names = self.disk.all_names();
        self.forgave |= file.is_some_and(|file| names.iter().all(|(_, other)| *other != file));
    }

    fn touch(&mut self) {
        let name = self.name(NAMES.len() as u64);
        if let Err(error) = self.vfs.touch(&name.path)
            && !self.disk.is_over()
        {
            self.told(error, &[&name], "touch");
            self.settle(&name);
        }
    }

    fn copy(&mut self) {
        let (from, to) = (self.name(NAMES.len() as u64), self.name(NAMES.len() as u64));
        let (source, target) = (self.find(&from), self.find(&to));
        if let Some(id) = target.filter(|id| Some(*id) != source) {
            self.in_hand.push(id);
            self.promises.will_change(id, 0, usize::MAX, true);
        }
        let copied = self.vfs.copy(&from.path, &to.path);
        self.show(&format!("copy {:?} {:?}", from.path, to.path), &copied);
        self.in_hand.extend(self.find(&to).filter(|_| target.is_none()));
        if self.disk.is_over() {
            return;
        }
        match copied {
            Ok(len) => {
                let (source, target) = (source.unwrap(), self.find(&to).unwrap());
                self.promises.is_written(&self.disk, source, &self.story);
                self.promises.is_emptied(&self.disk, target);
                self.forgave = true;
                self.promises.of(target).there = self.disk.read(source, <[u8]>::to_vec);
                self.promises.is_written(&self.disk, target, &self.story);
                assert_eq!(len, self.disk.read(target, |bytes| bytes.len() as u64), "{}", self.story);
            }
            Err(error) => {
                if source.is_some() && source == target {
                    return;
                }
                let is_cut = target.is_some_and(|id| self.disk.read(id, <[u8]>::is_empty));
                self.told(error, &[&from], "copy");
                self.settle(&from);
                // It has a part of it, or what it had.
                self.settle_changed(&to, is_cut);
            }
        }
    }

    /// The same for a file that may have any content by now.
    fn settle_changed(&mut self, name: &Name, is_cut: bool) {
        if let Err(error) = self.vfs.flush(&name.path)
            && !self.disk.is_over()
        {
            self.told(error, &[], "flush");
        }
        if let Some(id) = self.find(name).filter(|_| !self.disk.is_over()) {
            self.adopt(id, is_cut);
        }
    }

    /// What is in a file now is what is known of it.
    fn adopt(&mut self, id: FileId, is_cut: bool) {
        let there = self.disk.read(id, <[u8]>::to_vec);
        if is_cut {
            self.promises.is_emptied(&self.disk, id);
        }
        let known = self.promises.of(id);
        (known.there, known.taken, known.maybe) = (there, Vec::new(), Vec::new());
    }

    fn read(&mut self) {
        let name = self.name(NAMES.len() as u64);
        let read = self.vfs.read(&name.path);
        self.show(&format!("read {:?}", name.path), &read.as_ref().map(Vec::len));
        if self.disk.is_over() {
            return;
        }
        match (read, self.find(&name)) {
            (Ok(bytes), Some(id)) => {
                self.promises.is_written(&self.disk, id, &self.story);
                assert!(self.disk.read(id, |there| there == bytes), "{}: read something else", self.story);
            }
            (Ok(_), None) => panic!("{}: nothing was read", self.story),
            (Err(error), _) => {
                self.told(error, &[&name], "read");
                self.settle(&name);
            }
        }
    }

    fn create_writer(&mut self) {
        let (name, syncs) = (self.name(NAMES.len() as u64), self.random.one_in(2));
        let pieces: Vec<Vec<u8>> = (0..self.random.below(4)).map(|_| self.piece()).collect();
        if let Some(id) = self.find(&name) {
            self.in_hand.push(id);
            self.promises.will_change(id, 0, usize::MAX, true);
        }
        let policy = if syncs { SyncPolicy::OnClose } else { SyncPolicy::Never };
        let options = CreateOptions::new().sync(policy);
        let mut written = 0;
        let created = self.vfs.create_writer_with(&name.path, &options).and_then(|mut writer| {
            for piece in &pieces {
                writer.write_all(piece)?;
                written += 1;
            }
            writer.close()
        });
        self.show(&format!("create_writer {:?} {syncs}", name.path), &created);
        let Some(id) = self.find(&name) else {
            return self.told(created.unwrap_err(), &[&name], "create_writer");
        };
        self.in_hand.push(id);
        if self.disk.is_over() {
            return;
        }
        match created {
            Ok(_) => {
                self.forgave = true;
                self.promises.is_emptied(&self.disk, id);
                self.promises.of(id).there = pieces.concat();
                self.promises.is_written(&self.disk, id, &self.story);
                if syncs {
                    self.promises.is_durable(&self.disk, id, Some(&name.name), &self.story);
                }
            }
            Err(error) => {
                // It has been cut, or opening it has failed before.
                let all = pieces.concat();
                let is_new = written > 0 || self.disk.read(id, |bytes| all.starts_with(bytes));
                self.told(error, &[], "create_writer");
                let is_cut = is_new && self.disk.read(id, <[u8]>::is_empty);
                self.settle_changed(&name, is_cut);
            }
        }
    }

    /// Another program gives a file one more name.
    fn link(&mut self) {
        let (from, to) = (self.name(NO_LINK), self.name(NO_LINK));
        if self.find(&from).is_some() && self.find(&to).is_none() {
            let linked = std::fs::hard_link(&from.path, &to.path);
            // It was that other program which was told.
            self.forgave |= linked.is_err();
            self.show(&format!("link {:?} {:?}", from.path, to.path), &linked);
        }
    }

    /// The system writes out, and fails, and nobody is there to be told.
    fn fail_write_back(&mut self) {
        let name = self.name(NO_LINK);
        if let Some(id) = self.find(&name).filter(|_| self.random.one_in(3)) {
            let has_failed = self.disk.fail_write_back(id);
            self.show(&format!("write-back of {id:?}"), &has_failed);
        }
    }

    fn file_writer(&mut self) {
        let name = self.name(NAMES.len() as u64);
        // What the Vfs has is not this writer's business.
        self.settle(&name);
        if self.disk.is_over() {
            return;
        }
        let (before, how) = (self.find(&name), self.random.below(4));
        let options = FileWriter::options()
            .buffer_size([0, 100, 4096, 256 << 10][self.random.below(4) as usize])
            .second_thread(self.random.one_in(4))
            .closer(Arc::clone(&self.closer));
        let policy = [SyncPolicy::Never, SyncPolicy::Never, SyncPolicy::OnClose, SyncPolicy::EveryBytes(3_000)]
            [self.random.below(4) as usize];
        let options = options.sync(policy);
        let syncs = !matches!(policy, SyncPolicy::Never);
        let mut cursor = 0;
        if let Some(id) = before {
            self.in_hand.push(id);
            match how {
                0 | 1 => self.promises.will_change(id, 0, usize::MAX, true),
                _ => cursor = self.random.below(1 + self.disk.read(id, |bytes| bytes.len() as u64)) as usize,
            }
        }
        let opened = match how {
            0 | 1 => options.create(&name.path),
            2 => options.append(&name.path),
            _ => options.open_at(&name.path, cursor as u64),
        };
        self.show(&format!("writer {:?} {how} at {cursor}", name.path), &opened.as_ref().map(drop));
        self.in_hand.extend(self.find(&name));
        let writer = match opened {
            Ok(writer) => writer,
            Err(error) => {
                self.told(error, &[&name], "open");
                if let Some(id) = self.find(&name) {
                    let is_cut = self.disk.read(id, <[u8]>::is_empty);
                    self.adopt(id, is_cut);
                }
                return;
            }
        };
        let id = self.find(&name).unwrap();
        if how < 2 {
            self.promises.is_emptied(&self.disk, id);
        }
        let writes = Writes { id, name, cursor, appends: how == 2, makes: how < 3, syncs };
        self.write_by(writer, writes);
    }

    /// The bytes as a plain writer would have them.
    fn write_by(&mut self, mut writer: FileWriter, mut to: Writes) {
        let id = to.id;
        let mut view = self.disk.read(id, <[u8]>::to_vec);
        let mut failed: Option<Error> = None;
        for _ in 0..1 + self.random.below(8) {
            let bytes = self.piece();
            let (call, result) = match self.random.below(12) {
                0..=5 => {
                    let at = if to.appends { view.len() } else { to.cursor };
                    self.promises.will_change(id, at, at + bytes.len(), false);
                    put_at(&mut view, at, &bytes);
                    to.cursor = at + bytes.len();
                    ("write_all", writer.write_all(&bytes))
                }
                6 | 7 if !to.appends => {
                    let at = self.random.below(1 + view.len() as u64) as usize;
                    self.promises.will_change(id, at, at + bytes.len(), false);
                    put_at(&mut view, at, &bytes);
                    ("write_at", writer.write_at(&bytes, at as u64))
                }
                8 if !to.appends => {
                    let len = self.random.below(1 + 2 * view.len() as u64) as usize;
                    self.promises.will_change(id, len.min(view.len()), usize::MAX, true);
                    view.resize(len, 0);
                    ("set_len", writer.set_len(len as u64))
                }
                9 => ("flush", writer.flush()),
                _ => ("sync", writer.sync()),
            };
            self.show(&format!("{call} of {} bytes by the writer", bytes.len()), &result);
            if self.disk.is_over() {
                break;
            }
            if let Some(failed) = &failed {
                let again = result.as_ref().err().and_then(Error::raw_os_error);
                assert_eq!(again, failed.raw_os_error(), "{}: {call} after {failed}", self.story);
                continue;
            }
            match result {
                Ok(()) if call == "sync" => {
                    self.has(id, &view, call);
                    self.told_durable(&to);
                }
                Ok(()) if call == "flush" || call == "set_len" => {
                    self.has(id, &view, call);
                    if call == "set_len" && view.is_empty() {
                        self.promises.is_emptied(&self.disk, id);
                    }
                }
                Ok(()) => {}
                Err(error) => failed = Some(error),
            }
        }
        if let Some(error) = &failed {
            self.told(error.clone(), &[], "writer");
        }
        if self.random.one_in(3) {
            drop(writer);
            self.show("the writer is dropped", &());
            match self.closer.wait() {
                Ok(()) => {}
                Err(errors) => errors.iter().for_each(|error| self.told(error.clone(), &[], "wait")),
            }
        } else {
            let closed = writer.close();
            self.show("close", &closed);
            // What its close may have said on top.
            let late = self.closer.wait();
            if !self.disk.is_over() {
                assert!(late.is_ok() || closed.is_err());
                assert!(failed.is_none() || closed.is_err(), "{}: closed well after {failed:?}", self.story);
                match closed {
                    Ok(_) => {
                        self.has(id, &view, "close");
                        if to.syncs {
                            self.told_durable(&to);
                        }
                    }
                    Err(error) => self.told(error, &[], "close"),
                }
            }
        }
        if !self.disk.is_over() {
            self.adopt(id, false);
        }
    }

    fn has(&mut self, id: FileId, view: &[u8], call: &str) {
        let known = self.promises.of(id);
        let skip = if self.disk.losses(id) > known.losses { usize::MAX } else { known.doubtful };
        let story = &self.story;
        self.disk.read(id, |bytes| {
            assert_eq!(bytes.len(), view.len(), "{story}: {call}");
            let skip = skip.min(view.len());
            assert!(bytes[skip..] == view[skip..], "{story}: after {call} something else is there");
        });
        self.promises.of(id).there = self.disk.read(id, <[u8]>::to_vec);
    }

    fn told_durable(&mut self, to: &Writes) {
        let name = to.makes.then_some(&*to.name.name).filter(|name| self.disk.find(name) == Some(to.id));
        self.promises.is_durable(&self.disk, to.id, name, &self.story);
    }
}

/// What a writer writes to.
struct Writes {
    id: FileId,
    name: Name,
    cursor: usize,
    appends: bool,
    /// It may have made the file.
    makes: bool,
    syncs: bool,
}

fn put_at(view: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    view.resize(view.len().max(at + bytes.len()), 0);
    view[at..at + bytes.len()].copy_from_slice(bytes);
}
