//! What needs a process of its own: its limits, its standard error, its end.

#[path = "support/again.rs"]
mod again;

use std::fs::File;
use std::thread;
use std::time::Duration;

use again::{again, is_again};
use manyfiles::close::{self, Closer, FastClose, FastCloseable, Policy};

/// A file whose close takes a while.
#[cfg(unix)]
struct Slow(#[expect(dead_code, reason = "held open")] File);

#[cfg(unix)]
impl FastCloseable for Slow {}

#[cfg(unix)]
impl Drop for Slow {
    fn drop(&mut self) {
        thread::sleep(Duration::from_micros(200));
    }
}

/// A handle whose close takes until the channel's sender is dropped.
#[cfg(unix)]
struct Held(std::sync::mpsc::Receiver<()>);

#[cfg(unix)]
impl Drop for Held {
    fn drop(&mut self) {
        assert!(self.0.recv().is_err());
    }
}

#[test]
#[cfg(unix)]
fn with_64_handles_allowed_a_program_of_slow_closes_runs() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    if !is_again() {
        again("with_64_handles_allowed_a_program_of_slow_closes_runs", |_| {});
        return;
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: Some(64) }).unwrap();
    let open = || File::open("/dev/null").expect("more handles are pending than the process may have open");
    {
        let closer = Closer::options().policy(Policy::Always).build();
        let mut most = 0;
        for _ in 0..5_000 {
            closer.close(Slow(open()));
            most = most.max(closer.pending());
        }
        closer.wait().unwrap();
        assert!((16..=32).contains(&most), "{most}");
    }
    for _ in 0..5_000 {
        drop(FastClose::new(Slow(open())));
    }
    close::wait().unwrap();
}

struct Breaks;

impl FastCloseable for Breaks {}

impl Drop for Breaks {
    fn drop(&mut self) {
        // Without the panic's own message on standard error, which the tests below read.
        std::panic::resume_unwind(Box::new("the handle broke"));
    }
}

#[test]
fn errors_that_no_call_took_are_printed_once() {
    if !is_again() {
        let output = again("errors_that_no_call_took_are_printed_once", |_| {});
        let stderr = String::from_utf8(output.stderr).unwrap();
        let told: Vec<_> = stderr.lines().filter(|line| line.starts_with("manyfiles: ")).collect();
        assert_eq!(told, ["manyfiles: cannot close not-taken: its drop panicked: the handle broke"], "{stderr}");
        return;
    }
    let closer = Closer::options().policy(Policy::Always).build();
    closer.close_at(Breaks, "taken");
    assert_eq!(closer.wait().unwrap_err().len(), 1);
    closer.close_at(Breaks, "not-taken");
}

#[test]
fn the_guard_prints_what_no_call_took_when_it_is_dropped() {
    if !is_again() {
        let output = again("the_guard_prints_what_no_call_took_when_it_is_dropped", |_| {});
        let stderr = String::from_utf8(output.stderr).unwrap();
        let told: Vec<_> = stderr.lines().filter(|line| line.starts_with("manyfiles: ")).collect();
        assert_eq!(told, ["manyfiles: cannot close a file: its drop panicked: the handle broke"], "{stderr}");
        return;
    }
    let _guard = close::guard();
    drop(FastClose::new(Breaks));
}

#[test]
#[cfg(unix)]
fn a_drop_does_not_panic_where_standard_error_takes_nothing() {
    if !is_again() {
        // It refuses every byte.
        let Ok(full) = File::options().write(true).open("/dev/full") else {
            println!("skipped: no /dev/full");
            return;
        };
        again("a_drop_does_not_panic_where_standard_error_takes_nothing", |command| {
            command.stderr(full);
        });
        return;
    }
    let closer = Closer::options().policy(Policy::Always).build();
    closer.close_at(Breaks, "told to nobody");
    drop(closer);
}

#[test]
fn the_guard_keeps_the_process_until_all_is_closed() {
    if !is_again() {
        let temp = tempfile::tempdir().unwrap();
        again("the_guard_keeps_the_process_until_all_is_closed", |command| {
            command.env("FOLDER", temp.path());
        });
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 500);
        return;
    }
    /// Leaves a file behind when it is closed.
    struct Leaves(std::path::PathBuf);
    impl FastCloseable for Leaves {}
    impl Drop for Leaves {
        fn drop(&mut self) {
            thread::sleep(Duration::from_millis(2));
            File::create(&self.0).unwrap();
        }
    }
    let folder = std::path::PathBuf::from(std::env::var_os("FOLDER").unwrap());
    let guard = close::guard();
    for n in 0..500 {
        drop(Leaves(folder.join(n.to_string())).fast_close());
    }
    guard.finish().unwrap();
    // As if main had returned: threads that still close would be cut off. The harness would say so too, so say it here.
    println!("test result: ok. 1 passed");
    std::process::exit(0);
}

