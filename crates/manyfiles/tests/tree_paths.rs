//! Attacks on the way down: nothing outside the root is touched, and each refused entry is named.
#![cfg(feature = "full")]

use std::path::Path;

use manyfiles::tree::{Metadata, OnConflict, Refusal, TreeWriter};
use manyfiles_testkit::{Compare, Need, Tree, skip_unless, symlink};

/// A root with a folder beside it that must not change.
fn arena() -> (tempfile::TempDir, std::path::PathBuf, Tree) {
    let temp = tempfile::tempdir().unwrap();
    std::fs::create_dir(temp.path().join("outside")).unwrap();
    std::fs::write(temp.path().join("outside/secret"), "secret").unwrap();
    let before = Tree::read(temp.path().join("outside")).unwrap();
    let root = temp.path().join("root");
    (temp, root, before)
}

#[test]
fn a_path_that_points_out_of_the_root_is_refused_at_once_and_reported_at_the_end() {
    let (temp, root, before) = arena();
    let tree = TreeWriter::open(&root).unwrap();
    let outside = temp.path().join("outside/new");
    for (path, refusal) in [
        ("../outside/new", Refusal::ParentFolder),
        ("a/../../outside/new", Refusal::ParentFolder),
        (outside.to_str().unwrap(), Refusal::Absolute),
        ("C:\\new", Refusal::Absolute),
        ("\\\\server\\share\\new", Refusal::Absolute),
        ("", Refusal::Empty),
        ("a\0b", Refusal::Nul),
    ] {
        for error in [
            tree.file(path, "x").unwrap_err(),
            tree.folder(path, Metadata::default()).unwrap_err(),
            tree.symlink(path, "x", Metadata::default()).unwrap_err(),
            tree.hard_link(path, "x").unwrap_err(),
            tree.hard_link("fine", path).unwrap_err(),
            tree.create(path, Metadata::default()).unwrap_err(),
        ] {
            assert_eq!(error.refusal(), Some(refusal), "{path:?}");
        }
    }
    let report = tree.finish().unwrap_err().into_report();
    assert_eq!(report.failures.len(), 7 * 6);
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
    before.assert_same(&Tree::read(temp.path().join("outside")).unwrap(), Compare::ALL);
}

#[test]
fn a_link_made_a_moment_ago_is_not_followed_whatever_the_order() {
    skip_unless!(Need::Symlinks);
    for round in 0..100 {
        let (temp, root, before) = arena();
        let tree = TreeWriter::options().on_conflict(OnConflict::Overwrite).open(&root).unwrap();
        // In every second round the folder comes first, and then the link that would take its place.
        let link = |name: &str| tree.symlink(name, "../outside", Metadata::default());
        let mut refused = 0;
        if round % 2 == 0 {
            link("a").unwrap();
            tree.file("a/secret", "overwritten").unwrap();
            tree.file("a/b/new", "new").unwrap();
            refused += 2;
        } else {
            tree.file("a/secret", "fine").unwrap();
            link("a").unwrap_err();
            refused += 1;
        }
        tree.file("b/fine", "fine").unwrap();
        let report = tree.finish().unwrap_err().into_report();
        assert_eq!(report.failures.len(), refused, "{report:?}");
        if round % 2 == 0 {
            assert!(report.failures.iter().all(|failure| failure.refusal() == Some(Refusal::ThroughSymlink)));
            assert!(report.failures[0].path().unwrap().starts_with("a"));
        }
        before.assert_same(&Tree::read(temp.path().join("outside")).unwrap(), Compare::ALL);
    }
}

#[test]
fn a_link_that_was_there_before_is_not_followed() {
    skip_unless!(Need::Symlinks);
    let (temp, root, before) = arena();
    std::fs::create_dir_all(root.join("real")).unwrap();
    symlink(temp.path().join("outside"), root.join("out")).unwrap();
    symlink("real", root.join("in")).unwrap();
    let tree = TreeWriter::open(&root).unwrap();
    tree.file("out/new", "x").unwrap();
    tree.file("out/sub/new", "x").unwrap();
    tree.file("in/new", "x").unwrap();
    tree.folder("out/folder", Metadata::default().mode(0o700)).unwrap();
    tree.hard_link("stolen", "out/secret").unwrap();
    let report = tree.finish().unwrap_err().into_report();
    assert_eq!(report.failures.len(), 5, "{report:?}");
    for failure in &report.failures {
        assert_eq!(failure.refusal(), Some(Refusal::ThroughSymlink), "{failure}");
    }
    before.assert_same(&Tree::read(temp.path().join("outside")).unwrap(), Compare::ALL);
    assert_eq!(std::fs::read_dir(root.join("real")).unwrap().count(), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn another_process_that_swaps_a_folder_for_a_link_leads_nowhere() {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStringExt;
    use std::sync::atomic::{AtomicBool, Ordering};
    let (temp, root, before) = arena();
    std::fs::create_dir_all(root.join("a")).unwrap();
    symlink(temp.path().join("outside"), root.join("link")).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // `a` is by turns a folder and a link to the folder outside.
        scope.spawn(|| {
            let path = |name| CString::new(root.join(name).into_os_string().into_vec()).unwrap();
            let (a, link) = (path("a"), path("link"));
            while !stop.load(Ordering::Relaxed) {
                // SAFETY: both are strings with a NUL at the end.
                let swapped = unsafe {
                    libc::renameat2(libc::AT_FDCWD, a.as_ptr(), libc::AT_FDCWD, link.as_ptr(), libc::RENAME_EXCHANGE)
                };
                assert_eq!(swapped, 0, "{}", std::io::Error::last_os_error());
            }
        });
        for round in 0..200 {
            let tree = TreeWriter::options().on_conflict(OnConflict::Overwrite).open(&root).unwrap();
            tree.file("a/secret", "overwritten").unwrap();
            tree.file(format!("a/{round}/new"), "x").unwrap();
            tree.folder("a", Metadata::default().mode(0o711)).unwrap();
            drop(tree.finish()); // Some do not arrive; what counts is where.
        }
        stop.store(true, Ordering::Relaxed);
    });
    before.assert_same(&Tree::read(temp.path().join("outside")).unwrap(), Compare::ALL);
}

