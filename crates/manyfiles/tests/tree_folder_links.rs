//! Links to folders that were there before the run are followed if that is asked for. Those that the run makes never
//! are, by whatever path they are found.
#![cfg(feature = "full")]
#![cfg(unix)] // none is followed elsewhere

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, SystemTime};

use manyfiles::tree::{Durability, Metadata, OnConflict, Options, Refusal, Report, TreeWriter};
use tempfile::{TempDir, tempdir};

/// A root, and a folder beside it in which nothing may arrive.
struct Case {
    temp: TempDir,
    root: PathBuf,
    secret: PathBuf,
}

impl Case {
    fn new() -> Case {
        let temp = tempdir().unwrap();
        let (root, secret) = (temp.path().join("root"), temp.path().join("secret"));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&secret).unwrap();
        Case { temp, root, secret }
    }

    fn folder(&self, path: &str) {
        fs::create_dir_all(self.root.join(path)).unwrap();
    }

    fn link(&self, path: &str, to: impl AsRef<Path>) {
        symlink(to, self.root.join(path)).unwrap();
    }

    fn is_link(&self, path: &str) -> bool {
        fs::symlink_metadata(self.root.join(path)).unwrap().is_symlink()
    }

    fn assert_nothing_left_the_root(&self) {
        assert_eq!(fs::read_dir(&self.secret).unwrap().count(), 0);
    }
}

fn following() -> Options {
    // What the clock of files says lags behind by a few milliseconds.
    thread::sleep(Duration::from_millis(20));
    TreeWriter::options().follow_folder_links(true).last_wins(true)
}

fn finish(tree: TreeWriter) -> Report {
    tree.finish().unwrap_or_else(|incomplete| incomplete.into_report())
}

/// One entry after the other: each is written before the next is handed over.
fn one_by_one(options: Options, root: &Path, calls: &[&dyn Fn(&TreeWriter)]) -> Report {
    let tree = options.threads(1).open(root).unwrap();
    for call in calls {
        call(&tree);
        let observer = tree.observer();
        while observer.progress().entries_done < observer.progress().entries_accepted {
            thread::sleep(Duration::from_millis(1));
        }
    }
    finish(tree)
}

fn all_refused(report: &Report, count: usize) {
    assert_eq!(report.failures.len(), count, "{report:?}");
    let refused = |failure: &manyfiles::Error| failure.refusal() == Some(Refusal::ThroughSymlink);
    assert!(report.failures.iter().all(refused), "{report:?}");
}

#[test]
fn entries_go_through_links_that_were_there_and_these_stay_as_they_are() {
    for durability in [Durability::None, Durability::EachFile, Durability::AtFinish] {
        let case = Case::new();
        let outside = case.temp.path().join("data");
        fs::create_dir_all(outside.join("deep")).unwrap();
        case.folder("real/sub");
        case.link("relative", "real");
        case.link("absolute", &outside);
        case.link("real/sub/up", "../../relative/sub");
        case.link("chain", "real/../absolute/./deep");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let was = fs::metadata(&outside).unwrap().mode();
        let tree = following().durability(durability).open(&case.root).unwrap();
        let folder = Metadata::default().mode(0o700).modified(time);
        tree.folder("absolute", folder).unwrap();
        for path in ["relative/a", "relative/sub/b", "absolute/c", "absolute/new/d", "real/sub/up/e", "chain/f"] {
            tree.file(path, path).unwrap();
        }
        tree.symlink("relative/link", "a", Metadata::default()).unwrap();
        tree.hard_link("absolute/hard", "relative/a").unwrap();
        let report = finish(tree);
        let is_other_disk = report.failures.iter().all(|failure| failure.kind() == std::io::ErrorKind::CrossesDevices);
        assert!(is_other_disk, "{report:?}");
        for path in ["real/a", "real/sub/b", "real/sub/e", "real/link"] {
            assert!(fs::symlink_metadata(case.root.join(path)).is_ok(), "{path}");
        }
        for path in ["c", "new/d", "deep/f"] {
            assert!(outside.join(path).is_file(), "{path}");
        }
        assert!(["relative", "absolute", "chain", "real/sub/up"].into_iter().all(|path| case.is_link(path)));
        let is = fs::metadata(&outside).unwrap();
        assert!(is.mode() == was && is.modified().unwrap() != time, "the folder there is as it was");
    }
}

#[test]
fn without_being_asked_none_is_followed() {
    let case = Case::new();
    case.link("way", &case.secret);
    let tree = TreeWriter::open(&case.root).unwrap();
    tree.file("way/file", "").unwrap();
    all_refused(&finish(tree), 1);
    case.assert_nothing_left_the_root();
}

#[test]
fn a_link_that_the_run_made_is_not_followed_by_any_path() {
    let case = Case::new();
    case.folder("a");
    case.folder("a/deep/er");
    case.link("b", "a");
    case.link("c", "b/deep/..");
    let secret = case.secret.clone();
    let link = |path: &'static str| {
        let secret = secret.clone();
        move |tree: &TreeWriter| tree.symlink(path, secret.as_path(), Metadata::default()).unwrap()
    };
    let file = |path: &'static str| move |tree: &TreeWriter| tree.file(path, "").unwrap();
    let report = one_by_one(
        following(),
        &case.root,
        &[
            &link("a/out"),
            &file("a/out/1"),
            &file("b/out/2"),
            &file("c/out/3"),
            &link("b/too"),
            &file("a/too/4"),
            &file("c/too/5"),
        ],
    );
    all_refused(&report, 5);
    case.assert_nothing_left_the_root();
}

