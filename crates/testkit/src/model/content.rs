//! The bytes of a file of the model: as programs see them, as they are on the disk, and what may have become of the
//! rest.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::random::Random;

/// A disk writes this many bytes as a whole or not at all.
const SECTOR: usize = 512;
/// The system keeps or loses this many bytes as a whole.
pub(super) const PAGE: usize = 4096;

/// A file's bytes.
#[derive(Clone, Default)]
pub(super) struct Content {
    /// What tells the file from others: see `serial_for`.
    pub(super) serial: u64,
    /// As programs see them.
    pub(super) now: Vec<u8>,
    /// As they are on the disk for certain.
    pub(super) durable: Vec<u8>,
    pub(super) since: Changes,
    /// A sync in flight: the bytes when it began, and the changes that led there.
    pub(super) syncing: Option<(Vec<u8>, Changes)>,
    /// Pages that a failed sync lost when they were new.
    pub(super) lost: BTreeSet<usize>,
    /// When it was written to last.
    pub(super) changed: Duration,
    /// How many write-backs have failed.
    pub(super) failures: u64,
    /// Whether a sync has told of the last of them.
    pub(super) is_told: bool,
}

/// The changes that may or may not be on the disk.
#[derive(Clone, Default)]
pub(super) struct Changes {
    sectors: BTreeMap<usize, Vec<[u8; SECTOR]>>,
    lengths: Vec<usize>,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.sectors.is_empty() && self.lengths.is_empty()
    }
}

impl Content {
    pub(super) fn write(&mut self, bytes: &[u8], offset: usize) {
        let end = offset + bytes.len();
        if self.now.len() < end {
            self.now.resize(end, 0);
        }
        self.now[offset..end].copy_from_slice(bytes);
        for sector in offset / SECTOR..end.div_ceil(SECTOR) {
            let version = sector_of(&self.now, sector);
            self.since.sectors.entry(sector).or_default().push(version);
        }
        self.since.lengths.push(self.now.len());
    }

    pub(super) fn set_len(&mut self, len: usize) {
        let before = self.now.len();
        self.now.resize(len, 0);
        // Bytes that are cut off read as zeros if the file grows again.
        let cut =
            if len.is_multiple_of(SECTOR) && len >= before { 0..0 } else { len / SECTOR..before.div_ceil(SECTOR) };
        for sector in cut {
            let version = sector_of(&self.now, sector);
            self.since.sectors.entry(sector).or_default().push(version);
        }
        self.since.lengths.push(len);
        self.lost.retain(|page| page * PAGE < len);
    }

    /// The pages of a sync that succeeds, or of one that fails: then chance says of each page whether it is lost.
    pub(super) fn synced(&mut self, random: Option<&mut Random>) {
        let (snapshot, changes) = self.syncing.take().expect("a sync was begun");
        let old_len = self.durable.len();
        let pages: BTreeSet<usize> = changes.sectors.keys().map(|sector| sector * SECTOR / PAGE).collect();
        let mut whole = self.durable.clone();
        whole.resize(old_len.max(snapshot.len()).next_multiple_of(PAGE), 0);
        let mut source = snapshot.clone();
        source.resize(whole.len(), 0);
        let mut random = random;
        for page in pages.into_iter().filter(|page| page * PAGE < source.len()) {
            if self.lost.contains(&page) {
                continue; // whatever is written to it
            }
            let range = page * PAGE..(page + 1) * PAGE;
            let is_lost = random.as_mut().is_some_and(|random| random.one_in(2));
            match &mut random {
                Some(random) if is_lost => {
                    if page * PAGE >= old_len.next_multiple_of(PAGE) {
                        self.lost.insert(page);
                        continue;
                    }
                    // Some of its sectors came that far.
                    for at in range.step_by(SECTOR) {
                        if random.one_in(2) {
                            whole[at..at + SECTOR].copy_from_slice(&source[at..at + SECTOR]);
                        }
                    }
                }
                _ => whole[range.clone()].copy_from_slice(&source[range]),
            }
        }
        let keeps_length = random.is_some_and(|random| random.one_in(2));
        whole.truncate(if keeps_length { old_len } else { snapshot.len() });
        self.durable = whole;
    }

    /// From this offset on, whole pages that do not wait to be written are dropped, so that the next read takes them
    /// from the disk: bytes that a failed sync has lost are then gone for programs as well.
    pub(super) fn forget_cached(&mut self, from: usize) {
        let len = self.now.len();
        for page in from.div_ceil(PAGE)..len.div_ceil(PAGE) {
            let sectors = page * PAGE / SECTOR..(page + 1) * PAGE / SECTOR;
            if self.since.sectors.keys().any(|sector| sectors.contains(sector)) {
                continue;
            }
            let range = page * PAGE..((page + 1) * PAGE).min(len);
            for at in range {
                self.now[at] = self.durable.get(at).copied().unwrap_or_default();
            }
            self.lost.remove(&page);
        }
    }

    /// Each sector is as it was at some time since the last sync, or before it; so is the length.
    pub(super) fn after_a_cut(&self, random: &mut Random) -> Vec<u8> {
        let changes: Vec<&Changes> =
            self.syncing.iter().map(|(_, changes)| changes).chain(std::iter::once(&self.since)).collect();
        let lengths: Vec<usize> = std::iter::once(self.durable.len())
            .chain(changes.iter().flat_map(|changes| changes.lengths.iter().copied()))
            .collect();
        let len = lengths[random.below(lengths.len() as u64) as usize];
        let mut bytes = self.durable.clone();
        bytes.resize(len.next_multiple_of(SECTOR), 0);
        for (sector, place) in bytes.chunks_mut(SECTOR).enumerate() {
            if self.lost.contains(&(sector * SECTOR / PAGE)) {
                continue;
            }
            let versions: Vec<&[u8; SECTOR]> =
                changes.iter().filter_map(|changes| changes.sectors.get(&sector)).flatten().collect();
            // Most often the newest version or none: with an even chance for each version, no whole record would ever
            // be left.
            let which = match random.below(4) {
                0 => 0,
                1 | 2 => versions.len(),
                _ => random.below(versions.len() as u64 + 1) as usize,
            };
            if which > 0 {
                place.copy_from_slice(versions[which - 1]);
            }
        }
        bytes.truncate(len);
        bytes
    }
}

fn sector_of(bytes: &[u8], sector: usize) -> [u8; SECTOR] {
    let mut version = [0; SECTOR];
    let bytes = bytes.get(sector * SECTOR..).unwrap_or_default();
    let len = bytes.len().min(SECTOR);
    version[..len].copy_from_slice(&bytes[..len]);
    version
}
