//! One file by several names: links, hard links, other spellings. Whatever the names, calls do what plain ones would in
//! their order.
#![cfg(all(unix, feature = "full"))]

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::symlink;
use std::path::Path;

use manyfiles::vfs::{Entry, Vfs};
use manyfiles_testkit::cases;
use proptest::prelude::*;

/// Names of files: two that are hard links of one file in the beginning, one that is a link, one that is free, and a
/// folder's.
const NAMES: [&str; 6] = ["a", "hard", "soft", "b", "c", "sub/a"];

/// Ways to the folder that all of them are in.
const WAYS: [&str; 4] = ["real", "link", "real/../real", "./link/../real/."];

const LENGTHS: [usize; 5] = [0, 1, 100, 3_000, 70_000];

fn prepare(root: &Path) {
    fs::create_dir_all(root.join("real/sub")).unwrap();
    symlink("real", root.join("link")).unwrap();
    fs::write(root.join("real/a"), "begin ").unwrap();
    fs::hard_link(root.join("real/a"), root.join("real/hard")).unwrap();
    symlink("a", root.join("real/soft")).unwrap();
    symlink("../a", root.join("real/sub/a")).unwrap();
}

type Name = (usize, usize);

fn spelled((way, name): &Name) -> String {
    format!("{}/{}", WAYS[*way], NAMES[*name])
}

#[derive(Clone, Debug)]
enum Call {
    Write(Name, usize),
    Append(Name, usize),
    Create(Name, usize),
    Put(Name, usize),
    Copy(Name, Name),
    Touch(Name),
    Read(Name),
    ReadAt(Name, u64, usize),
    Size(Name),
    List(usize, bool),
    Remove(Name),
    Rename(Name, Name),
    RenameFolder(usize),
    Flush(Name),
    Sync(Name),
    Close,
}

fn call() -> impl Strategy<Value = Call> {
    let name = || (0..WAYS.len(), 0..NAMES.len());
    let len = || prop::sample::select(&LENGTHS[..]);
    prop_oneof![
        16 => (name(), len()).prop_map(|(name, len)| Call::Write(name, len)),
        3 => (name(), len()).prop_map(|(name, len)| Call::Append(name, len)),
        2 => (name(), len()).prop_map(|(name, len)| Call::Create(name, len)),
        1 => (name(), len()).prop_map(|(name, len)| Call::Put(name, len)),
        1 => (name(), name()).prop_map(|(from, to)| Call::Copy(from, to)),
        1 => name().prop_map(Call::Touch),
        2 => name().prop_map(Call::Read),
        4 => (name(), 0..9_000u64, 1..9_000usize).prop_map(|(name, offset, len)| Call::ReadAt(name, offset, len)),
        3 => name().prop_map(Call::Size),
        2 => (0..WAYS.len(), any::<bool>()).prop_map(|(way, deep)| Call::List(way, deep)),
        2 => name().prop_map(Call::Remove),
        2 => (name(), name()).prop_map(|(from, to)| Call::Rename(from, to)),
        1 => (0..WAYS.len()).prop_map(Call::RenameFolder),
        1 => name().prop_map(Call::Flush),
        1 => name().prop_map(Call::Sync),
        1 => Just(Call::Close),
    ]
}

#[derive(Debug, PartialEq)]
enum Answer {
    Done,
    Bytes(Vec<u8>),
    Number(u64),
    Names(Vec<(String, bool, u64)>),
}

fn listed(folder: &Path) -> std::io::Result<Vec<(String, bool, u64)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = fs::metadata(entry.path()).or_else(|_| fs::symlink_metadata(entry.path()))?;
        let size = if metadata.is_dir() { 0 } else { metadata.len() };
        all.push((entry.file_name().into_string().unwrap(), metadata.is_dir(), size));
    }
    all.sort();
    Ok(all)
}

