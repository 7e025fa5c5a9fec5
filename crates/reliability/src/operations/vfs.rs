//! `Vfs` and its writers.

use std::path::Path;

use manyfiles::vfs::Vfs;
use manyfiles_testkit::{Call as System, Random};

use super::in_time;
use super::marks::{Step, mark};
use super::names::{self, Call, path};
use super::story::{Answer, Story, digest};
use super::subject::{Numbered, Seen, Subject, Threads, on_threads};
use crate::told::Told;

pub struct Files;

#[derive(Debug)]
pub struct Options {
    handles: usize,
    buffer_memory: usize,
}

impl Subject for Files {
    type Options = Options;
    type Call = Call;
    const FAILS: &'static [System] = &[
        System::Open,
        System::Write,
        System::Write,
        System::Close,
        System::Fsync,
        System::Read,
        System::Copy,
        System::Rename,
        System::Unlink,
        System::Stat,
    ];

    fn options(random: &mut Random) -> Options {
        Options { handles: random.pick(&[1, 2, 3, 100]), buffer_memory: random.pick(&[0, 5000, 64 << 20]) }
    }

    fn call(random: &mut Random, _options: &Options, _thread: usize) -> Call {
        Call::of_vfs(random)
    }

    fn prepare(_options: &Options, folder: &Path) -> std::io::Result<()> {
        names::prepare(folder)
    }

    fn play(options: &Options, folder: &Path, threads: &Threads<Call>) -> Story {
        let vfs = Vfs::options().handles(options.handles).buffer_memory(options.buffer_memory).build();
        let played = |(): &mut (), thread: usize, it: &Numbered<Call>| call(&vfs, folder, thread, it);
        let mut story = on_threads(threads, |_| (), played, |(), _| Vec::new());
        if let Err(errors) = vfs.finish() {
            story.end.extend(errors.iter().map(Told::from));
        }
        story
    }

    fn judge(_options: &Options, threads: &Threads<Call>, seen: &mut Seen) {
        names::judge(threads, seen, true);
        in_time::judge(threads, seen);
        // What else has to be told of such a handle was judged.
        seen.fired.retain(|fired| fired.call != "close");
    }
}

fn call(vfs: &Vfs, folder: &Path, thread: usize, it: &Numbered<Call>) -> Answer {
    let at = |name: usize| path(folder, thread, name);
    let done = |()| String::new();
    match &it.call {
        Call::Put(name, bytes) => Answer::ours(vfs.put(at(*name), bytes.get()), done),
        Call::Create(name, pieces) => {
            let written = vfs.create_writer(at(*name)).and_then(|mut writer| {
                mark(it.number, Step::Made);
                pieces.iter().try_for_each(|piece| writer.write_all(&piece.get()))?;
                writer.close()
            });
            Answer::ours(written, |written| written.bytes.to_string())
        }
        Call::Append(name, bytes) => Answer::ours(vfs.write(at(*name), &bytes.get()), done),
        Call::AppendNow(name, bytes) => Answer::ours(vfs.append(at(*name), &bytes.get()), done),
        Call::Read(name) => Answer::ours(vfs.read(at(*name)), |bytes| digest(&bytes)),
        Call::Size(name) => Answer::ours(vfs.size(at(*name)), |size| size.to_string()),
        Call::Copy(from, to) => Answer::ours(vfs.copy(at(*from), at(*to)), |bytes| bytes.to_string()),
        Call::Rename(from, to) => Answer::ours(vfs.rename(at(*from), at(*to)), done),
        Call::Remove(name) => Answer::ours(vfs.remove(at(*name)), done),
        Call::Touch(name) => Answer::ours(vfs.touch(at(*name)), done),
        Call::Flush(name) => Answer::ours(vfs.flush(at(*name)), done),
        Call::Sync(name) => Answer::ours(vfs.sync(at(*name)), done),
        Call::List => Answer::ours(vfs.list(folder.join(format!("t{thread}"))), |entries| {
            let names = entries.iter().filter_map(|entry| Path::new(&entry.uri).file_name());
            names.map(|name| name.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        }),
        Call::Wait => Answer::list(vfs.wait()),
        Call::Write(..) => unreachable!("a Vfs has no such call"),
    }
}