#[test]
fn an_old_link_that_leads_through_one_of_the_run_s_is_not_followed() {
    let case = Case::new();
    case.folder("a");
    case.link("old", "a/out/inner");
    case.link("older", "old");
    fs::create_dir(case.secret.join("inner")).unwrap();
    let report = one_by_one(
        following(),
        &case.root,
        &[
            &|tree| tree.symlink("a/out", case.secret.as_path(), Metadata::default()).unwrap(),
            &|tree| tree.file("old/1", "").unwrap(),
            &|tree| tree.file("older/2", "").unwrap(),
        ],
    );
    all_refused(&report, 2);
    assert_eq!(fs::read_dir(case.secret.join("inner")).unwrap().count(), 0);
}

#[test]
fn a_link_that_took_an_old_one_s_place_or_is_another_name_of_one_is_the_run_s() {
    for policy in [OnConflict::Replace, OnConflict::Overwrite] {
        let case = Case::new();
        case.folder("a");
        case.link("way", "a");
        case.link("kept", &case.secret);
        let report = one_by_one(
            following().on_conflict(policy),
            &case.root,
            &[
                &|tree| tree.symlink("way", case.secret.as_path(), Metadata::default()).unwrap(),
                &|tree| tree.file("way/1", "").unwrap(),
                &|tree| tree.hard_link("again", "kept").unwrap(),
                &|tree| tree.file("again/2", "").unwrap(),
            ],
        );
        all_refused(&report, 2);
        case.assert_nothing_left_the_root();
    }
    // Another name, because its own is taken.
    let case = Case::new();
    case.folder("a");
    case.link("way", "a");
    let report = one_by_one(
        following().on_conflict(OnConflict::Rename),
        &case.root,
        &[&|tree| tree.symlink("way", case.secret.as_path(), Metadata::default()).unwrap(), &|tree| {
            tree.file("way (1)/1", "").unwrap()
        }],
    );
    all_refused(&report, 1);
    case.assert_nothing_left_the_root();
}

#[test]
fn a_link_that_is_skipped_was_there_and_is_followed_still() {
    let case = Case::new();
    case.folder("a");
    case.link("way", "a");
    let report = one_by_one(
        following().on_conflict(OnConflict::Skip),
        &case.root,
        &[&|tree| tree.symlink("way", case.secret.as_path(), Metadata::default()).unwrap(), &|tree| {
            tree.file("way/file", "").unwrap()
        }],
    );
    assert!(report.is_complete() && report.skipped == 1, "{report:?}");
    assert!(case.root.join("a/file").is_file());
    case.assert_nothing_left_the_root();
}

#[test]
fn links_that_lead_to_no_folder_or_in_circles_are_failures() {
    let case = Case::new();
    fs::write(case.root.join("file"), "").unwrap();
    for (path, to) in
        [("nowhere", "none"), ("to a file", "file"), ("circle", "circle"), ("one", "other"), ("other", "one")]
    {
        case.link(path, to);
    }
    let tree = following().open(&case.root).unwrap();
    for path in ["nowhere/f", "to a file/f", "circle/f", "one/f"] {
        tree.file(path, "").unwrap();
    }
    assert_eq!(finish(tree).failures.len(), 4);
    assert!(!case.root.join("none").exists());
}

#[test]
fn a_link_that_another_program_made_after_the_run_began_was_not_there_before() {
    let case = Case::new();
    case.folder("a");
    case.link("way", "a");
    case.link("old", "a/inner");
    let tree = following().open(&case.root).unwrap();
    thread::sleep(Duration::from_millis(20));
    case.link("new", &case.secret);
    fs::rename(case.root.join("new"), case.root.join("way")).unwrap();
    case.link("a/inner", &case.secret);
    tree.file("way/1", "").unwrap();
    tree.file("old/2", "").unwrap();
    all_refused(&finish(tree), 2);
    case.assert_nothing_left_the_root();
}

#[test]
fn whoever_swaps_links_during_the_run_leads_nothing_out_of_the_root() {
    const LINKS: usize = 40;
    let case = Case::new();
    case.folder("a");
    (0..LINKS).for_each(|n| case.link(&format!("way{n}"), "a"));
    let tree = following().threads(2).open(&case.root).unwrap();
    thread::sleep(Duration::from_millis(20));
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let swap = || {
            let new = case.root.join("new");
            for n in (0..LINKS).cycle() {
                for to in [case.secret.as_path(), Path::new("a")] {
                    symlink(to, &new).unwrap();
                    fs::rename(&new, case.root.join(format!("way{n}"))).unwrap();
                }
                if ended.load(Relaxed) {
                    return;
                }
            }
        };
        scope.spawn(swap);
        for n in 0..4000 {
            tree.file(format!("way{}/{n}", n * 7 % LINKS), "").unwrap();
        }
        let report = finish(tree);
        ended.store(true, Relaxed);
        let refused = |failure: &manyfiles::Error| failure.refusal() == Some(Refusal::ThroughSymlink);
        assert!(report.failures.iter().all(refused), "{:?}", report.failures.iter().find(|failure| !refused(failure)));
    });
    case.assert_nothing_left_the_root();
}
