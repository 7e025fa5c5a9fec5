//! Scratch disks are of the kind and size asked for, and refuse as real ones do.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::Write;

use manyfiles_testkit::{Disk, DiskOptions, Need, skip_unless};

fn kind_of(disk: &Disk) -> String {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let path = disk.path().to_str().unwrap();
    let line = mounts.lines().find(|line| line.split(' ').nth(1) == Some(path)).expect("it is mounted");
    line.split(' ').nth(2).unwrap().to_owned()
}

fn write_until_it_fails(disk: &Disk) -> (usize, Option<i32>) {
    let mut file = File::create(disk.path().join("filler")).unwrap();
    for written in 0.. {
        if let Err(e) = file.write_all(&[0x11; 64 << 10]).and_then(|()| file.sync_data()) {
            return (written * (64 << 10), e.raw_os_error());
        }
    }
    unreachable!()
}

#[test]
fn every_kind_of_disk_takes_files_and_is_gone_after_drop() {
    skip_unless!(Need::LoopDevices, Need::Program("mkfs.xfs"), Need::Program("mkfs.btrfs"));
    let kinds: [(&str, DiskOptions); 4] =
        [("ext4", Disk::ext4()), ("xfs", Disk::xfs()), ("btrfs", Disk::btrfs()), ("tmpfs", Disk::tmpfs())];
    for (name, options) in kinds {
        let disk = options.mount().unwrap();
        assert_eq!(kind_of(&disk), name);
        let path = disk.path().to_owned();
        fs::write(path.join("a"), "bytes").unwrap();
        assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "bytes");
        drop(disk);
        assert!(!path.exists());
    }
}

#[test]
fn the_ext4_has_a_journal() {
    skip_unless!(Need::LoopDevices);
    let disk = Disk::ext4().mount().unwrap();
    let source = std::process::Command::new("findmnt").args(["-no", "SOURCE"]).arg(disk.path()).output().unwrap();
    let device = String::from_utf8(source.stdout).unwrap();
    let features = std::process::Command::new("dumpe2fs").args(["-h", device.trim()]).output().unwrap();
    let features = String::from_utf8_lossy(&features.stdout).into_owned();
    assert!(features.contains("has_journal"), "{features}");
}

#[test]
fn a_filled_disk_has_room_for_what_was_left_and_then_says_enospc() {
    skip_unless!(Need::LoopDevices);
    for options in [Disk::ext4().megabytes(64), Disk::tmpfs().megabytes(16)] {
        let disk = options.mount().unwrap();
        disk.fill(1 << 20).unwrap();
        let (written, errno) = write_until_it_fails(&disk);
        assert_eq!(errno, Some(libc::ENOSPC));
        assert!((512 << 10..=2 << 20).contains(&written), "{written} bytes fitted");
    }
}

#[test]
fn a_disk_without_inodes_left_says_enospc_at_create() {
    skip_unless!(Need::Root);
    let disk = Disk::tmpfs().megabytes(16).inodes(5).mount().unwrap();
    let create = |n: i32| File::create(disk.path().join(n.to_string())).map(drop);
    let error = (0..10).find_map(|n| create(n).err()).expect("ten files do not fit");
    assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
}

#[test]
fn a_quota_says_edquot() {
    skip_unless!(Need::LoopDevices, Need::Program("mkfs.btrfs"), Need::Program("btrfs"));
    let disk = Disk::btrfs().megabytes(256).quota(8 << 20).mount().unwrap();
    let (written, errno) = write_until_it_fails(&disk);
    assert_eq!(errno, Some(libc::EDQUOT));
    assert!(written < 9 << 20, "{written} bytes fitted");
}

#[test]
fn a_read_only_disk_says_erofs() {
    skip_unless!(Need::LoopDevices);
    let disk = Disk::ext4().megabytes(16).mount().unwrap();
    fs::write(disk.path().join("a"), "bytes").unwrap();
    disk.make_read_only().unwrap();
    assert_eq!(File::create(disk.path().join("b")).unwrap_err().raw_os_error(), Some(libc::EROFS));
    assert_eq!(fs::read_to_string(disk.path().join("a")).unwrap(), "bytes");
}

#[test]
fn what_a_file_system_cannot_be_given_is_an_error() {
    assert!(Disk::xfs().inodes(100).mount().is_err());
    assert!(Disk::ext4().quota(1).mount().is_err());
}
