//! [`Analysis`]: takes calls one by one, keeps sums of bounded size, and ends as a [`Report`].

mod again;
mod closes;
mod made;
mod operations;
mod ranking;
mod runs;
mod sums;
mod syncs;
mod timeline;

use crate::call::{Call, Effect, Kind, ThreadId};
use crate::format::Format;
use crate::handle::{FileHandles, Handle};
use crate::open_file::OpenFile;
use crate::report::{self, Damage, Hidden, Report, Sum};

use again::Again;
use closes::Closes;
use made::Made;
use operations::Operations;
use ranking::Ranking;
use runs::Runs;
use sums::{File, Folder, Thread};
use syncs::Syncs;
use timeline::Timelines;

/// The most files, folders and threads that are counted one by one. Of a trace with more, the ones with the most time
/// are kept. Together these sums take less than 50 MB.
const MOST_FILES: usize = 1 << 17;
const MOST_FOLDERS: usize = 1 << 15;
const MOST_THREADS: usize = 1 << 14;

/// What is known so far.
pub(crate) struct Analysis {
    lines: u64,
    damage: Damage,
    total: Sum,
    untimed: u64,
    never_returned: u64,
    without_name: Sum,
    digits: u8,
    kinds: [Sum; Kind::ALL.len()],
    operations: Operations,
    threads: Ranking<Thread>,
    last_thread: (ThreadId, Handle),
    unnamed_thread: Option<ThreadId>,
    files: Ranking<File>,
    folders: Ranking<Folder>,
    timelines: Timelines,
    closes: Closes,
    again: Again,
    runs: Runs,
    syncs: Syncs,
    made: Made,
    folders_were_there: Sum,
    hidden: Hidden,
}

impl Analysis {
    pub(crate) fn new() -> Analysis {
        Analysis {
            lines: 0,
            damage: Damage::default(),
            total: Sum::default(),
            untimed: 0,
            never_returned: 0,
            without_name: Sum::default(),
            digits: 0,
            kinds: Default::default(),
            operations: Operations::default(),
            threads: Ranking::new(MOST_THREADS),
            last_thread: Default::default(),
            unnamed_thread: None,
            files: Ranking::new(MOST_FILES),
            folders: Ranking::new(MOST_FOLDERS),
            timelines: Timelines::default(),
            closes: Closes::default(),
            again: Again::default(),
            runs: Runs::default(),
            syncs: Syncs::default(),
            made: Made::default(),
            folders_were_there: Sum::default(),
            hidden: Hidden::default(),
        }
    }

    /// One more line of the trace.
    pub(crate) fn count_line(&mut self) {
        self.lines += 1;
    }

    /// More lines, of a record that has several.
    pub(crate) fn count_lines(&mut self, n: u64) {
        self.lines += n;
    }

    /// The last line was not understood.
    pub(crate) fn damaged(&mut self, line: &[u8]) {
        self.damage.lines += 1;
        if self.damage.first.is_none() {
            let shown = String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
            self.damage.first = Some((self.lines, shown));
        }
    }

    /// A time with `digits` digits after the point of a second was seen.
    pub(crate) fn seen_digits(&mut self, digits: u8) {
        self.digits = self.digits.max(digits.min(9));
    }

    /// A call had not returned when its thread, or the trace, ended.
    pub(crate) fn never_returned(&mut self) {
        self.never_returned += 1;
    }

    /// The thread without a number is `thread`: its sums belong to `thread`.
    pub(crate) fn name_thread(&mut self, unnamed: ThreadId, thread: ThreadId) {
        debug_assert_eq!(unnamed, ThreadId::default());
        self.unnamed_thread = Some(thread);
    }

    /// A file that was still open when its last process, or the trace, ended.
    pub(crate) fn left_open(&mut self, file: &OpenFile) {
        self.runs.end(file);
        self.made.closed(file);
    }

    /// A call.
    pub(crate) fn call(&mut self, call: &Call<'_>) {
        self.total.add(call);
        self.untimed += u64::from(call.duration.is_none());
        self.kinds[call.kind as usize].add(call);
        self.operations.add(call);
        self.timelines.add(call, self.total.calls);
        let thread = self.thread(call);
        if call.kind.is_file() {
            self.on_file(call);
        }
        self.find(call, thread);
    }

