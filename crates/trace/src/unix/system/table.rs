//! [`Table`]: the descriptors of a process, and the files behind them.

use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::rc::Rc;

use super::Map;
use crate::open_file::OpenFile;

/// A file that was opened and, as far as the trace says, is open still. Descriptors that were duplicated or inherited
/// share it. When nothing leads to it any more, whatever took the last descriptor away (a close, an exit, another file
/// under its number, a new program), it is among those that [ended](Ended).
pub(super) struct Open {
    /// `None` only while it is dropped.
    file: Option<OpenFile>,
    ended: Ended,
}

impl Deref for Open {
    type Target = OpenFile;

    fn deref(&self) -> &OpenFile {
        self.file.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.ended.0.borrow_mut().extend(self.file.take());
    }
}

/// Files that ended since they were last asked for.
#[derive(Clone, Default)]
pub(super) struct Ended(Rc<RefCell<Vec<OpenFile>>>);

impl Ended {
    /// A file whose end is told here.
    pub(super) fn follow(&self, file: OpenFile) -> Rc<Open> {
        Rc::new(Open { file: Some(file), ended: self.clone() })
    }

    /// Shows each of them once.
    pub(super) fn each(&self, mut show: impl FnMut(&OpenFile)) {
        self.0.borrow_mut().drain(..).for_each(|file| show(&file));
    }
}

#[derive(Clone)]
pub(super) struct Descriptor {
    pub file: Rc<Open>,
    pub close_on_exec: bool,
}

/// The descriptors of one process. `count` is of all processes together.
pub(super) struct Table {
    descriptors: RefCell<Map<i32, Descriptor>>,
    count: Rc<Cell<usize>>,
}

impl Table {
    pub(super) fn new(count: &Rc<Cell<usize>>) -> Table {
        Table { descriptors: RefCell::default(), count: count.clone() }
    }

    /// What a forked process has, or a new program: all but those for which `is_lost` says so.
    pub(super) fn inherited(&self, is_lost: impl Fn(&Descriptor) -> bool) -> Table {
        let mut descriptors = self.descriptors.borrow().clone();
        descriptors.retain(|_, descriptor| !is_lost(descriptor));
        self.count.set(self.count.get() + descriptors.len());
        Table { descriptors: RefCell::new(descriptors), count: self.count.clone() }
    }

    pub(super) fn file(&self, fd: i32) -> Option<Rc<Open>> {
        self.descriptors.borrow().get(&fd).map(|descriptor| descriptor.file.clone())
    }

    /// Whatever had the number before is closed.
    pub(super) fn insert(&self, fd: i32, descriptor: Descriptor) {
        self.change(|descriptors| drop(descriptors.insert(fd, descriptor)));
    }

    pub(super) fn remove(&self, fd: i32) {
        self.change(|descriptors| drop(descriptors.remove(&fd)));
    }

    pub(super) fn remove_if(&self, is_gone: impl Fn(i32) -> bool) {
        self.change(|descriptors| descriptors.retain(|&fd, _| !is_gone(fd)));
    }

    pub(super) fn set_close_on_exec(&self, fd: i32, close_on_exec: bool) {
        if let Some(descriptor) = self.descriptors.borrow_mut().get_mut(&fd) {
            descriptor.close_on_exec = close_on_exec;
        }
    }

    fn change(&self, change: impl FnOnce(&mut Map<i32, Descriptor>)) {
        let mut descriptors = self.descriptors.borrow_mut();
        let before = descriptors.len();
        change(&mut descriptors);
        self.count.set(self.count.get() - before + descriptors.len());
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.remove_if(|_| true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(all: &Ended) -> Vec<String> {
        let mut names = Vec::new();
        all.each(|file| names.push(String::from_utf8_lossy(file.path().unwrap_or_default()).into_owned()));
        names
    }

    #[test]
    fn a_file_ends_with_its_last_descriptor_however_that_goes() {
        let (all, count) = (Ended::default(), Rc::default());
        let table = Table::new(&count);
        let open = |path: &str, close_on_exec| {
            let file = all.follow(OpenFile::new(Some(path.as_bytes()), 1));
            Descriptor { file, close_on_exec }
        };
        table.insert(3, open("/over", false));
        table.insert(4, open("/closed", false));
        table.insert(5, open("/exec", true));
        table.insert(6, open("/exit", false));
        table.insert(3, open("/kept", false));
        assert_eq!(ended(&all), ["/over"], "another file under its number");
        let program = table.inherited(|descriptor| descriptor.close_on_exec);
        assert_eq!(count.get(), 7);
        table.remove(4);
        assert_eq!(ended(&all), [""; 0], "the other process has it");
        program.remove_if(|fd| fd == 4);
        assert_eq!(ended(&all), ["/closed"]);
        let held = table.file(6);
        drop(table);
        assert_eq!(ended(&all), ["/exec"], "which the new program never had");
        drop(program);
        assert_eq!(ended(&all), ["/kept"]);
        drop(held);
        assert_eq!(ended(&all), ["/exit"], "a call may have it longest");
        assert_eq!(count.get(), 0);
    }
}
