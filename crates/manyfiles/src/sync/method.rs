//! How a batch is made durable.

/// How a [`SyncBatch`](super::SyncBatch) makes its files durable.
///
/// | method | what is called | cost |
/// |---|---|---|
/// | [`FileSystem`](BatchMethod::FileSystem) | `syncfs` once for each file system | 14 times as fast as one fsync after the other for 2,300 files on ext4, but it also writes what other programs left unwritten there: 212 ms more for 400 MB |
/// | [`EachFile`](BatchMethod::EachFile) | write-out started for all, then one sync for each, from up to 64 threads | 6 to 8 times as fast, whatever others do |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchMethod {
    /// `FileSystem` where that is possible and likely to be faster, which depends on how many files there are and how
    /// much of other programs' data waits to be written; else `EachFile`.
    #[default]
    Automatic,
    /// One sync for all. Only on Linux 5.8 or later (before, it did not tell of lost bytes), and on ext2 to ext4, XFS,
    /// btrfs, F2FS and tmpfs; elsewhere it is as `EachFile`.
    FileSystem,
    /// One sync for each file.
    EachFile,
}

/// Fewer files than this are synced one by one: a `syncfs` takes a journal commit and some more (with 500 files 15 ms
/// against 30 ms from 16 threads), and a program that syncs a few files at a time would write the data of all other
/// programs each time.
const FEW: u64 = 64;

/// What a sync of one file more costs from many threads, in microseconds, beyond its share of a `syncfs`: 30 ms for 500
/// files against 15 ms.
const GAIN_PER_FILE: u64 = 30;

/// What a `syncfs` costs for each MiB that others left to write: 212 ms for 400 MB.
const COST_PER_MIB: u64 = 530;

/// Whether the whole file system is to be synced: for `files` files of this batch, where other programs have left
/// `others` bytes to write.
///
/// While a batch still grows its final size is not known, and eight times the present size is assumed. That costs
/// little if it is wrong, because files that were synced one by one are not synced again.
pub(super) fn prefers_file_system(files: u64, others: u64, more_to_come: bool) -> bool {
    let likely = if more_to_come { files.saturating_mul(8) } else { files };
    files >= FEW && likely.saturating_mul(GAIN_PER_FILE) >= (others >> 20).saturating_mul(COST_PER_MIB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_batches_sync_the_file_system_unless_others_have_much_to_write() {
        const MIB: u64 = 1 << 20;
        let cases = [
            (1, 0, false),
            (63, 0, false),
            (64, 0, true),
            (500, 400 * MIB, false), // 227 ms against 30
            (500, 10 * MIB, true),
            (10_000, 400 * MIB, true),
            (10_000, 4_000 * MIB, false),
            (u64::MAX, u64::MAX, true),
        ];
        for (files, others, expected) in cases {
            assert_eq!(prefers_file_system(files, others, false), expected, "{files} files, {others} bytes of others");
        }
        assert!(prefers_file_system(256, 100 * MIB, true) && !prefers_file_system(256, 100 * MIB, false));
    }
}
