//! What the tests of this crate share: a folder that is hard to archive, tools, and unpacking with everything checked.
#![allow(dead_code, reason = "no test file uses all of it")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use manyfiles::tree::{Refusal, Report, TreeWriter};
use manyfiles_archive::{Error, ErrorKind, Input, Summary, Unpacker};
use manyfiles_testkit::{Compare, Tree};
use tempfile::TempDir;

/// A folder with all that archives are bad at. `sample` is below the returned folder.
#[cfg(unix)]
pub(crate) fn sample() -> TempDir {
    use std::ffi::OsStr;
    use std::os::unix::fs::{PermissionsExt, symlink};
    let temp = manyfiles_testkit::scratch().unwrap();
    let root = temp.path().join("sample");
    fs::create_dir_all(root.join("folder/empty")).unwrap();
    let file = |name: &OsStr, len: usize| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, noise(len)).unwrap();
    };
    for len in [0, 1, 511, 512, 513, 8191, 70_000, 300_000, 600_000] {
        file(OsStr::new(&format!("sizes/{len} bytes")), len);
    }
    for n in 0..100 {
        file(OsStr::new(&format!("many/{}/{n}", n % 7)), n * 13);
    }
    file(OsStr::new(&"n".repeat(150)), 10);
    file(OsStr::new(&format!("{}/{}/{}", "a".repeat(90), "b".repeat(90), "c".repeat(200))), 10);
    file(OsStr::new("grüße – 你好"), 10);
    file(OsStr::new("space and 'quotes' and -dash"), 10);
    file(OsStr::new("folder/script"), 10);
    fs::set_permissions(root.join("folder/script"), fs::Permissions::from_mode(0o755)).unwrap();
    file(OsStr::new("folder/secret"), 10);
    fs::set_permissions(root.join("folder/secret"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("script", root.join("folder/link")).unwrap();
    symlink("t".repeat(150), root.join("folder/long link")).unwrap();
    symlink("../../../outside", root.join("folder/link out")).unwrap();
    fs::hard_link(root.join("folder/script"), root.join("folder/zz other name")).unwrap();
    file(OsStr::new("closed/inside"), 10);
    let old = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH + std::time::Duration::new(86_400_000, 0));
    fs::File::options().write(true).open(root.join("folder/secret")).unwrap().set_times(old).unwrap();
    fs::set_permissions(root.join("closed"), fs::Permissions::from_mode(0o555)).unwrap();
    temp
}

/// Adds what only tests of plain tars need: a file too long to be handed over whole, names that only tar can hold.
#[cfg(unix)]
pub(crate) fn add_large_and_odd(sample: &Path) {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let root = sample.join("sample");
    fs::write(root.join("sizes/large"), noise(5_000_000)).unwrap();
    fs::write(root.join(OsStr::from_bytes(b"not\xff\xfeutf-8")), "x").unwrap();
    fs::write(root.join("line\nbreak"), "x").unwrap();
    fs::write(root.join("back\\slash"), "x").unwrap();
}

/// Adds files with holes.
#[cfg(unix)]
pub(crate) fn add_sparse_files(sample: &Path) {
    use std::os::unix::fs::FileExt;
    let root = sample.join("sample/sparse");
    fs::create_dir_all(&root).unwrap();
    let sparse = |name: &str, len: u64, pieces: &[(u64, usize)]| {
        let file = fs::File::create(root.join(name)).unwrap();
        for &(offset, len) in pieces {
            file.write_all_at(&noise(len), offset).unwrap();
        }
        file.set_len(len).unwrap();
    };
    sparse("only a hole", 10 << 20, &[]);
    sparse("start", 1 << 20, &[(0, 4096)]);
    sparse("end", (1 << 20) + 4096, &[(1 << 20, 4096)]);
    sparse("three pieces", 1 << 20, &[(0, 4096), (1 << 16, 8192), (1 << 18, 100)]);
    let many: Vec<_> = (0..100).map(|n| (n * 65536, 4096)).collect();
    sparse("a hundred pieces", 100 * 65536, &many);
    sparse("large pieces", 40 << 20, &[(1 << 20, 6 << 20), (20 << 20, 1 << 20)]);
}

/// Bytes that do not compress well, the same ones each time.
pub(crate) fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ len as u64;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Half of them are the same.
        if state & 1 == 0 { b'x' } else { (state >> 32) as u8 }
    })
    .take(len)
    .collect()
}

