//! Who writes: a loop, rayon, tokio, TreeWriter, as far as it matters which file a thread takes next.

use super::model::{Costs, Strategy, Work};

/// rayon's parallel iterator over all files, or a loop if it has one thread: each thread has a range of its own, and who
/// has none left takes half of what another has.
pub struct Ranges {
    /// From, and to.
    left: Vec<(usize, usize)>,
}

impl Ranges {
    pub fn new(work: Work, threads: usize) -> Ranges {
        let part = |n: usize| n * work.files / threads;
        Ranges { left: (0..threads).map(|n| (part(n), part(n + 1))).collect() }
    }
}

impl Strategy for Ranges {
    fn threads(&self) -> usize {
        self.left.len()
    }

    fn overhead(&self) -> u64 {
        0
    }

    fn next(&mut self, thread: usize, _busy: &[usize]) -> Option<usize> {
        if self.left[thread].0 == self.left[thread].1 {
            let most = (0..self.left.len()).max_by_key(|&n| self.left[n].1 - self.left[n].0).unwrap_or(thread);
            let (from, to) = self.left[most];
            let middle = from + (to - from) / 2;
            self.left[most] = (from, middle);
            self.left[thread] = (middle, to);
        }
        let (from, to) = self.left[thread];
        if from == to {
            return None;
        }
        self.left[thread].0 += 1;
        Some(from)
    }
}

/// tokio with one blocking call for each file: the next file in order for whoever is free. A call is handed to another
/// thread and back.
pub struct InOrder {
    pub threads: usize,
    pub next: usize,
    pub files: usize,
}

impl Strategy for InOrder {
    fn threads(&self) -> usize {
        self.threads
    }

    fn overhead(&self) -> u64 {
        super::TOKIO_HAND_OVER
    }

    fn next(&mut self, _thread: usize, _busy: &[usize]) -> Option<usize> {
        self.next += 1;
        (self.next <= self.files).then(|| self.next - 1)
    }
}

/// TreeWriter: a thread has a folder to itself as long as there are folders for all, and several share one where calls
/// wait; as many threads as keep each processor at work. See docs/design.md, "How many threads".
pub struct Folders {
    threads: usize,
    /// Of each folder: from, and to.
    left: Vec<(usize, usize)>,
    own: Vec<Option<usize>>,
    /// The first folder that nobody has taken.
    fresh: usize,
    shares: bool,
}

/// So much of a wait is kept for each thread: see docs/measurements.md, "Mounts whose close is slow".
const WAIT_FOR_EACH: u64 = 60_000;

impl Folders {
    pub fn new(work: Work, cores: usize, costs: Costs) -> Folders {
        let cores = cores.max(2);
        let of_a_file = 3 * costs.latency;
        let waits = of_a_file >= 300_000;
        let threads = if waits { (cores * (1 + (of_a_file / WAIT_FOR_EACH) as usize)).min(128) } else { cores };
        let first = |folder: usize| (folder * work.files).div_ceil(work.folders);
        let left = (0..work.folders).map(|folder| (first(folder), first(folder + 1))).collect();
        let threads = threads.max(cores);
        Folders { threads, left, own: vec![None; threads], fresh: 0, shares: waits }
    }
}

impl Strategy for Folders {
    fn threads(&self) -> usize {
        self.threads
    }

    fn overhead(&self) -> u64 {
        super::TREE_WRITER_HAND_OVER
    }

    fn next(&mut self, thread: usize, busy: &[usize]) -> Option<usize> {
        let take = |left: &mut (usize, usize)| {
            left.0 += 1;
            Some(left.0 - 1)
        };
        let has_files = |left: &(usize, usize)| left.0 < left.1;
        if let Some(own) = self.own[thread]
            && has_files(&self.left[own])
        {
            return take(&mut self.left[own]);
        }
        if self.fresh < self.left.len() {
            self.own[thread] = Some(self.fresh);
            self.fresh += 1;
            return take(&mut self.left[self.fresh - 1]);
        }
        // No folder is free: where calls wait, and in the pipeline of a single folder, another one's is shared.
        let may_share = self.shares || self.left.len() == 1;
        let shared = (0..self.left.len()).filter(|&n| may_share && has_files(&self.left[n])).min_by_key(|&n| busy[n]);
        self.own[thread] = Some(shared?);
        take(&mut self.left[shared?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs { own: 1_000, create: 3_000, write: 2_000, close: 500, latency: 0 };

    #[test]
    fn every_file_is_written_once_whoever_writes() {
        let work = Work { files: 997, folders: 31 };
        let slow = Costs { latency: 1_000_000, ..COSTS };
        let all: [Box<dyn Strategy>; 5] = [
            Box::new(Ranges::new(work, 1)),
            Box::new(Ranges::new(work, 64)),
            Box::new(InOrder { threads: 64, next: 0, files: work.files }),
            Box::new(Folders::new(work, 8, COSTS)),
            Box::new(Folders::new(work, 8, slow)),
        ];
        for mut strategy in all {
            let mut times = vec![0; work.files];
            let busy = vec![0; work.folders];
            let mut idle = 0;
            while idle < strategy.threads() {
                idle = 0;
                for thread in 0..strategy.threads() {
                    match strategy.next(thread, &busy) {
                        Some(file) => times[file] += 1,
                        None => idle += 1,
                    }
                }
            }
            assert!(times.iter().all(|&times| times == 1), "{times:?}");
        }
    }

    #[test]
    fn a_folder_begins_with_its_first_file() {
        let work = Work { files: 997, folders: 31 };
        for (folder, (from, to)) in Folders::new(work, 2, COSTS).left.into_iter().enumerate() {
            assert!((from..to).all(|file| work.folder_of(file) == folder));
        }
    }
}
