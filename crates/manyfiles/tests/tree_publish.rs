//! A tree that appears whole, or not at all.
#![cfg(feature = "full")]

use std::path::Path;

use manyfiles::tree::{Durability, TreeWriter};

#[path = "support/again.rs"]
mod again;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn text(root: &Path, path: &str) -> String {
    std::fs::read_to_string(root.join(path)).unwrap()
}

#[test]
fn a_new_tree_has_its_name_when_it_is_whole_and_not_before() {
    for durability in [Durability::None, Durability::EachFile, Durability::AtFinish] {
        let temp = tempfile::tempdir().unwrap();
        let site = temp.path().join("below/site");
        let tree = TreeWriter::options().durability(durability).publish(true).open(&site).unwrap();
        tree.file("a/index.html", "new").unwrap();
        while tree.observer().progress().entries_done < 1 {
            std::thread::yield_now();
        }
        assert!(!site.exists());
        tree.finish().unwrap();
        assert_eq!(text(&site, "a/index.html"), "new");
        assert_eq!(names(&temp.path().join("below")), ["site"]);
    }
}

#[test]
fn a_tree_takes_the_place_of_the_old_one_at_once_and_nothing_of_the_old_is_left() {
    let temp = tempfile::tempdir().unwrap();
    let site = temp.path().join("site");
    std::fs::create_dir_all(site.join("old/deep")).unwrap();
    std::fs::write(site.join("index.html"), "old").unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&site, std::os::unix::fs::PermissionsExt::from_mode(0o2750)).unwrap();
    // A reader meanwhile sees one tree or the other, whole.
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looks = scope.spawn(|| {
            let mut looks = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let seen = std::fs::read_to_string(site.join("index.html"));
                if cfg!(target_os = "linux") {
                    assert!(["old", "new"].contains(&&*seen.unwrap()));
                }
                looks += 1;
            }
            looks
        });
        let tree = TreeWriter::options().publish(true).open(&site).unwrap();
        (0..500).for_each(|n| tree.file(format!("pages/{n}.html"), "page").unwrap());
        tree.file("index.html", "new").unwrap();
        tree.finish().unwrap();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(looks.join().unwrap() > 0);
    });
    assert_eq!(names(&site), ["index.html", "pages"]);
    assert_eq!(names(temp.path()), ["site"]);
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&site.metadata().unwrap().permissions());
        assert_eq!(mode & 0o7777, 0o2750, "it keeps its permissions");
    }
}

#[test]
fn what_is_not_whole_never_appears_and_the_old_tree_stays() {
    for how in ["an entry fails", "it is cancelled", "it is dropped", "a stream is forgotten"] {
        let temp = tempfile::tempdir().unwrap();
        let site = temp.path().join("site");
        std::fs::create_dir(&site).unwrap();
        std::fs::write(site.join("index.html"), "old").unwrap();
        let tree = TreeWriter::options().publish(true).open(&site).unwrap();
        tree.file("index.html", "new").unwrap();
        match how {
            "an entry fails" => drop(tree.file("../x", "x")),
            "it is cancelled" => tree.canceller().cancel(),
            "a stream is forgotten" => {
                std::mem::forget(tree.create("x", manyfiles::tree::Metadata::default()).unwrap());
            }
            _ => {}
        }
        if how == "it is dropped" {
            drop(tree);
        } else {
            tree.finish().unwrap_err();
        }
        assert_eq!(text(&site, "index.html"), "old", "{how}");
        assert_eq!(names(temp.path()), ["site"], "{how}: nothing is left beside it");
    }
}

