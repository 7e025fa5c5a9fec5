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
    // Whoever looks meanwhile sees one or the other, whole.
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
            std::fs::write(&site, "somebody's").unwrap();
        }
        let report = tree.finish().unwrap_err().into_report();
        assert!(report.failures[0].to_string().contains("not a folder"), "{}", report.failures[0]);
        assert_eq!(names(temp.path()), ["site"]);
        assert!(!std::fs::symlink_metadata(&site).unwrap().is_dir());
    }
}

#[test]
fn the_name_is_given_in_the_folder_above_wherever_that_is_by_then() {
    let temp = tempfile::tempdir().unwrap();
    let (above, moved) = (temp.path().join("p"), temp.path().join("q"));
    std::fs::create_dir_all(above.join("site")).unwrap();
    std::fs::write(above.join("site/old"), "old").unwrap();
    let tree = TreeWriter::options().publish(true).open(above.join("site")).unwrap();
    tree.file("new", "new").unwrap();
    if std::fs::rename(&above, &moved).is_err() && cfg!(windows) {
        return; // No folder with open files is moved there.
    }
    std::fs::create_dir_all(above.join("site")).unwrap();
    tree.finish().unwrap();
    assert_eq!(names(&moved), ["site"]);
    assert_eq!(names(&moved.join("site")), ["new"]);
    assert_eq!(names(&above.join("site")), [""; 0], "another folder by the old name is left alone");
}

#[test]
fn folders_above_that_were_made_for_a_tree_go_with_it() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::options().publish(true).open(temp.path().join("a/b/site")).unwrap();
    tree.file("/absolute", "").unwrap_err();
    tree.finish().unwrap_err();
    assert_eq!(names(temp.path()), [""; 0]);
}

#[cfg(unix)]
mod of_unix {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::process::Command;

    use manyfiles::tree::Metadata;
    use manyfiles_testkit::{Need, skip_unless};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn run(command: &str, arguments: &[&str]) {
        assert!(Command::new(command).args(arguments).status().unwrap().success(), "{command} {arguments:?}");
    }

