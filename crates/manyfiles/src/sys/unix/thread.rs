//! Threads and processors.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread that no signal handler of the program ever runs on: every signal that can be blocked is, from the
/// thread's first instruction on. A handler then never interrupts a call here, nor does a signal that the program
/// blocked kill it. The signals of faults (SIGSEGV and its like) stay as they are: blocked, they would end the process
/// without its handler.
pub(crate) fn spawn_quiet<T: Send + 'static>(
    builder: Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    // SAFETY: all zeros is a valid `sigset_t`; each call below writes to it only.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    let mut before = all;
    // SAFETY: the sets are live; a thread's own mask is all that changes, and it is set back below. None of this can
    // fail.
    unsafe {
        libc::sigfillset(&mut all);
        for fault in
            [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGSYS]
        {
            libc::sigdelset(&mut all, fault);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, &mut before);
    }
    let thread = builder.spawn(work);
    // SAFETY: `before` is this thread's mask of a moment ago.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
    thread
}

/// The processor that the calling thread runs on.
#[cfg(target_os = "linux")]
pub(crate) fn processor() -> usize {
    rustix::thread::sched_getcpu()
}

/// Moves the calling thread to another processor than this one, if it may use another. It may come back.
///
/// A thread that is started to run beside another, or that two wake each other with, shall not run after it. Linux
/// starts and wakes a thread where it ran last, or where the waker runs, and looks further only among processors that
/// it knows to share a cache: in many virtual machines none. A caller that starts a thread to run beside itself yields
/// once, so that the thread can leave: without that it began when its starter slept, 0.4 ms later, where 2,300 files
/// take 7 ms.
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
