//! `FileWriter`: each thread writes files of its own, one after the other.

use std::path::{Path, PathBuf};
use std::time::Duration;

use manyfiles::writer::{FileWriter, SyncPolicy};
use manyfiles_testkit::{Call as System, Random};

use super::model::Content;
use super::story::{Answer, Story, digest};
use super::subject::{Bytes, Numbered, Seen, Subject, Threads, on_threads};
use crate::told::Told;

pub struct Writers;

#[derive(Clone, Copy, Debug)]
pub struct Options {
    buffer_size: usize,
    second_thread: bool,
    sync: SyncPolicy,
    preallocate: u64,
}

#[derive(Clone, Debug)]
pub enum Call {
    /// Closes the file that is open, and creates one, or cuts it to nothing.
    Create(usize),
    /// Closes the file that is open, and goes on at the end of this one.
    Append(usize),
    Write(Bytes),
    /// Somewhere in what was written, or up to 3,000 bytes behind it.
    WriteAt(Bytes, usize),
    /// Reads all back.
    Read,
    Flush,
    Sync,
}

impl Subject for Writers {
    type Options = Options;
    type Call = Call;
    const FAILS: &'static [System] = &[
        System::Open,
        System::Write,
        System::Write,
        System::Close,
        System::Fsync,
        System::Read,
        System::Reserve,
        System::Ftruncate,
    ];

    fn options(random: &mut Random) -> Options {
        let hour = SyncPolicy::Every(Duration::from_secs(3600));
        Options {
            buffer_size: random.pick(&[0, 500, 4096, 10_000, 256 << 10]),
            second_thread: random.percent(40),
            sync: random.pick(&[SyncPolicy::Never, SyncPolicy::OnClose, SyncPolicy::EveryBytes(20_000), hour]),
            preallocate: random.pick(&[0, 0, 100_000]),
        }
    }

    fn call(random: &mut Random, _options: &Options, _thread: usize) -> Call {
        match random.below(20) {
            0 => Call::Create(random.below(3)),
            1 => Call::Append(random.below(3)),
            2..5 => Call::WriteAt(Bytes::new(random), random.next() as usize),
            5 => Call::Flush,
            6 => Call::Sync,
            7 => Call::Read,
            _ => Call::Write(Bytes::new(random)),
        }
    }

    fn play(options: &Options, folder: &Path, threads: &Threads<Call>) -> Story {
        let end = |writer: Option<FileWriter>, _| {
            let closed = writer.map(FileWriter::close);
            closed.and_then(Result::err).map(|error| Told::from(&error)).into_iter().collect()
        };
        on_threads(threads, |_| None, |writer, thread, it| call(*options, writer, folder, thread, it), end)
    }

    fn judge(_options: &Options, threads: &Threads<Call>, seen: &mut Seen) {
        for (thread, calls) in threads.iter().enumerate() {
            judge(thread, calls, seen);
        }
    }
}

fn path(folder: &Path, thread: usize, name: usize) -> PathBuf {
    folder.join(format!("t{thread}-{name}"))
}

/// Where a write of the model goes: the child asks the writer, which has as many bytes if all is well.
fn place(len: usize, chosen: usize) -> usize {
    chosen % (len + 3000)
}

fn call(
    options: Options,
    writer: &mut Option<FileWriter>,
    folder: &Path,
    thread: usize,
    it: &Numbered<Call>,
) -> Answer {
    let done = |()| String::new();
    if let Call::Create(name) | Call::Append(name) = it.call {
        let path = path(folder, thread, name);
        let mut told = Vec::new();
        if let Some(Err(error)) = writer.take().map(FileWriter::close) {
            told.push(Told::from(&error));
        }
        let opened = FileWriter::options()
            .buffer_size(options.buffer_size)
            .second_thread(options.second_thread)
            .preallocate(options.preallocate)
            .sync(options.sync);
        let opened = match it.call {
            Call::Create(_) => opened.create(path),
            _ => opened.append(path),
        };
        let (now, value) = match opened {
            Ok(now) => (Some(now), "open"),
            Err(error) => {
                told.push(Told::from(&error));
                (None, "")
            }
        };
        *writer = now;
        return Answer { value: value.into(), told };
    }
    let Some(writer) = writer else {
        return Answer { value: "none".into(), told: Vec::new() };
    };
    match &it.call {
        Call::Write(bytes) => Answer::ours(writer.write_all(&bytes.get()), done),
        // A file that is appended to has no places, which is an error of the call.
        Call::WriteAt(bytes, chosen) => {
            let offset = place(writer.position() as usize, *chosen) as u64;
            Answer::ours(writer.write_at(&bytes.get(), offset), |()| offset.to_string())
        }
        Call::Flush => Answer::ours(writer.flush(), done),
        Call::Sync => Answer::ours(writer.sync(), done),
        Call::Read => {
            let mut bytes = vec![0; 20 << 20];
            Answer::ours(writer.read_at(&mut bytes, 0), |read| digest(&bytes[..read]))
        }
        Call::Create(_) | Call::Append(_) => unreachable!("done above"),
    }
}

