//! Descriptors, and the files and paths behind them.

use std::borrow::Cow;
use std::rc::Rc;

use super::super::args::{Args, Fd, unescaped};
use super::super::spelling::Spelling;

use super::done::{Done, Subject};
use super::table::{Descriptor, Open};
use super::{MOST_DESCRIPTORS, Process, System};
use crate::call::Effect;
use crate::open_file::OpenFile;

impl System {
    /// The file that a call on a descriptor was about.
    pub(super) fn on(&mut self, process: &Rc<Process>, fd: Option<Fd<'_>>, effect: Effect) -> Done {
        Done { effect, file: fd.and_then(|fd| self.file(process, fd)), path: Subject::None }
    }

    /// The open file behind a descriptor: as it was opened, or as the line itself says.
    pub(super) fn file(&mut self, process: &Rc<Process>, fd: Fd<'_>) -> Option<Rc<Open>> {
        let number = fd.number?;
        // perf looks the path up later, when the number may stand for another file already.
        let said = fd.annotation.map(unescaped);
        let said = said.as_deref();
        let trusted = self.spelling == Spelling::Strace;
        if let Some(file) = process.table.file(number) {
            let same = match (said, file.path()) {
                (Some(said), Some(path)) => said == path,
                (Some(said), None) => !said.starts_with(b"/") && file.is_channel,
                (None, _) => true,
            };
            if same || !trusted {
                return Some(file);
            }
        }
        let path = said.filter(|said| said.starts_with(b"/"));
        // Opened before the trace began, so perhaps for writing.
        let mut file = OpenFile::new(path, process.id);
        file.is_channel = said.is_some() && path.is_none();
        file.regular &= trusted;
        Some(self.put(process, Some(i64::from(number)), file, false))
    }

    /// A file that a call has opened, under the number that it returned.
    pub(super) fn put(&mut self, process: &Process, fd: Option<i64>, file: OpenFile, close_on_exec: bool) -> Rc<Open> {
        let file = self.ended.follow(file);
        self.share(process, fd, &file, close_on_exec);
        file
    }

    /// One more descriptor of an open file.
    pub(super) fn share(&mut self, process: &Process, fd: Option<i64>, file: &Rc<Open>, close_on_exec: bool) {
        let Some(fd) = fd.and_then(|fd| i32::try_from(fd).ok()) else { return };
        if self.descriptors.get() >= MOST_DESCRIPTORS {
            self.threads.values().for_each(|thread| thread.process.table.remove_if(|_| true));
        }
        process.table.insert(fd, Descriptor { file: file.clone(), close_on_exec });
    }

    /// The open file. Its descriptor is closed.
    pub(super) fn take(&mut self, process: &Rc<Process>, fd: Fd<'_>) -> Option<Rc<Open>> {
        let file = self.file(process, fd);
        process.table.remove(fd.number?);
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
                process.table.file(fd).and_then(|file| file.path().map(|path| path.to_vec().into()))
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
