//! Files that have another path in the source by now are renamed in the target, if nothing else can be meant.
#![cfg(feature = "full")]
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use manyfiles::tree::{EntryKind, Mirror, What};
use tempfile::{TempDir, tempdir};

/// A source and a target that are equal: some files in folders, each with a time of its own.
fn pair() -> (TempDir, PathBuf, PathBuf) {
    let temp = tempdir().unwrap();
    let (source, target) = (temp.path().join("source"), temp.path().join("target"));
    for n in 0..12_u32 {
        let path = source.join(format!("d{}/in/f{n}", n % 3));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write(&path, &format!("the file {n}"), n);
    }
    Mirror::new().mirror(&source, &target).unwrap();
    (temp, source, target)
}

fn write(path: &Path, content: &str, time: u32) {
    fs::write(path, content).unwrap();
    let time = UNIX_EPOCH + Duration::new(1_000_000_000, time * 1000);
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

#[test]
fn a_folder_that_moved_is_neither_copied_nor_removed() {
    let (_temp, source, target) = pair();
    let before = inode(&target.join("d1/in/f4"));
    fs::create_dir(source.join("new")).unwrap();
    fs::rename(source.join("d1"), source.join("new/other")).unwrap();
    fs::rename(source.join("d2/in/f2"), source.join("f2")).unwrap();
    let found = Mirror::new().compare(&source, &target).unwrap();
    assert_eq!(found.removals(), 2, "the folders d1 and d1/in");
    let moved: Vec<_> = found.iter().filter(|it| matches!(it.what, What::Moved(_))).collect();
    assert_eq!(moved.len(), 5, "{found:#?}");
    assert_eq!((moved[0].path.to_str(), &moved[0].what), (Some("f2"), &What::Moved("d2/in/f2".into())));
    assert!(moved.iter().all(|it| it.kind == EntryKind::File && it.len > 0));
    let mirrored = found.apply().unwrap();
    assert_eq!((mirrored.moved, mirrored.written.files, mirrored.written.bytes), (5, 0, 0));
    assert_eq!((mirrored.removed.files, mirrored.removed.folders), (0, 2));
    assert_eq!(inode(&target.join("new/other/in/f4")), before);
    assert_eq!(fs::read_to_string(target.join("new/other/in/f4")).unwrap(), "the file 4");
    let again = Mirror::new().compare(&source, &target).unwrap();
    assert!(again.is_empty(), "{again:#?}");
}

#[test]
fn a_file_with_the_same_length_and_time_and_other_bytes_is_copied() {
    let (_temp, source, target) = pair();
    fs::remove_file(source.join("d0/in/f0")).unwrap();
    write(&source.join("new"), "THE FILE 0", 0);
    let mirrored = Mirror::new().mirror(&source, &target).unwrap();
    assert_eq!((mirrored.moved, mirrored.written.files, mirrored.removed.files), (0, 1, 1));
    assert_eq!(fs::read_to_string(target.join("new")).unwrap(), "THE FILE 0");
}

#[test]
fn what_two_files_can_be_is_copied() {
    let (_temp, source, target) = pair();
    fs::rename(source.join("d0/in/f0"), source.join("one")).unwrap();
    write(&source.join("other"), "the file 0", 0);
    fs::rename(source.join("d0/in/f3"), source.join("single")).unwrap();
    write(&target.join("extra"), "the file 3", 3);
    let mirrored = Mirror::new().mirror(&source, &target).unwrap();
    assert_eq!((mirrored.moved, mirrored.written.files, mirrored.removed.files), (0, 3, 3));
    assert!(Mirror::new().compare(&source, &target).unwrap().is_empty());
}

#[test]
fn a_name_of_a_file_that_has_others_in_the_target_is_not_moved() {
    let (_temp, source, target) = pair();
    fs::rename(source.join("d0/in/f0"), source.join("new")).unwrap();
    fs::hard_link(target.join("d0/in/f0"), target.parent().unwrap().join("kept elsewhere")).unwrap();
    let mirrored = Mirror::new().mirror(&source, &target).unwrap();
    assert_eq!((mirrored.moved, mirrored.written.files), (0, 1));
}

#[test]
fn a_moved_file_gets_the_permissions_of_its_source() {
    let (_temp, source, target) = pair();
    fs::rename(source.join("d0/in/f0"), source.join("new")).unwrap();
    fs::set_permissions(source.join("new"), fs::Permissions::from_mode(0o640)).unwrap();
    let mirrored = Mirror::new().mirror(&source, &target).unwrap();
    assert_eq!((mirrored.moved, mirrored.written.files), (1, 0));
    assert_eq!(fs::metadata(target.join("new")).unwrap().mode() & 0o777, 0o640);
    assert!(Mirror::new().compare(&source, &target).unwrap().is_empty());
}

#[test]
fn what_is_excluded_is_not_moved_away_and_max_delete_does_not_count_moves() {
    let (_temp, source, target) = pair();
    fs::rename(source.join("d0/in/f0"), source.join("new")).unwrap();
    fs::rename(source.join("d1"), source.join("e1")).unwrap();
    fs::remove_file(source.join("d2/in/f2")).unwrap();
    let refused = Mirror::new().max_delete(2).mirror(&source, &target).unwrap_err();
    assert!(refused.to_string().contains("3 names"), "{refused}");
    let mirror = Mirror::new().max_delete(3).exclude(|path| path.ends_with("d0/in/f0") || path.ends_with("d2/in/f2"));
    let mirrored = mirror.mirror(&source, &target).unwrap();
    assert_eq!((mirrored.moved, mirrored.written.files, mirrored.removed.folders), (4, 1, 2));
    assert!(target.join("d0/in/f0").exists() && target.join("d2/in/f2").exists());
}

#[test]
fn a_file_that_became_another_one_since_it_was_compared_is_copied() {
    let (_temp, source, target) = pair();
    fs::rename(source.join("d0/in/f0"), source.join("new")).unwrap();
    fs::rename(source.join("d0/in/f3"), source.join("other")).unwrap();
    let found = Mirror::new().compare(&source, &target).unwrap();
    write(&target.join("d0/in/f0"), "longer than it was", 0);
    fs::create_dir(target.join("other")).unwrap();
    let not = found.apply().unwrap_err();
    assert_eq!((not.mirrored().moved, not.mirrored().written.files), (0, 1), "{not}");
    assert_eq!(fs::read_to_string(target.join("new")).unwrap(), "the file 0");
    assert!(target.join("d0/in/f3").exists(), "nothing is removed, since a folder is in the way of one");
    Mirror::new().mirror(&source, &target).unwrap();
    assert!(Mirror::new().compare(&source, &target).unwrap().is_empty());
}

#[test]
fn without_being_asked_to_nothing_is_moved() {
    let (_temp, source, target) = pair();
    fs::rename(source.join("d0/in/f0"), source.join("new")).unwrap();
    let mirrored = Mirror::new().find_moved(false).mirror(&source, &target).unwrap();
    assert_eq!((mirrored.moved, mirrored.written.files, mirrored.removed.files), (0, 1, 1));
}
