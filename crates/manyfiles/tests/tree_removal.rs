//! Trees are removed: all of them, nothing outside them, and what stays is named.
#![cfg(feature = "full")]

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use manyfiles::tree::{Removal, remove};
use tempfile::{TempDir, tempdir};

/// Some folders with some files each, and how many of both.
fn tree() -> (TempDir, PathBuf, u64, u64) {
    let temp = tempdir().unwrap();
    let root = temp.path().join("tree");
    let (mut files, mut folders) = (0, 1);
    for a in 0..8 {
        for b in 0..6 {
            let folder = root.join(format!("{a}/{b}"));
            fs::create_dir_all(&folder).unwrap();
            for n in 0..5 {
                fs::write(folder.join(n.to_string()), "x").unwrap();
            }
            files += 5;
        }
        folders += 7;
    }
    (temp, root, files, folders)
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn all_of_a_tree_is_removed_and_counted() {
    for threads in [1, 2, 16] {
        let (temp, root, files, folders) = tree();
        let removed = Removal::new().threads(threads).remove(&root).unwrap();
        assert_eq!((removed.files, removed.folders, removed.kept), (files, folders, 0));
        assert!(names(temp.path()).is_empty());
    }
}

#[test]
fn a_file_an_empty_folder_and_a_path_with_a_separator_at_the_end_are_removed() {
    let temp = tempdir().unwrap();
    fs::write(temp.path().join("file"), "").unwrap();
    fs::create_dir(temp.path().join("folder")).unwrap();
    fs::create_dir_all(temp.path().join("other/in")).unwrap();
    assert_eq!(remove(temp.path().join("file")).unwrap().files, 1);
    assert_eq!(remove(temp.path().join("folder")).unwrap().folders, 1);
    assert_eq!(remove(temp.path().join("other/")).unwrap().folders, 2);
    assert!(names(temp.path()).is_empty());
}

#[test]
fn links_are_removed_and_not_followed() {
    let temp = tempdir().unwrap();
    manyfiles_testkit::skip_unless!(manyfiles_testkit::Need::Symlinks);
    let outside = temp.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "kept").unwrap();
    fs::create_dir(temp.path().join("tree")).unwrap();
    for link in ["tree/link", "link"] {
        manyfiles_testkit::symlink(&outside, temp.path().join(link)).unwrap();
    }
    let error = remove(temp.path().join("link/")).unwrap_err();
    assert_eq!(error.errors().iter().next().unwrap().kind(), ErrorKind::NotADirectory, "{error}");
    remove(temp.path().join("link")).unwrap();
    remove(temp.path().join("tree")).unwrap();
    assert_eq!(names(temp.path()), BTreeSet::from(["outside".into()]));
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "kept");
}

#[test]
fn what_is_not_there_is_an_error_unless_that_is_as_it_should_be() {
    let temp = tempdir().unwrap();
    for path in ["none", "none/below"] {
        let path = temp.path().join(path);
        let error = remove(&path).unwrap_err();
        let first = error.errors().iter().next().unwrap();
        assert_eq!((first.kind(), first.path()), (ErrorKind::NotFound, Some(&*path)));
        assert_eq!(Removal::new().force(true).remove(&path).unwrap().files, 0);
    }
}

#[test]
fn a_path_without_a_name_of_its_own_is_refused() {
    let temp = tempdir().unwrap();
    fs::create_dir(temp.path().join("tree")).unwrap();
    let below = |name: &str| temp.path().join("tree").join(name);
    for path in [below("."), below(".."), below("./"), "/".into(), ".".into(), "..".into(), "".into()] {
        let error = Removal::new().force(true).remove(&path).unwrap_err();
        assert_eq!(error.errors().iter().next().unwrap().kind(), ErrorKind::InvalidInput, "{}", path.display());
    }
    assert!(temp.path().join("tree").exists());
}

