//! What the operating system says at close arrives: its number, the operation, the path, once.
#![cfg(target_os = "linux")]

#[path = "support/again.rs"]
mod again;

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use manyfiles::Operation;
use manyfiles::close::{self, Closer, FastClose, Policy};

const NUMBERS: [i32; 4] = [libc::EIO, libc::ENOSPC, libc::EDQUOT, libc::EINTR];
const POLICIES: [Policy; 3] = [Policy::Adaptive, Policy::Always, Policy::Never];

/// Runs `test` again in a process where the close of "….fails-with-N" fails with error number N. `false`: this is that
/// process.
fn in_a_process_whose_closes_fail(test: &str) -> bool {
    if again::is_again() {
        return false;
    }
    let temp = tempfile::tempdir().unwrap();
    let library = temp.path().join("failing_close.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/failing_close.c");
    match Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]).status() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("skipped: no C compiler (cc) to build the library that makes closes fail");
            return true;
        }
        status => assert!(status.unwrap().success(), "cc"),
    }
    again::again(test, |command| {
        command.env("LD_PRELOAD", &library);
    });
    true
}

fn fails_with(folder: &Path, name: &str, number: i32) -> (File, PathBuf) {
    let path = folder.join(format!("{name}.fails-with-{number}"));
    (File::create(&path).unwrap(), path)
}

#[test]
fn a_failed_close_reaches_wait_with_its_path_and_number() {
    if in_a_process_whose_closes_fail("a_failed_close_reaches_wait_with_its_path_and_number") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    for policy in POLICIES {
        for number in NUMBERS {
            let closer = Closer::options().policy(policy).build();
            let (file, path) = fails_with(temp.path(), "named", number);
            closer.close_at(file, &path);
            closer.close_at(File::create(temp.path().join("fine")).unwrap(), "fine");

            let errors = closer.wait().unwrap_err();
            assert_eq!(errors.len(), 1, "{policy:?}: {errors}");
            let error = errors.into_iter().next().unwrap();
            assert_eq!(error.raw_os_error(), Some(number), "{policy:?}: {error}");
            assert_eq!(error.operation(), Operation::Close);
            assert_eq!(error.path(), Some(&*path));
            assert!(error.to_string().starts_with(&format!("cannot close {}: ", path.display())), "{error}");

            closer.wait().expect("told once");
        }
    }
}

#[test]
fn a_handle_whose_close_failed_is_not_closed_again() {
    use std::os::fd::{AsRawFd, BorrowedFd};
    if in_a_process_whose_closes_fail("a_handle_whose_close_failed_is_not_closed_again") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    for policy in POLICIES {
        // EINTR above all: Linux has given the number free by then, and it may be another file's.
        for number in NUMBERS {
            let closer = Closer::options().policy(policy).build();
            let (file, _) = fails_with(temp.path(), "a.reused", number);
            let descriptor = file.as_raw_fd();
            closer.close(file);
            assert_eq!(closer.wait().unwrap_err().into_iter().next().unwrap().raw_os_error(), Some(number));
            // SAFETY: the preloaded library keeps a file open under this number, for ever.
            let other = unsafe { BorrowedFd::borrow_raw(descriptor) };
            rustix::io::fcntl_getfd(other).expect("the other file that got the number was closed");
        }
    }
}

#[test]
fn a_handle_that_was_closed_behind_its_back_is_an_error_and_no_more() {
    use std::os::fd::{AsFd, AsRawFd, OwnedFd};
    const TEST: &str = "a_handle_that_was_closed_behind_its_back_is_an_error_and_no_more";
    // In a process of its own: no other test's file may get the number.
    if !again::is_again() {
        again::again(TEST, |_| {});
        return;
    }
    for policy in POLICIES {
        let closer = Closer::options().policy(policy).build();
        for n in 0..10 {
            let file = File::open("/dev/null").unwrap();
            // A number so high that no thread that starts meanwhile gets it.
            let handle: OwnedFd = rustix::io::fcntl_dupfd_cloexec(file.as_fd(), 500 + n).unwrap();
            // SAFETY: that it is closed twice is what is tested; nothing else has this number.
            assert_eq!(unsafe { libc::close(handle.as_raw_fd()) }, 0);
            closer.close_at(File::from(handle), "closed twice");
        }
        let errors = closer.wait().unwrap_err();
        assert_eq!(errors.len(), 10);
        for error in errors {
            assert_eq!((error.raw_os_error(), error.path()), (Some(libc::EBADF), Some(Path::new("closed twice"))));
        }
        closer.close(File::open("/dev/null").unwrap());
        closer.wait().expect("nothing else was hurt");
    }
}