    fn thread(&mut self, call: &Call<'_>) -> Handle {
        if self.last_thread.0 != call.thread || self.threads.get(self.last_thread.1).is_none() {
            let key = [call.thread.process.to_be_bytes(), call.thread.thread.to_be_bytes()].concat();
            self.last_thread = (call.thread, self.threads.of(&key));
        }
        let handle = self.last_thread.1;
        if let Some(thread) = self.threads.get(handle) {
            thread.sum.add(call);
            if call.kind.is_file() {
                thread.file_time = thread.file_time.saturating_add(call.duration.unwrap_or(0));
            }
            if !call.program.is_empty() && *thread.program != *call.program {
                thread.program = call.program.into();
            }
        }
        handle
    }

    /// Sums by file and by folder.
    fn on_file(&mut self, call: &Call<'_>) {
        let Some(path) = call.path else {
            self.without_name.add(call);
            return;
        };
        let handles = self.handles(call.file, path);
        if let Some(file) = self.files.get(handles.file) {
            file.sum.add(call);
            let time = &mut file.by_kind[call.kind as usize];
            *time = time.saturating_add(call.duration.unwrap_or(0));
        }
        if let Some(folder) = self.folders.get(handles.folder) {
            folder.sum.add(call);
        }
    }

    fn handles(&mut self, file: Option<&OpenFile>, path: &[u8]) -> FileHandles {
        if let Some(file) = file {
            let handles = file.handles.get();
            if self.files.get(handles.file).is_some() && self.folders.get(handles.folder).is_some() {
                return handles;
            }
        }
        let handles = FileHandles { file: self.files.of(path), folder: self.folders.of(folder_of(path)) };
        if let Some(file) = file {
            file.handles.set(handles);
        }
        handles
    }

    /// Keeps what the findings are made from.
    fn find(&mut self, call: &Call<'_>, thread: Handle) {
        match call.effect {
            Effect::FolderWasThere => self.folders_were_there.add(call),
            Effect::HandedOver => self.hidden.io_uring += 1,
            _ => {}
        }
        let Some(file) = call.file else { return };
        let time = call.duration.unwrap_or(0);
        match call.effect {
            Effect::None => {}
            Effect::Opened => {
                file.time.set(time);
                if let Some(known) = self.files.get(file.handles.get().file) {
                    self.again.opened(file, known, time);
                }
                if self.made.opened(file)
                    && let Some(thread) = self.threads.get(thread)
                {
                    thread.files_made += 1;
                }
            }
            Effect::Read(_) | Effect::Moved | Effect::WrittenBack => self.runs.end(file),
            Effect::Wrote { bytes, at } => {
                file.time.set(file.time.get().saturating_add(time));
                self.runs.wrote(file, bytes, at, time);
                if file.durable {
                    self.syncs.wrote(call);
                }
            }
            Effect::Synced => {
                self.runs.end(file);
                let known = self.files.get(file.handles.get().file);
                let before =
                    file.synced.replace(true) | known.is_some_and(|known| std::mem::replace(&mut known.synced, true));
                self.syncs.synced(call, file, before);
            }
            Effect::Closed => {
                file.time.set(file.time.get().saturating_add(time));
                self.runs.end(file);
                self.closes.closed(call, file);
                self.made.closed(file);
                if let Some(known) = self.files.get(file.handles.get().file) {
                    self.again.closed(file, known, time);
                }
            }
            Effect::Mapped { to_write: true } if file.regular => self.hidden.mapped_to_write += 1,
            Effect::Mapped { to_write: false } if file.regular && !is_library(file) => self.hidden.mapped_to_read += 1,
            Effect::Mapped { .. } | Effect::HandedOver | Effect::FolderWasThere => {}
        }
    }

