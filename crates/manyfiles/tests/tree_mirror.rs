//! A tree made equal to another, whatever both were before.
#![cfg(feature = "full")]
#![cfg(unix)]

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use manyfiles::tree::{EntryKind, Mirror, What};
use tempfile::tempdir;

/// All that is to be equal: kind, permissions, time, content, and which names are of one file.
fn manifest(root: &Path) -> BTreeMap<PathBuf, String> {
    let (mut all, mut files) = (BTreeMap::new(), HashMap::new());
    let mut left = vec![PathBuf::new()];
    let mut paths = Vec::new();
    while let Some(path) = left.pop() {
        if fs::symlink_metadata(root.join(&path)).unwrap().is_dir() {
            left.extend(fs::read_dir(root.join(&path)).unwrap().map(|entry| path.join(entry.unwrap().file_name())));
        }
        paths.push(path);
    }
    paths.sort();
    for path in paths {
        let full = root.join(&path);
        let stat = fs::symlink_metadata(&full).unwrap();
        let first = match stat.is_dir() {
            true => path.clone(),
            false => files.entry((stat.dev(), stat.ino())).or_insert_with(|| path.clone()).clone(),
        };
        let content = match stat.file_type() {
            kind if kind.is_dir() => "folder".into(),
            kind if kind.is_symlink() => format!("-> {}", fs::read_link(&full).unwrap().display()),
            kind if kind.is_file() => format!("{:?}", fs::read(&full).unwrap()),
            kind => format!("{kind:?} {}", stat.rdev()),
        };
        let mode = if stat.is_symlink() { 0 } else { stat.mode() & 0o1777 };
        all.insert(path, format!("{mode:o} {:?} {first:?} {content}", stat.modified().unwrap()));
    }
    all
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

fn set_time(path: &Path, seconds: u64) {
    let time = UNIX_EPOCH + Duration::new(1_000_000_000 + seconds, 123_456_700);
    fs::File::open(path).unwrap().set_modified(time).unwrap();
}

/// Changes a tree at random: what it makes, and what it finds.
fn change(root: &Path, random: &mut Random, changes: u64) {
    for _ in 0..changes {
        let mut folder = root.to_owned();
        for _ in 0..random.below(4) {
            folder.push(format!("d{}", random.below(3)));
            if !fs::symlink_metadata(&folder).is_ok_and(|it| it.is_dir()) {
                if fs::symlink_metadata(&folder).is_ok() {
                    fs::remove_file(&folder).unwrap();
                }
                fs::create_dir(&folder).unwrap();
            }
        }
        let at = folder.join(format!("{}{}", ["d", "f", "f", "f"][random.below(4) as usize], random.below(4)));
        match fs::symlink_metadata(&at) {
            Ok(there) if there.is_dir() && random.below(3) > 0 => continue,
            Ok(there) if there.is_dir() => fs::remove_dir_all(&at).unwrap(),
            Ok(there) if there.is_file() && random.below(4) == 0 => {
                let mode = [0o644, 0o600, 0o755][random.below(3) as usize];
                fs::set_permissions(&at, fs::Permissions::from_mode(mode)).unwrap();
                continue;
            }
            Ok(_) => fs::remove_file(&at).unwrap(),
            Err(_) => {}
        }
        match random.below(11) {
            0 => {}
            10 => {
                // What has another path, with all that is in it.
                let old = root.join(format!("{}{}", ["d", "f"][random.below(2) as usize], random.below(4)));
                if !at.starts_with(&old) && fs::symlink_metadata(&old).is_ok() {
                    fs::rename(old, &at).unwrap();
                }
            }
            1 => symlink(format!("f{}", random.below(4)), &at).unwrap(),
            2 => {
                let other = folder.join(format!("f{}", random.below(4)));
                if fs::symlink_metadata(&other).is_ok_and(|it| it.is_file()) {
                    fs::hard_link(&other, &at).unwrap();
                }
            }
            3 => {
                fs::create_dir(&at).unwrap();
                fs::set_permissions(&at, fs::Permissions::from_mode([0o755, 0o700, 0o500][random.below(3) as usize]))
                    .unwrap();
                fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap();
            }
            _ => {
                fs::write(&at, vec![random.below(256) as u8; random.below(3) as usize * 1000]).unwrap();
                fs::set_permissions(&at, fs::Permissions::from_mode([0o644, 0o600, 0o755][random.below(3) as usize]))
                    .unwrap();
                // No two files have one time: a quick comparison would take them for one.
                set_time(&at, random.below(1_000_000_000));
            }
        }
    }
}

#[test]
fn trees_of_any_two_kinds_become_equal_and_a_second_run_finds_nothing() {
    let seed = std::env::var("MANYFILES_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64 | 1);
    eprintln!("MANYFILES_SEED={seed}");
    let mut random = Random(seed);
    for _ in 0..60 {
        let temp = tempdir().unwrap();
        let (source, target) = (temp.path().join("source"), temp.path().join("target"));
        fs::create_dir(&source).unwrap();
        change(&source, &mut random, 60);
        if random.below(3) == 0 {
            // The same once, but for what has changed or moved since.
            Mirror::new().mirror(&source, &target).unwrap();
            change(&source, &mut random, 20);
        } else if random.below(4) > 0 {
            fs::create_dir(&target).unwrap();
            change(&target, &mut random, 40);
        }
        let mirror = Mirror::new().max_delete(u64::MAX).by_content(random.below(2) == 0);
        for _ in 0..3 {
            let before = mirror.compare(&source, &target).unwrap();
            let mirrored = mirror.mirror(&source, &target).unwrap();
            let removed = mirrored.removed.files + mirrored.removed.folders;
            assert_eq!(removed, before.removals(), "{before:#?}");
            let (is, should) = (manifest(&target), manifest(&source));
            let wrong: Vec<_> =
                is.keys().chain(should.keys()).filter(|path| is.get(*path) != should.get(*path)).collect();
            let shown = |path: &PathBuf| (path.clone(), is.get(path).cloned(), should.get(path).cloned());
            let short = wrong.iter().map(|path| shown(path)).collect::<Vec<_>>();
            let found: Vec<_> = before.iter().filter(|it| wrong.contains(&&it.path)).collect();
            assert!(wrong.is_empty(), "{short:#?}\n{found:#?}");
            let after = mirror.compare(&source, &target).unwrap();
            assert!(after.is_empty(), "{after:#?}");
            change(&source, &mut random, 10);
        }
    }
}

#[test]
fn an_empty_source_and_too_many_removals_are_refused_and_nothing_is_touched() {
    let temp = tempdir().unwrap();
    let (source, target) = (temp.path().join("source"), temp.path().join("target"));
    fs::create_dir(&source).unwrap();
    fs::create_dir_all(target.join("folder")).unwrap();
    fs::write(target.join("folder/file"), "precious").unwrap();
    let before = manifest(&target);
    let refused = Mirror::new().mirror(&source, &target).unwrap_err();
    assert!(refused.to_string().contains("mounted"), "{refused}");
    fs::write(source.join("new"), "new").unwrap();
    let refused = Mirror::new().max_delete(1).mirror(&source, &target).unwrap_err();
    assert!(refused.to_string().contains("2 names"), "{refused}");
    assert_eq!(manifest(&target), before);
    let mirrored = Mirror::new().max_delete(2).mirror(&source, &target).unwrap();
    assert_eq!((mirrored.removed.files, mirrored.removed.folders, mirrored.written.files), (1, 1, 1));
}

#[test]
fn what_has_grown_or_become_something_else_since_it_was_compared_is_not_removed() {
    for grows in [true, false] {
        let temp = tempdir().unwrap();
        let (source, target) = (temp.path().join("source"), temp.path().join("target"));
        for path in ["source/new", "source/file", "target/gone/old", "target/file/old", "target/other"] {
            fs::create_dir_all(temp.path().join(path).parent().unwrap()).unwrap();
            fs::write(temp.path().join(path), path).unwrap();
        }
        let found = Mirror::new().max_delete(5).find_moved(false).compare(&source, &target).unwrap();
        assert_eq!(found.removals(), 5);
        if grows {
            fs::write(target.join("gone/precious"), "precious").unwrap();
        } else {
            fs::remove_file(target.join("other")).unwrap();
            fs::create_dir(target.join("other")).unwrap();
            fs::rename(target.join("gone/old"), target.join("other/old")).unwrap();
        }
        let not = found.apply().unwrap_err();
        assert!(not.to_string().contains(if grows { "6 names" } else { "other" }), "{not}");
        assert_eq!(target.join("gone/precious").exists(), grows);
        assert!(target.join("file/old").exists() && target.join("gone").exists());
        assert!(target.join("other").exists() && target.join("new").exists());
    }
}

#[test]
fn a_source_with_nothing_but_what_is_left_out_counts_as_empty() {
    let temp = tempdir().unwrap();
    let (source, target) = (temp.path().join("source"), temp.path().join("target"));
    fs::create_dir_all(source.join("lost+found")).unwrap();
    fs::create_dir_all(target.join("photos")).unwrap();
    fs::write(target.join("photos/1"), "precious").unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(source.join("socket")).unwrap();
    let before = manifest(&target);
    let mirror = Mirror::new().exclude(|path| path == Path::new("lost+found"));
    let refused = mirror.mirror(&source, &target).unwrap_err();
    assert!(refused.to_string().contains("is it mounted?"), "{refused}");
    assert_eq!(manifest(&target), before);
    assert_eq!(mirror.max_delete(2).mirror(&source, &target).unwrap().removed.files, 1);
}

#[test]
fn one_in_the_other_is_refused() {
    let temp = tempdir().unwrap();
    let outer = temp.path().join("outer");
    fs::create_dir_all(outer.join("inner")).unwrap();
    symlink(&outer, temp.path().join("link")).unwrap();
    for (source, target) in [
        ("outer", "outer"),
        ("outer", "outer/inner"),
        ("outer/inner", "outer"),
        ("outer", "outer/new/deep"),
        ("link", "outer/inner"),
        ("outer/inner", "link"),
    ] {
        let refused = Mirror::new().compare(temp.path().join(source), temp.path().join(target)).unwrap_err();
        assert!(refused.to_string().contains("is in the"), "{source} {target}: {refused}");
    }
}

#[test]
fn what_is_excluded_is_neither_copied_nor_removed() {
    let temp = tempdir().unwrap();
    let (source, target) = (temp.path().join("source"), temp.path().join("target"));
    fs::create_dir_all(source.join("cache")).unwrap();
    fs::create_dir_all(target.join("gone/cache")).unwrap();
    for file in ["source/cache/1", "source/a", "target/gone/cache/2", "target/gone/3", "target/cache"] {
        fs::write(temp.path().join(file), file).unwrap();
    }
    let mirror = Mirror::new().exclude(|path| path.ends_with("cache"));
    let mirrored = mirror.mirror(&source, &target).unwrap();
    assert_eq!((mirrored.written.files, mirrored.removed.files, mirrored.removed.folders), (1, 1, 0));
    assert_eq!(fs::read_to_string(target.join("gone/cache/2")).unwrap(), "target/gone/cache/2");
    assert_eq!(fs::read_to_string(target.join("cache")).unwrap(), "target/cache");
}

#[test]
fn a_second_mirror_of_one_target_is_told_and_touches_nothing() {
    let temp = tempdir().unwrap();
    let (source, target) = (temp.path().join("source"), temp.path().join("target"));
    fs::create_dir_all(&source).unwrap();
    fs::write(source.join("a"), "a").unwrap();
    let inner = (source.clone(), target.clone());
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = told.clone();
    // Asked about a path that is being handed over: the first mirror is at work then.
    fs::create_dir(source.join("new")).unwrap();
    fs::write(source.join("new/b"), "b").unwrap();
    let is_writing = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let begins = is_writing.clone();
    let outer = Mirror::new().exclude(move |path| {
        if path == Path::new("new/b") && is_writing.load(std::sync::atomic::Ordering::Relaxed) {
            let second = Mirror::new().mirror(&inner.0, &inner.1);
            heard.lock().unwrap().push(second.map(drop).map_err(|not| not.to_string()));
        }
        false
    });
    let found = outer.compare(&source, &target).unwrap();
    begins.store(true, std::sync::atomic::Ordering::Relaxed);
    found.apply().unwrap();
    let told = told.lock().unwrap();
    assert!(told.len() == 1 && told[0].as_ref().unwrap_err().contains("another mirror"), "{told:?}");
    assert_eq!(manifest(&target), manifest(&source));
}

#[test]
fn nothing_is_removed_if_anything_could_not_be_written() {
    let temp = tempdir().unwrap();
    let (source, target) = (temp.path().join("source"), temp.path().join("target"));
    fs::create_dir_all(&source).unwrap();
    fs::create_dir_all(&target).unwrap();
    fs::write(source.join("a"), "a").unwrap();
    fs::write(source.join("b"), "b").unwrap();
    fs::write(target.join("old"), "old").unwrap();
    let found = Mirror::new().compare(&source, &target).unwrap();
    fs::remove_file(source.join("b")).unwrap();
    let not = found.apply().unwrap_err();
    assert_eq!((not.mirrored().kept, not.mirrored().written.files), (1, 1), "{not}");
    assert!(target.join("old").exists());
}

#[test]
fn what_is_of_another_kind_is_replaced_only_when_all_has_arrived() {
    for gone in [None, Some("new"), Some("file"), Some("folder/in")] {
        let temp = tempdir().unwrap();
        let (source, target) = (temp.path().join("source"), temp.path().join("target"));
        fs::create_dir_all(source.join("folder")).unwrap();
        fs::create_dir_all(target.join("file")).unwrap();
        for path in ["source/new", "source/file", "source/folder/in", "source/link"] {
            fs::write(temp.path().join(path), path).unwrap();
        }
        fs::hard_link(source.join("link"), source.join("folder/link")).unwrap();
        for path in ["target/file/precious", "target/folder", "target/old"] {
            fs::write(temp.path().join(path), path).unwrap();
        }
        let names = |path: &Path| manifest(path).into_keys().collect::<Vec<_>>();
        let before = names(&target);
        let is_going = std::sync::Arc::new(std::sync::Mutex::new(false));
        let (goes, there) = (is_going.clone(), source.clone());
        let mirror = Mirror::new().exclude(move |path| {
            // It vanishes while what is new is written.
            if path == Path::new("folder/in") && gone == Some("folder/in") && *goes.lock().unwrap() {
                fs::remove_file(there.join("folder/in")).unwrap();
            }
            false
        });
        let found = mirror.compare(&source, &target).unwrap();
        *is_going.lock().unwrap() = true;
        if let Some(gone) = gone.filter(|gone| *gone != "folder/in") {
            fs::remove_file(source.join(gone)).unwrap();
        }
        match (gone, found.apply()) {
            (None, mirrored) => {
                assert_eq!(mirrored.unwrap().written.hard_links, 1);
                assert_eq!(manifest(&target), manifest(&source));
            }
            (Some(gone), mirrored) => {
                let not = mirrored.unwrap_err();
                assert!(not.to_string().contains(gone) && !not.to_string().contains(".manyfiles"), "{not}");
                let is_new = |path: &PathBuf| ["new", "link"].iter().any(|new| path == Path::new(new));
                let after: Vec<_> = names(&target).into_iter().filter(|path| !is_new(path)).collect();
                assert_eq!(after, before, "{gone}");
                assert!(target.join("file/precious").is_file() && target.join("folder").is_file(), "{gone}");
            }
        }
    }
}

#[test]
fn what_is_left_out_in_the_way_of_something_is_named_and_nothing_is_removed() {
    let temp = tempdir().unwrap();
    let (source, target) = (temp.path().join("source"), temp.path().join("target"));
    fs::create_dir_all(&source).unwrap();
    fs::create_dir_all(target.join("file/in")).unwrap();
    fs::write(source.join("file"), "a file").unwrap();
    for path in ["file/other", "file/in/log", "old"] {
        fs::write(target.join(path), path).unwrap();
    }
    let not = Mirror::new().exclude(|path| path.ends_with("log")).mirror(&source, &target).unwrap_err();
    assert!(not.to_string().contains("log") && not.to_string().contains("left out"), "{not}");
    for path in ["file/other", "file/in/log", "old"] {
        assert!(target.join(path).exists(), "{path}");
    }
}

/// The program's `exclude` is asked after a folder was listed, and before what is not in it counts as extra.
#[test]
fn a_folder_of_the_source_that_vanishes_or_is_replaced_meanwhile_is_no_empty_folder() {
    for (folder, is_replaced) in [("both", false), ("both", true), ("new", false), ("new", true)] {
        let temp = tempdir().unwrap();
        let (source, target) = (temp.path().join("source"), temp.path().join("target"));
        for path in ["source/both/a", "source/new/a", "target/both/a", "target/both/precious"] {
            fs::create_dir_all(temp.path().join(path).parent().unwrap()).unwrap();
            fs::write(temp.path().join(path), path).unwrap();
        }
        let (there, aside) = (source.join(folder), temp.path().join("aside"));
        // A new folder is listed to find what moved, and again when it is written: that is the time meant.
        let is_time = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(folder == "both"));
        let time = is_time.clone();
        let mirror = Mirror::new().exclude(move |path| {
            let is_time = time.load(std::sync::atomic::Ordering::Relaxed);
            if is_time && path == Path::new(folder).join("a") && !aside.exists() {
                fs::rename(&there, &aside).unwrap();
                if is_replaced {
                    fs::create_dir(&there).unwrap();
                }
            }
            // Nothing else of that folder fails.
            path == Path::new("new/a")
        });
        let found = mirror.compare(&source, &target).unwrap();
        is_time.store(true, std::sync::atomic::Ordering::Relaxed);
        let not = found.apply().unwrap_err();
        assert!(not.to_string().contains(folder), "{not}");
        assert!(target.join("both/precious").exists(), "{not}");
    }
}

#[test]
fn names_of_one_file_are_parted_where_the_source_has_two() {
    let temp = tempdir().unwrap();
    let (source, target) = (temp.path().join("source"), temp.path().join("target"));
    fs::create_dir_all(&source).unwrap();
    fs::create_dir_all(&target).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(source.join(name), "same").unwrap();
        set_time(&source.join(name), 1);
    }
    fs::hard_link(source.join("c"), source.join("d")).unwrap();
    fs::write(target.join("a"), "same").unwrap();
    set_time(&target.join("a"), 1);
    for name in ["b", "c", "d"] {
        fs::hard_link(target.join("a"), target.join(name)).unwrap();
    }
    let mirrored = Mirror::new().mirror(&source, &target).unwrap();
    assert_eq!((mirrored.unchanged, mirrored.written.files, mirrored.written.hard_links), (1, 2, 1));
    assert_eq!(manifest(&target), manifest(&source));
}

