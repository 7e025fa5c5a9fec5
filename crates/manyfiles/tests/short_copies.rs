//! Copies of files on a mount that moves less at once than it is asked for.
#![cfg(feature = "full")]
#![cfg(target_os = "linux")]

use manyfiles::vfs::Vfs;
use manyfiles::{close, fs};
use manyfiles_testkit::{Need, SlowMount, skip_unless};

/// As on a network file system that answers with less than was asked for: a copy in the kernel ends there.
#[test]
fn a_copy_from_and_to_a_mount_that_reads_and_writes_short_is_whole() {
    skip_unless!(Need::Fuse);
    let bytes: Vec<u8> = (0..300_000_u32).map(|n| (n.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
    let (here, memory) = (tempfile::tempdir().unwrap(), tempfile::tempdir_in("/dev/shm").unwrap());
    for at_most in [1000, 4096, 70_000] {
        let mount = SlowMount::options().short(at_most).mount().unwrap();
        // Past the mount, so that all is there however short the mount writes.
        std::fs::write(mount.backing().join("source"), &bytes).unwrap();
        for folder in [here.path(), memory.path()] {
            std::fs::write(folder.join("source"), &bytes).unwrap();
        }
        let ways = [(mount.path(), here.path()), (mount.path(), memory.path()), (mount.path(), mount.path())];
        for (from, to) in ways.into_iter().chain([(here.path(), mount.path()), (memory.path(), mount.path())]) {
            let way = format!("{at_most} bytes at most, from {} to {}", from.display(), to.display());
            let (from, by_fs, by_vfs) = (from.join("source"), to.join("by-fs"), to.join("by-vfs"));
            assert_eq!(fs::copy(&from, &by_fs).unwrap(), bytes.len() as u64, "{way}");
            close::wait().unwrap();
            let vfs = Vfs::new();
            vfs.copy(&from, &by_vfs).unwrap();
            vfs.finish().unwrap();
            for copy in [by_fs, by_vfs] {
                assert!(std::fs::read(&copy).unwrap() == bytes, "{}, {way}", copy.display());
            }
        }
    }
}