    #[test]
    fn a_link_with_a_slash_behind_it_is_no_folder_either() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("real")).unwrap();
        symlink("real", temp.path().join("site")).unwrap();
        for target in ["site", "site/", "site/."] {
            let error = TreeWriter::options().publish(true).open(temp.path().join(target)).unwrap_err();
            assert!(error.to_string().contains("not a folder"), "{error}");
        }
        assert_eq!(names(temp.path()), ["real", "site"]);
    }

    #[test]
    fn the_mode_that_the_root_is_given_counts_and_else_the_old_folder_s() {
        let temp = tempfile::tempdir().unwrap();
        let site = temp.path().join("site");
        for (old, given, new) in [(0o700, Some(0o755), 0o755), (0o750, None, 0o750), (0o2711, None, 0o2711)] {
            fs::create_dir(&site).unwrap();
            fs::set_permissions(&site, fs::Permissions::from_mode(old)).unwrap();
            let tree = TreeWriter::options().publish(true).open(&site).unwrap();
            let making = tree.root().to_owned();
            assert_eq!(mode(&making) & 0o077, old & 0o077, "the new tree is no more open than the old one");
            tree.file("file", "").unwrap();
            if let Some(given) = given {
                tree.folder(".", Metadata::default().mode(given)).unwrap();
            }
            tree.finish().unwrap();
            assert_eq!(mode(&site), new, "{old:o} {given:?}");
            fs::remove_dir_all(&site).unwrap();
        }
    }

    #[test]
    fn owner_and_lists_of_the_old_folder_stay() {
        skip_unless!(Need::Root, Need::Program("setfacl"), Need::Program("getfacl"));
        let temp = tempfile::tempdir().unwrap();
        let site = temp.path().join("site");
        let shown = site.to_str().unwrap();
        fs::create_dir(&site).unwrap();
        run("chmod", &["750", shown]);
        run("chown", &["7:8", shown]);
        run("setfacl", &["-m", "u:9:rwx,d:u:9:rx", shown]);
        let lists =
            || String::from_utf8(Command::new("getfacl").args(["-cnp", shown]).output().unwrap().stdout).unwrap();
        let before = (lists(), mode(&site), fs::metadata(&site).unwrap().uid(), fs::metadata(&site).unwrap().gid());
        let tree = TreeWriter::options().publish(true).open(&site).unwrap();
        tree.file("file", "").unwrap();
        tree.finish().unwrap();
        let after = (lists(), mode(&site), fs::metadata(&site).unwrap().uid(), fs::metadata(&site).unwrap().gid());
        assert_eq!(after, before);
        assert!(site.join("file").exists());
    }

    /// A mount that is gone with the test.
    #[cfg(target_os = "linux")]
    struct Mounted<'a>(&'a Path);

    #[cfg(target_os = "linux")]
    impl Drop for Mounted<'_> {
        fn drop(&mut self) {
            drop(Command::new("umount").arg(self.0).status());
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_mounted_in_the_old_folder_is_never_removed() {
        skip_unless!(Need::Root);
        let temp = tempfile::tempdir().unwrap();
        let (site, elsewhere) = (temp.path().join("site"), temp.path().join("elsewhere"));
        let point = site.join("in here/mounted");
        fs::create_dir_all(&point).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("the only copy"), "bytes").unwrap();
        let mount = || {
            run("mount", &["--bind", elsewhere.to_str().unwrap(), point.to_str().unwrap()]);
            Mounted(&point)
        };
        let publish = || TreeWriter::options().publish(true).open(&site);
        let mounted = mount();
        let error = publish().unwrap_err().to_string();
        assert!(error.contains("is mounted in the folder") && error.contains("in here/mounted"), "{error}");
        drop(mounted);
        // Mounted when the tree is already being written.
        let tree = publish().unwrap();
        tree.file("new", "").unwrap();
        let mounted = mount();
        let error = tree.finish().unwrap_err().to_string();
        assert!(error.contains("is mounted in the folder"), "{error}");
        assert_eq!(names(temp.path()), ["elsewhere", "site"]);
        assert_eq!(names(&site), ["in here"]);
        drop(mounted);
        assert_eq!(fs::read(elsewhere.join("the only copy")).unwrap(), b"bytes");
        let tree = publish().unwrap();
        tree.file("new", "").unwrap();
        tree.finish().unwrap();
        assert_eq!(names(&site), ["new"]);
        assert_eq!(fs::read(elsewhere.join("the only copy")).unwrap(), b"bytes");
    }

    /// What a run that died has left may have something mounted in it as well.
    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_mounted_in_a_tree_that_was_left_is_not_removed_with_it() {
        skip_unless!(Need::Root);
        let temp = tempfile::tempdir().unwrap();
        let (site, elsewhere) = (temp.path().join("site"), temp.path().join("elsewhere"));
        // The name that this process gives, with another time at which it was started: its maker is gone.
        let tree = TreeWriter::options().publish(true).open(&site).unwrap();
        let own = tree.root().file_name().unwrap().to_str().unwrap().to_owned();
        drop(tree);
        let mut parts: Vec<&str> = own.split('-').collect();
        parts[2] = "1";
        let left = temp.path().join(parts.join("-"));
        let point = left.join("mounted");
        fs::create_dir_all(&point).unwrap();
        fs::write(left.join("file"), "").unwrap();
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("the only copy"), "bytes").unwrap();
        run("mount", &["--bind", elsewhere.to_str().unwrap(), point.to_str().unwrap()]);
        let mounted = Mounted(&point);
        TreeWriter::options().publish(true).open(&site).unwrap().finish().unwrap();
        assert_eq!(fs::read(elsewhere.join("the only copy")).unwrap(), b"bytes");
        assert!(!left.join("file").exists(), "what is not mounted is removed");
        drop(mounted);
        TreeWriter::options().publish(true).open(&site).unwrap().finish().unwrap();
        assert_eq!(names(temp.path()), ["elsewhere", "site"]);
    }
}
