//! A published tree and what is around it: mounts, folders that move, rights, and runs in other containers.
#![cfg(feature = "full")]
#![cfg(unix)]

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
#[cfg(target_os = "linux")]
use std::process::Command;

use manyfiles::tree::{Metadata, TreeWriter};
#[cfg(target_os = "linux")]
use manyfiles_testkit::{Call, Need, Preload, Rule, skip_unless};
#[cfg(target_os = "linux")]
use support::in_parent;

#[cfg(target_os = "linux")]
mod support;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn publishing(target: impl AsRef<Path>) -> manyfiles::Result<TreeWriter> {
    TreeWriter::options().publish(true).open(target)
}

/// Told after the fact, each failure in a line.
fn failures(tree: TreeWriter) -> Vec<String> {
    let report = tree.finish().unwrap_err().into_report();
    report.failures.iter().map(ToString::to_string).collect()
}

#[cfg(target_os = "linux")]
struct Mount(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl Mount {
    fn bind(what: &Path, at: &Path) -> Mount {
        assert!(Command::new("mount").arg("--bind").args([what, at]).status().unwrap().success());
        Mount(at.to_owned())
    }
}

#[cfg(target_os = "linux")]
impl Drop for Mount {
    fn drop(&mut self) {
        let done = Command::new("umount").arg(&self.0).status().is_ok_and(|status| status.success());
        // A second panic would hide what the test has found.
        assert!(done || std::thread::panicking(), "{} cannot be unmounted", self.0.display());
    }
}

/// A bind mount has the device of the tree, so that the device tells nothing.
#[test]
#[cfg(target_os = "linux")]
fn what_is_mounted_in_the_old_tree_is_never_removed() {
    skip_unless!(Need::Root);
    let temp = tempfile::tempdir().unwrap();
    let (precious, site) = (temp.path().join("precious"), temp.path().join("a site"));
    std::fs::create_dir_all(precious.join("deep")).unwrap();
    std::fs::write(precious.join("deep/file"), "the only copy").unwrap();
    std::fs::create_dir_all(site.join("m")).unwrap();
    {
        let _mount = Mount::bind(&precious, &site.join("m"));
        let error = publishing(&site).unwrap_err();
        assert!(error.to_string().contains("something is mounted at"), "{error}");
    }
    let tree = publishing(&site).unwrap();
    tree.file("new", "x").unwrap();
    {
        let _mount = Mount::bind(&precious, &site.join("m"));
        let told = failures(tree);
        assert!(told.len() == 1 && told[0].contains("something is mounted at"), "{told:?}");
    }
    {
        // The tree itself is a mount.
        let _mount = Mount::bind(&precious, &site);
        assert!(publishing(&site).unwrap_err().to_string().contains("something is mounted at"));
    }
    assert_eq!(std::fs::read(precious.join("deep/file")).unwrap(), b"the only copy");
    assert_eq!(names(temp.path()), ["a site", "precious"]);
    publishing(&site).unwrap().finish().unwrap();
    assert_eq!(names(&site), [""; 0]);
}

/// Where the list of mounts is there and cannot be read, nobody knows what the old tree has in it.
#[test]
#[cfg(target_os = "linux")]
fn an_old_tree_is_not_replaced_while_the_list_of_mounts_cannot_be_read() {
    skip_unless!(Need::Preload);
    if in_parent("an_old_tree_is_not_replaced_while_the_list_of_mounts_cannot_be_read", |child| {
        let no_room = |nth| Rule::fail(Call::Open, libc::EMFILE).path_contains("/proc/self/mountinfo").nth(nth);
        // At the beginning of the first tree, and at the end of the second one.
        Preload::new().rule(no_room(1)).rule(no_room(3)).apply(child).unwrap();
    }) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let site = temp.path().join("site");
    std::fs::create_dir(&site).unwrap();
    std::fs::write(site.join("old"), "").unwrap();
    assert_eq!(publishing(&site).unwrap_err().raw_os_error(), Some(libc::EMFILE));
    let told = failures(publishing(&site).unwrap());
    assert!(told.len() == 1 && told[0].contains("os error 24"), "{told:?}");
    assert_eq!((names(temp.path()), names(&site)), (vec!["site".to_owned()], vec!["old".to_owned()]));
    publishing(&site).unwrap().finish().unwrap();
    assert_eq!(names(&site), [""; 0]);
}

/// What a dead run left is removed by the same rule, and no look refuses it beforehand.
#[test]
#[cfg(target_os = "linux")]
fn what_is_mounted_in_what_a_dead_run_left_is_not_removed_either() {
    skip_unless!(Need::Root);
    let temp = tempfile::tempdir().unwrap();
    let precious = temp.path().join("precious");
    std::fs::create_dir(&precious).unwrap();
    std::fs::write(precious.join("file"), "the only copy").unwrap();
    let left = left_by_another(&temp.path().join("site"));
    std::fs::create_dir(temp.path().join(&left).join("m")).unwrap();
    {
        let _mount = Mount::bind(&precious, &temp.path().join(&left).join("m"));
        publishing(temp.path().join("site")).unwrap().finish().unwrap();
        assert_eq!(std::fs::read(precious.join("file")).unwrap(), b"the only copy");
        assert_eq!(names(&temp.path().join(&left)), ["m"]);
    }
    publishing(temp.path().join("site")).unwrap().finish().unwrap();
    assert_eq!(names(temp.path()), ["precious", "site"]);
}

/// A run that dies between the two renames of a file system that cannot exchange names leaves the old tree under another
/// name, and nothing under its own.
#[test]
#[cfg(target_os = "linux")]
fn an_old_tree_that_a_dead_run_had_moved_aside_gets_its_name_back_if_nothing_has_it() {
    let temp = tempfile::tempdir().unwrap();
    let site = temp.path().join("site");
    let move_aside = || {
        let left = left_by_another(&site);
        std::fs::write(temp.path().join(&left).join("old"), "content").unwrap();
        std::fs::rename(temp.path().join(&left), temp.path().join(format!("site.old{left}"))).unwrap();
    };
    move_aside();
    assert!(!site.exists());
    drop(publishing(&site).unwrap());
    assert_eq!(names(temp.path()), ["site"]);
    assert_eq!(std::fs::read(site.join("old")).unwrap(), b"content");
    // Where the name is taken again, what was moved aside is a leftover.
    move_aside();
    std::fs::write(site.join("old"), "newer").unwrap();
    drop(publishing(&site).unwrap());
    assert_eq!(names(temp.path()), ["site"]);
    assert_eq!(std::fs::read(site.join("old")).unwrap(), b"newer");
}

const TARGET: &str = "MANYFILES_TEST_TARGET";

/// The name of what a process leaves that is killed while it publishes to `target`.
#[cfg(target_os = "linux")]
fn left_by_another(target: &Path) -> String {
    let mut child = another(target, Command::new(std::env::current_exe().unwrap()));
    let name = wait_for_temporary(target);
    child.kill().unwrap();
    child.wait().unwrap();
    name
}

#[cfg(target_os = "linux")]
fn another(target: &Path, mut command: Command) -> std::process::Child {
    command.args(["publishes_until_it_is_told_to_end", "--exact", "--nocapture"]).env(TARGET, target);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().unwrap()
}

#[cfg(target_os = "linux")]
fn wait_for_temporary(target: &Path) -> String {
    let begun = std::time::Instant::now();
    loop {
        let all = names(target.parent().unwrap());
        let made = all.into_iter().find(|name| name.starts_with(".manyfiles-"));
        if let Some(made) = made.filter(|made| target.with_file_name(made).join("entry").exists()) {
            return made;
        }
        assert!(begun.elapsed().as_secs() < 60, "it does not begin");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Not a test but in a process that a test starts.
#[test]
fn publishes_until_it_is_told_to_end() {
    let Some(target) = std::env::var_os(TARGET) else { return };
    let tree = publishing(target).unwrap();
    tree.file("entry", "x").unwrap();
    std::io::Read::read_to_end(&mut std::io::stdin(), &mut Vec::new()).unwrap();
    tree.finish().unwrap();
}

/// Process numbers of another container say nothing here. The lock of the folder does.
#[test]
#[cfg(target_os = "linux")]
fn of_runs_in_another_container_those_that_live_stay_and_those_that_died_are_removed() {
    skip_unless!(Need::Root);
    let temp = tempfile::tempdir().unwrap();
    let site = temp.path().join("site");
    let contained = || {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--kill-child", "--mount-proc"]).arg(std::env::current_exe().unwrap());
        command
    };
    if !Command::new("unshare").args(["--pid", "--fork", "--mount-proc", "true"]).status().is_ok_and(|it| it.success())
    {
        return manyfiles_testkit::skip("needs namespaces of process numbers");
    }
    let mut other = another(&site, contained());
    let left = wait_for_temporary(&site);
    publishing(&site).unwrap().finish().unwrap();
    assert_eq!(names(temp.path()), [left.as_str(), "site"], "it runs");
    drop(other.stdin.take());
    assert!(other.wait().unwrap().success());
    assert_eq!((names(temp.path()), names(&site)), (vec!["site".to_owned()], vec!["entry".to_owned()]));
    let mut other = another(&site, contained());
    wait_for_temporary(&site);
    other.kill().unwrap();
    other.wait().unwrap();
    // Its child is killed by the kernel a moment later.
    let begun = std::time::Instant::now();
    while names(temp.path()).len() > 1 {
        publishing(&site).unwrap().finish().unwrap();
        assert!(begun.elapsed().as_secs() < 60, "what it left stays");
    }
}

#[test]
fn a_folder_above_that_was_renamed_or_replaced_is_told_and_nothing_is_left_in_it() {
    for replaced in [false, true] {
        let temp = tempfile::tempdir().unwrap();
        let (above, moved) = (temp.path().join("above"), temp.path().join("moved"));
        std::fs::create_dir_all(above.join("site")).unwrap();
        std::fs::write(above.join("site/old"), "").unwrap();
        let tree = publishing(above.join("site")).unwrap();
        tree.file("new", "x").unwrap();
        std::fs::rename(&above, &moved).unwrap();
        if replaced {
            std::fs::create_dir_all(above.join("site/another")).unwrap();
        }
        let told = failures(tree);
        assert!(told.len() == 1 && told[0].contains("was not published"), "{told:?}");
        assert_eq!((names(&moved), names(&moved.join("site"))), (vec!["site".to_owned()], vec!["old".to_owned()]));
        assert!(!replaced || names(&above.join("site")) == ["another"]);
    }
}

#[test]
fn a_link_is_refused_with_a_separator_behind_it_too() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::create_dir(temp.path().join("folder")).unwrap();
    symlink("folder", temp.path().join("link")).unwrap();
    let before = names(temp.path());
    for name in ["link", "link/", "link//"] {
        let error = publishing(temp.path().join(name)).unwrap_err();
        assert!(error.to_string().contains("not a folder"), "{name}: {error}");
    }
    assert!(publishing(temp.path().join("folder/..")).unwrap_err().to_string().contains("ends in no name"));
    assert_eq!(names(temp.path()), before);
}

#[test]
fn the_rights_of_the_old_tree_stay_unless_entries_give_others() {
    let temp = tempfile::tempdir().unwrap();
    let site = temp.path().join("site");
    let mode = || site.metadata().unwrap().mode() & 0o7777;
    std::fs::create_dir(&site).unwrap();
    std::fs::set_permissions(&site, PermissionsExt::from_mode(0o700)).unwrap();
    let tree = publishing(&site).unwrap();
    let made = tree.root().metadata().unwrap().mode() & 0o777;
    assert_eq!(made, 0o700, "no more than the old one while it is written");
    tree.finish().unwrap();
    assert_eq!(mode(), 0o700);
    let tree = publishing(&site).unwrap();
    tree.folder(".", Metadata::default().mode(0o711)).unwrap();
    tree.finish().unwrap();
    assert_eq!(mode(), 0o711);
    publishing(&site).unwrap().finish().unwrap();
    assert_eq!(mode(), 0o711);
}

#[test]
#[cfg(target_os = "linux")]
fn owner_and_lists_of_the_old_tree_stay() {
    skip_unless!(Need::Root, Need::Program("setfacl"), Need::Program("getfacl"));
    let temp = tempfile::tempdir().unwrap();
    let site = temp.path().join("site");
    std::fs::create_dir(&site).unwrap();
    std::os::unix::fs::chown(&site, Some(7), Some(8)).unwrap();
    std::fs::set_permissions(&site, PermissionsExt::from_mode(0o750)).unwrap();
    if !Command::new("setfacl").args(["-m", "u:9:rwx,d:u:10:rx"]).arg(&site).status().unwrap().success() {
        return manyfiles_testkit::skip("needs a file system with access control lists");
    }
    let rights = || {
        let lists = Command::new("getfacl").arg("-cnp").arg(&site).output().unwrap().stdout;
        let stat = site.metadata().unwrap();
        (String::from_utf8(lists).unwrap(), stat.mode(), stat.uid(), stat.gid())
    };
    let before = rights();
    assert!(before.0.contains("user:9:rwx") && before.0.contains("default:user:10:r-x"), "{}", before.0);
    let tree = publishing(&site).unwrap();
    tree.file("a", "x").unwrap();
    tree.finish().unwrap();
    assert_eq!(rights(), before);
    // Given ones count, each by itself.
    let tree = publishing(&site).unwrap();
    tree.folder(".", Metadata::default().owner(11, 12)).unwrap();
    tree.finish().unwrap();
    let after = rights();
    assert_eq!((after.0, after.1, after.2, after.3), (before.0, before.1, 11, 12));
}

#[test]
fn folders_that_forbid_changes_do_not_keep_an_old_tree() {
    let temp = tempfile::tempdir().unwrap();
    let site = temp.path().join("site");
    for content in ["old", "new"] {
        let tree = publishing(&site).unwrap();
        tree.folder("shut", Metadata::default().mode(0o500)).unwrap();
        tree.file("shut/f", content).unwrap();
        tree.finish().unwrap();
    }
    assert_eq!(std::fs::read(site.join("shut/f")).unwrap(), b"new");
    assert_eq!(names(temp.path()), ["site"]);
}

/// Another program moves the folder that the tree is written in, and puts its own in the place.
#[test]
fn a_folder_that_another_program_has_put_in_the_place_of_the_tree_is_not_published_nor_removed() {
    for has_old in [false, true] {
        let temp = tempfile::tempdir().unwrap();
        let target = temp.path().join("site");
        if has_old {
            std::fs::create_dir(&target).unwrap();
            std::fs::write(target.join("old"), "old").unwrap();
        }
        let tree = publishing(&target).unwrap();
        tree.file("new", "new").unwrap();
        let making = names(temp.path()).into_iter().find(|name| name.starts_with(".manyfiles-")).unwrap();
        let making = temp.path().join(making);
        std::fs::rename(&making, temp.path().join("aside")).unwrap();
        std::fs::create_dir(&making).unwrap();
        std::fs::write(making.join("foreign"), "foreign").unwrap();
        let failures = failures(tree);
        assert!(failures[0].contains("another program has put something"), "{failures:?}");
        assert_eq!(names(&temp.path().join("aside")), ["new"]);
        assert_eq!(names(&making), ["foreign"]);
        assert_eq!(has_old, target.exists());
        if has_old {
            assert_eq!(names(&target), ["old"]);
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn where_permissions_cannot_be_set_the_new_tree_has_fewer_of_them() {
    skip_unless!(Need::Preload);
    if in_parent("where_permissions_cannot_be_set_the_new_tree_has_fewer_of_them", |child| {
        Preload::new()
            .rule(Rule::fail(Call::Chmod, libc::EOPNOTSUPP).path_contains("/.manyfiles-"))
            .apply(child)
            .unwrap();
    }) {
        return;
    }
    for mode in [0o755, 0o700, 0o2775] {
        let temp = tempfile::tempdir().unwrap();
        let site = temp.path().join("site");
        std::fs::create_dir(&site).unwrap();
        std::fs::set_permissions(&site, std::fs::Permissions::from_mode(mode)).unwrap();
        let tree = publishing(&site).unwrap();
        tree.file("new", "new").unwrap();
        tree.finish().unwrap();
        assert_eq!(names(&site), ["new"]);
        let now = std::fs::metadata(&site).unwrap().permissions().mode() & 0o7777;
        assert_eq!(now & !mode, 0, "{now:o} in place of {mode:o}");
    }
}