/// What the standard library does, file by file.
fn plain(root: &Path, call: &Call, fill: u8) -> Result<Answer, ErrorKind> {
    let path = |name: &Name| root.join(spelled(name));
    let append = |name: &Name, len: usize| {
        File::options().append(true).create(true).open(path(name))?.write_all(&vec![fill; len])
    };
    let done = |result: std::io::Result<()>| result.map(|()| Answer::Done);
    let answer = match call {
        Call::Write(name, len) | Call::Append(name, len) => done(append(name, *len)),
        Call::Create(name, len) => done(fs::write(path(name), vec![fill; *len])),
        Call::Put(name, len) => {
            let real = fs::canonicalize(path(name)).or_else(|error| match error.kind() {
                ErrorKind::NotFound => Ok(path(name)),
                _ => Err(error),
            });
            done(real.and_then(|real| {
                fs::write(root.join("temporary"), vec![fill; *len])?;
                fs::rename(root.join("temporary"), real)
            }))
        }
        Call::Copy(from, to) => fs::canonicalize(path(from)).and_then(|from| {
            use std::os::unix::fs::MetadataExt;
            let number = |path: &Path| fs::metadata(path).map(|metadata| metadata.ino()).ok();
            if number(&from) == number(&path(to)) {
                return Err(ErrorKind::InvalidInput.into());
            }
            fs::copy(from, path(to)).map(Answer::Number)
        }),
        Call::Touch(name) => done(append(name, 0)),
        Call::Read(name) => fs::read(path(name)).map(Answer::Bytes),
        Call::ReadAt(name, offset, len) => File::open(path(name)).and_then(|mut file| {
            file.seek(SeekFrom::Start(*offset))?;
            let mut bytes = Vec::new();
            file.take(*len as u64).read_to_end(&mut bytes)?;
            Ok(Answer::Bytes(bytes))
        }),
        Call::Size(name) => fs::metadata(path(name)).map(|metadata| Answer::Number(metadata.len())),
        Call::List(way, deep) => listed(&root.join(WAYS[*way]).join(if *deep { "sub" } else { "" })).map(Answer::Names),
        Call::Remove(name) => done(fs::remove_file(path(name))),
        Call::Rename(from, to) => done(fs::rename(path(from), path(to))),
        Call::RenameFolder(way) => {
            done(fs::rename(root.join(WAYS[*way]).join("sub"), root.join("moved")).and_then(|()| {
                fs::create_dir(root.join("real/sub"))?;
                append(&(*way, 5), 10)?;
                fs::remove_dir_all(root.join("moved"))
            }))
        }
        Call::Sync(name) => done(fs::metadata(path(name)).map(drop)),
        Call::Flush(_) | Call::Close => Ok(Answer::Done),
    };
    answer.map_err(|error| error.kind())
}

fn ask(vfs: &Vfs, root: &Path, call: &Call, fill: u8) -> Result<Answer, ErrorKind> {
    // Not `join`, which would take the dots for what they are.
    let text = root.to_str().unwrap();
    let uri = |name: &Name| format!("{text}/{}", spelled(name));
    let done = |result: manyfiles::Result<()>| result.map(|()| Answer::Done);
    let answer = match call {
        Call::Write(name, len) => done(vfs.write(uri(name), &vec![fill; *len])),
        Call::Append(name, len) => done(vfs.append(uri(name), &vec![fill; *len])),
        Call::Create(name, len) => vfs.create_writer(uri(name)).and_then(|mut writer| {
            writer.write_all(&vec![fill; *len])?;
            writer.close().map(|_| Answer::Done)
        }),
        Call::Put(name, len) => done(vfs.put(uri(name), vec![fill; *len])),
        Call::Copy(from, to) => vfs.copy(uri(from), uri(to)).map(Answer::Number),
        Call::Touch(name) => done(vfs.touch(uri(name))),
        Call::Read(name) => vfs.read(uri(name)).map(Answer::Bytes),
        Call::ReadAt(name, offset, len) => {
            let mut buffer = vec![0xee; *len];
            vfs.read_at(uri(name), *offset, &mut buffer).map(|len| Answer::Bytes(buffer[..len].to_vec()))
        }
        Call::Size(name) => vfs.size(uri(name)).map(Answer::Number),
        Call::List(way, deep) => {
            let folder = format!("{text}/{}{}", WAYS[*way], if *deep { "/sub" } else { "" });
            let entry = |entry: Entry| {
                let name = Path::new(&entry.uri).file_name().unwrap().to_str().unwrap().to_owned();
                (name, entry.metadata.is_folder, entry.metadata.size)
            };
            vfs.list(folder).map(|entries| Answer::Names(entries.into_iter().map(entry).collect()))
        }
        Call::Remove(name) => done(vfs.remove(uri(name))),
        Call::Rename(from, to) => done(vfs.rename(uri(from), uri(to))),
        Call::RenameFolder(way) => {
            let (sub, moved) = (format!("{text}/{}/sub", WAYS[*way]), format!("{text}/moved"));
            done(vfs.rename(sub, &moved).and_then(|()| {
                vfs.create_folder(format!("{text}/link/sub"))?;
                vfs.write(uri(&(*way, 5)), &[fill; 10])?;
                vfs.remove_all(moved)
            }))
        }
        Call::Flush(name) => done(vfs.flush(uri(name))),
        Call::Sync(name) => done(vfs.sync(uri(name))),
        Call::Close => vfs.wait().map(|()| Answer::Done).map_err(|errors| errors.into_iter().next().unwrap()),
    };
    answer.map_err(|error| error.kind())
}

