//! `manyfiles mount` and `manyfiles cat`: archives are read without being unpacked.
#![cfg(unix)]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{BINARY, Tar, manyfiles, shell};
use manyfiles_testkit::{Need, skip_unless};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::tempdir;

fn tar() -> Vec<u8> {
    Tar::new().file("folder/a", "one\n").file("folder/b", "two\n").file("line\nbreak", "three\n").bytes()
}

#[test]
fn cat_prints_files_one_after_the_other_and_names_what_is_missing() {
    let temp = tempdir().unwrap();
    fs::write(temp.path().join("a.tar"), tar()).unwrap();
    let ran = manyfiles(temp.path(), &["cat", "a.tar", "folder/b", "./folder//a"]).code(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("two\none\n", ""));
    let ran = manyfiles(temp.path(), &["cat", "a.tar", "folder/c", "folder", "folder/a", "../a"]).code(1);
    assert_eq!(ran.out, "one\n");
    let lines: Vec<_> = ran.err.lines().collect();
    assert_eq!(lines.len(), 3, "{ran:#?}");
    assert_eq!(lines[0], "manyfiles: cannot open a.tar/folder/c: the archive has no such entry");
    assert_eq!(lines[1], "manyfiles: cannot open a.tar/folder: it is a folder");
    assert_eq!(lines[2], "manyfiles: cannot open a.tar/../a: it leads out of the archive");
}

#[test]
fn cat_needs_an_archive_that_is_a_file() {
    let temp = tempdir().unwrap();
    fs::write(temp.path().join("text"), "hello\n").unwrap();
    manyfiles(temp.path(), &["cat", "-", "a"]).code(2).says("save it to a file first");
    manyfiles(temp.path(), &["cat", "text", "a"]).code(2).says("text: not an archive").says("looks like text");
    manyfiles(temp.path(), &["cat", "nothing", "a"]).code(2).says("nothing: cannot read it");
    manyfiles(temp.path(), &["cat", ".", "a"]).code(2).says("this is a folder");
    manyfiles(temp.path(), &["cat", "text"]).code(2).says("text: not an archive");
    fs::write(temp.path().join("a.tar"), Tar::new().file("a", "one\n").bytes()).unwrap();
    manyfiles(temp.path(), &["cat", "a.tar"]).code(2).says("a.tar: say which of its files to print (it is a tar;");
}

#[test]
fn cat_ends_well_with_its_reader_and_badly_with_a_full_disk() {
    skip_unless!(Need::Program("head"));
    let temp = tempdir().unwrap();
    fs::write(temp.path().join("a.tar"), Tar::new().file("long", "y\n".repeat(3_000_000)).bytes()).unwrap();
    let ran = shell(temp.path(), "{ $M cat a.tar long; echo $? >&2; } | head -c 4").code(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("y\ny\n", "0\n"));
    if Path::new("/dev/full").exists() {
        shell(temp.path(), "$M cat a.tar long > /dev/full").code(1).says("No space left");
    }
}

#[test]
fn an_index_is_kept_in_the_cache_unless_it_is_not_wanted() {
    let temp = tempdir().unwrap();
    let many = (0..1500).fold(Tar::new(), |tar, n| tar.file(&format!("{n}"), "x"));
    fs::write(temp.path().join("a.tar"), many.bytes()).unwrap();
    let kept = || fs::read_dir(temp.path().join("cache/manyfiles")).map_or(0, |names| names.count());
    let cat = |options: &str| shell(temp.path(), &format!("XDG_CACHE_HOME=$PWD/cache $M cat {options} a.tar 7"));
    assert_eq!(cat("--no-cache").code(0).out, "x");
    assert_eq!(kept(), 0);
    assert_eq!(cat("").code(0).out, "x");
    assert_eq!(kept(), 1);
    assert_eq!(cat("").code(0).out, "x");
    assert_eq!(cat("--ignore-zeros").code(0).out, "x");
}

/// `manyfiles mount` in a folder, once it has said that it is there.
#[cfg(target_os = "linux")]
struct Mounting(Child);

