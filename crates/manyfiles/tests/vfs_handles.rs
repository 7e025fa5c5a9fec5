//! Handles that are kept between calls: one for each file, few of them, and what is buffered for a file is seen.
#![cfg(feature = "full")]

#[path = "support/kept.rs"]
mod kept;

use std::fs;
use std::io::ErrorKind;
use std::thread::sleep;

#[cfg(target_os = "linux")]
use kept::handles_in;
use kept::{A_WHILE, written_twice};
use manyfiles::vfs::Vfs;

#[test]
fn a_file_that_is_written_twice_has_one_handle_and_the_second_write_is_buffered() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    let vfs = Vfs::new();
    written_twice(&vfs, &path);
    assert_eq!(fs::read(&path).unwrap(), b"1", "the second is buffered");
    #[cfg(target_os = "linux")]
    assert_eq!(handles_in(temp.path()), 1);
    assert_eq!(vfs.read(&path).unwrap(), b"12", "a read of this Vfs sees it");
    assert_eq!(fs::read(&path).unwrap(), b"12", "and so does everybody then");
    vfs.write(&path, b"3").unwrap();
    assert_eq!(vfs.size(&path).unwrap(), 3);
    vfs.write(&path, b"4").unwrap();
    assert_eq!(vfs.list(temp.path()).unwrap()[0].metadata.size, 4);
    vfs.write(&path, b"5").unwrap();
    vfs.sync(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"12345");
    vfs.write(&path, b"6").unwrap();
    vfs.append(&path, b"7").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"1234567");
    vfs.write(&path, b"8").unwrap();
    #[cfg(target_os = "linux")]
    assert_eq!(handles_in(temp.path()), 1);
    vfs.flush(&path).unwrap();
    #[cfg(target_os = "linux")]
    assert_eq!(handles_in(temp.path()), 0);
    assert_eq!(fs::read(&path).unwrap(), b"12345678");
}

#[test]
fn another_program_sees_a_file_that_is_written_on_a_moment_later() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    let vfs = Vfs::new();
    written_twice(&vfs, &path);
    sleep(A_WHILE);
    vfs.write(&path, b"3").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"12", "what is old goes when something new comes");
}

#[test]
fn a_reader_that_was_open_before_goes_on_reading() {
    use std::io::Read;
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    let vfs = Vfs::new();
    written_twice(&vfs, &path);
    let mut reader = fs::File::open(&path).unwrap();
    let mut read = String::new();
    reader.read_to_string(&mut read).unwrap();
    assert_eq!(read, "1");
    vfs.flush(&path).unwrap();
    reader.read_to_string(&mut read).unwrap();
    assert_eq!(read, "12");
}

#[cfg(target_os = "linux")]
#[test]
fn a_handle_of_a_removed_file_is_let_go_by_the_write_that_notices() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    let vfs = Vfs::new();
    written_twice(&vfs, &path);
    fs::remove_file(&path).unwrap();
    sleep(A_WHILE);
    vfs.write(&path, b"3").unwrap();
    let open: Vec<_> =
        fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| fs::read_link(fd.unwrap().path()).ok()).collect();
    let ours: Vec<_> = open.iter().filter(|file| file.starts_with(temp.path())).collect();
    assert_eq!(ours, [&path], "and not one that is (deleted)");
}

#[test]
fn somebody_s_own_writer_is_left_alone_by_a_removal() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("folder");
    let vfs = Vfs::new();
    vfs.create_folder(&folder).unwrap();
    let mut writer = vfs.create_writer(folder.join("file")).unwrap();
    writer.write_all(b"1").unwrap();
    assert_eq!(vfs.remove(&folder).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
    writer.write_all(b"2").unwrap();
    assert_eq!(writer.close().unwrap().bytes, 2);
    assert_eq!(fs::read(folder.join("file")).unwrap(), b"12");
}

#[test]
fn the_handle_used_longest_ago_makes_room() {
    let temp = tempfile::tempdir().unwrap();
    let path = |n: usize| temp.path().join(n.to_string());
    let vfs = Vfs::options().handles(3).build();
    for n in [0, 1, 2, 0, 3] {
        vfs.write(path(n), b"x").unwrap();
    }
    #[cfg(target_os = "linux")]
    {
        let open = fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| fs::read_link(fd.unwrap().path()).ok());
        let mut open: Vec<_> = open.filter(|file| file.starts_with(temp.path())).collect();
        open.sort();
        assert_eq!(open, [path(0), path(2), path(3)], "1 was used longest ago");
    }
    for n in 4..100 {
        vfs.write(path(n), b"x").unwrap();
        vfs.write(path(n), b"y").unwrap();
        #[cfg(target_os = "linux")]
        assert_eq!(handles_in(temp.path()), 3);
    }
    vfs.wait().unwrap();
    assert!((4..100).all(|n| fs::read(path(n)).unwrap() == b"xy"));
}

#[test]
fn dropping_the_vfs_writes_and_closes_everything() {
    let temp = tempfile::tempdir().unwrap();
    let path = |n: usize| temp.path().join(n.to_string());
    let vfs = Vfs::new();
    for n in 0..20 {
        written_twice(&vfs, &path(n));
    }
    let mut writer = vfs.create_writer(path(20)).unwrap();
    writer.write_all(b"12").unwrap();
    drop(vfs);
    // A writer outlives the Vfs that made it.
    writer.write_all(b"3").unwrap();
    drop(writer);
    assert!((0..20).all(|n| fs::read(path(n)).unwrap() == b"12"));
    assert_eq!(fs::read(path(20)).unwrap(), b"123");
    #[cfg(target_os = "linux")]
    assert_eq!(handles_in(temp.path()), 0);
}