#[test]
fn the_differences_say_what_differs() {
    let temp = tempdir().unwrap();
    let (source, target) = (temp.path().join("source"), temp.path().join("target"));
    for root in [&source, &target] {
        fs::create_dir_all(root.join("both")).unwrap();
        fs::write(root.join("both/same"), "same").unwrap();
        fs::write(root.join("both/mode"), "mode").unwrap();
        for name in ["same", "mode"] {
            set_time(&root.join("both").join(name), 1);
        }
    }
    fs::write(source.join("both/new"), "12345").unwrap();
    fs::write(target.join("both/extra"), "").unwrap();
    fs::set_permissions(target.join("both/mode"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(source.join("kind")).unwrap();
    fs::write(target.join("kind"), "").unwrap();
    let found = Mirror::new().compare(&source, &target).unwrap();
    let all: Vec<_> = found
        .iter()
        .filter(|it| !(it.what == What::Metadata && it.kind == EntryKind::Folder))
        .map(|it| (it.path.to_str().unwrap(), it.kind, it.what.clone(), it.len))
        .collect();
    assert_eq!(
        all,
        [
            ("both/extra", EntryKind::File, What::Extra, 0),
            ("both/mode", EntryKind::File, What::Metadata, 4),
            ("both/new", EntryKind::File, What::New, 5),
            ("kind", EntryKind::Folder, What::Kind, 0),
        ]
    );
    assert_eq!((found.unchanged(), found.removals()), (1, 2));
}