#[cfg(target_os = "linux")]
impl Mounting {
    fn start(folder: &Path, args: &[&str], is_mounted: &Path) -> Mounting {
        let mut command = Command::new(BINARY);
        command.arg("mount").args(args).arg("--no-cache").current_dir(folder);
        let mut mounting = Mounting(command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
        let begun = Instant::now();
        while !is_mounted.exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it was not mounted");
            assert!(mounting.0.try_wait().unwrap().is_none(), "it has ended");
            std::thread::sleep(Duration::from_millis(5));
        }
        mounting
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// The exit status, and what it said.
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        std::io::Read::read_to_string(&mut self.0.stderr.take().unwrap(), &mut said).unwrap();
        (self.0.wait().unwrap().code(), said)
    }
}

#[cfg(target_os = "linux")]
impl Drop for Mounting {
    fn drop(&mut self) {
        // A test that fails leaves no mount behind: the first signal ends it.
        if self.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.signal(Signal::TERM);
            drop(self.0.wait());
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_mount_shows_the_archive_until_a_signal_or_umount_and_takes_its_folder_away() {
    skip_unless!(Need::Fuse, Need::Root);
    let temp = tempdir().unwrap();
    fs::write(temp.path().join("a.tar"), tar()).unwrap();
    let folder = temp.path().join("m");
    let umount = || assert!(Command::new("umount").arg(temp.path().join("m")).status().unwrap().success());
    for end in [Some(Signal::INT), Some(Signal::TERM), Some(Signal::HUP), None] {
        common::with_default_hang_up();
        let mounting = Mounting::start(temp.path(), &["a.tar", "m"], &folder.join("folder"));
        assert_eq!(fs::read_to_string(folder.join("folder/b")).unwrap(), "two\n");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        match end {
            Some(signal) => mounting.signal(signal),
            None => umount(),
        }
        let (code, said) = mounting.end();
        assert_eq!(code, Some(0), "{end:?}: {said}");
        assert_eq!(said, "manyfiles: a.tar is mounted on m; Ctrl-C or 'umount m' ends it\n");
        assert!(!folder.exists(), "{end:?}");
    }
    // A folder that was there stays, and one in use is taken away all the same.
    fs::create_dir(&folder).unwrap();
    let mounting = Mounting::start(temp.path(), &["-q", "a.tar", "m"], &folder.join("folder"));
    let open = fs::File::open(folder.join("folder/a")).unwrap();
    mounting.signal(Signal::INT);
    assert_eq!(mounting.end(), (Some(0), String::new()));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    drop(open);
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_mounted_is_said_before_anything_is_made() {
    let temp = tempdir().unwrap();
    fs::write(temp.path().join("a.tar"), tar()).unwrap();
    fs::write(temp.path().join("text"), "hello\n").unwrap();
    fs::create_dir(temp.path().join("full")).unwrap();
    fs::write(temp.path().join("full/file"), "x").unwrap();
    manyfiles(temp.path(), &["mount", "a.tar", "full"]).code(2).says("full: the folder is not empty");
    manyfiles(temp.path(), &["mount", "a.tar", "text"]).code(2).says("text: cannot mount on it: Not a directory");
    manyfiles(temp.path(), &["mount", "a.tar", "no/m"]).code(2).says("no/m: cannot make the folder");
    manyfiles(temp.path(), &["mount", "text", "m"]).code(2).says("looks like text");
    manyfiles(temp.path(), &["mount", "-", "m"]).code(2).says("save it to a file first");
    assert!(!temp.path().join("m").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_mount_whose_program_was_killed_is_recognised() {
    skip_unless!(Need::Fuse, Need::Root);
    let temp = tempdir().unwrap();
    fs::write(temp.path().join("a.tar"), tar()).unwrap();
    let mounting = Mounting::start(temp.path(), &["a.tar", "m"], &temp.path().join("m/folder"));
    mounting.signal(Signal::KILL);
    assert_eq!(mounting.end().0, None);
    manyfiles(temp.path(), &["mount", "a.tar", "m"]).code(2).says("has ended without a word").says("umount");
    assert!(Command::new("umount").arg(temp.path().join("m")).status().unwrap().success());
}
