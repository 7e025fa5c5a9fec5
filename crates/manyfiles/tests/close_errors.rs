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
fn each_of_a_thousand_failures_is_told_once_whoever_waits() {
    if in_a_process_whose_closes_fail("each_of_a_thousand_failures_is_told_once_whoever_waits") {
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
