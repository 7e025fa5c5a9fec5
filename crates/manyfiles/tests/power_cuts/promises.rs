//! What a program has been told of its files, and whether the disk keeps to it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use manyfiles_testkit::model::{Disk, FileId};

/// What is known of a file's bytes from what calls returned.
#[derive(Clone, Default)]
pub struct Known {
    /// They are in the file.
    pub there: Vec<u8>,
    /// They were taken, and come behind those.
    pub taken: Vec<u8>,
    /// A call failed that was given them: any number of them may have come, from the first on.
    pub maybe: Vec<u8>,
    /// The first so many bytes are from before a crash, and what is seen of them may not be on the disk.
    pub doubtful: usize,
    /// Syncs and write-backs that had failed when the file was empty last, or when the process began.
    pub losses: u64,
}

impl Known {
    /// What a failed sync has lost may be seen as lost from then on.
    fn look_for_losses(&mut self, disk: &Disk, id: FileId) {
        if disk.losses(id) > self.losses {
            self.doubtful = usize::MAX;
        }
    }

    /// Whether these are the bytes, with so many of those that are not certain: at least the first number, at most the other.
    fn is(&self, bytes: &[u8], least: usize, most: usize) -> bool {
        let Some(len) = bytes.len().checked_sub(self.there.len()).filter(|len| (least..=most).contains(len)) else {
            return false;
        };
        let from_taken = len.min(self.taken.len());
        let parts = [&self.there[..], &self.taken[..from_taken], &self.maybe[..len - from_taken]];
        let mut at = 0;
        parts.into_iter().all(|part| {
            let skip = self.doubtful.saturating_sub(at).min(part.len());
            let is_same = part[skip..] == bytes[at + skip..at + part.len()];
            at += part.len();
            is_same
        })
    }
}

/// Files that have to be somewhere: one of these names has to lead to that file.
type Claim = Vec<(PathBuf, FileId)>;

/// What is promised of the disk, whatever happens.
#[derive(Default)]
pub struct Promises {
    /// Of the file that a program sees.
    pub known: BTreeMap<FileId, Known>,
    claims: Vec<Claim>,
    /// Bytes that are durable, where that is known.
    durable: BTreeMap<FileId, Vec<Option<u8>>>,
    /// Files that have their name only when they are complete.
    whole: Vec<(PathBuf, FileId, Vec<u8>)>,
    /// How many promises were made.
    pub made: u64,
}

impl Promises {
    pub fn of(&mut self, id: FileId) -> &mut Known {
        self.known.entry(id).or_default()
    }

    /// A process begins, and knows what it can read.
    pub fn begin(&mut self, disk: &Disk) {
        self.known.clear();
        for (_, id) in disk.all_names() {
            let (there, losses) = (disk.read(id, <[u8]>::to_vec), disk.losses(id));
            // What waits to be written shares pages with what was lost, and cannot be read anew.
            let doubtful = match losses {
                0 => 0,
                _ if disk.is_unwritten(id) => usize::MAX,
                _ => there.len(),
            };
            self.known.insert(id, Known { there, losses, doubtful, ..Known::default() });
        }
    }

    /// Between two calls: what was wrong with a file is not in it any more when it is empty.
    pub fn look(&mut self, disk: &Disk) {
        for (id, known) in &mut self.known {
            if disk.read(*id, <[u8]>::is_empty) {
                (known.losses, known.doubtful) = (disk.losses(*id), 0);
            }
        }
    }

    /// A call has returned `Ok` after which all that was taken is in the file.
    pub fn is_written(&mut self, disk: &Disk, id: FileId, story: &str) {
        let known = self.known.entry(id).or_default();
        known.look_for_losses(disk, id);
        disk.read(id, |bytes| {
            let fits = known.is(bytes, known.taken.len(), known.taken.len() + known.maybe.len());
            let (there, taken, maybe) = (known.there.len(), known.taken.len(), known.maybe.len());
            let has = bytes.len();
            assert!(fits, "{story}: {id:?} has {has} bytes, {there} and {taken} are promised, {maybe} may be there");
            known.there = bytes.to_vec();
        });
        known.taken.clear();
        known.maybe.clear();
    }

    /// A call has failed, or the process is gone: what was taken is there from the first byte on, as far as that came.
    pub fn may_be_written(&mut self, disk: &Disk, id: FileId, story: &str) {
        let known = self.known.entry(id).or_default();
        known.look_for_losses(disk, id);
        disk.read(id, |bytes| {
            let fits = known.is(bytes, 0, known.taken.len() + known.maybe.len());
            let (there, taken, maybe) = (known.there.len(), known.taken.len(), known.maybe.len());
            let has = bytes.len();
            assert!(fits, "{story}: {id:?} has {has} bytes, {there} were there, then {taken} and {maybe}: a gap");
            known.there = bytes.to_vec();
        });
        known.taken.clear();
        known.maybe.clear();
    }