#[test]
#[cfg(unix)]
fn a_child_that_was_forked_in_the_middle_may_close_by_a_closer_of_its_own() {
    if !is_again() {
        again("a_child_that_was_forked_in_the_middle_may_close_by_a_closer_of_its_own", |_| {});
        return;
    }
    let closer = Closer::options().policy(Policy::Always).build();
    for _ in 0..200 {
        closer.close(Slow(File::open("/dev/null").unwrap()));
    }
    // One that is pending at the fork, however long this thread was kept from it.
    let (release, released) = std::sync::mpsc::channel();
    closer.close(Held(released));
    assert!(closer.pending() > 0);
    // SAFETY: the child allocates and starts threads, which the C library allows after a fork, and it does not return.
    match unsafe { libc::fork() } {
        -1 => panic!("{}", std::io::Error::last_os_error()),
        0 => {
            let own = Closer::options().policy(Policy::Always).build();
            for _ in 0..20 {
                own.close(Slow(File::open("/dev/null").unwrap()));
            }
            own.close(Breaks);
            let as_expected = own.wait().is_err_and(|errors| errors.len() == 1) && own.wait().is_ok();
            // SAFETY: it ends the process, drops included: the parent's closer must not be dropped here.
            unsafe { libc::_exit(if as_expected { 0 } else { 1 }) }
        }
        child => {
            let mut status = -1;
            // SAFETY: `status` is a place for the result.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0, "the child's closes");
        }
    }
    drop(release);
    closer.wait().expect("the parent's closes");
    assert_eq!(closer.pending(), 0);
}

/// What the process printed to standard error, and how it ended.
#[cfg(unix)]
fn said_at_the_end(how: &str) -> (Vec<String>, Option<i32>) {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["a_process_that_ends_by", "--exact", "--nocapture"])
        .env("MANYFILES_TEST_END", how)
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    (stderr.lines().filter(|line| line.starts_with("manyfiles: ")).map(String::from).collect(), output.status.code())
}

/// Takes a while, and fails.
#[cfg(unix)]
struct Late;

#[cfg(unix)]
impl FastCloseable for Late {}

#[cfg(unix)]
impl Drop for Late {
    fn drop(&mut self) {
        thread::sleep(Duration::from_millis(50));
        std::panic::resume_unwind(Box::new("the handle broke"));
    }
}

#[test]
#[cfg(unix)]
fn a_process_that_ends_by() {
    let always = || Closer::options().policy(Policy::Always).build();
    let Ok(how) = std::env::var("MANYFILES_TEST_END") else {
        let late = "manyfiles: cannot close late: its drop panicked: the handle broke".to_owned();
        for (how, code) in [
            ("exit", 7),
            ("a detached thread", 7),
            ("a leaked closer", 7),
            ("an older end handler", 7),
            ("two", 7),
            ("panic", 101),
        ] {
            let expected = vec![late.clone(); if how == "two" { 2 } else { 1 }];
            assert_eq!(said_at_the_end(how), (expected, Some(code)), "{how}");
        }
        return;
    };
    match &*how {
        "exit" | "panic" => {
            close::set_global(Closer::options().policy(Policy::Always).build()).unwrap();
            let closer = Box::leak(Box::new(always()));
            closer.close_at(Late, "late");
            // By the test's harness: its main then ends with 101.
            assert_eq!(how, "exit", "a panic, as is to be");
        }
        "a detached thread" => {
            let (began, has_begun) = std::sync::mpsc::channel();
            thread::spawn(move || {
                let closer = always();
                closer.close_at(Late, "late");
                began.send(()).unwrap();
                thread::sleep(Duration::from_secs(3_600));
            });
            has_begun.recv().unwrap();
        }
        "a leaked closer" => std::mem::forget({
            let closer = always();
            closer.close_at(Late, "late");
            closer
        }),
        // What was registered first runs last, after the closers' own end.
        "an older end handler" => {
            static CLOSER: std::sync::OnceLock<Closer> = std::sync::OnceLock::new();
            extern "C" fn closes_late() {
                CLOSER.get().unwrap().close_at(Late, "late");
            }
            // SAFETY: the function takes nothing and returns nothing.
            assert_eq!(unsafe { libc::atexit(closes_late) }, 0);
            let closer = CLOSER.get_or_init(always);
            closer.close(());
            closer.wait().unwrap();
        }
        _ => {
            let both: &'static [Closer; 2] = Box::leak(Box::new([always(), always()]));
            both.iter().for_each(|closer| closer.close_at(Late, "late"));
        }
    }
    std::process::exit(7);
}

