//! Nothing stays mounted for good, however a test ends.
#![cfg(target_os = "linux")]

use std::process::Command;

use manyfiles_testkit::{Disk, Need, SlowMount, skip_unless};

#[test]
fn the_mounts_of_a_killed_process_are_removed_by_the_next_one_that_mounts() {
    skip_unless!(Need::Root);
    const CHILD: &str = "TESTKIT_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        let disk = Disk::tmpfs().mount().unwrap();
        let mount = SlowMount::options().mount();
        println!("mounted {}", disk.path().display());
        drop(mount.map(std::mem::forget));
        // SAFETY: a process may kill itself.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    let name = "the_mounts_of_a_killed_process_are_removed_by_the_next_one_that_mounts";
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child.args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let path =
        said.split_once("mounted ").and_then(|(_, rest)| rest.lines().next()).expect("the child mounted its disk");
    assert!(std::path::Path::new(path).exists(), "killed, the child could not clean up");

    let _another = Disk::tmpfs().mount().unwrap();
    let temp = std::path::Path::new(path).parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let owner = temp.rsplit_once('-').unwrap().0;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(owner), "{mounts}");
    assert!(!std::path::Path::new(path).exists());
}