    /// All that was found, in tables of at most `rows`.
    pub(crate) fn finish(mut self, format: Format, bytes: u64, rows: usize) -> Report {
        if let Some(thread) = self.unnamed_thread {
            self.name_the_unnamed(thread);
        }
        let timed = self.untimed < self.total.calls;
        let tracing = self.operations.tracing();
        let mut file_total = Sum::default();
        self.kinds.iter().zip(Kind::ALL).filter(|(_, kind)| kind.is_file()).for_each(|(sum, _)| file_total.plus(sum));
        let named = file_total.minus(&self.without_name);
        let again = self.again.finish(&self.files);
        let maker = self.threads.values().map(|thread| thread.files_made).max().unwrap_or(0);
        let threads_seen = self.threads.len() as u64;
        let threads = self.threads.finish(rows, &self.total, |key, thread| report::Thread {
            process: key[..4].try_into().map_or(0, u32::from_be_bytes),
            thread: key[4..].try_into().map_or(0, u32::from_be_bytes),
            program: String::from_utf8_lossy(&thread.program).into_owned(),
            sum: thread.sum,
            file_nanos: thread.file_time,
        });
        let files = self.files.finish(rows, &named, |path, file| report::File {
            path: path.into(),
            sum: file.sum,
            nanos_by_kind: file.by_kind,
            opens: file.opens,
        });
        let folders =
            self.folders.finish(rows, &named, |path, folder| report::Folder { path: path.into(), sum: folder.sum });
        let mut report = Report {
            format,
            bytes,
            lines: self.lines,
            damage: self.damage,
            total: self.total,
            file_total,
            without_name: self.without_name,
            timed,
            untimed: if timed { self.untimed } else { 0 },
            never_returned: self.never_returned,
            digits: self.digits,
            tracing: tracing.map(|(median, _)| median),
            least_tracing: tracing.map(|(_, least)| least),
            kinds: Kind::ALL.map(|kind| (kind, self.kinds[kind as usize])),
            cheapest_write: self.operations.cheapest_write(),
            operations: self.operations.finish(),
            threads_seen,
            threads,
            files,
            folders,
            span: self.timelines.span(),
            timeline: self.timelines.finish(),
            closes: self.closes.finish(),
            again,
            small_writes: self.runs.finish(),
            syncs: self.syncs.finish(),
            made: self.made.finish(maker),
            hidden: self.hidden,
            folders_were_there: self.folders_were_there,
            findings: Vec::new(),
        };
        report.findings = crate::findings::all(&report);
        report
    }

    fn name_the_unnamed(&mut self, thread: ThreadId) {
        let Some(unnamed) = self.threads.remove(&[0; 8]) else { return };
        let key = [thread.process.to_be_bytes(), thread.thread.to_be_bytes()].concat();
        let handle = self.threads.of(&key);
        if let Some(known) = self.threads.get(handle) {
            known.sum.plus(&unnamed.sum);
            known.file_time = known.file_time.saturating_add(unnamed.file_time);
            known.files_made += unnamed.files_made;
            if known.program.is_empty() {
                known.program = unnamed.program;
            }
        }
    }
}

/// Whether it is a part of the program, by its name: the loader maps those.
fn is_library(file: &OpenFile) -> bool {
    let path = file.path().unwrap_or_default();
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    [&b".so"[..], b".cache", b".mo", b"locale-archive", b"LC_"]
        .into_iter()
        .any(|part| memchr::memmem::find(name, part).is_some())
        || memchr::memmem::find(path, b"/locale/").is_some()
}

/// What is before the last separator of either kind; `.` for a bare name.
fn folder_of(path: &[u8]) -> &[u8] {
    let trimmed = match path {
        [rest @ .., b'/' | b'\\'] if !rest.is_empty() => rest,
        _ => path,
    };
    match memchr::memrchr2(b'/', b'\\', trimmed) {
        Some(0) => &path[..1],
        Some(at) => &path[..at],
        None => b".",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_path_is_what_precedes_its_last_name() {
        for (path, folder) in [
            ("/a/b/c", "/a/b"),
            ("/a/b/", "/a"),
            ("/a", "/"),
            ("a", "."),
            ("a/b", "a"),
            (r"C:\Windows\x.dll", r"C:\Windows"),
            (r"C:\", "."),
            ("/", "/"),
            ("", "."),
        ] {
            assert_eq!(folder_of(path.as_bytes()), folder.as_bytes(), "{path}");
        }
    }
}
