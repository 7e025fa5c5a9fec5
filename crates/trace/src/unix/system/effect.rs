//! The effect of a call on the descriptors and the folder of its process.

use std::rc::Rc;

use super::super::args::{Args, Fd, unescaped};
use super::super::record::End;
use super::super::syscall::Shape;
use super::done::{Done, Subject};
use super::table::Open;
use super::{Process, System};
use crate::call::Effect;
use crate::open_file::OpenFile;

impl System {
    /// Applies a call to the descriptors and the folder of its process. Returns its effect and its file.
    pub(super) fn effect(
        &mut self,
        pid: u32,
        process: &Rc<Process>,
        shape: Shape,
        args: Args<'_>,
        end: End<'_>,
        closing: Option<Rc<Open>>,
    ) -> Done {
        let (value, failed) = (end.value(), end.failed());
        let bytes = value.filter(|_| !failed).map_or(0, |value| value.max(0) as u64);
        match shape {
            Shape::None | Shape::Fork | Shape::Exit => Done::NOTHING,
            Shape::Open | Shape::OpenAt | Shape::Create => {
                let annotation = end.annotation().map(unescaped).filter(|name| name.starts_with(b"/"));
                let known = match annotation {
                    Some(name) => self.assemble(name),
                    None => self.assemble_path(process, args, shape == Shape::OpenAt),
                };
                if failed || value.is_none() {
                    return Done { effect: Effect::None, file: None, path: known };
                }
                let (flags, create) = (args.flags(), shape == Shape::Create);
                let mut file = OpenFile::new(known.of(&self.path), process.id);
                file.opened = true;
                file.for_writing = create || flags.writes;
                file.appends = flags.appends;
                file.was_empty = create || flags.truncates || (flags.creates && flags.exclusive);
                file.regular &= !flags.folder;
                file.durable = flags.durable;
                let file = self.put(process, value, file, flags.close_on_exec);
                Done { effect: Effect::Opened, file: Some(file), path: Subject::None }
            }
            Shape::Close => {
                let file = closing.or_else(|| args.fd().filter(|_| !failed).and_then(|fd| self.take(process, fd)));
                Done { effect: if failed { Effect::None } else { Effect::Closed }, file, path: Subject::None }
            }
            Shape::CloseRange => {
                if let (false, Some(first), Some(last)) = (failed, args.number(0, &["fd"]), args.number(1, &["max_fd"]))
                    && !args.mention("CLOEXEC")
                {
                    process.table.remove_if(|fd| (first..=last).contains(&(fd as u64)));
                }
                Done::NOTHING
            }
            Shape::Read => self.on(process, args.fd(), Effect::Read(bytes)),
            Shape::Write => self.on(process, args.fd(), Effect::Wrote { bytes, at: None }),
            Shape::WriteAt => self.on(process, args.fd(), Effect::Wrote { bytes, at: args.last_number() }),
            Shape::Into(place, name) => self.on(process, args.fd_at(place, &[name]), Effect::Wrote { bytes, at: None }),
            Shape::Sync => self.on(process, args.fd(), if failed { Effect::None } else { Effect::Synced }),
            Shape::Seek => self.on(process, args.fd(), Effect::Moved),
            Shape::WriteBack => self.on(process, args.fd(), Effect::WrittenBack),
            Shape::Fd | Shape::Length => self.on(process, args.fd(), Effect::None),
            Shape::Path | Shape::MakeFolder => {
                let path = self.assemble_path(process, args, false);
                let there = shape == Shape::MakeFolder && end.result.starts_with(b"-1 EEXIST");
                Done { effect: if there { Effect::FolderWasThere } else { Effect::None }, file: None, path }
            }
            Shape::PathAt | Shape::MakeFolderAt => {
                let path = self.assemble_path(process, args, true);
                if let Subject::None = path {
                    // fstat is newfstatat with an empty path.
                    return self.on(process, args.folder(), Effect::None);
                }
                let there = shape == Shape::MakeFolderAt && end.result.starts_with(b"-1 EEXIST");
                Done { effect: if there { Effect::FolderWasThere } else { Effect::None }, file: None, path }
            }
            Shape::Channel => {
                if !failed {
                    self.put(process, value, OpenFile::channel(process.id), args.mention("CLOEXEC"));
                }
                Done::NOTHING
            }
            Shape::Channels => {
                if !failed {
                    for fd in args.pair().into_iter().flatten() {
                        let channel = OpenFile::channel(process.id);
                        self.put(process, Some(i64::from(fd)), channel, args.mention("CLOEXEC"));
                    }
                }
                Done::NOTHING
            }
            Shape::Duplicate | Shape::DuplicateTo => {
                let done = self.on(process, args.fd(), Effect::None);
                if let (false, Some(file)) = (failed, &done.file) {
                    self.share(process, value, file, args.mention("CLOEXEC"));
                }
                done
            }
            Shape::Fcntl => {
                let done = self.on(process, args.fd(), Effect::None);
                if let (false, Some(file)) = (failed, &done.file) {
                    if args.mention("DUPFD") {
                        self.share(process, value, file, args.mention("DUPFD_CLOEXEC"));
                    } else if args.mention("SETFD")
                        && let Some(Fd { number: Some(fd), .. }) = args.fd()
                    {
                        process.table.set_close_on_exec(fd, args.mention("FD_CLOEXEC"));
                    }
                }
                done
            }
            Shape::HandOver => Done { effect: Effect::HandedOver, file: None, path: Subject::None },
            Shape::Map => {
                let is_program = args.has_flag(2, "prot", "EXEC");
                // What is written to a private mapping goes nowhere.
                let to_write = args.has_flag(2, "prot", "WRITE") && !args.has_flag(3, "flags", "PRIVATE");
                match args.fd_at(4, &["fd"]).filter(|_| !failed && !is_program) {
                    Some(fd) => self.on(process, Some(fd), Effect::Mapped { to_write }),
                    None => Done::NOTHING,
                }
            }
            Shape::ChangeFolder => {
                let path = self.assemble_path(process, args, false);
                if let (false, Some(folder)) = (failed, path.of(&self.path)) {
                    *process.folder.borrow_mut() = Some(folder.into());
                }
                Done { effect: Effect::None, file: None, path }
            }
            Shape::ChangeFolderFd => {
                let done = self.on(process, args.fd(), Effect::None);
                if let (false, Some(folder)) = (failed, done.file.as_deref().and_then(|open| open.path())) {
                    *process.folder.borrow_mut() = Some(folder.into());
                }
                done
            }
            Shape::Exec => {
                let path = self.assemble_path(process, args, false);
                if !failed {
                    self.execute(pid);
                }
                Done { effect: Effect::None, file: None, path }
            }
        }
    }
}
