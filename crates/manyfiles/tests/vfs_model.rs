//! Any series of calls does to files and to memory what it does to a plain map.
//!
//! A failing series is printed, made as short as it gets.
#![cfg(feature = "full")]

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use manyfiles::vfs::{CreateOptions, Vfs};
use manyfiles_testkit::cases;
use proptest::prelude::*;

/// Few names, so that calls meet: files, folders, files in folders, names that lead through what may be a file.
const NAMES: [&str; 8] = ["a", "b", "c", "d", "d/a", "d/e", "d/e/a", "a/b"];

/// Short and long for the buffer, and none.
const LENGTHS: [usize; 7] = [0, 1, 100, 3_000, 5_000, 70_000, 300_000];

#[derive(Clone, Debug)]
enum Call {
    Write(usize, usize),
    Append(usize, usize),
    Create { name: usize, pieces: Vec<usize>, create_new: bool, close: bool },
    Read(usize),
    ReadAt(usize, u64, usize),
    Size(usize),
    Exists(usize),
    List(usize),
    CreateFolder(usize),
    Remove(usize),
    Rename(usize, usize),
    Flush(usize),
    Sync(usize),
    Close,
}

fn call() -> impl Strategy<Value = Call> {
    let name = || 0..NAMES.len();
    let len = || prop::sample::select(&LENGTHS[..]);
    prop_oneof![
        12 => (name(), len()).prop_map(|(name, len)| Call::Write(name, len)),
        2 => (name(), len()).prop_map(|(name, len)| Call::Append(name, len)),
        2 => (name(), prop::collection::vec(len(), 0..4), any::<bool>(), any::<bool>())
            .prop_map(|(name, pieces, create_new, close)| Call::Create { name, pieces, create_new, close }),
        3 => name().prop_map(Call::Read),
        2 => (name(), 0..80_000u64, 1..9_000usize).prop_map(|(name, offset, len)| Call::ReadAt(name, offset, len)),
        2 => name().prop_map(Call::Size),
        1 => name().prop_map(Call::Exists),
        2 => name().prop_map(Call::List),
        4 => name().prop_map(Call::CreateFolder),
        2 => name().prop_map(Call::Remove),
        2 => (name(), name()).prop_map(|(from, to)| Call::Rename(from, to)),
        1 => name().prop_map(Call::Flush),
        1 => name().prop_map(Call::Sync),
        1 => Just(Call::Close),
    ]
}

/// What a call answers, whoever is asked.
#[derive(Debug, PartialEq)]
enum Answer {
    Done,
    Bytes(Vec<u8>),
    Number(u64),
    Bool(bool),
    Names(Vec<(String, bool, u64)>),
}

type Answered = Result<Answer, ErrorKind>;

/// `None`: a folder.
#[derive(Default)]
struct Model(BTreeMap<PathBuf, Option<Vec<u8>>>);