/// Runs a program, which may fail only if `may_fail`. What it says is shown with a test that fails.
#[track_caller]
pub(crate) fn run(command: &mut Command, may_fail: bool) -> Vec<u8> {
    let output = command.stdin(Stdio::null()).output().unwrap();
    print!("{}", String::from_utf8_lossy(&output.stderr));
    assert!(may_fail || output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Runs a program with these bytes as its input.
#[track_caller]
pub(crate) fn filter(command: &mut Command, input: &[u8]) -> Vec<u8> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{command:?}");
        output.stdout
    })
}

pub(crate) fn program(name: &str, args: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(args);
    command
}

/// A folder to unpack into. The folder above it shows whether anything was written outside.
pub(crate) struct Place {
    temp: TempDir,
}

impl Place {
    pub(crate) fn new() -> Place {
        let temp = manyfiles_testkit::scratch().unwrap();
        fs::create_dir_all(temp.path().join("outside")).unwrap();
        fs::write(temp.path().join("outside/file"), "untouched").unwrap();
        Place { temp }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.temp.path().join("root")
    }

    /// That nothing beside the root was touched.
    #[track_caller]
    pub(crate) fn assert_nothing_outside(&self) {
        let names = |path: &Path| -> Vec<_> {
            let mut names: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(self.temp.path()), ["outside", "root"]);
        assert_eq!(names(&self.temp.path().join("outside")), ["file"]);
        assert_eq!(fs::read(self.temp.path().join("outside/file")).unwrap(), b"untouched");
    }

    pub(crate) fn writer(&self) -> TreeWriter {
        TreeWriter::options().exact_permissions(true).open(self.root()).unwrap()
    }

    /// Unpacks in the archive's order, on one thread: so that it is certain which of two entries that exclude each
    /// other fails.
    pub(crate) fn unpack_in_order(&self, input: Input) -> (Result<Summary, Error>, Report) {
        let tree = TreeWriter::options().exact_permissions(true).threads(1).open(self.root()).unwrap();
        let result = Unpacker::options().threads(1).build().unpack(input, &tree);
        let report = tree.finish().unwrap_or_else(|incomplete| incomplete.into_report());
        (result, report)
    }

    /// Unpacks with default choices.
    pub(crate) fn unpack(&self, input: Input) -> (Result<Summary, Error>, Report) {
        self.unpack_as(Unpacker::new(), input)
    }

    pub(crate) fn unpack_as(&self, unpacker: Unpacker, input: Input) -> (Result<Summary, Error>, Report) {
        let tree = self.writer();
        let result = unpacker.unpack(input, &tree);
        let report = tree.finish().unwrap_or_else(|incomplete| incomplete.into_report());
        (result, report)
    }

    /// The paths of all files, as strings, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let tree = manyfiles_testkit::Tree::read(self.root()).unwrap();
        tree.entries
            .iter()
            .filter(|(_, entry)| matches!(entry.kind, manyfiles_testkit::Kind::File { .. }))
            .map(|(path, _)| path.to_string_lossy().into_owned())
            .collect()
    }
}

/// Unpacks what must be perfect, and returns where it is.
#[track_caller]
pub(crate) fn unpack_whole(unpacker: Unpacker, input: Input) -> (Place, Summary, Report) {
    let place = Place::new();
    let (result, report) = place.unpack_as(unpacker, input);
    let summary = result.unwrap_or_else(|error| panic!("{error}"));
    assert!(report.is_complete(), "{:#?}", report.failures);
    (place, summary, report)
}

/// A tar, made by hand.
#[derive(Default)]
pub(crate) struct Tar(pub Vec<u8>);

impl Tar {
    pub(crate) fn header(kind: u8, name: &[u8], size: &[u8], link: &[u8]) -> [u8; 512] {
        let mut block = [0; 512];
        block[..name.len().min(100)].copy_from_slice(&name[..name.len().min(100)]);
        block[100..107].copy_from_slice(b"0000644");
        block[108..115].copy_from_slice(b"0000000");
        block[116..123].copy_from_slice(b"0000000");
        block[124..124 + size.len()].copy_from_slice(size);
        block[136..147].copy_from_slice(b"00000000001");
        block[156] = kind;
        block[157..157 + link.len()].copy_from_slice(link);
        block[257..265].copy_from_slice(b"ustar\x0000");
        Tar::seal(&mut block);
        block
    }