#[test]
#[cfg(unix)]
fn a_child_that_was_forked_may_go_on_with_its_parents_closer_and_exit() {
    if !is_again() {
        let output = again("a_child_that_was_forked_may_go_on_with_its_parents_closer_and_exit", |_| {});
        let stderr = String::from_utf8(output.stderr).unwrap();
        let told: Vec<_> = stderr.lines().filter(|line| line.starts_with("manyfiles: ")).collect();
        assert_eq!(told, ["manyfiles: cannot close the-childs: its drop panicked: the handle broke"], "{stderr}");
        return;
    }
    close::set_global(Closer::options().policy(Policy::Always).build()).unwrap();
    let closer = Closer::options().policy(Policy::Always).build();
    for _ in 0..100 {
        closer.close(Slow(File::open("/dev/null").unwrap()));
        drop(Slow(File::open("/dev/null").unwrap()).fast_close());
    }
    closer.close_at(Breaks, "the-parents");
    // SAFETY: the child allocates, which the C library allows after a fork, and it does not return.
    match unsafe { libc::fork() } {
        -1 => panic!("{}", std::io::Error::last_os_error()),
        0 => {
            // None of this waits for what the parent had pending.
            for _ in 0..10 {
                closer.close(Slow(File::open("/dev/null").unwrap()));
                drop(Slow(File::open("/dev/null").unwrap()).fast_close());
            }
            closer.close_at(Breaks, "the-childs");
            let as_expected = closer.wait().is_ok() && close::wait().is_ok() && closer.pending() == 0;
            drop(closer);
            std::process::exit(if as_expected { 0 } else { 1 });
        }
        child => {
            let mut status = -1;
            // SAFETY: `status` is a place for the result.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0, "the child's end");
        }
    }
    assert_eq!(closer.wait().expect_err("the parent's failure").len(), 1);
    close::wait().unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn no_signal_is_for_a_thread_that_closes() {
    let closer = Closer::options().policy(Policy::Always).build();
    let (release, released) = std::sync::mpsc::channel::<()>();
    struct Held(std::sync::mpsc::Receiver<()>);
    impl Drop for Held {
        fn drop(&mut self) {
            assert!(self.0.recv().is_err());
        }
    }
    closer.close(Held(released));
    let blocked = || {
        std::fs::read_dir("/proc/self/task").unwrap().find_map(|task| {
            let status = std::fs::read_to_string(task.ok()?.path().join("status")).ok()?;
            let value = |name: &str| status.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()));
            (value("Name:")? == "manyfiles-close").then(|| u64::from_str_radix(&value("SigBlk:")?, 16).ok())?
        })
    };
    let mask = loop {
        match blocked() {
            Some(mask) => break mask,
            None => thread::yield_now(),
        }
    };
    for signal in [libc::SIGUSR1, libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGALRM, libc::SIGCHLD] {
        assert_ne!(mask & 1 << (signal - 1), 0, "signal {signal} is not blocked: {mask:x}");
    }
    drop(release);
    closer.wait().unwrap();
}

#[test]
fn the_global_closer_is_chosen_once_and_before_its_first_use() {
    if !is_again() {
        again("the_global_closer_is_chosen_once_and_before_its_first_use", |_| {});
        return;
    }
    close::wait().expect("looking makes none");
    let (told, is_told) = std::sync::mpsc::channel();
    let closer = Closer::options().policy(Policy::Never).on_error(move |error| told.send(error).unwrap()).build();
    close::set_global(closer).expect("nothing was closed yet");
    drop(FastClose::new(Breaks));
    assert_eq!(is_told.try_recv().expect("closed here, so told already").to_string(), {
        "cannot close a file: its drop panicked: the handle broke"
    });
    close::set_global(Closer::new()).expect_err("there is one");
}
