//! Descriptors, and the files and paths behind them.

use std::borrow::Cow;
use std::rc::Rc;

use super::super::args::{Args, Fd, unescaped};
use super::super::spelling::Spelling;

use super::done::{Done, Subject};
use super::{Descriptor, MOST_DESCRIPTORS, Process, System};
use crate::call::Effect;
use crate::open_file::OpenFile;

impl System {
    /// The file that a call on a descriptor was about.
    pub(super) fn on(&mut self, process: &Rc<Process>, fd: Option<Fd<'_>>, effect: Effect) -> Done {
        Done { effect, file: fd.and_then(|fd| self.file(process, fd)), path: Subject::None }
    }

    /// The open file behind a descriptor: as it was opened, or as the line itself says.
    pub(super) fn file(&mut self, process: &Rc<Process>, fd: Fd<'_>) -> Option<Rc<OpenFile>> {
        let number = fd.number?;
        // perf looks the path up later, when the number may stand for another file already.
        let said = fd.annotation.map(unescaped);
        let said = said.as_deref();
        let trusted = self.spelling == Spelling::Strace;
        if let Some(descriptor) = process.descriptors.borrow().get(&number) {
            let same = match (said, descriptor.file.path()) {
                (Some(said), Some(path)) => said == path,
                (Some(said), None) => !said.starts_with(b"/") && descriptor.file.is_channel,
                (None, _) => true,
            };
            if same || !trusted {
                return Some(descriptor.file.clone());
            }
        }
        let path = said.filter(|said| said.starts_with(b"/"));
        // Opened before the trace began, so perhaps for writing.
        let mut file = OpenFile::new(path, process.id);
        file.is_channel = said.is_some() && path.is_none();
        file.regular &= trusted;
        let file = Rc::new(file);
        self.put(process, Some(i64::from(number)), file.clone(), false);
        Some(file)
    }

    pub(super) fn put(&mut self, process: &Process, fd: Option<i64>, file: Rc<OpenFile>, close_on_exec: bool) {
        let Some(fd) = fd.and_then(|fd| i32::try_from(fd).ok()) else { return };
        if self.descriptors >= MOST_DESCRIPTORS {
            self.descriptors = 0;
            for thread in self.threads.values() {
                thread.process.descriptors.borrow_mut().clear();
            }
        }
        if process.descriptors.borrow_mut().insert(fd, Descriptor { file, close_on_exec }).is_none() {
            self.descriptors += 1;
        }
    }

    /// The open file. Its descriptor is closed.
    pub(super) fn take(&mut self, process: &Rc<Process>, fd: Fd<'_>) -> Option<Rc<OpenFile>> {
        let file = self.file(process, fd);
        if process.descriptors.borrow_mut().remove(&fd.number?).is_some() {
            self.descriptors = self.descriptors.saturating_sub(1);
        }
        file
    }

    /// Puts the path among the arguments together with the folder it is relative to.
    pub(super) fn assemble_path(&mut self, process: &Process, args: Args<'_>, at: bool) -> Subject {
        let Some(path) = args.path().filter(|path| !path.is_empty()) else { return Subject::None };
        if path.starts_with(b"/") {
            return self.assemble(path);
        }
        let base: Option<Cow<'_, [u8]>> = match args.folder().filter(|_| at) {
            Some(Fd { annotation: Some(name), .. }) if self.spelling == Spelling::Strace => Some(unescaped(name)),
            Some(Fd { number: Some(fd), .. }) => {
                let descriptors = process.descriptors.borrow();
                descriptors.get(&fd).and_then(|descriptor| descriptor.file.path().map(|path| path.to_vec().into()))
            }
            _ => process.folder.borrow().as_deref().map(|folder| folder.to_vec().into()),
        };
        self.path.clear();
        if let Some(base) = base {
            self.path.extend_from_slice(base.strip_suffix(b"/").unwrap_or(&base));
            self.path.push(b'/');
        }
        let mut path = &path[..];
        while let Some(rest) = path.strip_prefix(b"./").filter(|rest| !rest.is_empty()) {
            path = rest;
        }
        self.path.extend_from_slice(path);
        Subject::Assembled
    }

    pub(super) fn assemble(&mut self, path: Cow<'_, [u8]>) -> Subject {
        self.path.clear();
        self.path.extend_from_slice(&path);
        Subject::Assembled
    }
}