    /// Sets the checksum.
    pub(crate) fn seal(block: &mut [u8; 512]) {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }

    pub(crate) fn block(mut self, block: &[u8; 512]) -> Tar {
        self.0.extend_from_slice(block);
        self
    }

    pub(crate) fn entry(mut self, kind: u8, name: impl AsRef<[u8]>, link: &str, content: &[u8]) -> Tar {
        let size = format!("{:011o}", content.len());
        self.0.extend_from_slice(&Tar::header(kind, name.as_ref(), size.as_bytes(), link.as_bytes()));
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    pub(crate) fn file(self, name: impl AsRef<[u8]>, content: &[u8]) -> Tar {
        self.entry(b'0', name, "", content)
    }

    /// Records for the next entry.
    pub(crate) fn pax(self, records: &[(&str, &[u8])]) -> Tar {
        let mut bytes = Vec::new();
        for (key, value) in records {
            let rest = key.len() + value.len() + 3;
            let len = (1..9).map(|digits| rest + digits).find(|len| len.to_string().len() + rest == *len).unwrap();
            bytes.extend([len.to_string().as_bytes(), b" ", key.as_bytes(), b"=", value, b"\n"].concat());
        }
        self.entry(b'x', "pax", "", &bytes)
    }

    pub(crate) fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }
}

/// Writes an archive where a file is needed.
pub(crate) fn file_of(bytes: &[u8]) -> (TempDir, PathBuf) {
    let temp = manyfiles_testkit::scratch().unwrap();
    let path = temp.path().join("archive");
    fs::write(&path, bytes).unwrap();
    (temp, path)
}

pub(crate) fn stream_of(bytes: impl Into<Vec<u8>>) -> Input {
    Input::Stream(Box::new(std::io::Cursor::new(bytes.into())))
}

#[track_caller]
pub(crate) fn assert_damaged(result: &Result<Summary, Error>) {
    match result {
        Err(error) if matches!(error.kind(), ErrorKind::Damaged { .. }) => {}
        other => panic!("not said to be damaged: {other:?}"),
    }
}

/// Unpacks as a file and as a stream, which must be the same; returns the files, and what was refused or failed. Then
/// unpacks with many threads, where another entry may be the one that fails, but nothing may get out of the root.
#[track_caller]
pub(crate) fn unpacked(archive: &[u8]) -> (Vec<String>, Vec<(String, Option<Refusal>)>) {
    let (_temp, path) = file_of(archive);
    let mut outcomes = Vec::new();
    for input in [Input::File(path.clone()), stream_of(archive)] {
        let place = Place::new();
        let (result, report) = place.unpack_in_order(input);
        result.unwrap_or_else(|error| panic!("{error}"));
        place.assert_nothing_outside();
        let failures = report.failures.iter().map(|failure| {
            let path = failure.path().expect("every failure has a path");
            (path.to_string_lossy().into_owned(), failure.refusal())
        });
        let mut failures: Vec<_> = failures.collect();
        failures.sort_by(|a, b| a.0.cmp(&b.0));
        outcomes.push(((place.files(), failures), Tree::read(place.root()).unwrap()));
    }
    let (outcome, tree) = outcomes.pop().unwrap();
    assert_eq!(outcomes[0].0, outcome, "a file and a stream differ");
    outcomes[0].1.assert_same(&tree, Compare::ALL_BUT_TIMES);

    let place = Place::new();
    let (result, report) = place.unpack(Input::File(path));
    result.unwrap_or_else(|error| panic!("{error}"));
    place.assert_nothing_outside();
    assert_eq!(report.failures.is_empty(), outcome.1.is_empty());
    outcome
}

/// Unpacks a damaged archive; returns the files that are there all the same, and the error.
#[track_caller]
pub(crate) fn damaged(archive: &[u8]) -> (Vec<String>, String) {
    let (_temp, path) = file_of(archive);
    let mut outcomes = Vec::new();
    for input in [Input::File(path), stream_of(archive)] {
        let place = Place::new();
        let (result, _) = place.unpack(input);
        place.assert_nothing_outside();
        assert_damaged(&result);
        let error = result.unwrap_err().to_string();
        outcomes.push((place.files(), error.split_once(": ").unwrap().1.to_owned()));
    }
    assert_eq!(outcomes[0], outcomes[1], "a file and a stream differ");
    outcomes.pop().unwrap()
}