impl Model {
    fn find(&self, path: &Path) -> Result<&Option<Vec<u8>>, ErrorKind> {
        for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            if self.0.get(above).is_some_and(Option::is_some) {
                return Err(ErrorKind::NotADirectory);
            }
        }
        self.0.get(path).ok_or(ErrorKind::NotFound)
    }

    fn file(&self, path: &Path) -> Result<&Vec<u8>, ErrorKind> {
        self.find(path)?.as_ref().ok_or(ErrorKind::IsADirectory)
    }

    fn check_parent(&self, path: &Path) -> Result<(), ErrorKind> {
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => match self.find(parent)? {
                Some(_) => Err(ErrorKind::NotADirectory),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// The file, made if it is not there.
    fn made(&mut self, path: &Path) -> Result<&mut Vec<u8>, ErrorKind> {
        self.check_parent(path)?;
        self.0.entry(path.to_owned()).or_insert(Some(Vec::new())).as_mut().ok_or(ErrorKind::IsADirectory)
    }

    fn is_empty(&self, folder: &Path) -> bool {
        !self.0.keys().any(|path| path != folder && path.starts_with(folder))
    }

    fn answer(&mut self, call: &Call, fill: u8) -> Answered {
        let path = |name: &usize| PathBuf::from(NAMES[*name]);
        match call {
            Call::Write(name, len) | Call::Append(name, len) => {
                self.made(&path(name))?.extend(std::iter::repeat_n(fill, *len));
            }
            Call::Create { name, pieces, create_new, .. } => {
                if *create_new && self.find(&path(name)).is_ok() {
                    return Err(ErrorKind::AlreadyExists);
                }
                *self.made(&path(name))? = vec![fill; pieces.iter().sum()];
            }
            Call::Read(name) => return self.file(&path(name)).cloned().map(Answer::Bytes),
            Call::ReadAt(name, offset, len) => {
                let bytes = self.file(&path(name))?;
                let from = (*offset as usize).min(bytes.len());
                return Ok(Answer::Bytes(bytes[from..(from + len).min(bytes.len())].to_vec()));
            }
            Call::Size(name) => return self.file(&path(name)).map(|bytes| Answer::Number(bytes.len() as u64)),
            Call::Exists(name) => {
                return match self.find(&path(name)) {
                    Err(ErrorKind::NotFound) => Ok(Answer::Bool(false)),
                    other => other.map(|_| Answer::Bool(true)),
                };
            }
            Call::List(name) => {
                let path = path(name);
                if self.find(&path)?.is_some() {
                    return Err(ErrorKind::NotADirectory);
                }
                let children = self.0.iter().filter(|(other, _)| other.parent() == Some(&path));
                let child = |(path, bytes): (&PathBuf, &Option<Vec<u8>>)| {
                    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                    (name, bytes.is_none(), bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
                };
                return Ok(Answer::Names(children.map(child).collect()));
            }
            Call::CreateFolder(name) => {
                let path = path(name);
                match self.find(&path) {
                    Ok(Some(_)) => return Err(ErrorKind::AlreadyExists),
                    Err(ErrorKind::NotADirectory) => return Err(ErrorKind::NotADirectory),
                    Ok(None) | Err(_) => {}
                }
                let all = path.ancestors().filter(|above| !above.as_os_str().is_empty());
                self.0.extend(all.map(|path| (path.to_owned(), None)));
            }
            Call::Remove(name) => {
                let path = path(name);
                if self.find(&path)?.is_none() && !self.is_empty(&path) {
                    return Err(ErrorKind::DirectoryNotEmpty);
                }
                self.0.remove(&path);
            }
            Call::Rename(from, to) => {
                let (from, to) = (path(from), path(to));
                self.check_parent(&from)?;
                self.check_parent(&to)?;
                let is_folder = self.find(&from)?.is_none();
                if from == to {
                    return Ok(Answer::Done);
                }
                if to.starts_with(&from) {
                    return Err(ErrorKind::InvalidInput);
                }
                if from.starts_with(&to) {
                    return Err(ErrorKind::DirectoryNotEmpty);
                }
                match (is_folder, self.find(&to)) {
                    (false, Ok(None)) => return Err(ErrorKind::IsADirectory),
                    (true, Ok(Some(_))) => return Err(ErrorKind::NotADirectory),
                    (true, Ok(None)) if !self.is_empty(&to) => return Err(ErrorKind::DirectoryNotEmpty),
                    _ => {}
                }
                let all = std::mem::take(&mut self.0).into_iter();
                let moved = |path: PathBuf| match path.strip_prefix(&from) {
                    Ok(below) if below.as_os_str().is_empty() => to.clone(),
                    Ok(below) => to.join(below),
                    Err(_) => path,
                };
                // What was at `to` is replaced, not what replaces it.
                self.0 = all.filter(|(path, _)| *path != to).map(|(path, bytes)| (moved(path), bytes)).collect();
            }
            Call::Sync(name) => {
                self.find(&path(name))?;
            }
            Call::Flush(_) | Call::Close => {}
        }
        Ok(Answer::Done)
    }
}

fn ask(vfs: &Vfs, base: &str, call: &Call, fill: u8) -> Answered {
    let uri = |name: &usize| format!("{base}/{}", NAMES[*name]);
    let done = |result: manyfiles::Result<()>| result.map(|()| Answer::Done);
    let answer = match call {
        Call::Write(name, len) => done(vfs.write(uri(name), &vec![fill; *len])),
        Call::Append(name, len) => done(vfs.append(uri(name), &vec![fill; *len])),
        Call::Create { name, pieces, create_new, close } => {
            let options = CreateOptions::new().create_new(*create_new);
            vfs.create_writer_with(uri(name), &options).and_then(|mut writer| {
                for piece in pieces {
                    writer.write_all(&vec![fill; *piece]).unwrap();
                }
                if *close { writer.close().map(|_| Answer::Done) } else { Ok(Answer::Done) }
            })
        }
        Call::Read(name) => vfs.read(uri(name)).map(Answer::Bytes),
        Call::ReadAt(name, offset, len) => {
            let mut buffer = vec![0xee; *len];
            vfs.read_at(uri(name), *offset, &mut buffer).map(|len| Answer::Bytes(buffer[..len].to_vec()))
        }
        Call::Size(name) => vfs.size(uri(name)).map(Answer::Number),
        Call::Exists(name) => vfs.exists(uri(name)).map(Answer::Bool),
        Call::List(name) => vfs.list(uri(name)).map(|entries| {
            let entry = |entry: manyfiles::vfs::Entry| {
                let listed =
                    entry.uri.to_str().unwrap().strip_prefix(&uri(name)).unwrap().strip_prefix('/').unwrap().to_owned();
                (listed, entry.metadata.is_folder, entry.metadata.size)
            };
            Answer::Names(entries.into_iter().map(entry).collect())
        }),
        Call::CreateFolder(name) => done(vfs.create_folder(uri(name))),
        Call::Remove(name) => done(vfs.remove(uri(name))),
        Call::Rename(from, to) => done(vfs.rename(uri(from), uri(to))),
        Call::Flush(name) => done(vfs.flush(uri(name))),
        Call::Sync(name) => done(vfs.sync(uri(name))),
        Call::Close => vfs.wait().map(|()| Answer::Done).map_err(|errors| errors.into_iter().next().unwrap()),
    };
    answer.map_err(|error| error.kind())
}

/// The same calls in each place; handles and memory are short.
fn check(calls: &[Call], handles: usize, buffer_memory: usize) {
    // In memory where that can be had: a disk would spend the time with the syncs.
    let temp = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let folder = temp.path().to_str().unwrap().to_owned();
    let file_uri = format!("file://{}", folder.replace('%', "%25"));
    for (place, base) in [("mem", &"mem://base".to_owned()), ("path", &folder), ("file", &file_uri)] {
        // The errors there are Windows' own, and other ones for the same mistakes.
        if cfg!(windows) && place != "mem" {
            continue;
        }
        let vfs = Vfs::options().handles(handles).buffer_memory(buffer_memory).build();
        vfs.create_folder(base).unwrap();
        let mut model = Model::default();
        for (n, call) in calls.iter().enumerate() {
            let fill = n as u8;
            let (expected, actual) = (model.answer(call, fill), ask(&vfs, base, call, fill));
            assert!(expected == actual, "{place}: call {n}, {call:?}: {}", difference(&expected, &actual));
        }
        vfs.wait().unwrap();
        for (path, bytes) in &model.0 {
            let uri = format!("{base}/{}", path.to_str().unwrap().replace('\\', "/"));
            match bytes {
                None => assert!(vfs.metadata(uri).unwrap().is_folder),
                Some(bytes) => assert!(vfs.read(uri).unwrap() == *bytes, "{path:?}"),
            }
        }
        drop(vfs);
        for name in NAMES.iter().filter(|name| !name.contains('/')) {
            let path = temp.path().join(name);
            if path.is_dir() {
                std::fs::remove_dir_all(path).unwrap()
            } else if path.exists() {
                std::fs::remove_file(path).unwrap()
            }
        }
    }
}

fn difference(expected: &Answered, actual: &Answered) -> String {
    match (expected, actual) {
        (Ok(Answer::Bytes(expected)), Ok(Answer::Bytes(actual))) => {
            let at = expected.iter().zip(actual).position(|(expected, actual)| expected != actual);
            format!("{} bytes were expected and {} came; they differ from {at:?} on", expected.len(), actual.len())
        }
        _ => format!("expected {expected:?}, not {actual:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(100), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn files_and_memory_do_what_a_map_does(
        calls in prop::collection::vec(call(), 1..60),
        handles in 1..4usize,
        buffer_memory in prop::sample::select(&[0usize, 5_000, 300_000, 1 << 24][..]),
    ) {
        check(&calls, handles, buffer_memory);
    }
}