fn same_trees(one: &Path, other: &Path) {
    for folder in ["real", "real/sub"] {
        let (one, other) = (one.join(folder), other.join(folder));
        let (listed_one, listed_other) = (listed(&one).unwrap(), listed(&other).unwrap());
        assert_eq!(listed_one, listed_other, "{folder}");
        for (name, is_folder, _) in listed_one {
            let is_there = fs::metadata(one.join(&name)).is_ok();
            if !is_folder && is_there {
                assert!(fs::read(one.join(&name)).unwrap() == fs::read(other.join(&name)).unwrap(), "{folder}/{name}");
            }
        }
    }
}

fn check(calls: &[Call], handles: usize, buffer_memory: usize) {
    // In memory where that can be had: a disk would spend the time with the syncs.
    let temp = || tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let (mine, others) = (temp(), temp());
    prepare(mine.path());
    prepare(others.path());
    let vfs = Vfs::options().handles(handles).buffer_memory(buffer_memory).build();
    for (n, call) in calls.iter().enumerate() {
        let fill = n as u8;
        let (expected, actual) = (plain(others.path(), call, fill), ask(&vfs, mine.path(), call, fill));
        if expected != actual {
            let short = |answer: Result<Answer, ErrorKind>| match answer {
                Ok(Answer::Bytes(bytes)) => format!("{} bytes", bytes.len()),
                other => format!("{other:?}"),
            };
            panic!("call {n}, {call:?}: expected {}, not {}", short(expected), short(actual));
        }
    }
    vfs.wait().unwrap();
    same_trees(mine.path(), others.path());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(250), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_series_of_calls_by_any_names_does_what_plain_calls_do(
        calls in prop::collection::vec(call(), 1..60),
        handles in 1..4usize,
        buffer_memory in prop::sample::select(&[0usize, 5_000, 1 << 24][..]),
    ) {
        check(&calls, handles, buffer_memory);
    }
}