#[test]
fn a_file_where_a_folder_is_needed_and_a_folder_where_a_file_is_are_failures_with_their_paths() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("file"), "old").unwrap();
    std::fs::create_dir(temp.path().join("folder")).unwrap();
    let tree = TreeWriter::options().on_conflict(OnConflict::Overwrite).open(temp.path()).unwrap();
    tree.file("file/x", "x").unwrap();
    tree.file("file/y/z", "x").unwrap();
    tree.file("folder", "x").unwrap();
    tree.file("other/x", "x").unwrap();
    let report = tree.finish().unwrap_err().into_report();
    let mut paths: Vec<_> = report.failures.iter().map(|failure| failure.path().unwrap()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["file/x", "file/y/z", "folder"].map(Path::new));
    for failure in &report.failures {
        use std::io::ErrorKind::{IsADirectory, NotADirectory};
        let expected = if failure.path() == Some(Path::new("folder")) { IsADirectory } else { NotADirectory };
        assert_eq!(failure.kind(), expected, "{failure}");
        assert!(failure.raw_os_error().is_some());
    }
    assert_eq!(std::fs::read_to_string(temp.path().join("file")).unwrap(), "old");
}

#[test]
#[cfg(windows)]
fn names_that_windows_takes_for_something_else_are_refused_and_nothing_is_made() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    for (path, refusal) in [
        ("CON", Refusal::Device),
        ("nul.txt", Refusal::Device),
        ("aux/x", Refusal::Device),
        ("file:stream", Refusal::Stream),
        ("C:x", Refusal::Stream),
        ("dot.", Refusal::NotAName),
        ("space /x", Refusal::NotAName),
        ("what?", Refusal::NotAName),
        ("a\\..\\..\\x", Refusal::ParentFolder),
        ("\\x", Refusal::Absolute),
    ] {
        assert_eq!(tree.file(path, "x").unwrap_err().refusal(), Some(refusal), "{path:?}");
    }
    tree.file("console", "x").unwrap();
    tree.file("n".repeat(255), "x").unwrap();
    tree.file("n".repeat(256), "x").unwrap(); // The system refuses this one.
    let report = tree.finish().unwrap_err().into_report();
    assert_eq!((report.files, report.failures.len()), (2, 11), "{report:?}");
    assert!(report.failures[10].raw_os_error().is_some());
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 2);
}

#[test]
#[cfg(unix)]
fn names_that_the_system_cannot_hold_are_failures_and_those_it_can_are_written() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    let (fits, too_long) = ("n".repeat(255), "n".repeat(256));
    let not_utf8 = OsStr::from_bytes(b"not\xffutf8");
    tree.file(&fits, "x").unwrap();
    tree.file(not_utf8, "x").unwrap();
    tree.file("a:b?*|\\\n", "x").unwrap();
    tree.file(&too_long, "x").unwrap();
    tree.file(format!("{too_long}/x"), "x").unwrap();
    // Longer than a path may be in one call, but made of folders that are each short enough.
    let deep = ["d".repeat(200).as_str(); 30].join("/");
    tree.file(format!("{deep}/x"), "x").unwrap();
    let report = tree.finish().unwrap_err().into_report();
    assert_eq!(report.files, 4, "{report:?}");
    assert_eq!(report.failures.len(), 2);
    for failure in &report.failures {
        assert_eq!(failure.raw_os_error(), Some(libc::ENAMETOOLONG), "{failure}");
    }
    assert!(temp.path().join(not_utf8).exists());
}

#[test]
fn hundreds_of_folders_deep_is_written_and_a_million_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    // Wine goes through all of them for each.
    let deep = if cfg!(windows) { 200 } else { 1000 };
    tree.file(format!("{}x", "d/".repeat(deep)), "x").unwrap();
    let error = tree.file(format!("{}x", "e/".repeat(1_000_000)), "x").unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::TooDeep));
    let report = tree.finish().unwrap_err().into_report();
    assert_eq!((report.files, report.failures.len()), (1, 1), "{:?}", report.failures);
}

#[test]
fn the_root_itself_may_be_behind_a_link_but_not_be_a_file() {
    skip_unless!(Need::Symlinks);
    let temp = tempfile::tempdir().unwrap();
    std::fs::create_dir(temp.path().join("real")).unwrap();
    symlink("real", temp.path().join("link")).unwrap();
    let tree = TreeWriter::open(temp.path().join("link")).unwrap();
    tree.file("x", "x").unwrap();
    tree.finish().unwrap();
    assert!(temp.path().join("real/x").exists());
    std::fs::write(temp.path().join("file"), "").unwrap();
    let error = TreeWriter::open(temp.path().join("file")).unwrap_err();
    assert_eq!(error.path(), Some(&*temp.path().join("file")));
    assert!(error.raw_os_error().is_some());
}
