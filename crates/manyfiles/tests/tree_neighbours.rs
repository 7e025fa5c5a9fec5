//! The program around a tree: its signals, its folder, its streams, its children. None of it changes what is written,
//! and the tree changes nothing of it.
#![cfg(all(feature = "full", target_os = "linux"))]

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use again::{again, is_again};
use manyfiles::tree::{Content, Durability, Metadata, TreeWriter};
use manyfiles_testkit::{Need, skip_unless};

#[path = "support/again.rs"]
mod again;

static PIPE: AtomicI32 = AtomicI32::new(-1);
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// What ctrlc, signal-hook, tokio and profilers do: one byte into a pipe, whose number this thread takes for the
/// program's.
extern "C" fn wake_up(_: libc::c_int) {
    // SAFETY: write is async-signal-safe, and errno is put back.
    unsafe {
        let errno = *libc::__errno_location();
        if libc::write(PIPE.load(Relaxed), b"!".as_ptr().cast(), 1) == 1 {
            WRITTEN.fetch_add(1, Relaxed);
        }
        *libc::__errno_location() = errno;
    }
}

fn pipe() -> (std::fs::File, std::fs::File) {
    let mut ends = [0; 2];
    // SAFETY: `ends` is what the call fills; both are new descriptors that no other code owns.
    unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK), 0);
        (OwnedFd::from_raw_fd(ends[0]).into(), OwnedFd::from_raw_fd(ends[1]).into())
    }
}

