//! A sync goes by the name: what was written by it is durable, and the file that has it now, and the name. What fails
//! is the failure of a file, not of whatever has its name later.
#![cfg(all(target_os = "linux", feature = "full"))]

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use manyfiles::vfs::Vfs;
use manyfiles_testkit::{Call, Need, Preload, Rule, skip_unless};

mod support;

/// Longer than a kept handle goes without a look at its path.
const A_WHILE: Duration = Duration::from_millis(50);

fn replace(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(&new, path).unwrap();
}

/// Runs `body` in a child process in which these syncs fail, each the nth of files whose path has this in it.
fn with_failing_syncs(test: &str, rules: &[(&str, u64)], body: impl FnOnce()) {
    let is_parent = support::in_parent(test, |child| {
        let rule = |&(path, n): &(&str, u64)| Rule::fail(Call::Fsync, libc::EIO).path_contains(path).nth(n);
        rules.iter().map(rule).fold(Preload::new(), Preload::rule).apply(child).unwrap();
    });
    if !is_parent {
        body();
    }
}

#[test]
fn what_others_have_put_there_is_synced_as_well() {
    skip_unless!(Need::Preload);
    // The handle's own file is the first.
    with_failing_syncs("what_others_have_put_there_is_synced_as_well", &[("unlucky", 2)], || {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("unlucky");
        let vfs = Vfs::new();
        vfs.append(&path, b"old").unwrap();
        replace(&path, "new");
        assert_eq!(vfs.sync(&path).unwrap_err().raw_os_error(), Some(libc::EIO));
    });
}

#[test]
fn the_name_that_is_given_is_synced_and_not_only_the_one_that_the_file_was_opened_by() {
    skip_unless!(Need::Preload);
    let test = "the_name_that_is_given_is_synced_and_not_only_the_one_that_the_file_was_opened_by";
    // The file, then its folder.
    with_failing_syncs(test, &[("unlucky", 2)], || {
        let temp = tempfile::tempdir().unwrap();
        let (path, alias) = (temp.path().join("file"), temp.path().join("unlucky/alias"));
        fs::create_dir(alias.parent().unwrap()).unwrap();
        let vfs = Vfs::new();
        vfs.append(&path, b"1").unwrap();
        vfs.sync(&path).unwrap();
        fs::hard_link(&path, &alias).unwrap();
        vfs.append(&alias, b"2").unwrap();
        let error = vfs.sync(&alias).unwrap_err();
        assert_eq!((error.path(), error.raw_os_error()), (alias.parent(), Some(libc::EIO)), "{error}");
    });
}

#[test]
fn a_sync_follows_the_name_whatever_others_have_done() {
    for buffered in [false, true] {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        let moved = temp.path().join("moved");
        let vfs = Vfs::new();
        let fresh = || {
            vfs.flush(&path).unwrap();
            vfs.append(&path, b"1").unwrap();
            if buffered {
                vfs.write(&path, b"2").unwrap();
                vfs.write(&path, b"3").unwrap();
            }
        };
        fresh();
        fs::remove_file(&path).unwrap();
        if buffered {
            // What was buffered goes to the file that has the name, which is made for it.
            vfs.sync(&path).unwrap();
            assert!(b"123".ends_with(&fs::read(&path).unwrap()));
        } else {
            assert_eq!(vfs.sync(&path).unwrap_err().kind(), ErrorKind::NotFound);
            assert!(!path.exists());
        }
        fresh();
        fs::rename(&path, &moved).unwrap();
        fs::write(&path, "another").unwrap();
        vfs.sync(&path).unwrap();
        vfs.sync(&path).unwrap();
        assert!(fs::read(&path).unwrap().starts_with(b"another"));
        vfs.read(&path).unwrap();
        vfs.wait().unwrap();
    }
}

