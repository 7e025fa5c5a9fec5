//! `Appender`: threads append to one log, which is closed and opened anew up to three times.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

use manyfiles::appender::{Appender, Options as AppenderOptions, Receipt, Records};
use manyfiles_testkit::{Call as System, Random};

use super::story::{Answer, Story};
use super::subject::{Bytes, Numbered, Seen, Subject, Threads, on_threads};
use crate::told::Told;

pub struct Log;

#[derive(Clone, Copy, Debug)]
pub struct Options {
    framed: bool,
    /// With frames alone: without them each opening has a file of its own.
    rotate_bytes: Option<u64>,
    capacity: usize,
    /// How often the log is opened: each time for an equal part of each thread's calls.
    openings: usize,
}

#[derive(Clone, Debug)]
pub enum Call {
    Append(Bytes),
    AppendDurable(Bytes),
    Flush,
    Sync,
    /// For the thread's last record.
    WaitWritten,
    WaitDurable,
}

/// Answers that belong to no call.
const OPENED: u64 = 1 << 40;
const CLOSED: u64 = 2 << 40;

impl Subject for Log {
    type Options = Options;
    type Call = Call;
    const FAILS: &'static [System] = &[
        System::Open,
        System::Write,
        System::Write,
        System::Write,
        System::Close,
        System::Fsync,
        System::Fsync,
        System::Read,
        System::Reserve,
        System::Ftruncate,
        System::Rename,
        System::Unlink,
        System::Stat,
        System::List,
    ];

    fn options(random: &mut Random) -> Options {
        let framed = random.percent(70);
        let rotate_bytes = random.pick(&[None, Some(5000), Some(300_000)]).filter(|_| framed);
        let capacity = random.pick(&[0, 100, 4096, 256 << 10]);
        Options { framed, rotate_bytes, capacity, openings: 1 + random.below(3) }
    }

    fn call(random: &mut Random, _options: &Options, _thread: usize) -> Call {
        match random.below(12) {
            0..5 => Call::Append(Bytes::new(random)),
            5..8 => Call::AppendDurable(Bytes::short(random)),
            8 => Call::Flush,
            9 => Call::Sync,
            10 => Call::WaitWritten,
            _ => Call::WaitDurable,
        }
    }

    fn play(options: &Options, folder: &Path, threads: &Threads<Call>) -> Story {
        let mut story = Story::default();
        for opening in 0..options.openings {
            let number = opening as u64;
            let opened = options.appender().open(folder.join("log"));
            let appender = match opened {
                Ok(appender) => appender,
                Err(error) => {
                    story.answers.insert(OPENED + number, Answer::ours(Err::<(), _>(error), |()| String::new()));
                    continue;
                }
            };
            let parts: Vec<_> = threads.iter().map(|calls| part(calls, opening, options.openings).to_vec()).collect();
            let played = |receipt: &mut Option<Receipt>, _: usize, it: &Numbered<Call>| call(&appender, receipt, it);
            let upkeep = Mutex::new(Vec::new());
            let part = on_threads(&parts, |_| None, played, |_, _| Vec::new());
            story.answers.extend(part.answers);
            upkeep.lock().expect("no holder panics").extend(appender.take_upkeep_errors().iter().map(Told::from));
            story.end.extend(upkeep.into_inner().expect("no holder panics"));
            story.answers.insert(CLOSED + number, Answer::ours(appender.close(), |_| "closed".into()));
        }
        story
    }

    fn judge(options: &Options, threads: &Threads<Call>, seen: &mut Seen) {
        let model = Model::new(options, threads, seen);
        let problems = match model.read(options, &seen.folder) {
            Ok(read) => model.compare(options, &read, seen.fired.is_empty()),
            Err(error) => vec![format!("the log cannot be read: {error}")],
        };
        seen.problems.extend(problems);
    }
}

impl Options {
    fn appender(self) -> AppenderOptions {
        let options = Appender::options().framed(self.framed).capacity(self.capacity);
        self.rotate_bytes.map_or(options.clone(), |bytes| options.rotate_bytes(bytes))
    }
}

/// The calls between one opening and the next.
fn part<T>(calls: &[T], opening: usize, openings: usize) -> &[T] {
    &calls[calls.len() * opening / openings..calls.len() * (opening + 1) / openings]
}

/// A record says which call it is of.
fn record(number: u64, bytes: Bytes) -> Vec<u8> {
    [&number.to_le_bytes(), &bytes.get()[..]].concat()
}

fn call(appender: &Appender, receipt: &mut Option<Receipt>, it: &Numbered<Call>) -> Answer {
    let done = |()| "done".to_owned();
    match (&it.call, receipt) {
        (Call::Append(bytes), receipt) => Answer::ours(appender.append(&record(it.number, *bytes)), |new| {
            *receipt = Some(new);
            "done".into()
        }),
        (Call::AppendDurable(bytes), _) => Answer::ours(appender.append_durable(&record(it.number, *bytes)), done),
        (Call::Flush, _) => Answer::ours(appender.flush(), done),
        (Call::Sync, _) => Answer::ours(appender.sync(), done),
        (Call::WaitWritten, Some(receipt)) => Answer::ours(receipt.wait_written(), done),
        (Call::WaitDurable, Some(receipt)) => Answer::ours(receipt.wait_durable(), done),
        (Call::WaitWritten | Call::WaitDurable, None) => Answer::default(),
    }
}

