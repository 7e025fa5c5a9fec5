//! Every function of `manyfiles::fs` beside std's, over paths as they should and should not be: the same results, the
//! same errors, the same files afterwards; whether closes are pending or not.

use std::fmt::Debug;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Once;

use manyfiles::close::{self, Closer, Policy};
use manyfiles_testkit::{Compare, Tree};

/// What a function did, in words that can be compared.
type Outcome = Result<String, (io::ErrorKind, Option<i32>, String)>;

fn outcome<T: Debug>(result: io::Result<T>) -> Outcome {
    result.map(|value| format!("{value:?}")).map_err(|error| (error.kind(), error.raw_os_error(), error.to_string()))
}

/// Paths inside of the folder of [`made`], and some that are no paths.
const PATHS: &[&str] = &[
    "file",
    "long",
    "read-only",
    "executable",
    "missing",
    "missing/below",
    "file/below",
    "folder",
    "folder/inside",
    "empty",
    "folder/../file",
    "./file",
    "file/",
    "empty/",
    "FILE",
    ".",
    "..",
    "",
    "nul\0inside",
    "link",
    "dangling",
    "link-to-folder",
    "star*",
    "a:b",
    "<NAME>",
];

const FROM: &[&str] = &[
    "file",
    "read-only",
    "executable",
    "missing",
    "file/below",
    "folder",
    "empty",
    "",
    "nul\0inside",
    "link",
    "dangling",
    "link-to-folder",
];

const TO: &[&str] = &[
    "file",
    "long",
    "read-only",
    "executable",
    "missing",
    "missing/below",
    "folder",
    "empty",
    "",
    "nul\0inside",
    "link",
    "dangling",
];

/// A folder that has something of everything; made by `write`, so that closes are pending where it hands them over.
fn made(root: &Path, write: fn(&Path, &[u8]) -> io::Result<()>) -> PathBuf {
    // Inside another one: what goes for ".." meets that.
    let folder = root.join("outer").join("inner");
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name);
    write(&path("file"), b"text").unwrap();
    write(&path("long"), &[b'x'; 20_000]).unwrap();
    write(&path("executable"), b"\xff\xfe no text").unwrap();
    std::fs::create_dir(path("folder")).unwrap();
    write(&path("folder/inside"), b"inside").unwrap();
    std::fs::create_dir(path("empty")).unwrap();
    write(&path("read-only"), b"may not be written").unwrap();
    let mut permissions = std::fs::metadata(path("read-only")).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(path("read-only"), permissions).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{PermissionsExt, symlink};
        std::fs::set_permissions(path("executable"), PermissionsExt::from_mode(0o751)).unwrap();
        symlink("file", path("link")).unwrap();
        symlink("nowhere", path("dangling")).unwrap();
        symlink("folder", path("link-to-folder")).unwrap();
    }
    folder
}

/// The links are made on Unix alone.
fn exist_here(path: &&&str) -> bool {
    cfg!(unix) || !["link", "dangling", "link-to-folder"].contains(*path)
}

fn in_folder(folder: &Path, path: &str) -> PathBuf {
    match path {
        "" => PathBuf::new(),
        "<NAME>" => folder.join("n".repeat(300)),
        path => folder.join(path),
    }
}

fn names(entries: io::Result<std::fs::ReadDir>) -> io::Result<Vec<String>> {
    let entry = |entry: io::Result<std::fs::DirEntry>| {
        let entry = entry?;
        let metadata = entry.metadata()?;
        let length = if metadata.is_file() { metadata.len() } else { 0 };
        Ok(format!("{} {length}", entry.file_name().display()))
    };
    let mut names: Vec<String> = entries?.map(entry).collect::<io::Result<_>>()?;
    names.sort();
    Ok(names)
}

fn known(metadata: std::fs::Metadata) -> String {
    let length = if metadata.is_file() { metadata.len() } else { 0 };
    format!("{:?} {length} {:?}", metadata.file_type(), metadata.permissions())
}

