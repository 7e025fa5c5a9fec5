//! [`System`]: the traced threads and their descriptors, as far as the lines tell.

mod clock;
mod descriptors;
mod done;
mod effect;
mod table;
mod threads;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use hashbrown::{DefaultHashBuilder, HashMap, HashSet};

use super::args::Args;
use super::record::{End, Event, Record};
use super::spelling::Spelling;
use super::strace;
use super::syscall::{Shape, Syscall, Syscalls};
use crate::analysis::Analysis;
use crate::call::{Call, Kind, ThreadId};
use crate::number::Decimal;

use clock::Clock;
use done::{Done, Subject};
use table::{Ended, Open, Table};

type Map<K, V> = HashMap<K, V, DefaultHashBuilder>;

/// The number that stands for the one thread without a number in its lines.
const UNNAMED: u32 = 0;
/// The most threads and descriptors that are followed at once. A trace that seems to have more is damaged, or of a
/// whole day.
const MOST_THREADS: usize = 1 << 16;
const MOST_DESCRIPTORS: usize = 1 << 18;
/// Arguments of interrupted calls are kept up to this length: two paths of the greatest length, each byte escaped.
const MOST_ARGUMENTS: usize = 36 << 10;

/// Puts the calls of a trace together.
pub(super) struct System {
    spelling: Spelling,
    syscalls: Syscalls,
    threads: Map<u32, Thread>,
    /// Threads in a call that makes another, the latest last.
    forking: Vec<u32>,
    /// Threads that were announced, so that a new number is not that of the unnamed thread.
    announced: HashSet<u32, DefaultHashBuilder>,
    /// The call in the line before, if a message has split that.
    split: Option<(u32, Box<[u8]>)>,
    clock: Clock,
    processes: u32,
    /// How many descriptors there are, of all processes together.
    descriptors: Rc<Cell<usize>>,
    /// Files of which the last descriptor is gone.
    ended: Ended,
    /// Buffers that are used again: the arguments of a call, joined from two halves; and a path, put together from
    /// parts.
    joined: Vec<u8>,
    path: Vec<u8>,
    summary: bool,
}

struct Thread {
    process: Rc<Process>,
    program: Rc<[u8]>,
    pending: Option<Pending>,
}

/// The state of threads that share their descriptors.
struct Process {
    id: u32,
    table: Table,
    folder: RefCell<Option<Rc<[u8]>>>,
}

/// A call that has not returned.
struct Pending {
    syscall: Syscall,
    args: Box<[u8]>,
    start: Option<u64>,
    /// The file that is being closed: its descriptor's number may be taken again before the call returns.
    closing: Option<Rc<Open>>,
}

impl System {
    pub(super) fn new(spelling: Spelling) -> System {
        System {
            spelling,
            syscalls: Syscalls::default(),
            threads: Map::default(),
            forking: Vec::new(),
            announced: HashSet::default(),
            split: None,
            clock: Clock::default(),
            processes: 0,
            descriptors: Rc::default(),
            ended: Ended::default(),
            joined: Vec::new(),
            path: Vec::new(),
            summary: false,
        }
    }

    /// Takes a line. Says whether it was understood.
    pub(super) fn line(&mut self, line: &[u8], analysis: &mut Analysis) -> bool {
        let understood = self.read(line, analysis);
        self.end_files(analysis);
        understood
    }

    /// Files of which the last descriptor is gone. What was to be said of those with a close is said already.
    fn end_files(&mut self, analysis: &mut Analysis) {
        self.ended.each(|file| analysis.left_open(file));
    }

    fn read(&mut self, line: &[u8], analysis: &mut Analysis) -> bool {
        if self.summary {
            return true;
        }
        let split = self.split.take();
        let Some(Record { pid, program, stamp, event }) = self.spelling.parse(line) else {
            // The second half of a line that a message has split looks like nothing by itself.
            let Some(((pid, name), (args, end))) = split.zip(strace::rest(line)) else { return false };
            self.resume(pid, b"", &name, args, end, None, analysis);
            return true;
        };
        let start = self.clock.read(stamp);
        match event {
            Event::Note => {}
            Event::Summary => self.summary = true,
            Event::Attached { pid } => drop(self.announced.insert(pid)),
            // A thread without calls, or one that has called `exit`, is forgotten already.
            Event::Exited => match pid {
                Some(pid) => self.forget(pid, analysis),
                None if self.threads.len() == 1 => {
                    let pid = self.thread_of(None, false, analysis);
                    self.forget(pid, analysis);
                }
                None => self.forget(UNNAMED, analysis),
            },
            Event::Unfinished { name, args, attached } => {
                let pid = self.thread_of(pid, false, analysis);
                if let Some(child) = attached {
                    self.announced.insert(child);
                    self.split = Some((pid, name.into()));
                }
                self.begin(pid, program, name, args, start);
            }
            Event::Call { name, args, end } => {
                let pid = self.thread_of(pid, false, analysis);
                let syscall = self.syscalls.get(name);
                self.call(pid, program, name, syscall, args, end, start, None, analysis);
            }
            Event::Resumed { name, args, end } => {
                let pid = self.thread_of(pid, true, analysis);
                self.resume(pid, program, name, args, end, start, analysis);
            }
        }
        true
    }

