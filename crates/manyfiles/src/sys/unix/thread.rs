//! What a thread can have to itself: a descriptor table, a umask, a count of its sleeps.

use super::Dir;

/// How many handles this process may have open.
pub(crate) fn handle_limit() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// Gives the calling thread a descriptor table of its own, with the standard streams and `keep` in it. From then on this
/// thread, and those that it starts, must touch no descriptor that comes from elsewhere: the numbers mean other files.
///
/// Threads that share a table pay for it at every call; on two cores creating 50,000 files in 2,954 folders takes 1.13 times
/// as long (docs/measurements.md, "New files": on tmpfs 1.9 against 2.15 times the speed of a plain loop).
///
/// Returns false, and changes nothing, where it cannot.
#[cfg(target_os = "linux")]
pub(crate) fn own_descriptors(keep: &Dir) -> bool {
    use std::os::fd::{AsFd, AsRawFd};
    // Copies of others' descriptors below `keep` are made and closed again, which flushes files on NFS and FUSE. Past this
    // many, sharing is the lesser evil.
    const MOST_COPIES: i32 = 64;
    let keep = keep.as_fd().as_raw_fd();
    if !(3..MOST_COPIES).contains(&keep) {
        return false;
    }
    let close_range = |first: i32, last: u32, flags: libc::c_uint| {
        // SAFETY: with CLOSE_RANGE_UNSHARE the calling thread first gets a table of its own, and without it that table is
        // what this closes in: no descriptor that another thread owns is closed.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) == 0 }
    };
    if !close_range(keep + 1, u32::MAX, libc::CLOSE_RANGE_UNSHARE) {
        return false; // before Linux 5.9, or a sandbox forbids it
    }
    // Cannot fail: the same call worked a moment ago.
    keep == 3 || close_range(3, keep as u32 - 1, 0)
}

/// Needs Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn own_descriptors(_keep: &Dir) -> bool {
    false
}

/// Makes room for `count` handles in this thread's descriptor table; `any` is some open one.
///
/// Linux lets a table grow only after every processor has passed a quiescent state if threads share it: 10–20 ms each time it
/// doubles from its first 64. Where it is not shared yet this costs nothing, and where it is, only once.
#[cfg(target_os = "linux")]
pub(crate) fn make_room_for_handles(any: impl std::os::fd::AsFd, count: usize) {
    let last = count.min(handle_limit()).saturating_sub(1);
    let last = i32::try_from(last).unwrap_or(i32::MAX);
    // Where it fails, the table grows when it must. Dropping the descriptor closes it; the room stays.
    drop(rustix::io::fcntl_dupfd_cloexec(any, last));
}

/// Needs Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn make_room_for_handles(_any: impl std::os::fd::AsFd, _count: usize) {}

/// The processor that the calling thread runs on.
#[cfg(target_os = "linux")]
pub(crate) fn processor() -> usize {
    rustix::thread::sched_getcpu()
}

/// Moves the calling thread to another processor than this one, if it may use another. It may come back.
///
/// A thread that is started to run beside another, or that two wake each other with, shall not run after it. Linux starts and
/// wakes a thread where it ran last, or where the waker runs, and looks further only among processors that it knows to share a
/// cache: in many virtual machines none. Who starts a thread to run beside it yields once, so that it can leave: without
/// that it began when its starter slept, 0.4 ms later, where 2,300 files take 7 ms.
#[cfg(target_os = "linux")]
pub(crate) fn leave_processor(processor: usize) {
    use rustix::thread::{sched_getaffinity, sched_setaffinity};
    let Ok(all) = sched_getaffinity(None) else { return };
    let mut others = all;
    others.unset(processor);
    // With no other this fails. Either way the thread runs, which is all that it must.
    if sched_setaffinity(None, &others).is_ok() {
        sched_setaffinity(None, &all).unwrap_or(());
    }
}

/// Needs Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn processor() -> usize {
    0
}

/// Needs Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn leave_processor(_processor: usize) {}

/// Gives the calling thread, and those that it starts, a umask of zero without changing any other thread's. Modes then need
/// no `fchmod`. Returns what it was; `None`, and changes nothing, where it cannot.
#[cfg(target_os = "linux")]
pub(crate) fn own_umask() -> Option<u32> {
    use rustix::thread::UnshareFlags;
    // SAFETY: separates the working directory and the umask only; this crate's threads use no relative path of the process.
    if unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }.is_err() {
        return None;
    }
    Some(rustix::process::umask(rustix::fs::Mode::empty()).bits())
}

/// Needs Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn own_umask() -> Option<u32> {
    None
}

/// The process's umask, without changing it even for a moment. `None` where the system doesn't say.
pub(crate) fn umask() -> Option<u32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?; // no /proc: not an error
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(line.trim(), 8).ok()
}

/// Tells whether the calling thread has slept in a system call since the last time it asked.
#[derive(Debug, Default)]
pub(crate) struct Sleeps(i64);

impl Sleeps {
    #[cfg(target_os = "linux")]
    pub(crate) fn since_last(&mut self) -> bool {
        // SAFETY: all zeros is a valid `rusage`, and the call writes nothing else.
        let count = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
            usage.ru_nvcsw
        };
        count > std::mem::replace(&mut self.0, count)
    }

    /// Other systems don't say it for one thread: a slow call is taken for a waiting one.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn since_last(&mut self) -> bool {
        self.0 += 1;
        true
    }
}
