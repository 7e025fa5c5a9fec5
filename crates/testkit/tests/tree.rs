//! A tree remembers everything that a writer could get wrong, and a difference says which.
#![cfg(unix)]

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use manyfiles_testkit::{Compare, Tree};

fn sample(root: &Path) {
    fs::create_dir_all(root.join("folder/empty")).unwrap();
    fs::write(root.join("folder/a"), "bytes").unwrap();
    fs::hard_link(root.join("folder/a"), root.join("folder/b")).unwrap();
    symlink("folder/a", root.join("link")).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    for path in ["folder/a", "folder/empty", "folder"] {
        File::open(root.join(path)).unwrap().set_modified(time).unwrap();
    }
}

/// What the difference says after `change` was made to one of two equal trees.
fn after(change: impl FnOnce(&Path)) -> String {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for root in [&one, &two] {
        sample(root.path());
    }
    change(two.path());
    let (one, two) = (Tree::read(one.path()).unwrap(), Tree::read(two.path()).unwrap());
    // Symbolic links were made at two moments.
    let mut differences = one.diff(&two, Compare::ALL);
    differences.0.retain(|line| !line.starts_with("link: expected time"));
    differences.to_string()
}

#[test]
fn equal_trees_have_no_differences() {
    assert_eq!(after(|_| ()), "");
}

#[test]
fn every_kind_of_change_is_named_with_its_path() {
    let keep_time = |root: &Path| {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        File::open(root.join("folder")).unwrap().set_modified(time).unwrap();
    };
    let bytes = after(|root| {
        fs::write(root.join("folder/a"), "Bytes").unwrap();
        File::open(root.join("folder/a"))
            .unwrap()
            .set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000))
            .unwrap();
    });
    assert!(bytes.contains("folder/a: expected file of 5 bytes, hash "), "{bytes}");
    let mode = after(|root| fs::set_permissions(root.join("folder/a"), fs::Permissions::from_mode(0o755)).unwrap());
    assert!(mode.contains("folder/a: expected mode 644, found 755"), "{mode}");
    let time = after(|root| File::open(root.join("folder/a")).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap());
    assert!(time.contains("folder/a: expected time 1000000.000000000, found 0.000000000"), "{time}");
    let missing = after(|root| {
        fs::remove_dir(root.join("folder/empty")).unwrap();
        keep_time(root);
    });
    assert_eq!(missing, "  folder/empty: missing (folder)\n");
    let extra = after(|root| fs::write(root.join("more"), "").unwrap());
    assert!(extra.contains("more: not expected (file of 0 bytes"), "{extra}");
    let target = after(|root| {
        fs::remove_file(root.join("link")).unwrap();
        symlink("elsewhere", root.join("link")).unwrap();
    });
    assert_eq!(target, "  link: expected symbolic link to folder/a, found symbolic link to elsewhere\n");
    let hard = after(|root| {
        fs::copy(root.join("folder/a"), root.join("folder/c")).unwrap();
        fs::rename(root.join("folder/c"), root.join("folder/b")).unwrap();
    });
    assert!(hard.contains("folder/b: expected a hard link to folder/a, found no link"), "{hard}");
}

#[test]
fn a_file_in_place_of_a_folder_is_a_difference() {
    let said = after(|root| {
        fs::remove_dir(root.join("folder/empty")).unwrap();
        fs::write(root.join("folder/empty"), "").unwrap();
    });
    assert!(said.contains("folder/empty: expected folder, found file of 0 bytes"), "{said}");
}

#[test]
fn a_file_with_a_hole_takes_less_than_its_length() {
    let root = tempfile::tempdir().unwrap();
    File::create(root.path().join("holes")).unwrap().set_len(8 << 20).unwrap();
    let tree = Tree::read(root.path()).unwrap();
    let entry = &tree.entries[Path::new("holes")];
    assert!(entry.allocated < 1 << 20);
}