/// A file whose write is done is taken out of its runtime's wrapper, so that the system's own close is seen.
#[cfg(feature = "tokio")]
#[test]
fn a_failed_close_of_tokios_file_reaches_wait_with_its_number() {
    use tokio::io::AsyncWriteExt;
    if in_a_process_whose_closes_fail("a_failed_close_of_tokios_file_reaches_wait_with_its_number") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let tokio = || Closer::options().executor(manyfiles::close::executor::Tokio::new());
    for options in [Closer::options, tokio as fn() -> _] {
        for policy in POLICIES {
            let closer = options().policy(policy).build();
            for number in NUMBERS {
                let (file, path) = fails_with(temp.path(), "tokio", number);
                runtime.block_on(async {
                    let mut file = tokio::fs::File::from(file);
                    file.write_all(b"bytes").await.unwrap();
                    file.flush().await.unwrap();
                    closer.close_at(file, path);
                });
            }
            let mut told: Vec<_> =
                closer.wait().unwrap_err().iter().map(|error| error.raw_os_error().unwrap()).collect();
            told.sort();
            let mut expected = NUMBERS;
            expected.sort();
            assert_eq!(told, expected, "{policy:?}");
        }
    }
}

#[test]
fn each_of_a_thousand_failures_is_told_once_whichever_thread_waits() {
    if in_a_process_whose_closes_fail("each_of_a_thousand_failures_is_told_once_whichever_thread_waits") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    for policy in POLICIES {
        let closer = Closer::options().policy(policy).capacity(16).build();
        let told = Mutex::new(Vec::new());
        let handed_over = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (closer, told, handed_over, folder) = (&closer, &told, &handed_over, temp.path());
                scope.spawn(move || {
                    for n in 0..250 {
                        let (file, path) = fails_with(folder, &format!("{thread}-{n}"), NUMBERS[n % 4]);
                        closer.close_at(file, &path);
                        handed_over.lock().unwrap().push(path);
                        if n % 100 == 0
                            && let Err(errors) = closer.wait()
                        {
                            told.lock().unwrap().extend(errors);
                        }
                    }
                });
            }
        });
        let mut told = told.into_inner().unwrap();
        told.extend(closer.wait().err().into_iter().flatten());
        let mut told: Vec<_> = told.iter().map(|error| error.path().unwrap().to_owned()).collect();
        let mut handed_over = handed_over.into_inner().unwrap();
        told.sort();
        handed_over.sort();
        assert_eq!(told, handed_over, "{policy:?}");
    }
}

#[test]
fn a_callback_gets_the_failure_in_place_of_wait() {
    if in_a_process_whose_closes_fail("a_callback_gets_the_failure_in_place_of_wait") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    for policy in POLICIES {
        let told = Arc::new(Mutex::new(Vec::new()));
        let callback = Arc::clone(&told);
        let closer = Closer::options()
            .policy(policy)
            .on_error(move |error| {
                callback.lock().unwrap().push((error.path().unwrap().to_owned(), error.raw_os_error()))
            })
            .build();
        let (file, path) = fails_with(temp.path(), "callback", libc::EDQUOT);
        closer.close_at(file, &path);
        closer.wait().expect("the callback was told");
        assert_eq!(*told.lock().unwrap(), [(path, Some(libc::EDQUOT))], "{policy:?}");
    }
}

#[test]
fn a_failed_close_of_a_wrapped_file_reaches_the_guard() {
    if in_a_process_whose_closes_fail("a_failed_close_of_a_wrapped_file_reaches_the_guard") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let guard = close::guard();
    for number in NUMBERS {
        drop(FastClose::new(fails_with(temp.path(), "wrapped", number).0));
    }
    drop(FastClose::new(File::create(temp.path().join("fine")).unwrap()));
    let errors = guard.finish().unwrap_err();
    let mut numbers: Vec<_> = errors.iter().map(|error| error.raw_os_error().unwrap()).collect();
    numbers.sort();
    let mut expected = NUMBERS;
    expected.sort();
    assert_eq!(numbers, expected);
    assert!(errors.iter().all(|error| error.operation() == Operation::Close && error.path().is_none()));
    close::wait().expect("told once");
}