/// What the log is to have.
struct Model {
    /// All that calls were given, by their numbers, with the thread.
    given: BTreeMap<u64, (usize, Vec<u8>)>,
    /// Those whose call returned no error.
    taken: BTreeSet<u64>,
    /// Those that the appender said are durable.
    acknowledged: BTreeSet<u64>,
}

impl Model {
    fn new(options: &Options, threads: &Threads<Call>, seen: &mut Seen) -> Model {
        let mut model = Model { given: BTreeMap::new(), taken: BTreeSet::new(), acknowledged: BTreeSet::new() };
        for opening in 0..options.openings {
            let of = |kind: u64| seen.story.answers.get(&(kind + opening as u64)).cloned();
            let mut answers: Vec<_> = of(OPENED).into_iter().chain(of(CLOSED)).collect();
            let is_closed = of(CLOSED).is_some_and(|answer| answer.is_ok());
            for (thread, calls) in threads.iter().enumerate() {
                // What this thread was told of in this opening, in order.
                let (mut so_far, mut last) = (Vec::new(), 0);
                let mut has_failed = false;
                for Numbered { number, call } in part(calls, opening, options.openings) {
                    let answer = seen.answer(*number);
                    let is_done = answer.value == "done";
                    if let Call::Append(bytes) | Call::AppendDurable(bytes) = call {
                        model.given.insert(*number, (thread, record(*number, *bytes)));
                        if is_done {
                            so_far.push(*number);
                            model.taken.insert(*number);
                        }
                    }
                    if matches!(call, Call::Append(_)) && is_done {
                        last = so_far.len();
                    }
                    if is_done {
                        match call {
                            Call::AppendDurable(_) | Call::Sync => model.acknowledged.extend(&so_far),
                            // A receipt stands for all records before it, too.
                            Call::WaitDurable => model.acknowledged.extend(&so_far[..last]),
                            _ => {}
                        }
                    }
                    // "Failure is sticky": no append succeeds after one that failed.
                    if has_failed && is_done && matches!(call, Call::Append(_) | Call::AppendDurable(_) | Call::Sync) {
                        seen.problems.push(format!("{number}: {call:?} succeeded after a failure"));
                    }
                    has_failed |= !answer.is_ok();
                    answers.push(answer);
                }
                if is_closed {
                    model.acknowledged.extend(&so_far);
                }
                if has_failed && is_closed {
                    seen.problems.push(format!("opening {opening} was closed without an error after a failure"));
                }
            }
            for told in answers.iter().flat_map(|answer| &answer.told) {
                if !seen.is_explained(told) {
                    seen.problems.push(format!("an error without a reason: {}", told.text));
                }
            }
        }
        model
    }

    /// All records, after the log was opened and closed once more.
    fn read(&self, options: &Options, folder: &Path) -> Result<Vec<Vec<u8>>, manyfiles::Error> {
        let log = folder.join("log");
        options.appender().open(&log)?.close()?;
        if options.framed {
            return Records::open(&log)?.collect();
        }
        let bytes = std::fs::read(&log).unwrap_or_default();
        let (mut records, mut at) = (Vec::new(), 0);
        while at < bytes.len() {
            let is_here = |(_, record): &&(usize, Vec<u8>)| bytes[at..].starts_with(record);
            let number = bytes[at..].first_chunk::<8>().map(|number| u64::from_le_bytes(*number));
            match number.and_then(|number| self.given.get(&number)).filter(is_here) {
                Some((_, record)) => {
                    records.push(record.clone());
                    at += record.len();
                }
                // A part of one that has failed: without frames it has no end that could be known.
                None => at += 1,
            }
        }
        Ok(records)
    }

    fn compare(&self, options: &Options, read: &[Vec<u8>], is_without_failure: bool) -> Vec<String> {
        let mut problems = Vec::new();
        let mut last: BTreeMap<usize, u64> = BTreeMap::new();
        let mut found = BTreeSet::new();
        for bytes in read {
            let number = bytes.first_chunk::<8>().map(|number| u64::from_le_bytes(*number));
            let Some((number, (thread, right))) = number.and_then(|it| Some((it, self.given.get(&it)?))) else {
                problems.push(format!("a record of {} bytes that nobody has appended", bytes.len()));
                continue;
            };
            if right != bytes {
                problems.push(format!("record {number} has other bytes"));
            }
            if last.insert(*thread, number).is_some_and(|last| last >= number) {
                problems.push(format!("record {number} comes after one that was appended later, or twice"));
            }
            found.insert(number);
        }
        let lost: Vec<_> = self.acknowledged.difference(&found).collect();
        if !lost.is_empty() {
            problems.push(format!("acknowledged, and not there: {lost:?}"));
        }
        if is_without_failure && found != self.taken {
            problems.push(format!("there are {found:?} in place of {:?}", self.taken));
        }
        let bytes: usize = read.iter().map(Vec::len).sum();
        if is_without_failure && !options.framed && bytes != self.given.values().map(|(_, it)| it.len()).sum::<usize>()
        {
            problems.push("there are bytes between records".into());
        }
        problems
    }
}
