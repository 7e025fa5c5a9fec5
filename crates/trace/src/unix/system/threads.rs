//! Threads: which one a line is about, which threads share descriptors and a folder, and when a thread ends.

use std::cell::RefCell;
use std::rc::Rc;

use super::super::args::Args;
use super::super::record::End;
use super::super::syscall::Shape;
use super::table::Table;
use super::{MOST_THREADS, Process, System, Thread, UNNAMED};
use crate::analysis::Analysis;
use crate::call::ThreadId;

impl System {
    /// A new program: it has the descriptors that were not to be closed, in a table of its own.
    pub(super) fn execute(&mut self, pid: u32) {
        let name = self.path.rsplit(|&byte| byte == b'/').next().unwrap_or_default().into();
        let old = self.process(pid);
        let table = old.table.inherited(|descriptor| descriptor.close_on_exec);
        let folder = old.folder.borrow().clone();
        let process = self.new_process(table, folder);
        let thread = self.thread(pid, b"");
        (thread.process, thread.program) = (process, name);
    }

    /// A thread returned from making another.
    pub(super) fn forked(&mut self, parent: u32, args: Args<'_>, end: End<'_>) {
        self.forking.retain(|&other| other != parent);
        let Some(child) = end.value().filter(|&child| child > 0).and_then(|child| u32::try_from(child).ok()) else {
            return;
        };
        if !self.threads.contains_key(&child) {
            self.adopt(child, parent, args.mention("CLONE_FILES"));
        }
    }

    pub(super) fn adopt(&mut self, child: u32, parent: u32, shares_descriptors: bool) {
        let (process, program) = match self.threads.get(&parent) {
            Some(thread) => (thread.process.clone(), thread.program.clone()),
            None => (self.unknown_process(), (*b"").into()),
        };
        let process = match shares_descriptors {
            true => process,
            false => {
                let (table, folder) = (process.table.inherited(|_| false), process.folder.borrow().clone());
                self.new_process(table, folder)
            }
        };
        self.insert(child, Thread { process, program, pending: None });
    }

    fn new_process(&mut self, table: Table, folder: Option<Rc<[u8]>>) -> Rc<Process> {
        self.processes = self.processes.wrapping_add(1);
        Rc::new(Process { id: self.processes, table, folder: RefCell::new(folder) })
    }

    /// One that was there before the trace.
    fn unknown_process(&mut self) -> Rc<Process> {
        let table = Table::new(&self.descriptors);
        self.new_process(table, None)
    }

    /// Which thread a line is about, which is known afterwards. `resumes`: it was in a call before.
    pub(super) fn thread_of(&mut self, pid: Option<u32>, resumes: bool, analysis: &mut Analysis) -> u32 {
        let pid = match pid {
            Some(pid) => pid,
            // Lines have no number while there is one thread only, which may have had one before.
            None if self.threads.len() == 1 => return *self.threads.keys().next().expect("there is one"),
            None => UNNAMED,
        };
        if self.threads.contains_key(&pid) {
            return pid;
        }
        let parent = self.forking.last().copied();
        if pid != UNNAMED
            && !self.announced.remove(&pid)
            && self.threads.contains_key(&UNNAMED)
            && (resumes || parent != Some(UNNAMED) || self.threads.len() > 1)
        {
            // A second thread is there now, so lines have numbers: `pid` is the number of the thread that had none.
            let thread = self.threads.remove(&UNNAMED).expect("it is there");
            self.forking.iter_mut().filter(|other| **other == UNNAMED).for_each(|other| *other = pid);
            self.insert(pid, thread);
            analysis.name_thread(ThreadId::default(), ThreadId { process: 0, thread: pid });
            return pid;
        }
        match parent {
            Some(parent) => {
                let shares = self.threads.get(&parent).and_then(|thread| thread.pending.as_ref());
                let shares =
                    shares.is_some_and(|pending| memchr::memmem::find(&pending.args, b"CLONE_FILES").is_some());
                self.adopt(pid, parent, shares);
            }
            None => {
                let process = self.unknown_process();
                self.insert(pid, Thread { process, program: (*b"").into(), pending: None });
            }
        }
        pid
    }

    pub(super) fn insert(&mut self, pid: u32, thread: Thread) {
        if self.threads.len() >= MOST_THREADS {
            self.threads.clear();
            self.forking.clear();
            self.announced.clear();
        }
        self.threads.insert(pid, thread);
    }

    /// The thread ended, and with it its unfinished call, and its descriptors, if no other thread has them.
    pub(super) fn forget(&mut self, pid: u32, analysis: &mut Analysis) {
        self.forking.retain(|&other| other != pid);
        let Some(thread) = self.threads.remove(&pid) else { return };
        if thread.pending.is_some_and(|pending| pending.syscall.shape != Shape::Exit) {
            analysis.never_returned();
        }
    }

    pub(super) fn thread(&mut self, pid: u32, program: &[u8]) -> &mut Thread {
        if !self.threads.contains_key(&pid) {
            let process = self.unknown_process();
            self.insert(pid, Thread { process, program: (*b"").into(), pending: None });
        }
        let thread = self.threads.get_mut(&pid).expect("it is there now");
        if !program.is_empty() && *thread.program != *program {
            thread.program = program.into();
        }
        thread
    }

    pub(super) fn process(&mut self, pid: u32) -> Rc<Process> {
        self.thread(pid, b"").process.clone()
    }
}