#[test]
fn signals_in_bursts_and_a_profiler_s_timer_leave_every_file_as_it_was_meant() {
    if !is_again() {
        again("signals_in_bursts_and_a_profiler_s_timer_leave_every_file_as_it_was_meant", |_| {});
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let (mut from, to) = pipe();
    PIPE.store(to.as_raw_fd(), Relaxed);
    // SAFETY: the handler is async-signal-safe; the timer and the handlers end with this process.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = wake_up as *const () as usize; // No SA_RESTART: calls are interrupted, too.
        for signal in [libc::SIGPROF, libc::SIGUSR1, libc::SIGALRM] {
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
        let every = libc::timeval { tv_sec: 0, tv_usec: 1000 };
        let timer = libc::itimerval { it_interval: every, it_value: every };
        libc::setitimer(libc::ITIMER_PROF, &timer, std::ptr::null_mut());
        libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut());
    }
    let bursts = std::thread::spawn(|| {
        for _ in 0..500 {
            // SAFETY: a signal to this process, which has a handler for it.
            unsafe { libc::kill(libc::getpid(), libc::SIGUSR1) };
            std::thread::sleep(Duration::from_micros(200));
        }
    });
    let body = "x".repeat(20_000);
    let tree = TreeWriter::open(temp.path()).unwrap();
    let mut stream = tree.create("stream", Metadata::default()).unwrap();
    for n in 0..3_000 {
        tree.file(format!("{}/{n}", n % 50), body.clone()).unwrap();
        stream.write_all(&body.as_bytes()[..1000]).unwrap();
    }
    stream.close().unwrap();
    assert_eq!(tree.finish().unwrap().files, 3_001);
    bursts.join().unwrap();
    // SAFETY: stops the timers.
    unsafe {
        let never: libc::itimerval = std::mem::zeroed();
        libc::setitimer(libc::ITIMER_PROF, &never, std::ptr::null_mut());
        libc::setitimer(libc::ITIMER_REAL, &never, std::ptr::null_mut());
    }
    for n in 0..3_000 {
        assert!(std::fs::read(temp.path().join(format!("{}/{n}", n % 50))).unwrap() == body.as_bytes(), "{n}");
    }
    assert!(std::fs::read(temp.path().join("stream")).unwrap().iter().all(|&byte| byte == b'x'));
    let mut bytes = Vec::new();
    assert_eq!(from.read_to_end(&mut bytes).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(bytes.len() as u64, WRITTEN.load(Relaxed), "every wake-up is in the pipe");
    assert!(!bytes.is_empty());
}

#[test]
fn the_threads_of_a_tree_take_no_signal() {
    if !is_again() {
        again("the_threads_of_a_tree_take_no_signal", |_| {});
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    (0..2_000).for_each(|n| tree.file(format!("{}/{n}", n % 9), vec![1; 2_000]).unwrap());
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut seen = 0;
    // A thread that has just begun has no name of its own yet.
    while seen == 0 {
        assert!(Instant::now() < deadline, "no thread of a tree");
        for task in std::fs::read_dir("/proc/self/task").unwrap() {
            let status = task.unwrap().path().join("status");
            // What a thread of a tree blocks. `None`: it is none, or it ended.
            let blocked = || {
                let status = std::fs::read_to_string(&status).ok()?;
                let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:\t"));
                status.starts_with("Name:\tmanyfiles\n").then(|| u64::from_str_radix(blocked.unwrap(), 16).unwrap())
            };
            let Some(first) = blocked() else { continue };
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGALRM, libc::SIGPROF, libc::SIGUSR1, libc::SIGCHLD, 40] {
                assert!(first & 1 << (signal - 1) != 0, "signal {signal} in {first:x}");
            }
            // A fault's handler can run. The C library blocks all signals for a moment where a thread begins, ends, or
            // starts another one.
            while blocked().is_some_and(|blocked| blocked & 1 << (libc::SIGSEGV - 1) != 0) {
                assert!(Instant::now() < deadline, "a fault's handler cannot run");
                std::thread::sleep(Duration::from_millis(1));
            }
            seen += 1;
        }
    }
    tree.finish().unwrap();
}

#[test]
fn a_program_that_changes_its_folder_gets_the_files_it_named_before() {
    if !is_again() {
        again("a_program_that_changes_its_folder_gets_the_files_it_named_before", |_| {});
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let path = |path: &str| temp.path().join(path);
    for folder in ["A", "B"] {
        std::fs::create_dir(path(folder)).unwrap();
        std::fs::write(path(folder).join("source"), format!("from {folder}")).unwrap();
    }
    std::env::set_current_dir(path("A")).unwrap();
    let tree = TreeWriter::options().durability(Durability::AtFinish).open("new/root").unwrap();
    tree.file("first", "x").unwrap();
    let content = Content::copy_of("source");
    std::env::set_current_dir(path("B")).unwrap();
    tree.file("copy", content).unwrap();
    tree.finish().unwrap();
    assert_eq!(std::fs::read_to_string(path("A/new/root/copy")).unwrap(), "from A");
    assert!(!path("B/new").exists());
}

#[test]
fn a_file_system_can_be_unmounted_right_after_finish_whoever_still_observes() {
    skip_unless!(Need::Root);
    // A child that another test of this process forks has copies of all that is open, until it runs its program.
    if !is_again() {
        again("a_file_system_can_be_unmounted_right_after_finish_whoever_still_observes", |_| {});
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let target = std::ffi::CString::new(temp.path().to_str().unwrap()).unwrap();
    for round in 0..100 {
        // SAFETY: the strings live through the calls.
        let mounted = unsafe { libc::mount(c"none".as_ptr(), target.as_ptr(), c"tmpfs".as_ptr(), 0, std::ptr::null()) };
        assert_eq!(mounted, 0);
        let tree = TreeWriter::open(temp.path()).unwrap();
        let (observer, canceller) = (tree.observer(), tree.canceller());
        for n in 0..(round % 5 + 1) * 40 {
            tree.file(format!("{}/{n}", n % 4), "x").unwrap();
        }
        let mut stream = tree.create("stream", Metadata::default()).unwrap();
        stream.write_all(&vec![1; 300 << 10]).unwrap();
        std::mem::forget(stream);
        tree.finish().unwrap_err();
        // SAFETY: as above.
        let unmounted = unsafe { libc::umount(target.as_ptr()) };
        let error = std::io::Error::last_os_error();
        if unmounted != 0 {
            // SAFETY: as above; the test is to leave nothing.
            unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
        }
        assert_eq!(unmounted, 0, "round {round}: {error}");
        drop((observer, canceller));
    }
}

#[test]
fn a_reader_of_the_program_s_output_sees_its_end_when_the_program_closes_it() {
    if is_again() {
        let temp = tempfile::tempdir().unwrap();
        let tree = TreeWriter::open(temp.path()).unwrap();
        tree.file("a", "x").unwrap();
        // SAFETY: this process writes nothing more to it.
        unsafe { libc::close(1) };
        // The parent reads to the end of our output, and then writes a line.
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
        assert_eq!(line, "seen\n");
        tree.finish().unwrap();
        std::process::exit(0);
    }
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args([
        "a_reader_of_the_program_s_output_sees_its_end_when_the_program_closes_it",
        "--exact",
        "--nocapture",
    ]);
    command.env("MANYFILES_TEST_AGAIN", "1").stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    child.stdin.take().unwrap().write_all(b"seen\n").unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_child_that_is_forked_in_between_keeps_nothing_open_once_it_runs_its_program() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    let mut children = Vec::new();
    for n in 0..20_000 {
        tree.file(format!("{}/{n}", n % 10), "x").unwrap();
        if n % 4_000 == 0 {
            let mut command = std::process::Command::new("sh");
            command.args(["-c", "ls -l /proc/$$/fd; read line"]).stdin(std::process::Stdio::piped());
            children.push(command.stdout(std::process::Stdio::piped()).spawn().unwrap());
        }
    }
    assert_eq!(tree.finish().unwrap().files, 20_000);
    let root = temp.path().to_str().unwrap();
    for mut child in children {
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        let output = child.wait_with_output().unwrap();
        let open = String::from_utf8_lossy(&output.stdout);
        assert!(open.contains("->") && !open.contains(root), "{open}");
    }
}

#[test]
fn dropping_a_tree_whose_failures_nobody_can_be_told_is_no_panic() {
    if !is_again() {
        let output = again("dropping_a_tree_whose_failures_nobody_can_be_told_is_no_panic", |_| {});
        assert!(output.status.success());
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("a"), "").unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    tree.file("a", "x").unwrap();
    let (from, to) = pipe();
    drop(from);
    // SAFETY: from here on the standard error of this process is a pipe that no process reads; SIGPIPE is ignored by
    // Rust's main.
    unsafe { libc::dup2(to.as_raw_fd(), 2) };
    drop(tree);
    assert_eq!(std::fs::read(temp.path().join("a")).unwrap(), b"");
}

#[test]
fn a_source_that_panics_while_it_is_read_leaves_no_half_file_and_the_tree_goes_on() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut file = tree.create("half", Metadata::default()).unwrap();
        file.write_all(&vec![1; 300 << 10]).unwrap();
        panic!("the user's reader");
    }));
    assert!(panicked.is_err());
    tree.file("whole", "x").unwrap();
    let report = tree.finish().unwrap_err().into_report();
    assert_eq!((report.files, report.failures.len()), (1, 1));
    assert_eq!(report.failures[0].path(), Some(Path::new("half")));
    assert!(!temp.path().join("half").exists());
}

#[test]
fn a_forked_child_that_drops_its_copies_takes_nothing_from_the_parent() {
    if !is_again() {
        again("a_forked_child_that_drops_its_copies_takes_nothing_from_the_parent", |_| {});
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    let mut stream = tree.create("stream", Metadata::default()).unwrap();
    stream.write_all(&vec![1; 300_000]).unwrap();
    // SAFETY: the child only drops copies, which must do nothing, and ends without running anything else.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop(stream);
        drop(tree);
        // SAFETY: as above.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: `status` is written by the call.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    stream.write_all(&vec![1; 300_000]).unwrap();
    stream.close().unwrap();
    assert_eq!(tree.finish().unwrap().files, 1);
    assert_eq!(std::fs::read(temp.path().join("stream")).unwrap().len(), 600_000);
}
