//! `manyfiles remove`: what is removed, what is refused, and what is told.

mod common;

use std::fs;
use std::path::Path;

use tempfile::tempdir;

use common::manyfiles;

fn make(root: &Path) {
    fs::create_dir_all(root.join("old/in")).unwrap();
    fs::create_dir(root.join("other")).unwrap();
    for name in ["old/a", "old/in/b.log", "old/in/c", "other/d"] {
        fs::write(root.join(name), "x").unwrap();
    }
}

#[test]
fn paths_are_removed_and_counted() {
    let temp = tempdir().unwrap();
    make(temp.path());
    manyfiles(temp.path(), &["remove", "old", "other/d"]).code(0).says("removed 6 entries in ");
    assert!(!temp.path().join("old").exists());
    assert_eq!(fs::read_dir(temp.path().join("other")).unwrap().count(), 0);
    assert_eq!(manyfiles(temp.path(), &["rm", "-q", "other"]).code(0).err, "");
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
}

#[test]
fn if_one_path_is_not_there_nothing_is_removed() {
    let temp = tempdir().unwrap();
    make(temp.path());
    manyfiles(temp.path(), &["remove", "old", "nothing"]).code(2).says("cannot remove nothing: ");
    assert!(temp.path().join("old/a").exists());
    manyfiles(temp.path(), &["remove", "--force", "old", "nothing"]).code(0);
    assert!(!temp.path().join("old").exists());
}

#[test]
fn the_root_and_folders_that_the_current_one_is_in_are_refused() {
    let temp = tempdir().unwrap();
    make(temp.path());
    let inside = temp.path().join("old/in");
    let by_name = temp.path().join("old");
    for path in [".", "..", "../..", by_name.to_str().unwrap()] {
        manyfiles(&inside, &["remove", "--force", path, "c"]).code(2).says("the current folder is in it");
    }
    let root = temp.path().ancestors().last().unwrap();
    manyfiles(&inside, &["remove", "--force", root.to_str().unwrap()]).code(2).says("this is the root");
    assert!(inside.join("c").exists());
}

#[test]
fn a_path_that_is_in_another_one_is_removed_with_it() {
    let temp = tempdir().unwrap();
    make(temp.path());
    manyfiles(temp.path(), &["remove", "old", "old/in", "old"]).code(0).says("removed 5 entries in ");
    assert!(!temp.path().join("old").exists());
}

#[test]
fn what_is_excluded_stays_with_its_folders() {
    let temp = tempdir().unwrap();
    make(temp.path());
    let ran = manyfiles(temp.path(), &["remove", "old", "--exclude", "*.log", "-vv"]).code(0);
    let ran = ran.says("removed 2 entries in ").says("1 entry kept, as --exclude asks");
    assert!(ran.err.lines().any(|line| line.replace('\\', "/") == "old/in/c"), "{}", ran.err);
    assert!(temp.path().join("old/in/b.log").exists() && !temp.path().join("old/a").exists());
}

#[test]
fn a_dry_run_lists_what_would_be_removed_and_removes_nothing() {
    let temp = tempdir().unwrap();
    make(temp.path());
    let ran = manyfiles(temp.path(), &["remove", "-n", "old", "--exclude", "b.*"]).code(0);
    let ran = ran.says("would remove 4 entries; nothing was touched");
    let lines: Vec<_> = ran.out.lines().map(|line| line.replace('\\', "/")).collect();
    assert_eq!(lines, ["old", "old/a", "old/in", "old/in/c"]);
    assert!(temp.path().join("old/a").exists());
}

#[test]
fn json_tells_counts_and_failures() {
    let temp = tempdir().unwrap();
    make(temp.path());
    let ran = manyfiles(temp.path(), &["remove", "old", "--json"]).code(0);
    let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&told["status"], &told["files"], &told["folders"]), (&"complete".into(), &3.into(), &2.into()));
    let ran = manyfiles(temp.path(), &["remove", "old", "--json"]).code(2);
    let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["status"], "not_begun");
}

#[cfg(unix)]
mod unix {
    use super::*;

