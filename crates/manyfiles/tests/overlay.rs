//! In a container: files of its image are other files once they are written to. The overlay copies them then, and a
//! handle that was opened before goes on showing the file of the image.
#![cfg(all(feature = "full", target_os = "linux"))]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use manyfiles::appender::{Appender, Records};
use manyfiles::vfs::Vfs;
use manyfiles_testkit::{Disk, Need, skip_unless};

#[test]
fn vfs_reads_what_it_has_written_to_a_file_of_the_image() {
    skip_unless!(Need::Overlay);
    let image = tempfile::tempdir().unwrap();
    fs::write(image.path().join("file"), "old").unwrap();
    let container = Disk::overlay(image.path()).unwrap();
    let file = container.path().join("file");
    let vfs = Vfs::new();
    let read = || {
        let mut bytes = [0; 20];
        let length = vfs.read_at(&file, 0, &mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    assert_eq!(read(), "old");
    vfs.write(&file, b"+1").unwrap();
    assert_eq!(read(), "old+1");
    vfs.append(&file, b"+2").unwrap();
    assert_eq!(read(), "old+1+2");
    fs::write(&file, "others").unwrap();
    assert_eq!(read(), "others");
    vfs.finish().unwrap();
}

#[test]
fn two_names_of_one_file_of_the_image_are_two_files_once_they_are_written_to() {
    skip_unless!(Need::Overlay);
    let image = tempfile::tempdir().unwrap();
    fs::write(image.path().join("x"), "old").unwrap();
    fs::hard_link(image.path().join("x"), image.path().join("y")).unwrap();
    let container = Disk::overlay(image.path()).unwrap();
    let [x, y]: [PathBuf; 2] = ["x", "y"].map(|name| container.path().join(name));
    let vfs = Vfs::new();
    for bytes in ["1", "2"] {
        vfs.write(&x, bytes.as_bytes()).unwrap();
        vfs.write(&y, bytes.to_uppercase().repeat(2).as_bytes()).unwrap();
    }
    assert_eq!([vfs.read(&x).unwrap(), vfs.read(&y).unwrap()], [b"old12".to_vec(), b"old1122".to_vec()]);
    vfs.finish().unwrap();
    assert_eq!([fs::read(&x).unwrap(), fs::read(&y).unwrap()], [b"old12".to_vec(), b"old1122".to_vec()]);
}

#[test]
fn who_follows_a_log_of_the_image_sees_what_is_appended() {
    skip_unless!(Need::Overlay);
    let image = tempfile::tempdir().unwrap();
    let open = |path: PathBuf| Appender::options().framed(true).open(path).unwrap();
    let before = open(image.path().join("log"));
    before.append(b"one").unwrap();
    before.close().unwrap();
    let container = Disk::overlay(image.path()).unwrap();
    let log = container.path().join("log");
    let mut follow = Records::open(&log).unwrap().follow();
    let mut next = || follow.next_within(Duration::from_secs(60)).map(Result::unwrap);
    assert_eq!(next(), Some(b"one".to_vec()));
    let appender = open(log);
    appender.append_durable(b"two").unwrap();
    assert_eq!(next(), Some(b"two".to_vec()));
    appender.append_durable(b"three").unwrap();
    assert_eq!(next(), Some(b"three".to_vec()));
    appender.close().unwrap();
}
