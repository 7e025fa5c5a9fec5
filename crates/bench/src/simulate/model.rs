//! Files written by threads, as a simulation of events: processors, the locks of folders, and calls that wait.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What a file costs, in nanoseconds. Each call takes a processor for a time and then waits without one.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// The program's own work before the first call.
    pub own: u64,
    /// Creating the file, under the folder's lock, the waiting included: the kernel holds it meanwhile.
    pub create: u64,
    pub write: u64,
    pub close: u64,
    /// How long each of the three calls waits for a server.
    pub latency: u64,
}

/// Files, and the folders that they are in: the files of one folder come together.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub files: usize,
    pub folders: usize,
}

impl Work {
    pub fn folder_of(self, file: usize) -> usize {
        file * self.folders / self.files
    }
}

/// Which file each thread writes next.
pub trait Strategy {
    fn threads(&self) -> usize;

    /// What the strategy itself costs for each file, on the thread that writes it, in nanoseconds.
    fn overhead(&self) -> u64;

    /// `None`: nothing is left for this thread. `busy`: how many threads have a file of each folder.
    fn next(&mut self, thread: usize, busy: &[usize]) -> Option<usize>;
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Own,
    /// Wants its folder's lock.
    Lock,
    Create,
    Created,
    Write,
    Written,
    Close,
    Closed,
}

struct Thread {
    file: usize,
    step: Step,
}

/// The nanoseconds until the last file is closed.
pub fn run(work: Work, cores: usize, costs: Costs, strategy: &mut dyn Strategy) -> u64 {
    let mut world = World {
        costs,
        work,
        events: BinaryHeap::new(),
        now: 0,
        free_cores: cores,
        want_core: VecDeque::new(),
        locks: (0..work.folders).map(|_| None).collect(),
        threads: Vec::new(),
        busy: vec![0; work.folders],
    };
    let overhead = strategy.overhead();
    for thread in 0..strategy.threads() {
        world.threads.push(Thread { file: 0, step: Step::Own });
        if let Some(file) = strategy.next(thread, &world.busy) {
            world.begin(thread, file, overhead);
        }
    }
    for _ in 0..work.files {
        let thread = world.until_one_ends(overhead);
        if let Some(file) = strategy.next(thread, &world.busy) {
            world.begin(thread, file, overhead);
        }
    }
    world.now
}

struct World {
    costs: Costs,
    work: Work,
    /// When a thread's step ends.
    events: BinaryHeap<Reverse<(u64, usize)>>,
    now: u64,
    free_cores: usize,
    want_core: VecDeque<usize>,
    /// Of each folder: who waits, if it is held.
    locks: Vec<Option<VecDeque<usize>>>,
    threads: Vec<Thread>,
    busy: Vec<usize>,
}

impl World {
    fn begin(&mut self, thread: usize, file: usize, overhead: u64) {
        self.busy[self.work.folder_of(file)] += 1;
        self.threads[thread] = Thread { file, step: Step::Own };
        self.compute(thread, overhead);
    }

    /// The thread wants a processor for its step.
    fn compute(&mut self, thread: usize, overhead: u64) {
        if self.free_cores > 0 {
            self.free_cores -= 1;
            self.start(thread, overhead);
        } else {
            self.want_core.push_back(thread);
        }
    }

    fn start(&mut self, thread: usize, overhead: u64) {
        let took = match self.threads[thread].step {
            Step::Own => self.costs.own + overhead,
            Step::Create => self.costs.create,
            Step::Write => self.costs.write,
            _ => self.costs.close,
        };
        self.events.push(Reverse((self.now + took, thread)));
    }

    fn give_core_back(&mut self, overhead: u64) {
        match self.want_core.pop_front() {
            Some(thread) => self.start(thread, overhead),
            None => self.free_cores += 1,
        }
    }

    fn wait(&mut self, thread: usize, step: Step) {
        self.threads[thread].step = step;
        self.events.push(Reverse((self.now + self.costs.latency, thread)));
    }

    fn compute_next(&mut self, thread: usize, step: Step, overhead: u64) {
        self.threads[thread].step = step;
        self.compute(thread, overhead);
    }