    /// A call has returned `Ok` that makes a file durable, and the name if there is one.
    pub fn is_durable(&mut self, disk: &Disk, id: FileId, name: Option<&Path>, story: &str) {
        let known = self.known.entry(id).or_default();
        let losses = disk.losses(id) - known.losses;
        assert!(losses == 0, "{story}: {id:?} is said to be durable after {losses} syncs or write-backs of it failed");
        let before = self.durable.remove(&id).unwrap_or_default();
        let kept = before.into_iter().chain(std::iter::repeat(None)).take(known.doubtful.min(known.there.len()));
        let new = known.there.iter().skip(known.doubtful).map(|byte| Some(*byte));
        self.durable.insert(id, kept.chain(new).collect());
        if let Some(name) = name {
            self.claims.retain(|claim| !(claim.len() == 1 && claim[0].0 == name));
            self.claims.push(vec![(name.to_owned(), id)]);
        }
        self.made += 1;
    }

    /// A call begins that cuts a file, or writes into the middle of it: from then on these bytes may be old or new.
    pub fn will_change(&mut self, id: FileId, from: usize, to: usize, cuts: bool) {
        if let Some(durable) = self.durable.get_mut(&id) {
            if cuts {
                durable.truncate(from);
            }
            durable.iter_mut().take(to).skip(from).for_each(|byte| *byte = None);
        }
        self.whole.retain(|(_, other, _)| *other != id);
    }

    /// What was wrong with it is not in it any more.
    pub fn is_emptied(&mut self, disk: &Disk, id: FileId) {
        let losses = disk.losses(id);
        *self.of(id) = Known { losses, ..Known::default() };
    }

    pub fn will_remove(&mut self, name: &Path) {
        self.claims.retain(|claim| claim.iter().all(|(other, _)| other != name));
    }

    pub fn will_rename(&mut self, disk: &Disk, from: &Path, to: &Path) {
        let Some(id) = disk.find(from) else { return };
        for claim in &mut self.claims {
            if claim.iter().any(|(name, _)| name == from || name == to) {
                claim.push((to.to_owned(), id));
            }
        }
        let whole: Vec<_> =
            self.whole.iter().filter(|(name, other, _)| name == from && *other == id).cloned().collect();
        self.whole.extend(whole.into_iter().map(|(_, id, bytes)| (to.to_owned(), id, bytes)));
    }

    /// A new file is given the name, or perhaps not.
    pub fn may_replace(&mut self, name: &Path, new: FileId, bytes: &[u8]) {
        for claim in &mut self.claims {
            if claim.iter().any(|(other, _)| other == name) {
                claim.push((name.to_owned(), new));
            }
        }
        self.whole.push((name.to_owned(), new, bytes.to_vec()));
    }

    /// Looks at all that a program finds after an end.
    pub fn check(&self, disk: &Disk, story: &str) {
        for claim in &self.claims {
            let is_kept = claim.iter().any(|(name, id)| disk.find(name) == Some(*id));
            let names: Vec<_> = disk.all_names();
            assert!(is_kept, "{story}: nothing has a name that was durable: {claim:?}; there are {names:?}");
        }
        for (name, id) in disk.all_names() {
            let is_temporary = name.to_string_lossy().contains(".manyfiles-");
            if let Some(durable) = self.durable.get(&id).filter(|_| !is_temporary) {
                disk.read(id, |bytes| {
                    let (has, needs) = (bytes.len(), durable.len());
                    assert!(has >= needs, "{story}: {name:?}, {id:?} has {has} bytes of {needs} durable ones");
                    let wrong = durable.iter().zip(bytes).position(|(one, other)| one.is_some_and(|one| one != *other));
                    let Some(at) = wrong else { return };
                    panic!("{story}: {name:?}, {id:?}: byte {at} of {needs} durable ones is {}", bytes[at]);
                });
            }
            if let Some((_, _, whole)) = self.whole.iter().find(|(other, new, _)| (other, new) == (&name, &id)) {
                disk.read(id, |bytes| {
                    let (has, needs) = (bytes.len(), whole.len());
                    assert!(bytes.starts_with(whole), "{story}: {name:?} has {has} of {needs} bytes put there");
                });
            }
        }
    }

    /// After a power cut what is there is all there is.
    pub fn start_again(&mut self, disk: &Disk) {
        self.whole.clear();
        let ids: Vec<FileId> = disk.all_names().into_iter().map(|(_, id)| id).collect();
        // What is found on the disk after a power cut is on the disk.
        self.durable =
            ids.iter().map(|&id| (id, disk.read(id, |bytes| bytes.iter().copied().map(Some).collect()))).collect();
        self.claims = disk.all_names().into_iter().map(|(name, id)| vec![(name, id)]).collect();
    }
}