/// As editors do that keep the old file by another name.
#[test]
fn a_file_that_lives_on_by_another_name_is_no_failure_of_the_one_that_replaced_it() {
    let temp = tempfile::tempdir().unwrap();
    let (path, backup) = (temp.path().join("file"), temp.path().join("folder/backup"));
    fs::create_dir(backup.parent().unwrap()).unwrap();
    let vfs = Vfs::new();
    vfs.append(&path, b"old").unwrap();
    fs::hard_link(&path, &backup).unwrap();
    replace(&path, "new");
    vfs.sync(&path).unwrap();
    assert_eq!(vfs.read(&path).unwrap(), b"new");
    vfs.write(&path, b"+").unwrap();
    vfs.write(&backup, b"-").unwrap();
    vfs.sync(&backup).unwrap();
    vfs.sync(&path).unwrap();
    vfs.wait().unwrap();
    assert_eq!((&*fs::read(&path).unwrap(), &*fs::read(&backup).unwrap()), (&b"new+"[..], &b"old-"[..]));
}

#[test]
fn a_failure_that_was_told_is_not_that_of_the_file_that_others_put_there() {
    skip_unless!(Need::Preload);
    let test = "a_failure_that_was_told_is_not_that_of_the_file_that_others_put_there";
    // The old file's, the new one's own, and the fourth is one that nobody has heard of.
    with_failing_syncs(test, &[("unlucky", 1), ("unlucky", 3)], || {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("unlucky");
        let vfs = Vfs::new();
        vfs.append(&path, b"old").unwrap();
        vfs.sync(&path).unwrap_err();
        vfs.read(&path).unwrap_err();
        let held = fs::File::open(&path).unwrap(); // so that no new file has its number
        replace(&path, "new");
        assert_eq!(vfs.read(&path).unwrap(), b"new");
        vfs.write(&path, b"+").unwrap();
        assert_eq!(vfs.size(&path).unwrap(), 4);
        vfs.sync(&path).unwrap();
        vfs.flush(&path).unwrap();
        // One of its own is kept for its own sake.
        vfs.append(&path, b"+").unwrap();
        for told in [vfs.sync(&path), vfs.append(&path, b"-"), vfs.read(&path).map(drop), vfs.flush(&path)] {
            assert_eq!(told.unwrap_err().raw_os_error(), Some(libc::EIO));
        }
        assert_eq!(vfs.read(&path).unwrap(), b"new++");
        drop(held);
    });
}

#[test]
fn bytes_go_to_the_file_that_has_the_name_they_were_written_by_when_a_file_has_two() {
    for pause in [Duration::ZERO, A_WHILE] {
        let temp = tempfile::tempdir().unwrap();
        let (x, y) = (temp.path().join("x"), temp.path().join("y"));
        let vfs = Vfs::new();
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        vfs.write(&x, b"1").unwrap();
        vfs.write(&x, b"2").unwrap();
        vfs.size(&x).unwrap();
        fs::rename(&x, &y).unwrap();
        sleep(pause);
        vfs.write(&y, b"3").unwrap();
        vfs.write(&x, b"4").unwrap();
        vfs.write(&y, b"5").unwrap();
        vfs.write(&x, b"6").unwrap();
        vfs.wait().unwrap();
        assert_eq!((&*read(&x), &*read(&y)), ("46", "1235"));
        // Two that change places.
        for path in [&x, &y] {
            vfs.write(path, b"7").unwrap();
            vfs.write(path, b"8").unwrap();
            vfs.size(path).unwrap();
        }
        let aside = temp.path().join("aside");
        fs::rename(&x, &aside).unwrap();
        fs::rename(&y, &x).unwrap();
        fs::rename(&aside, &y).unwrap();
        sleep(pause);
        vfs.write(&y, b"Y").unwrap();
        vfs.write(&x, b"X").unwrap();
        vfs.wait().unwrap();
        assert_eq!((&*read(&x), &*read(&y)), ("123578X", "4678Y"));
    }
}