/// The table's rows, for `std::fs` and for `manyfiles::fs`: made from the same text, so that the signatures are proved
/// to be the same as well.
macro_rules! rows {
    ($name:ident, $($fs:ident)::+) => {
        mod $name {
            use super::*;
            use $($fs)::+ as fs;

            fn read_all(mut file: fs::File) -> io::Result<String> {
                let mut text = String::new();
                file.read_to_string(&mut text)?;
                Ok(text)
            }

            pub fn write_for_made(path: &Path, bytes: &[u8]) -> io::Result<()> {
                fs::write(path, bytes)
            }

            pub const ONE: &[(&str, fn(&Path) -> Outcome)] = &[
                ("write", |path| outcome(fs::write::<_, &str>(path, "new"))),
                ("write nothing", |path| outcome(fs::write(path, []))),
                ("read", |path| outcome(fs::read::<&Path>(path).map(|bytes| bytes.len()))),
                ("read_to_string", |path| outcome(fs::read_to_string::<&Path>(path).map(|text| text.len()))),
                ("remove_file", |path| outcome(fs::remove_file::<&Path>(path))),
                ("remove_dir", |path| outcome(fs::remove_dir::<&Path>(path))),
                ("remove_dir_all", |path| outcome(fs::remove_dir_all::<&Path>(path))),
                ("create_dir", |path| outcome(fs::create_dir::<&Path>(path))),
                ("create_dir_all", |path| outcome(fs::create_dir_all::<&Path>(path))),
                ("metadata", |path| outcome(fs::metadata::<&Path>(path).map(known))),
                ("symlink_metadata", |path| outcome(fs::symlink_metadata::<&Path>(path).map(known))),
                ("read_dir", |path| outcome(names(fs::read_dir::<&Path>(path)))),
                ("exists", |path| outcome(fs::exists(path))),
                ("canonicalize", |path| outcome(fs::canonicalize(path).map(|path| path.file_name().map(drop)))),
                ("read_link", |path| outcome(fs::read_link(path))),
                ("File::open", |path| outcome(fs::File::open::<&Path>(path).and_then(read_all))),
                ("File::create", |path| outcome(fs::File::create::<&Path>(path).and_then(|mut f| f.write_all(b"c")))),
                ("File::create_new", |path| outcome(fs::File::create_new::<&Path>(path).and_then(|mut f| f.write(b"n")))),
                ("append", |path| outcome(fs::File::options().append(true).open(path).and_then(|mut f| f.write(b"a")))),
                ("append or create", |path| {
                    outcome(fs::OpenOptions::new().append(true).create(true).open(path).and_then(|mut f| f.write(b"a")))
                }),
                ("read and write", |path| {
                    outcome(fs::OpenOptions::new().read(true).write(true).open(path).and_then(|mut file| {
                        file.write_all(b"rw")?;
                        read_all(file)
                    }))
                }),
                ("opened for nothing", |path| outcome(fs::OpenOptions::new().open(path).map(drop))),
                ("created for nothing", |path| outcome(fs::OpenOptions::new().create(true).open(path).map(drop))),
                ("appended to and cut", |path| {
                    outcome(fs::OpenOptions::new().append(true).truncate(true).create(true).open(path).map(drop))
                }),
                ("cut without writing", |path| {
                    outcome(fs::OpenOptions::new().read(true).truncate(true).open(path).map(drop))
                }),
            ];

            pub const TWO: &[(&str, fn(&Path, &Path) -> Outcome)] = &[
                ("copy", |from, to| outcome(fs::copy::<&Path, &Path>(from, to))),
                ("rename", |from, to| outcome(fs::rename::<&Path, &Path>(from, to))),
                ("hard_link", |from, to| outcome(fs::hard_link::<&Path, &Path>(from, to))),
            ];
        }
    };
}

rows!(of_std, std::fs);
rows!(of_manyfiles, manyfiles::fs);

fn every_close_is_handed_over() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        close::set_global(Closer::options().policy(Policy::Always).build()).expect("nothing has been closed yet");
    });
}

/// Does the same in two new folders, and says what came of it and what is there afterwards.
fn compare(case: &str, std: impl FnOnce(&Path) -> Outcome, manyfiles: impl FnOnce(&Path) -> Outcome) {
    let temp = tempfile::tempdir().unwrap();
    let (expected_root, root) = (temp.path().join("a"), temp.path().join("b"));
    let expected = std(&made(&expected_root, of_std::write_for_made));
    let got = manyfiles(&made(&root, of_manyfiles::write_for_made));
    assert_eq!(got, expected, "{case}");
    close::wait().unwrap();
    let differences = Tree::read(&expected_root).unwrap().diff(&Tree::read(&root).unwrap(), Compare::ALL_BUT_TIMES);
    assert!(differences.is_empty(), "{case}:\n{differences}");
    writable(temp.path());
}

/// Windows cannot remove what is read-only.
fn writable(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() {
            writable(&entry.path());
        } else if cfg!(windows) && metadata.permissions().readonly() {
            let mut permissions = metadata.permissions();
            #[expect(clippy::permissions_set_readonly_false, reason = "on Windows, where it is an attribute")]
            permissions.set_readonly(false);
            std::fs::set_permissions(entry.path(), permissions).unwrap();
        }
    }
}

#[test]
fn functions_of_one_path_do_what_std_does() {
    every_close_is_handed_over();
    for ((name, std), (_, manyfiles)) in of_std::ONE.iter().zip(of_manyfiles::ONE) {
        for path in PATHS.iter().filter(exist_here) {
            let case = format!("{name}({path:?})");
            compare(&case, |folder| std(&in_folder(folder, path)), |folder| manyfiles(&in_folder(folder, path)));
        }
    }
}

#[test]
fn functions_of_two_paths_do_what_std_does() {
    every_close_is_handed_over();
    for ((name, std), (_, manyfiles)) in of_std::TWO.iter().zip(of_manyfiles::TWO) {
        for from in FROM.iter().filter(exist_here) {
            for to in TO.iter().filter(exist_here) {
                compare(
                    &format!("{name}({from:?}, {to:?})"),
                    |folder| std(&in_folder(folder, from), &in_folder(folder, to)),
                    |folder| manyfiles(&in_folder(folder, from), &in_folder(folder, to)),
                );
            }
        }
    }
}