    /// The thread whose file is closed next.
    fn until_one_ends(&mut self, overhead: u64) -> usize {
        loop {
            let Reverse((now, thread)) = self.events.pop().expect("a thread has a file");
            self.now = now;
            let folder = self.work.folder_of(self.threads[thread].file);
            match self.threads[thread].step {
                Step::Own => {
                    self.give_core_back(overhead);
                    self.threads[thread].step = Step::Lock;
                    match &mut self.locks[folder] {
                        Some(waiting) => waiting.push_back(thread),
                        free => {
                            *free = Some(VecDeque::new());
                            self.compute_next(thread, Step::Create, overhead);
                        }
                    }
                }
                Step::Create => {
                    self.give_core_back(overhead);
                    self.wait(thread, Step::Created);
                }
                Step::Created => {
                    let next = self.locks[folder].as_mut().and_then(VecDeque::pop_front);
                    match next {
                        Some(next) => self.compute_next(next, Step::Create, overhead),
                        None => self.locks[folder] = None,
                    }
                    self.compute_next(thread, Step::Write, overhead);
                }
                Step::Write => {
                    self.give_core_back(overhead);
                    self.wait(thread, Step::Written);
                }
                Step::Written => self.compute_next(thread, Step::Close, overhead),
                Step::Close => {
                    self.give_core_back(overhead);
                    self.wait(thread, Step::Closed);
                }
                Step::Closed => {
                    self.busy[folder] -= 1;
                    return thread;
                }
                Step::Lock => unreachable!("who waits for a lock has no event"),
            }
        }
    }
}

/// What so many threads cannot be faster than, and which of the limits that is.
pub fn floor(work: Work, cores: usize, costs: Costs, threads: usize, overhead: u64) -> (u64, Limit) {
    let Costs { own, create, write, close, latency } = costs;
    let (files, folders) = (work.files as u64, work.folders as u64);
    let computing = own + overhead + create + write + close;
    [
        (files * computing / cores as u64, Limit::Processors),
        (files.div_ceil(folders) * (create + latency) + write + close + 2 * latency, Limit::Folder),
        (files * (computing + 3 * latency) / threads as u64, Limit::Threads),
    ]
    .into_iter()
    .max_by_key(|(time, _)| *time)
    .expect("there are three")
}

/// What bounds a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Processors,
    /// The lock of one folder, in which files are created one after the other.
    Folder,
    Threads,
    /// The one thread that hands all files over.
    Feeding,
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs { own: 1_000, create: 3_000, write: 2_000, close: 500, latency: 0 };

    /// Threads that take file after file.
    struct InOrder(usize, usize, usize);

    impl Strategy for InOrder {
        fn threads(&self) -> usize {
            self.0
        }

        fn overhead(&self) -> u64 {
            0
        }

        fn next(&mut self, _: usize, _: &[usize]) -> Option<usize> {
            self.1 += 1;
            (self.1 <= self.2).then(|| self.1 - 1)
        }
    }

    #[test]
    fn one_thread_takes_the_sum_of_all_that_it_does() {
        let work = Work { files: 100, folders: 10 };
        assert_eq!(run(work, 8, COSTS, &mut InOrder(1, 0, 100)), 100 * 6_500);
        let slow = Costs { latency: 1_000_000, ..COSTS };
        assert_eq!(run(work, 8, slow, &mut InOrder(1, 0, 100)), 100 * (6_500 + 3_000_000));
    }

    #[test]
    fn in_one_folder_files_are_created_one_after_the_other() {
        let slow = Costs { latency: 1_000_000, ..COSTS };
        let took = run(Work { files: 100, folders: 1 }, 8, slow, &mut InOrder(8, 0, 100));
        assert_eq!(took, 1_000 + 100 * (3_000 + 1_000_000) + 2_500 + 2_000_000);
        assert_eq!(floor(Work { files: 100, folders: 1 }, 8, slow, 8, 0), (took - 1_000, Limit::Folder));
    }

    #[test]
    fn processors_are_shared_and_nothing_beats_the_floor() {
        for (folders, cores, threads, latency) in [(1_000, 2, 2, 0), (1_000, 2, 64, 2_000_000), (1_000, 8, 32, 50_000)]
        {
            let (work, costs) = (Work { files: 1_000, folders }, Costs { latency, ..COSTS });
            let took = run(work, cores, costs, &mut InOrder(threads, 0, 1_000));
            let (least, limit) = floor(work, cores, costs, threads, 0);
            assert!(took >= least && took < 2 * least, "{took} and {least}, {limit:?}");
        }
    }
}