#[test]
fn a_tree_that_is_dropped_before_its_end_is_taken_back_and_standard_error_says_so() {
    if let Some(site) = std::env::var_os("PUBLISH_TO") {
        assert!(again::is_again());
        let tree = TreeWriter::options().publish(true).open(site).unwrap();
        tree.file("index.html", "new").unwrap();
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let site = temp.path().join("site");
    let test = "a_tree_that_is_dropped_before_its_end_is_taken_back_and_standard_error_says_so";
    let output = again::again(test, |child| {
        child.env("PUBLISH_TO", &site);
    });
    let stderr = String::from_utf8(output.stderr).unwrap();
    let told: Vec<_> = stderr.lines().filter(|line| line.starts_with("manyfiles: ")).collect();
    let line = format!("manyfiles: the tree {} was dropped before `finish`: nothing of it is there", site.display());
    assert_eq!(told, [line], "{stderr}");
    assert_eq!(names(temp.path()), [""; 0]);
}

#[test]
fn what_has_the_name_and_is_no_folder_is_told_before_anything_is_written() {
    let temp = tempfile::tempdir().unwrap();
    let site = temp.path().join("site");
    std::fs::write(&site, "a file").unwrap();
    let error = TreeWriter::options().publish(true).open(&site).unwrap_err();
    assert_eq!(error.path(), Some(&*site));
    assert!(error.to_string().contains("not a folder"), "{error}");
    assert_eq!(names(temp.path()), ["site"]);
}

#[cfg(target_os = "linux")]
mod killed {
    use super::*;
    use crate::again::{again, is_again};

    #[test]
    fn what_a_killed_run_left_is_removed_by_the_next() {
        if let Some(target) = std::env::var_os("PUBLISH_TO") {
            assert!(is_again());
            let tree = TreeWriter::options().publish(true).open(target).unwrap();
            (0..1000).for_each(|n| tree.file(format!("{}/{n}", n % 9), "x").unwrap());
            // SAFETY: ends this process, as a power key would.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        }
        let temp = tempfile::tempdir().unwrap();
        let site = temp.path().join("site");
        let killed = std::panic::catch_unwind(|| {
            again("killed::what_a_killed_run_left_is_removed_by_the_next", |child| {
                child.env("PUBLISH_TO", &site);
            })
        });
        assert!(killed.is_err(), "it was killed");
        assert_eq!(names(temp.path()).len(), 1, "what it left");
        std::fs::create_dir(temp.path().join(".manyfiles-of-somebody")).unwrap();
        let tree = TreeWriter::options().publish(true).open(&site).unwrap();
        tree.file("a", "x").unwrap();
        tree.finish().unwrap();
        assert_eq!(names(temp.path()), [".manyfiles-of-somebody", "site"]);
    }
}

#[cfg(unix)]
#[test]
fn what_takes_the_name_meanwhile_and_is_no_folder_stays_and_the_tree_is_gone() {
    for link in [false, true] {
        let temp = tempfile::tempdir().unwrap();
        let site = temp.path().join("site");
        let tree = TreeWriter::options().publish(true).open(&site).unwrap();
        tree.file("secret", "x").unwrap();
        if link {
            std::os::unix::fs::symlink("/etc", &site).unwrap();
        } else {
            std::fs::write(&site, "of another program").unwrap();
        }
        let report = tree.finish().unwrap_err().into_report();
        assert!(report.failures[0].to_string().contains("not a folder"), "{}", report.failures[0]);
        assert_eq!(names(temp.path()), ["site"]);
        assert!(!std::fs::symlink_metadata(&site).unwrap().is_dir());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_of_a_containers_image_stays_and_the_error_says_what_to_do() {
    use manyfiles_testkit::{Disk, Need, skip_unless};

    skip_unless!(Need::Overlay);
    let image = tempfile::tempdir().unwrap();
    std::fs::create_dir(image.path().join("site")).unwrap();
    std::fs::write(image.path().join("site/index.html"), "old").unwrap();
    let container = Disk::overlay(image.path()).unwrap();
    let publish = |name: &str| {
        let tree = TreeWriter::options().publish(true).open(container.path().join(name)).unwrap();
        tree.file("index.html", "new").unwrap();
        tree.finish()
    };
    let incomplete = publish("site").unwrap_err();
    let error = incomplete.errors().iter().next().unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::CrossesDevices, "{error}");
    assert!(error.raw_os_error().is_some(), "{error:?}");
    assert!(error.to_string().contains("publish where a volume is mounted"), "{error}");
    assert_eq!(error.path(), Some(&*container.path().join("site")));
    assert_eq!(text(container.path(), "site/index.html"), "old");
    assert_eq!(names(container.path()), ["site"]);
    // What was made in the container itself is replaced.
    for _ in 0..2 {
        publish("other").unwrap();
    }
    assert_eq!(text(container.path(), "other/index.html"), "new");
    assert_eq!(names(container.path()), ["other", "site"]);
}
