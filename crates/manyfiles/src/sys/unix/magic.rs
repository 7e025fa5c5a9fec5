//! Kinds of file systems on Linux, by the magic numbers of `linux/magic.h` and of the drivers.

use std::os::fd::AsFd;

pub(super) const BCACHEFS: u32 = 0xCA45_1A4E;

pub(super) const BTRFS: u32 = 0x9123_683E;

pub(super) const EXFAT: u32 = 0x2011_BAB0;

/// ext2 to ext4.
pub(super) const EXT: u32 = 0xEF53;

pub(super) const F2FS: u32 = 0xF2F5_2010;

pub(super) const FAT: u32 = 0x4D44;

pub(super) const FUSE: u32 = 0x6573_5546;

pub(super) const HFS: u32 = 0x4244;

pub(super) const HFS_PLUS: u32 = 0x482B;

/// The driver of Linux 5.15, and the one before.
pub(super) const NTFS: [u32; 2] = [0x7366_746E, 0x5346_544E];

pub(super) const OVERLAY: u32 = 0x794C_7630;

pub(super) const RAMFS: u32 = 0x8584_58F6;

/// By its three names.
pub(super) const SMB: [u32; 3] = [0x517B, 0xFF53_4D42, 0xFE53_4D42];

pub(super) const TMPFS: u32 = 0x0102_1994;

pub(super) const XFS: u32 = 0x5846_5342;

pub(super) const ZFS: u32 = 0x2FC1_2FC1;

/// On what kind of file system a file or folder is. `None` if the system does not say: callers take the careful way.
pub(super) fn of(file: impl AsFd) -> Option<u32> {
    // The field's type differs between processors; magic numbers have 32 bits.
    rustix::fs::fstatfs(file).ok().map(|system| system.f_type as u32)
}
