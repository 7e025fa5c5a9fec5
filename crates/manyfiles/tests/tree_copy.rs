//! Copies of files share what they can.
#![cfg(feature = "full")]
#![cfg(target_os = "linux")]

use manyfiles::tree::{Content, TreeWriter};
use manyfiles_testkit::{Disk, Need, skip_unless};

#[test]
fn three_copies_of_a_file_fit_where_there_is_no_room_for_them_because_blocks_are_shared() {
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("mkfs.btrfs"));
    const DISK_MEGABYTES: usize = 256;
    const LEN: usize = 90 << 20;
    const { assert!(3 * LEN > DISK_MEGABYTES << 20) };
    let disk = Disk::btrfs().megabytes(DISK_MEGABYTES as u64).mount().unwrap();
    // No two blocks are alike.
    let bytes: Vec<u8> =
        (0..LEN as u64 / 8).flat_map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
    let source = disk.path().join("source");
    std::fs::write(&source, &bytes).unwrap();
    let tree = TreeWriter::open(disk.path().join("copies")).unwrap();
    for n in 0..3 {
        tree.file(format!("{n}"), Content::copy_of(&source)).unwrap();
    }
    let report = tree.finish().unwrap();
    assert_eq!((report.files, report.bytes), (3, 3 * LEN as u64));
    for n in 0..3 {
        let copy = std::fs::read(disk.path().join(format!("copies/{n}"))).unwrap();
        assert!(copy == bytes, "copy {n} differs");
    }
}