/// The file that is open, as it is to be.
struct Open {
    name: usize,
    bytes: Vec<u8>,
    /// Where the next write goes.
    position: usize,
    is_appended: bool,
    has_failed: bool,
}

fn judge(thread: usize, calls: &[Numbered<Call>], seen: &mut Seen) {
    let mut files = vec![Content::nothing(); 3];
    let mut open: Option<Open> = None;
    let told: Vec<_> = seen.story.told().filter_map(|told| told.path.clone()).collect();
    // What the close says is an error of the file that was open before.
    let close = |open: Option<Open>, files: &mut Vec<Content>, folder: &Path| {
        if let Some(Open { name, bytes, has_failed, .. }) = open {
            // A sync of the folder that fails has the folder's path.
            let is_told =
                has_failed || told.contains(&path(folder, thread, name)) || told.iter().any(|told| told == folder);
            files[name] = if is_told { Content::anything() } else { Content::is(bytes) };
        }
    };
    for Numbered { number, call } in calls {
        let answer = seen.answer(*number);
        for told in &answer.told {
            let is_of_the_call = told.text.contains("bytes can only be added at the end");
            let is_known = is_of_the_call && open.as_ref().is_some_and(|open| open.is_appended);
            if !is_known && !seen.is_explained(told) {
                seen.say(format!("{number}: {call:?} failed without a reason: {}", told.text));
            }
        }
        match call {
            Call::Create(name) | Call::Append(name) => {
                close(open.take(), &mut files, &seen.folder);
                let is_appended = matches!(call, Call::Append(_));
                if answer.value != "open" {
                    if !is_appended {
                        files[*name] = Content::anything();
                    } else if files[*name].is_there() == Some(false) {
                        files[*name] = Content::nothing().or(Content::is(Vec::new()));
                    }
                    continue;
                }
                let (bytes, has_failed) = match &files[*name] {
                    Content::OneOf(all) if is_appended && all.len() == 1 => (all[0].clone().unwrap_or_default(), false),
                    _ => (Vec::new(), is_appended),
                };
                open = Some(Open { name: *name, position: bytes.len(), bytes, is_appended, has_failed });
            }
            _ => {
                let Some(open) = &mut open else { continue };
                match call {
                    Call::Write(bytes) if answer.is_ok() => {
                        let bytes = bytes.get();
                        put(open, open.position, &bytes);
                        open.position += bytes.len();
                    }
                    Call::WriteAt(bytes, _) if answer.is_ok() => {
                        let offset = answer.value.parse().unwrap_or(0);
                        put(open, offset, &bytes.get());
                    }
                    Call::Read if answer.is_ok() && !open.has_failed && answer.value != digest(&open.bytes) => {
                        let right = digest(&open.bytes);
                        seen.problems.push(format!("{number}: Read returned {} in place of {right}", answer.value));
                    }
                    // "A read that fails leaves the writer as it is."
                    Call::Read => {}
                    _ if !answer.is_ok() && !open.is_appended => open.has_failed = true,
                    _ if !answer.is_ok() => open.has_failed |= !matches!(call, Call::WriteAt(..)),
                    _ => {}
                }
            }
        }
    }
    close(open.take(), &mut files, &seen.folder);
    for (name, content) in files.iter().enumerate() {
        let wrong = content.compare(&path(&seen.folder, thread, name));
        seen.problems.extend(wrong);
    }
}

fn put(open: &mut Open, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if bytes.is_empty() {
        return;
    }
    if open.bytes.len() < end {
        open.bytes.resize(end, 0);
    }
    open.bytes[offset..end].copy_from_slice(bytes);
}
