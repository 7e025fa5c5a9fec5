//! A second thread that writes full blocks while the first one fills the next.

use std::io;
use std::sync::mpsc::{Receiver, RecvError, Sender, TryRecvError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::buffer::Buffer;
use super::target::Target;
use crate::origin::Origin;
use crate::{Error, Operation, Result};

/// One that fills, three on their way: more gain nothing (docs/measurements.md, "Records into one file").
const BUFFERS: usize = 4;

/// Everything goes through one queue and is done in order. The answers come back the same way, so that nothing is
/// shared and all that is known is known to the writer's own thread.
pub(super) struct Second {
    jobs: Sender<Job>,
    answers: Receiver<Answer>,
    thread: JoinHandle<Target>,
    unanswered: usize,
    free: Vec<Buffer>,
    capacity: usize,
    buffers: usize,
    /// A forked child has a copy of all this, and no thread that would ever answer.
    origin: Origin,
}

enum Job {
    Write {
        block: Buffer,
        offset: u64,
    },
    Flush,
    /// `covers` is given back.
    Sync {
        covers: u64,
    },
}

enum Answer {
    Wrote { block: Buffer, written: u64, result: Result<()> },
    Flushed(Result<()>),
    Synced { covers: u64, result: Result<()> },
}

/// How far the bytes have got.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reached {
    pub(super) written: u64,
    pub(super) durable: u64,
}

impl Second {
    /// Gives the target back if no thread can be started.
    pub(super) fn start(target: Target, capacity: usize) -> Result<Second, Target> {
        let (jobs, to_do) = channel();
        let (answer, answers) = channel();
        // Handed over after the start, so that it is not lost with a thread that does not come.
        let (hand_over, handed_over) = channel::<Target>();
        let work = move || {
            let mut target = handed_over.recv().expect("sent before anything else, by whoever started this thread");
            work(&mut target, &to_do, &answer);
            target
        };
        let Ok(thread) = Builder::new().name("manyfiles-writer".into()).stack_size(256 << 10).spawn(work) else {
            return Err(target);
        };
        match hand_over.send(target) {
            Ok(()) => {
                let (free, origin) = (Vec::new(), Origin::default());
                Ok(Second { jobs, answers, thread, unanswered: 0, free, capacity, buffers: 1, origin })
            }
            Err(unsent) => Err(unsent.0),
        }
    }

    /// Takes the block and puts an empty one in its place. Waits only if all are on their way.
    pub(super) fn write(&mut self, block: &mut Buffer, offset: u64, reached: &mut Reached) -> Result<()> {
        self.check_origin()?;
        while let Ok(answer) = self.answers.try_recv() {
            self.read(answer, reached)?;
        }
        while self.free.is_empty() {
            if self.buffers < BUFFERS {
                self.buffers += 1;
                self.free.push(Buffer::new(self.capacity));
            } else {
                self.wait_for_one(reached)?;
            }
        }
        let empty = self.free.pop().expect("the loop above ends when there is one");
        let block = std::mem::replace(block, empty);
        self.ask(Job::Write { block, offset })
    }

    /// Waits until all that was given is done. The first failure is told.
    pub(super) fn finish_pending(&mut self, reached: &mut Reached) -> Result<()> {
        self.check_origin()?;
        while self.unanswered > 0 {
            self.wait_for_one(reached)?;
        }
        Ok(())
    }

    pub(super) fn flush(&mut self, reached: &mut Reached) -> Result<()> {
        self.ask(Job::Flush)?;
        self.finish_pending(reached)
    }

    /// Asks for a sync of all that was given so far, `covers` bytes, and does not wait for it.
    pub(super) fn start_sync(&mut self, covers: u64) -> Result<()> {
        self.ask(Job::Sync { covers })
    }

    /// Whether this process is a forked child of the one that has the thread.
    pub(super) fn is_a_copy(&self) -> bool {
        self.origin.is_a_parent()
    }

    /// Ends the thread. `None` if it had panicked, and the target is gone with it.
    pub(super) fn end(self) -> Option<Target> {
        if self.is_a_copy() {
            // The locks of its queues may be taken, by threads that are not here.
            std::mem::forget(self);
            return None;
        }
        let Second { jobs, thread, .. } = self;
        drop(jobs);
        thread.join().ok() // the panic was told as the failure of what it was asked for
    }

    fn check_origin(&self) -> Result<()> {
        self.origin.check().map_err(|cause| Error::without_path(Operation::Write, cause))
    }

    fn ask(&mut self, job: Job) -> Result<()> {
        self.check_origin()?;
        self.unanswered += 1;
        self.jobs.send(job).map_err(|_| panicked())
    }

    fn wait_for_one(&mut self, reached: &mut Reached) -> Result<()> {
        let answer = receive(&self.answers).map_err(|_| panicked())?;
        self.read(answer, reached)
    }

    fn read(&mut self, answer: Answer, reached: &mut Reached) -> Result<()> {
        self.unanswered -= 1;
        match answer {
            Answer::Wrote { block, written, result } => {
                self.free.push(block);
                reached.written += written;
                result
            }
            Answer::Flushed(result) => result,
            Answer::Synced { covers, result } => {
                if result.is_ok() {
                    reached.durable = covers;
                }
                result
            }
        }
    }
}

/// A block takes some 45 µs to write, and a sleeping thread as long again to wake where processors are virtual: a
/// thread that waits does so awake for a while. 100 MiB in records of 1 KiB take 23 ms so, and 26 without.
const AWAKE: Duration = Duration::from_micros(50);

fn receive<T>(channel: &Receiver<T>) -> Result<T, RecvError> {
    let begun = Instant::now();
    loop {
        for _ in 0..50 {
            match channel.try_recv() {
                Ok(message) => return Ok(message),
                Err(TryRecvError::Disconnected) => return Err(RecvError),
                Err(TryRecvError::Empty) => std::hint::spin_loop(),
            }
        }
        if begun.elapsed() > AWAKE {
            return channel.recv();
        }
    }
}

/// Only a writer of the user's can panic there.
fn panicked() -> Error {
    Error::without_path(Operation::Write, io::Error::other("the writer panicked on the second thread"))
}

fn work(target: &mut Target, to_do: &Receiver<Job>, answer: &Sender<Answer>) {
    // After a failure nothing is written: a gap in the middle would be worse than a missing end.
    let mut failed: Option<Error> = None;
    while let Ok(job) = receive(to_do) {
        let mut unless_failed = |work: &mut dyn FnMut() -> Result<()>| {
            let result = failed.clone().map_or_else(work, Err);
            failed = result.clone().err();
            result
        };
        let sent = answer.send(match job {
            Job::Write { mut block, offset } => {
                let mut written = 0;
                let result = unless_failed(&mut || target.write_all(block.as_slice(), offset, &mut written));
                block.clear();
                Answer::Wrote { block, written, result }
            }
            Job::Flush => Answer::Flushed(unless_failed(&mut || target.flush())),
            Job::Sync { covers } => Answer::Synced { covers, result: unless_failed(&mut || target.sync()) },
        });
        // The receiver is gone, so no call will ask for this answer.
        if sent.is_err() {
            return;
        }
    }
}
