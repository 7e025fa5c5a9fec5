//! The columns of the matrix.

use std::time::Duration;

use manyfiles_testkit::{Hostility, Lacking, Op};

/// A fault.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// None: the scene is right, and the operation does what it is to do.
    None,
    /// One call fails, the nth: a run for each call that the operation makes.
    Once(i32),
    /// One read, write or copy moves a single byte.
    Short,
    /// From one call on all fail: a run for each call.
    Onwards(i32),
    /// No thread can be started, from the nth on.
    Threads,
    /// The program itself, with a number that is tried from 0 up to this.
    Hostile(Hostile),
    /// A tmpfs that has so much room left, a run for each number of KiB.
    FullDisk(&'static [u64]),
    /// A mount that is like this.
    Mount(Mount),
    /// An overlay, with the scene in its lower layer.
    Overlay,
    /// Another process: a run for each of so many seeds.
    Neighbour(u64),
}

/// What the program does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hostile {
    Signals,
    ClosedStreams,
    FileSize,
    Handles,
    Umask,
    Chdir,
    Forks,
    Lacks(Lacking),
}

/// What the mount does. All but the first two keep what is written until the close, as NFS clients do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mount {
    /// Reads and writes move 1,000 bytes at most.
    Short,
    /// Every file below `src` says that it is empty.
    Lies,
    /// The nth operation of this kind fails with this error, and no other: a run for each.
    Once(Op, i32),
    /// There is room for so many bytes, which a close or a sync says.
    Space(u64),
    /// Operations take up to 2 ms longer.
    Jitter,
    /// What is written is seen after the close only, and removed files that are open stay under another name.
    PublishesAtClose,
    /// As Linux shows a FAT volume.
    Fat,
}

/// The faults of one column of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    None,
    OneCall,
    Short,
    Onwards,
    Program,
    Lacking,
    Full,
    Mount,
    Neighbour,
}

/// The columns of the page, with their heads.
pub const FAMILIES: [(Family, &str); 9] = [
    (Family::None, "no fault"),
    (Family::OneCall, "one call fails"),
    (Family::Short, "one is interrupted or short"),
    (Family::Onwards, "all fail from one on"),
    (Family::Program, "limits, signals"),
    (Family::Lacking, "calls that are not there"),
    (Family::Full, "full disk"),
    (Family::Mount, "mounts"),
    (Family::Neighbour, "neighbour"),
];

impl Fault {
    pub fn family(&self) -> Family {
        match self {
            Fault::None => Family::None,
            Fault::Once(libc::EINTR) | Fault::Short => Family::Short,
            Fault::Once(_) => Family::OneCall,
            Fault::Onwards(_) => Family::Onwards,
            Fault::Hostile(Hostile::Lacks(_)) => Family::Lacking,
            Fault::Threads | Fault::Hostile(_) => Family::Program,
            Fault::FullDisk(_) => Family::Full,
            Fault::Mount(_) | Fault::Overlay => Family::Mount,
            Fault::Neighbour(_) => Family::Neighbour,
        }
    }
}

/// All of them, by name. The name says what happens.
pub fn all() -> Vec<(&'static str, Fault)> {
    let mount = Fault::Mount;
    let hostile = Fault::Hostile;
    vec![
        ("no fault", Fault::None),
        ("once: ENOSPC", Fault::Once(libc::ENOSPC)),
        ("once: EDQUOT", Fault::Once(libc::EDQUOT)),
        ("once: EIO", Fault::Once(libc::EIO)),
        ("once: EINTR", Fault::Once(libc::EINTR)),
        ("once: one byte moved", Fault::Short),
        ("from a call on: EIO", Fault::Onwards(libc::EIO)),
        ("from a call on: ENOSPC", Fault::Onwards(libc::ENOSPC)),
        ("no threads", Fault::Threads),
        ("few handles", hostile(Hostile::Handles)),
        ("RLIMIT_FSIZE", hostile(Hostile::FileSize)),
        ("signals", hostile(Hostile::Signals)),
        ("closed streams", hostile(Hostile::ClosedStreams)),
        ("umask 077", hostile(Hostile::Umask)),
        ("chdir", hostile(Hostile::Chdir)),
        ("forks", hostile(Hostile::Forks)),
        ("an old kernel", hostile(Hostile::Lacks(Lacking::OldKernel))),
        ("a sandbox", hostile(Hostile::Lacks(Lacking::Sandbox))),
        ("a plain file system", hostile(Hostile::Lacks(Lacking::PlainFileSystem))),
        ("full tmpfs", Fault::FullDisk(&[0, 4, 64, 256])),
        ("mount: short reads and writes", mount(Mount::Short)),
        ("mount: lengths of 0", mount(Mount::Lies)),
        ("mount: close ENOSPC", mount(Mount::Once(Op::Close, libc::ENOSPC))),
        ("mount: close EDQUOT", mount(Mount::Once(Op::Close, libc::EDQUOT))),
        ("mount: sync EIO", mount(Mount::Once(Op::Fsync, libc::EIO))),
        ("mount: write-back EIO", mount(Mount::Once(Op::Write, libc::EIO))),
        ("mount: open ESTALE", mount(Mount::Once(Op::Create, libc::ESTALE))),
        ("mount: rename EIO", mount(Mount::Once(Op::Rename, libc::EIO))),
        ("mount: room for 100 kB", mount(Mount::Space(100_000))),
        ("mount: jitter", mount(Mount::Jitter)),
        ("mount: publishes at close", mount(Mount::PublishesAtClose)),
        ("mount: FAT", mount(Mount::Fat)),
        ("overlay", Fault::Overlay),
        ("neighbour", Fault::Neighbour(12)),
    ]
}

impl Hostile {
    /// The habit with its nth number, if there is a run of that number.
    pub fn nth(self, n: u64) -> Option<Hostility> {
        match self {
            Hostile::Handles => (n < 8).then_some(Hostility::MoreHandles(n)),
            Hostile::FileSize => [0, 1000, 4096, 200_000].get(n as usize).map(|&bytes| Hostility::FileSize(bytes)),
            _ if n > 0 => None,
            Hostile::Signals => Some(Hostility::Signals(Duration::from_millis(1))),
            Hostile::ClosedStreams => Some(Hostility::ClosedStreams),
            Hostile::Umask => Some(Hostility::Umask(0o077)),
            Hostile::Chdir => Some(Hostility::Chdir),
            Hostile::Forks => Some(Hostility::Forks),
            Hostile::Lacks(lacking) => Some(Hostility::Lacks(lacking)),
        }
    }
}
