//! `manyfiles::fs`: the functions, and `fs::File`, closed by the global closer.

use std::io::Write;
use std::path::Path;

use manyfiles::{close, fs};
use manyfiles_testkit::{Call as System, Random};

use super::names::{self, Call, path};
use super::story::{Answer, Story, digest};
use super::subject::{Numbered, Seen, Subject, Threads, on_threads};
use crate::told::Told;

pub struct Functions;

/// What opens and writes files fails.
pub const FAILS: &[System] = &[
    System::Open,
    System::Write,
    System::Write,
    System::Close,
    System::Close,
    System::Read,
    System::Copy,
    System::Rename,
    System::Unlink,
    System::Stat,
    System::List,
];

impl Subject for Functions {
    type Options = ();
    type Call = Call;
    const FAILS: &'static [System] = FAILS;

    fn options(_random: &mut Random) {}

    fn call(random: &mut Random, (): &(), _thread: usize) -> Call {
        Call::common(random)
    }

    fn prepare((): &(), folder: &Path) -> std::io::Result<()> {
        names::prepare(folder)
    }

    fn play((): &(), folder: &Path, threads: &Threads<Call>) -> Story {
        let mut story = on_threads(threads, |_| (), |(), thread, it| call(folder, thread, it), |(), _| Vec::new());
        if let Err(errors) = close::wait() {
            story.end.extend(errors.iter().map(Told::from));
        }
        story
    }

    fn judge((): &(), threads: &Threads<Call>, seen: &mut Seen) {
        names::judge(threads, seen, false);
    }
}

fn call(folder: &Path, thread: usize, it: &Numbered<Call>) -> Answer {
    let at = |name: usize| path(folder, thread, name);
    let file = |name: usize, file: std::io::Result<fs::File>, pieces: Vec<Vec<u8>>| {
        let written = file.and_then(|mut file| pieces.iter().try_for_each(|piece| file.write_all(piece)));
        Answer::std(&at(name), written, |()| String::new())
    };
    match &it.call {
        Call::Write(name, bytes) => Answer::std(&at(*name), fs::write(at(*name), bytes.get()), |()| String::new()),
        Call::Create(name, pieces) => {
            file(*name, fs::File::create(at(*name)), pieces.iter().map(|piece| piece.get()).collect())
        }
        Call::Append(name, bytes) => {
            let options = fs::OpenOptions::new().append(true).create(true).open(at(*name));
            file(*name, options, vec![bytes.get()])
        }
        other => common(folder, thread, other),
    }
}

/// Those calls that have no closer of their own.
pub fn common(folder: &Path, thread: usize, call: &Call) -> Answer {
    let at = |name: usize| path(folder, thread, name);
    match call {
        Call::Read(name) => Answer::std(&at(*name), fs::read(at(*name)), |bytes| digest(&bytes)),
        Call::Size(name) => Answer::std(&at(*name), fs::metadata(at(*name)), |it| it.len().to_string()),
        Call::Copy(from, to) => Answer::std(&at(*to), fs::copy(at(*from), at(*to)), |bytes| bytes.to_string()),
        Call::Rename(from, to) => Answer::std(&at(*to), fs::rename(at(*from), at(*to)), |()| String::new()),
        Call::Remove(name) => Answer::std(&at(*name), fs::remove_file(at(*name)), |()| String::new()),
        Call::List => {
            let folder = folder.join(format!("t{thread}"));
            let names = fs::read_dir(&folder).and_then(|entries| {
                entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
            });
            Answer::std(&folder, names, |names: Vec<String>| names.join(" "))
        }
        Call::Wait => Answer::list(close::wait()),
        other => unreachable!("{other:?} is a call of a Vfs"),
    }
}