#[test]
fn what_is_kept_stays_with_the_folders_above_it() {
    let (_temp, root, files, folders) = tree();
    let asked = Arc::new(Mutex::new(BTreeSet::new()));
    let all = asked.clone();
    let removed = Removal::new()
        .keep(move |path| {
            assert!(all.lock().unwrap().insert(path.to_owned()), "asked twice for {}", path.display());
            path == Path::new("3") || path == Path::new("5").join("5").join("0")
        })
        .remove(&root)
        .unwrap();
    assert_eq!((removed.files, removed.folders, removed.kept), (files - 30 - 1, folders - 1 - 7 - 2, 2));
    assert_eq!(names(&root), BTreeSet::from(["3".into(), "5".into()]));
    assert_eq!(names(&root.join("3")).len(), 6);
    assert_eq!((names(&root.join("5")), names(&root.join("5/5"))), (["5".into()].into(), ["0".into()].into()));
    assert!(!asked.lock().unwrap().contains(&Path::new("3").join("0")), "what is in a folder that is kept");
}

#[test]
fn each_name_is_told_once_when_it_is_gone() {
    let (_temp, root, files, folders) = tree();
    let told = Arc::new(Mutex::new(Vec::new()));
    let (names, base) = (told.clone(), root.clone());
    let removed = Removal::new().on_removed(move |path| {
        assert!(!base.join(path).exists());
        names.lock().unwrap().push(path.to_owned());
    });
    removed.remove(&root).unwrap();
    let told = told.lock().unwrap();
    assert_eq!(told.len() as u64, files + folders);
    assert_eq!(told.iter().collect::<BTreeSet<_>>().len(), told.len());
    assert_eq!(told.last().unwrap(), Path::new(""), "the tree itself comes last");
}

#[test]
fn a_removal_that_is_cancelled_says_so_and_removes_no_more() {
    let (_temp, root, files, _) = tree();
    let cancel = Arc::new(AtomicBool::new(false));
    let (seen, by) = (AtomicU64::new(0), cancel.clone());
    let removal = Removal::new().cancel(cancel.clone()).on_removed(move |_| {
        if seen.fetch_add(1, Relaxed) == 20 {
            by.store(true, Relaxed);
        }
    });
    let error = removal.remove(&root).unwrap_err();
    assert!(error.errors().iter().last().unwrap().is_cancelled());
    assert!(error.removed().cancelled && error.removed().files < files && root.exists());
    assert!(error.removed().failures.is_empty());
    // What it left is removed by the next.
    cancel.store(false, Relaxed);
    let rest = removal.remove(&root).unwrap();
    assert_eq!(rest.files + error.removed().files, files);
}