    #[test]
    fn links_are_removed_and_not_followed() {
        let temp = tempdir().unwrap();
        make(temp.path());
        for (link, to) in [("root", "/"), ("here", "."), ("other/link", "../old")] {
            std::os::unix::fs::symlink(to, temp.path().join(link)).unwrap();
        }
        for link in ["root/", "here//", "other/link/"] {
            manyfiles(temp.path(), &["remove", link, "old"]).code(2).says("leave the separator at the end out");
        }
        manyfiles(temp.path(), &["remove", "other/../old/.", "other"]).code(2).says("give the folder by its name");
        manyfiles(temp.path(), &["remove", "root", "here", "other"]).code(0).says("removed 5 entries in ");
        let left: Vec<_> = fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!((left, fs::read_dir(temp.path().join("old")).unwrap().count()), (vec!["old".into()], 2));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_root_and_the_current_folder_are_refused_by_whatever_path_they_are_given() {
        manyfiles_testkit::skip_unless!(manyfiles_testkit::Need::Root);
        let temp = tempdir().unwrap();
        make(temp.path());
        // In a mount namespace of its own, which takes the mounts with it.
        let script = "mkdir root again; mount --bind old again; mount --bind / root; cd old/in; R=../..
            for p in $R/again $R/again/in $R/root $R/root$PWD; do $M remove --across-mounts $p; echo $?; done
            for p in $R/again $R/root; do $M remove --trash $p; echo $?; done";
        let ran = common::shell(temp.path(), &format!("unshare -m sh -c '{script}'"));
        assert_eq!(ran.out, "2\n".repeat(6), "{ran:#?}");
        assert!(temp.path().join("old/in/c").exists());
        ran.says("root: this is the root").says("again/in: the current folder is in it");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_mounted_stays_and_is_named_and_the_rest_goes() {
        manyfiles_testkit::skip_unless!(manyfiles_testkit::Need::Root);
        let temp = tempdir().unwrap();
        make(temp.path());
        let mount = |program: &str, args: &[&str]| {
            let mut command = std::process::Command::new(program);
            assert!(command.args(args).current_dir(temp.path()).status().unwrap().success());
        };
        mount("mount", &["--bind", "other", "old/in"]);
        let ran = manyfiles(temp.path(), &["remove", "old"]);
        mount("umount", &["old/in"]);
        let ran = ran.code(1).says("cannot remove old/in: ").says("1 entry could not be removed");
        ran.says("--across-mounts");
        assert!(temp.path().join("other/d").exists() && !temp.path().join("old/a").exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn without_handles_it_waits_once_and_not_for_each_folder() {
        manyfiles_testkit::skip_unless!(manyfiles_testkit::Need::Program("strace"));
        let temp = tempdir().unwrap();
        let script = "for i in 1 2 3 4 5 6 7 8; do mkdir -p t/$i/a/b; touch t/$i/a/b/f; done; (ulimit -n 8; \
                      strace -f -o calls -e trace=openat2,openat,unlinkat,clock_nanosleep,nanosleep $M remove t); \
                      echo $?; grep -c nanosleep calls; $M remove t -q";
        let ran = common::shell(temp.path(), script);
        let told: Vec<u32> = ran.out.lines().map(|line| line.parse().unwrap()).collect();
        assert!(told[0] == 0 || ran.err.contains("ulimit -n"), "{ran:#?}");
        // One wait is 2000 of them for each of its threads.
        assert!(told[1] < 9000, "{ran:#?}");
        assert!(!temp.path().join("t").exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_dry_run_with_force_names_the_folders_that_force_would_open() {
        manyfiles_testkit::skip_unless!(manyfiles_testkit::Need::Root);
        manyfiles_testkit::skip_unless!(manyfiles_testkit::Need::Program("setpriv"));
        let temp = tempdir().unwrap();
        make(temp.path());
        // The command itself may be where others cannot go.
        fs::copy(common::BINARY, temp.path().join("m")).unwrap();
        let script = "chmod 755 . m; chown -R 65534 old; chmod 777 .; chmod 0 old/in; mkdir -m 0 old/root
            N='setpriv --reuid=65534 --regid=65534 --clear-groups'; $N ./m remove -n --force old; echo $?
            rmdir old/root; $N ./m remove -n --force old; echo $?; $N ./m remove -n old; echo $?
            $N ./m remove --force old; echo $?";
        let ran = common::shell(temp.path(), script);
        let codes: Vec<_> = ran.out.lines().filter(|line| line.parse::<u8>().is_ok()).collect();
        assert_eq!(codes, ["1", "0", "1", "0"], "{ran:#?}");
        ran.says("would remove 3 entries and what is in 1 folder that cannot be listed; nothing was touched");
        assert!(!temp.path().join("old").exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_force_opened_and_that_stays_has_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        manyfiles_testkit::skip_unless!(manyfiles_testkit::Need::Root);
        manyfiles_testkit::skip_unless!(manyfiles_testkit::Need::Program("setpriv"));
        let temp = tempdir().unwrap();
        make(temp.path());
        fs::copy(common::BINARY, temp.path().join("m")).unwrap();
        let script = "chmod 755 . m; mkdir old/not; echo 1 > old/not/keep.log; chown -R 65534 old; chmod 500 old/in; \
            chmod 2 old/not; chmod 777 .; setpriv --reuid=65534 --regid=65534 --clear-groups \
            ./m remove --force --exclude '*.log' old";
        common::shell(temp.path(), script).code(0).says("2 entries kept");
        let mode = |path: &str| fs::metadata(temp.path().join(path)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("old/in"), mode("old/not")), (0o500, 0o2));
        assert!(!temp.path().join("old/in/c").exists() && temp.path().join("old/in/b.log").exists());
    }

    #[test]
    fn ctrl_c_stops_it_and_what_is_left_can_be_removed() {
        let temp = tempdir().unwrap();
        for folder in 0..300 {
            let folder = temp.path().join(format!("old/{folder}"));
            fs::create_dir_all(&folder).unwrap();
            (0..100).for_each(|n| fs::write(folder.join(n.to_string()), "").unwrap());
        }
        // A reader that does not read: the names of what is removed fill the pipe, and the removal waits.
        let mut command = std::process::Command::new(common::BINARY);
        command.args(["remove", "old", "-vv"]).current_dir(temp.path()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stderr.take().unwrap();
        let mut told = vec![0; 1000];
        std::io::Read::read_exact(&mut pipe, &mut told).unwrap();
        let id = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        std::io::Read::read_to_end(&mut pipe, &mut told).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{}", String::from_utf8_lossy(&told));
        assert!(String::from_utf8_lossy(&told).contains("interrupted: removed "));
        assert!(temp.path().join("old").exists());
        manyfiles(temp.path(), &["remove", "old"]).code(0);
    }
}