    /// After the last line.
    pub(super) fn finish(&mut self, analysis: &mut Analysis) {
        let pids: Vec<u32> = self.threads.keys().copied().collect();
        for pid in pids {
            self.forget(pid, analysis);
        }
        self.end_files(analysis);
    }

    fn begin(&mut self, pid: u32, program: &[u8], name: &[u8], args: Args<'_>, start: Option<u64>) {
        let syscall = self.syscalls.get(name);
        let closing = match syscall.shape {
            Shape::Close => {
                let process = self.thread(pid, program).process.clone();
                args.fd().and_then(|fd| self.take(&process, fd))
            }
            _ => None,
        };
        if syscall.shape == Shape::Fork {
            self.forking.retain(|&other| other != pid);
            self.forking.push(pid);
        }
        let thread = self.thread(pid, program);
        let args = args.text[..args.text.len().min(MOST_ARGUMENTS)].into();
        thread.pending = Some(Pending { syscall, args, start, closing });
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a line")]
    fn resume(
        &mut self,
        pid: u32,
        program: &[u8],
        name: &[u8],
        rest: Args<'_>,
        end: End<'_>,
        start: Option<u64>,
        analysis: &mut Analysis,
    ) {
        let pending = self.thread(pid, program).pending.take();
        self.forking.retain(|&other| other != pid);
        let syscall = self.syscalls.get(name);
        // Its beginning may lie before the trace's.
        let Some(pending) = pending.filter(|pending| pending.syscall == syscall) else {
            return self.call(pid, program, name, syscall, rest, end, start, None, analysis);
        };
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        joined.extend_from_slice(&pending.args);
        joined.extend_from_slice(rest.text);
        let args = Args { style: rest.style, text: &joined };
        self.call(pid, program, name, syscall, args, end, pending.start.or(start), pending.closing, analysis);
        self.joined = joined;
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a line")]
    fn call(
        &mut self,
        pid: u32,
        program: &[u8],
        name: &[u8],
        syscall: Syscall,
        args: Args<'_>,
        end: End<'_>,
        start: Option<u64>,
        closing: Option<Rc<Open>>,
        analysis: &mut Analysis,
    ) {
        let thread = self.thread(pid, program);
        let (process, before) = (thread.process.clone(), thread.program.clone());
        let Done { effect, file, path } = self.effect(pid, &process, syscall.shape, args, end, closing);
        if let Some(Decimal { digits, .. }) = end.duration {
            // perf counts milliseconds.
            analysis.seen_digits(digits + if self.spelling == Spelling::Perf { 3 } else { 0 });
        }
        // The call that starts a new program counts as the new program's first call.
        let program = if syscall.shape == Shape::Exec { self.thread(pid, b"").program.clone() } else { before };
        let path = match path {
            Subject::None => file.as_deref().and_then(|open| open.path()),
            Subject::Assembled => Some(&self.path[..]),
        };
        // Reading from a pipe is waiting for the program that writes to it.
        let channel = file.as_deref().is_some_and(|file| file.is_channel);
        let kind = if channel && syscall.kind.is_file() { Kind::Wait } else { syscall.kind };
        analysis.call(&Call {
            operation: name,
            kind,
            thread: ThreadId { process: 0, thread: pid },
            program: &program,
            start,
            duration: end.duration.map(|time| time.nanos),
            failed: end.failed(),
            path,
            file: file.as_deref().map(|open| &**open),
            effect,
        });
        match syscall.shape {
            Shape::Fork => self.forked(pid, args, end),
            Shape::Exit => self.forget(pid, analysis),
            _ => {}
        }
    }
}