#[test]
fn order_size_remove_and_rename_are_those_of_the_calls_by_whatever_spelling() {
    let temp = tempfile::tempdir().unwrap();
    prepare(temp.path());
    let root = temp.path().to_str().unwrap();
    let one = format!("{root}/real/c");
    for two in [format!("{root}/link/c"), format!("{root}/real/../real/c"), format!("file://{root}/link/c")] {
        let vfs = Vfs::new();
        for n in 1..=9 {
            vfs.write(if n % 2 == 1 { &one } else { &two }, n.to_string().as_bytes()).unwrap();
        }
        assert_eq!((vfs.size(&one).unwrap(), vfs.size(&two).unwrap()), (9, 9), "{two}");
        assert_eq!(vfs.read(&two).unwrap(), b"123456789");
        vfs.write(&one, b"x").unwrap();
        vfs.write(&one, b"y").unwrap();
        vfs.remove(&two).unwrap();
        assert!(!vfs.exists(&one).unwrap());
        vfs.write(&two, b"new").unwrap();
        vfs.write(&one, b"er").unwrap();
        vfs.rename(&two, format!("{root}/real/d")).unwrap();
        vfs.wait().unwrap();
        assert!(!Path::new(&one).exists(), "{two}");
        assert_eq!(fs::read(format!("{root}/real/d")).unwrap(), b"newer");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_has_one_handle_whatever_its_names() {
    let temp = tempfile::tempdir().unwrap();
    prepare(temp.path());
    let root = temp.path().to_str().unwrap();
    let vfs = Vfs::new();
    let open = || {
        let open = fs::read_dir("/proc/self/fd").unwrap();
        open.filter(|fd| fs::read_link(fd.as_ref().unwrap().path()).is_ok_and(|path| path.starts_with(root))).count()
    };
    for round in 0..5 {
        // More names than are remembered at a time.
        for way in 0..WAYS.len() {
            for name in [0, 1, 2, 5] {
                vfs.write(format!("{root}/{}", spelled(&(way, name))), b"x").unwrap();
                assert_eq!(open(), 1, "round {round}, {way}, {name}");
            }
        }
    }
    assert_eq!(vfs.size(format!("{root}/real/a")).unwrap(), 6 + 80);
}

#[cfg(target_os = "linux")]
#[test]
fn a_failure_is_told_by_every_name_and_taken_note_of_by_any() {
    use manyfiles_testkit::{Call, Need, Preload, Rule, skip_unless};
    skip_unless!(Need::Preload);
    let name = "a_failure_is_told_by_every_name_and_taken_note_of_by_any";
    if support::in_parent(name, |child| {
        let rule = Rule::fail(Call::Write, libc::EIO).path_contains("/real/a").nth(3);
        Preload::new().rule(rule).apply(child).unwrap();
    }) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    prepare(temp.path());
    let root = temp.path().to_str().unwrap();
    let names = ["real/a", "real/hard", "link/soft", "real/sub/a"].map(|name| format!("{root}/{name}"));
    let vfs = Vfs::new();
    vfs.write(&names[0], b"1").unwrap();
    vfs.append(&names[0], b"2").unwrap_err();
    for name in &names {
        for told in [
            vfs.write(name, b"3"),
            vfs.append(name, b"3"),
            vfs.size(name).map(drop),
            vfs.read(name).map(drop),
            vfs.read_at(name, 0, &mut [0]).map(drop),
            vfs.sync(name),
            vfs.rename(name, format!("{root}/real/new")),
        ] {
            assert_eq!(told.unwrap_err().raw_os_error(), Some(libc::EIO), "{name}");
        }
    }
    vfs.flush(&names[1]).unwrap_err();
    names.iter().for_each(|name| vfs.write(name, b"4").unwrap());
    vfs.wait().unwrap();
    assert_eq!(fs::read(&names[0]).unwrap(), b"begin 14444");
}

#[cfg(target_os = "linux")]
mod support;

#[cfg(target_os = "linux")]
#[test]
fn names_that_differ_in_case_are_one_file_where_the_file_system_says_so() {
    use manyfiles_testkit::{Need, skip, skip_unless};
    use std::process::Command;
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("mkfs.ext4"), Need::Program("chattr"));
    let temp = tempfile::tempdir().unwrap();
    let (image, point) = (temp.path().join("image"), temp.path().join("mount"));
    File::create(&image).unwrap().set_len(32 << 20).unwrap();
    fs::create_dir(&point).unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().unwrap();
        output.status.success()
    };
    let (image, point) = (image.to_str().unwrap(), point.to_str().unwrap());
    if !run("mkfs.ext4", &["-q", "-O", "casefold", image]) || !run("mount", &["-o", "loop", image, point]) {
        return skip("no ext4 that folds case can be made and mounted here");
    }
    let body = || {
        let folder = format!("{point}/folder");
        fs::create_dir(&folder).unwrap();
        assert!(run("chattr", &["+F", &folder]));
        let vfs = Vfs::new();
        for name in ["name", "NAME", "Name", "name"] {
            vfs.write(format!("{folder}/{name}"), &name.as_bytes()[..1]).unwrap();
        }
        assert_eq!(vfs.read(format!("{folder}/nAME")).unwrap(), b"nNNn");
        vfs.write(format!("{folder}/nAmE"), b"+").unwrap();
        vfs.write(format!("{folder}/name"), b"+").unwrap();
        vfs.rename(format!("{point}/folder"), format!("{point}/other")).unwrap();
        assert_eq!(vfs.size(format!("{point}/other/NAME")).unwrap(), 6);
        vfs.wait().unwrap();
    };
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
    assert!(run("umount", &[point]));
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}
