//! What Windows has besides: short names, read-only files, paths of any length and in any spelling.
#![cfg(windows)]

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use manyfiles::tree::{Content, Metadata, Mirror, OnConflict, Removal, TreeWriter};

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

/// The last name of `path` as its short one. The same name where the volume keeps none.
fn short_name(path: &Path) -> OsString {
    use windows_sys::Win32::Storage::FileSystem::GetShortPathNameW;
    let long: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    let mut short = [0; 1024];
    // SAFETY: `long` ends with a zero, and `short` has the length that is given.
    let length = unsafe { GetShortPathNameW(long.as_ptr(), short.as_mut_ptr(), short.len() as u32) } as usize;
    assert!((1..short.len()).contains(&length), "{}", io::Error::last_os_error());
    PathBuf::from(OsString::from_wide(&short[..length])).file_name().unwrap().to_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn read_only(path: &Path) {
    let mut permissions = fs::metadata(path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(path, permissions).unwrap();
}

fn is_read_only(path: &Path) -> bool {
    fs::metadata(path).unwrap().permissions().readonly()
}

const LONG: &str = "a long file name.text";

#[test]
fn a_short_name_of_a_file_that_is_there_is_an_ordinary_conflict() {
    for (policy, content, entries) in [
        (OnConflict::Error, "old", (0, 0, 1)),
        (OnConflict::Skip, "old", (0, 1, 0)),
        (OnConflict::Newer, "old", (0, 1, 0)),
        (OnConflict::SkipIdentical, "new", (1, 0, 0)),
        (OnConflict::Overwrite, "new", (1, 0, 0)),
        (OnConflict::Replace, "new", (1, 0, 0)),
        (OnConflict::Rename, "old", (1, 0, 0)),
    ] {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join(LONG), "old").unwrap();
        let short = short_name(&temp.path().join(LONG));
        if short == LONG {
            eprintln!("skipped: this volume has no short names");
            return;
        }
        let renames = matches!(policy, OnConflict::Rename);
        let tree = TreeWriter::options().on_conflict(policy.clone()).open(temp.path()).unwrap();
        tree.file_with(&short, "new", Metadata::default().modified(at(1))).unwrap();
        let (report, failures) = match tree.finish() {
            Ok(report) => (report, 0),
            Err(incomplete) => {
                let report = incomplete.into_report();
                assert_eq!(report.failures[0].kind(), io::ErrorKind::AlreadyExists, "{policy:?}");
                assert_eq!(report.failures[0].path(), Some(Path::new(&short)), "{policy:?}");
                (report, 1)
            }
        };
        assert_eq!((report.files, report.skipped, failures), entries, "{policy:?}");
        assert_eq!(fs::read_to_string(temp.path().join(&short)).unwrap(), content, "{policy:?}");
        assert_eq!(names(temp.path()).len(), 1 + usize::from(renames), "{policy:?}: {:?}", names(temp.path()));
    }
}

#[test]
fn the_second_of_two_entries_that_are_one_file_by_its_short_name_is_a_failure_that_names_it() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join(LONG), "").unwrap();
    let short = short_name(&temp.path().join(LONG));
    fs::remove_file(temp.path().join(LONG)).unwrap();
    if short == LONG {
        eprintln!("skipped: this volume has no short names");
        return;
    }
    let tree = TreeWriter::open(temp.path()).unwrap();
    tree.file(LONG, "first").unwrap();
    // Which of the two comes first is the order of the threads that write them.
    while !fs::read(temp.path().join(LONG)).is_ok_and(|bytes| bytes == b"first") {
        std::thread::sleep(Duration::from_millis(1));
    }
    tree.file(&short, "second").unwrap();
    let report = tree.finish().unwrap_err().into_report();
    assert_eq!((report.files, report.failures.len()), (1, 1), "{report:?}");
    assert_eq!(report.failures[0].path(), Some(Path::new(&short)));
    assert_eq!(fs::read_to_string(temp.path().join(LONG)).unwrap(), "first");
    assert_eq!(names(temp.path()), [LONG]);
}

#[test]
fn read_only_files_are_replaced_by_every_policy_that_writes_and_copied_as_what_they_are() {
    for policy in [OnConflict::Overwrite, OnConflict::Replace, OnConflict::SkipIdentical, OnConflict::Newer] {
        let temp = tempfile::tempdir().unwrap();
        let path = |name: &str| temp.path().join(name);
        for name in ["bytes", "copy", "link", "source"] {
            fs::write(path(name), format!("old {name}")).unwrap();
            fs::File::options().write(true).open(path(name)).unwrap().set_modified(at(10)).unwrap();
            read_only(&path(name));
        }
        let tree = TreeWriter::options().on_conflict(policy.clone()).open(temp.path()).unwrap();
        let newer = || Metadata::default().modified(at(20));
        tree.file_with("bytes", "new", newer()).unwrap();
        tree.file_with("copy", Content::copy_of(path("source")), newer().mode(0o444)).unwrap();
        if !matches!(policy, OnConflict::Newer) {
            tree.hard_link("link", "source").unwrap();
        }
        tree.finish().unwrap();
        assert_eq!(fs::read_to_string(path("bytes")).unwrap(), "new", "{policy:?}");
        assert_eq!(fs::read_to_string(path("copy")).unwrap(), "old source", "{policy:?}");
        assert!(is_read_only(&path("copy")), "{policy:?}");
        if !matches!(policy, OnConflict::Newer) {
            assert_eq!(fs::read_to_string(path("link")).unwrap(), "old source", "{policy:?}");
        }
        assert_eq!(names(temp.path()), ["bytes", "copy", "link", "source"], "{policy:?}");
    }
}

