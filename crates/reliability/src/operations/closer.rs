//! `Closer`: its own way to open and write files, and files of std that are handed over. `fs` renames and reads what it
//! closes, so that two types share a folder.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use manyfiles::close::{Closer, Policy};
use manyfiles_testkit::{Call as System, Random};

use super::fs::{FAILS, common};
use super::names::{self, Call, path};
use super::story::{Answer, Story, digest};
use super::subject::{Numbered, Seen, Subject, Threads, on_threads};
use crate::told::Told;

pub struct Closers;

#[derive(Debug)]
pub struct Options {
    policy: Policy,
    capacity: usize,
    threads: usize,
    has_handler: bool,
}

impl Subject for Closers {
    type Options = Options;
    type Call = Call;
    const FAILS: &'static [System] = FAILS;

    fn options(random: &mut Random) -> Options {
        Options {
            policy: random.pick(&[Policy::Always, Policy::Always, Policy::Adaptive, Policy::Never]),
            capacity: random.pick(&[1, 3, 100]),
            threads: random.pick(&[1, 2, 8]),
            has_handler: random.percent(30),
        }
    }

    fn call(random: &mut Random, _options: &Options, _thread: usize) -> Call {
        Call::common(random)
    }

    fn prepare(_options: &Options, folder: &Path) -> std::io::Result<()> {
        names::prepare(folder)
    }

    fn play(options: &Options, folder: &Path, threads: &Threads<Call>) -> Story {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let mut closer = Closer::options().policy(options.policy).capacity(options.capacity).threads(options.threads);
        if options.has_handler {
            let heard = Arc::clone(&heard);
            closer = closer.on_error(move |error| heard.lock().expect("no holder panics").push(Told::from(&error)));
        }
        let closer = closer.build();
        let played = |(): &mut (), thread: usize, it: &Numbered<Call>| call(&closer, folder, thread, it);
        let mut story = on_threads(threads, |_| (), played, |(), _| Vec::new());
        if let Err(errors) = closer.finish() {
            story.end.extend(errors.iter().map(Told::from));
        }
        if let Err(errors) = manyfiles::close::wait() {
            story.end.extend(errors.iter().map(Told::from));
        }
        story.end.append(&mut heard.lock().expect("no holder panics"));
        story
    }

    fn judge(_options: &Options, threads: &Threads<Call>, seen: &mut Seen) {
        names::judge(threads, seen, false);
    }
}

fn call(closer: &Closer, folder: &Path, thread: usize, it: &Numbered<Call>) -> Answer {
    let at = |name: usize| path(folder, thread, name);
    match &it.call {
        Call::Write(name, bytes) => Answer::std(&at(*name), closer.write(at(*name), bytes.get()), |()| String::new()),
        Call::Create(name, pieces) => {
            let written = closer
                .create(at(*name))
                .and_then(|mut file| pieces.iter().try_for_each(|piece| file.write_all(&piece.get())));
            Answer::std(&at(*name), written, |()| String::new())
        }
        Call::Append(name, bytes) => {
            let file = File::options().append(true).create(true).open(at(*name));
            let written = file.and_then(|mut file| {
                let written = file.write_all(&bytes.get());
                closer.close_at(file, at(*name));
                written
            });
            Answer::std(&at(*name), written, |()| String::new())
        }
        Call::Read(name) => Answer::std(&at(*name), closer.read(at(*name)), |bytes| digest(&bytes)),
        Call::Copy(from, to) => Answer::std(&at(*to), closer.copy(at(*from), at(*to)), |bytes| bytes.to_string()),
        Call::Wait => Answer::list(closer.wait()),
        other => common(folder, thread, other),
    }
}