#[test]
fn callbacks_that_panic_are_failures_and_keep_the_name() {
    let (_temp, root, files, _) = tree();
    let bad = Path::new("2").join("2").join("2");
    let error = Removal::new().keep({
        let bad = bad.clone();
        move |path| {
            assert!(path != bad, "on purpose");
            false
        }
    });
    let error = error.remove(&root).unwrap_err();
    assert_eq!(error.removed().files, files - 1);
    let failures = &error.removed().failures;
    assert_eq!((failures.len(), failures[0].path()), (1, Some(&*root.join(&bad))));
    assert!(root.join(bad).exists());
    let error = Removal::new().on_removed(|_| panic!("on purpose")).remove(&root).unwrap_err();
    assert_eq!((error.removed().failures.len(), root.exists()), (4, false), "{error}");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;
    use std::time::Duration;

    use manyfiles_testkit::{Need, skip_unless};

    use super::*;

    /// Windows keeps the name of what is removed until all have closed it, which may take longer than any of them waits.
    #[test]
    fn several_removals_of_one_tree_at_once_are_all_right() {
        for _ in 0..20 {
            let (_temp, root, files, folders) = tree();
            let removed: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> =
                    (0..3).map(|_| scope.spawn(|| Removal::new().force(true).remove(&root))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect()
            });
            assert!(!root.exists());
            let sum = |of: fn(&manyfiles::tree::Removed) -> u64| removed.iter().map(of).sum::<u64>();
            assert_eq!((sum(|it| it.files), sum(|it| it.folders)), (files, folders));
        }
    }

    fn make_deep(root: &Path, levels: usize) {
        fs::create_dir(root).unwrap();
        let deep = "d/".repeat(500);
        let mut at = rustix::fs::open(root, rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty()).unwrap();
        let mut made = 0;
        while made < levels {
            let below = rustix::fs::openat(&at, ".", rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty()).unwrap();
            for level in 1..=500 {
                rustix::fs::mkdirat(&below, &deep[..2 * level], rustix::fs::Mode::RWXU).unwrap();
            }
            at = rustix::fs::openat(&at, &*deep, rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty()).unwrap();
            drop(rustix::fs::openat(&at, "file", rustix::fs::OFlags::CREATE, rustix::fs::Mode::RWXU).unwrap());
            made += 500;
        }
    }

    #[test]
    fn a_tree_deeper_than_any_path_is_removed() {
        let temp = tempdir().unwrap();
        let root = temp.path().join("tree");
        make_deep(&root, 10_000);
        let removed = remove(&root).unwrap();
        assert_eq!((removed.files, removed.folders), (20, 10_001));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_deep_and_broad_tree_is_removed_with_few_handles() {
        const NAME: &str = "unix::a_deep_and_broad_tree_is_removed_with_few_handles";
        if std::env::var_os("MANYFILES_TEST_FEW").is_none() {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args([NAME, "--exact"]).env("MANYFILES_TEST_FEW", "1");
            assert!(command.status().unwrap().success());
            return;
        }
        let temp = tempdir().unwrap();
        let root = temp.path().join("tree");
        make_deep(&root, 1000);
        for a in 0..30 {
            let folder = root.join(format!("d/d/d/{a}/").repeat(20).trim_end_matches('/'));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("file"), "").unwrap();
        }
        let limit = rustix::process::Rlimit { current: Some(24), maximum: Some(24) };
        rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
        let removed = Removal::new().threads(8).remove(&root).unwrap();
        assert_eq!((removed.files, root.exists()), (32, false));
    }

    #[test]
    fn folders_that_forbid_it_stay_and_are_named_unless_they_are_to_be_forced() {
        const NAME: &str = "unix::folders_that_forbid_it_stay_and_are_named_unless_they_are_to_be_forced";
        const NOBODY: u32 = 65_534;
        if rustix::process::geteuid().is_root() {
            // Nothing forbids root anything.
            let temp = tempdir().unwrap();
            std::os::unix::fs::chown(temp.path(), Some(NOBODY), Some(NOBODY)).unwrap();
            let program = temp.path().join("program");
            fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
            fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
            let mut command = Command::new(program);
            std::os::unix::process::CommandExt::uid(&mut command, NOBODY);
            command.args([NAME, "--exact"]).env("TMPDIR", temp.path());
            assert!(command.status().unwrap().success());
            return;
        }
        let (_temp, root, files, _) = tree();
        let set = |path: &str, mode| fs::set_permissions(root.join(path), PermissionsExt::from_mode(mode)).unwrap();
        set("1/1", 0o500);
        set("2", 0o000);
        let error = remove(&root).unwrap_err();
        let failed: BTreeSet<_> = error.removed().failures.iter().map(|it| it.path().unwrap().to_owned()).collect();
        let expected = (0..5).map(|n| root.join(format!("1/1/{n}"))).chain([root.join("2")]);
        assert_eq!(failed, expected.collect());
        assert!(error.removed().failures.iter().all(|it| it.kind() == ErrorKind::PermissionDenied));
        assert_eq!(names(&root), BTreeSet::from(["1".into(), "2".into()]));
        let rest = Removal::new().force(true).remove(&root).unwrap();
        assert_eq!(rest.files + error.removed().files, files);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_mounted_stays_and_is_named() {
        skip_unless!(Need::Root);
        let (temp, root, files, _) = tree();
        let mounted = temp.path().join("mounted");
        fs::create_dir_all(mounted.join("in")).unwrap();
        fs::write(mounted.join("in/file"), "kept").unwrap();
        let at = root.join("4/4/here");
        fs::create_dir(&at).unwrap();
        assert!(Command::new("mount").arg("--bind").args([&mounted, &at]).status().unwrap().success());
        let (kept, across) = (remove(&root), names(&mounted.join("in")));
        let forced = Removal::new().across_mounts(true).remove(&root);
        let is_unmounted = Command::new("umount").arg(&at).status().unwrap().success();
        let error = kept.unwrap_err();
        let failures = &error.removed().failures;
        assert_eq!(
            (failures.len(), failures[0].path(), failures[0].kind()),
            (1, Some(&*at), ErrorKind::CrossesDevices)
        );
        assert_eq!((across.len(), error.removed().files), (1, files));
        let error = forced.unwrap_err();
        assert_eq!((error.removed().files, error.removed().folders), (1, 1));
        assert_eq!(error.removed().failures[0].kind(), ErrorKind::ResourceBusy, "{error}");
        assert!(is_unmounted && names(&mounted).is_empty());
        assert_eq!(remove(&root).unwrap().folders, 4);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_neighbour_who_puts_links_in_the_way_leads_nothing_outside() {
        for seed in manyfiles_testkit::seeds(1, 3) {
            let temp = tempdir().unwrap();
            let outside = temp.path().join("outside");
            fs::create_dir_all(outside.join("a/b")).unwrap();
            for name in ["f", "a/f", "a/b/f"] {
                fs::write(outside.join(name), "kept").unwrap();
            }
            let root = temp.path().join("tree");
            let is_over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let trouble =
                    scope.spawn(|| manyfiles_testkit::make_trouble(&root, &outside, seed, || is_over.load(Relaxed)));
                for round in 0..15 {
                    for n in 0..200 {
                        let folder = root.join(format!("{}/{}", n % 7, n % 3));
                        drop(fs::create_dir_all(&folder));
                        drop(fs::write(folder.join(n.to_string()), ""));
                    }
                    // The neighbour goes on making names: what cannot be removed is told.
                    if let Err(error) = remove(&root) {
                        assert!(error.errors().iter().all(|it| it.path().is_some()), "round {round}: {error}");
                    }
                }
                is_over.store(true, Relaxed);
                trouble.join().unwrap()
            });
            let kept: Vec<_> = ["f", "a/f", "a/b/f"].map(|name| outside.join(name).exists()).into();
            assert_eq!(kept, [true; 3], "seed {seed}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_program_has_open_on_a_network_is_waited_for_and_named_after_a_while() {
        use manyfiles_testkit::SlowMount;
        skip_unless!(Need::Fuse);
        let mount = SlowMount::options().keep_removed().mount().unwrap();
        for (closes, busy_for) in [(true, Duration::from_secs(60)), (false, Duration::from_millis(200))] {
            let root = mount.path().join(format!("tree {closes}"));
            fs::create_dir_all(root.join("in")).unwrap();
            let open = fs::File::create(root.join("in/open")).unwrap();
            fs::write(root.join("file"), "").unwrap();
            let removed = std::thread::scope(|scope| {
                let removal = scope.spawn(|| Removal::new().busy_for(busy_for).remove(&root));
                if closes {
                    while !names(&root.join("in")).iter().any(|name| name.starts_with(".fuse_hidden")) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    drop(open);
                    return removal.join().unwrap();
                }
                let removed = removal.join().unwrap();
                drop(open);
                removed
            });
            match removed {
                Ok(removed) => assert!(closes && removed.folders == 2 && !root.exists()),
                Err(error) => {
                    let failures = &error.removed().failures;
                    assert!(!closes, "{error}");
                    assert_eq!((failures.len(), failures[0].path()), (1, Some(&*root.join("in"))));
                    assert!(error.to_string().contains("open"), "{error}");
                    assert_eq!(names(&root), BTreeSet::from(["in".into()]));
                }
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_mount_whose_calls_wait_gets_more_threads() {
        use manyfiles_testkit::{Op, SlowMount};
        skip_unless!(Need::Fuse);
        let mount = SlowMount::options().delay(Op::Unlink, Duration::from_millis(20)).mount().unwrap();
        let root = mount.path().join("tree");
        for n in 0..100 {
            fs::create_dir_all(root.join(n.to_string())).unwrap();
            fs::write(root.join(format!("{n}/file")), "").unwrap();
        }
        let most = Arc::new(AtomicU64::new(0));
        let seen = most.clone();
        let removed = Removal::new()
            .on_removed(move |_| {
                let now = fs::read_dir("/proc/self/task").unwrap().count() as u64;
                seen.fetch_max(now, Relaxed);
            })
            .remove(&root)
            .unwrap();
        assert_eq!((removed.files, removed.folders), (100, 101));
        assert!(most.load(Relaxed) >= 16, "{} threads", most.load(Relaxed));
    }
}