#[test]
fn read_only_files_are_removed_without_force() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("root");
    fs::create_dir_all(root.join("folder/deeper")).unwrap();
    for name in ["a", "folder/b", "folder/deeper/c"] {
        fs::write(root.join(name), "x").unwrap();
        read_only(&root.join(name));
    }
    read_only(&root.join("folder"));
    let removed = Removal::new().remove(&root).unwrap();
    assert_eq!((removed.files, removed.folders), (3, 3));
    assert!(!root.exists());
}

#[test]
fn a_mirror_updates_and_removes_read_only_files_and_says_twice_that_nothing_differs() {
    let temp = tempfile::tempdir().unwrap();
    let (source, target) = (temp.path().join("source"), temp.path().join("target"));
    for (folder, names) in [(&source, ["same", "changed", "new"]), (&target, ["same", "changed", "extra"])] {
        fs::create_dir(folder).unwrap();
        for name in names {
            let path = folder.join(name);
            fs::write(&path, name).unwrap();
            let time = if (name, folder) == ("changed", &source) { at(20) } else { at(10) };
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
            read_only(&path);
        }
    }
    let mirror = |again: bool| {
        let done = Mirror::new().mirror(&source, &target).unwrap();
        assert_eq!((done.written.files, done.removed.files), if again { (0, 0) } else { (2, 1) }, "{done:?}");
    };
    mirror(false);
    mirror(true);
    assert_eq!(names(&target), ["changed", "new", "same"]);
    for name in names(&target) {
        assert_eq!(fs::read(target.join(&name)).unwrap(), fs::read(source.join(&name)).unwrap());
        assert!(is_read_only(&target.join(&name)), "{name}");
    }
}

#[test]
fn the_root_may_be_written_in_every_way_that_windows_knows() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("a root of a long name");
    fs::create_dir(&root).unwrap();
    std::env::set_current_dir(temp.path()).unwrap();
    let text = root.to_str().unwrap();
    let (drive, below) = text.split_at(2);
    let ways = [
        text.to_owned(),
        format!(r"\\?\{text}"),
        format!(r"\\.\{text}"),
        text.replace('\\', "/"),
        text.to_uppercase(),
        below.to_owned(),                        // from the root of the current drive
        format!("{drive}a root of a long name"), // from the current folder of that drive
        format!(r"{text}\"),
        format!(r"{text}\.\nowhere\.."),
        format!("{text}. "), // Windows takes dots and spaces at the end away
        temp.path().join(short_name(&root)).to_str().unwrap().to_owned(),
    ];
    for (number, way) in ways.iter().enumerate() {
        let tree = TreeWriter::open(way).unwrap_or_else(|error| panic!("{way}: {error}"));
        tree.file(format!("folder/{number}"), Content::copy_of(std::env::current_exe().unwrap())).unwrap();
        tree.finish().unwrap_or_else(|error| panic!("{way}: {error}"));
        assert!(root.join(format!("folder/{number}")).exists(), "{way}");
    }
    std::env::set_current_dir(std::env::temp_dir()).unwrap();
}

#[test]
fn long_paths_are_written_mirrored_and_removed() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("root");
    // Wine removes by paths of Linux, which have 4,095 bytes at most.
    let deep = ["d".repeat(240).as_str(); 14].join("/");
    let tree = TreeWriter::open(&root).unwrap();
    tree.file(format!("{deep}/file"), "x").unwrap();
    assert_eq!(tree.finish().unwrap().files, 1);
    let mirror = temp.path().join("mirror");
    let mirrored = Mirror::new().mirror(&root, &mirror).unwrap();
    assert_eq!(mirrored.written.files, 1);
    assert_eq!(fs::read_to_string(mirror.join(deep).join("file")).unwrap(), "x");
    fs::remove_file(root.join(["d".repeat(240).as_str(); 14].join("/")).join("file")).unwrap();
    let mirrored = Mirror::new().mirror(&root, &mirror).unwrap();
    assert_eq!((mirrored.written.files, mirrored.removed.files), (0, 1));
    for tree in [&root, &mirror] {
        let removed = Removal::new().remove(tree).unwrap();
        assert_eq!((removed.files, removed.folders), (0, 15));
        assert!(!tree.exists());
    }
}
