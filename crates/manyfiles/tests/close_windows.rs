//! Closes on Windows: what GetLastError said, all of them before the process ends, never more than the bound.
#![cfg(windows)]

#[path = "support/again.rs"]
mod again;

use std::fs::File;
use std::io::Write;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use again::{again, is_again};
use manyfiles::Operation;
use manyfiles::close::{self, Closer, FastClose, Policy};
use manyfiles_testkit::{protect_from_close, slow_close_folder};

const ERROR_INVALID_HANDLE: i32 = 6;
const ERROR_SHARING_VIOLATION: i32 = 32;

/// Under wine a close is slow only if something was written.
fn written(path: &Path) -> File {
    let mut file = File::create(path).unwrap();
    file.write_all(b"x").unwrap();
    file
}

/// Opens for itself alone, which fails while another handle of the file is open.
fn open_alone(path: &Path) -> std::io::Result<File> {
    File::options().read(true).share_mode(0).open(path)
}

#[test]
fn a_failed_close_reaches_wait_with_its_path_and_what_getlasterror_said() {
    let temp = tempfile::tempdir().unwrap();
    for policy in [Policy::Adaptive, Policy::Always, Policy::Never] {
        let closer = Closer::options().policy(policy).build();
        let path = temp.path().join(format!("{policy:?}"));
        let file = written(&path);
        protect_from_close(&file).unwrap();
        closer.close_at(file, &path);
        closer.close_at(written(&temp.path().join("fine")), "fine");
        let errors = closer.wait().unwrap_err();
        assert_eq!(errors.len(), 1, "{policy:?}: {errors}");
        let error = errors.into_iter().next().unwrap();
        assert_eq!((error.operation(), error.path()), (Operation::Close, Some(&*path)));
        assert_eq!(error.raw_os_error(), Some(ERROR_INVALID_HANDLE), "{policy:?}: {error}");
        closer.wait().expect("told once");
    }
}

#[test]
fn five_thousand_closes_queued_at_the_end_of_main_are_all_made_before_the_process_ends() {
    let name = "five_thousand_closes_queued_at_the_end_of_main_are_all_made_before_the_process_ends";
    if !is_again() {
        again(name, |_| {});
        return;
    }
    const FILES: usize = 5_000;
    const FAILING: usize = 50;
    let temp = match slow_close_folder() {
        Ok(temp) => temp,
        Err(why) => return manyfiles_testkit::skip(why),
    };
    // Few enough in each folder: wine looks through all names for a new one.
    let path = |n: usize| temp.path().join((n % 50).to_string()).join(n.to_string());
    (0..50).for_each(|n| std::fs::create_dir(temp.path().join(n.to_string())).unwrap());
    let handles: Vec<_> = (0..FILES).map(|n| written(&path(n))).collect();
    for file in &handles[..FAILING] {
        protect_from_close(file).unwrap();
    }
    // One thread has ten seconds to do: queueing takes one or two here, more on a busy machine.
    close::set_global(Closer::options().policy(Policy::Always).capacity(FILES).threads(1).build()).unwrap();
    let guard = close::guard();
    handles.into_iter().for_each(|file| drop(FastClose::new(file)));
    let last = open_alone(&path(FILES - 1));
    assert_eq!(last.unwrap_err().raw_os_error(), Some(ERROR_SHARING_VIOLATION), "the last close was not queued");
    let errors = guard.finish().unwrap_err();
    assert_eq!(errors.len(), FAILING);
    assert!(errors.iter().all(|error| error.raw_os_error() == Some(ERROR_INVALID_HANDLE)));
    for n in FAILING..FILES {
        open_alone(&path(n)).unwrap_or_else(|error| panic!("{n} is still open: {error}"));
    }
    // As if main had returned. The harness would say so too, so say it here.
    println!("test result: ok. 1 passed");
    std::process::exit(0);
}

#[test]
fn of_a_hundred_thousand_closes_at_once_never_more_than_the_bound_are_pending() {
    let temp = match slow_close_folder() {
        Ok(temp) => temp,
        Err(why) => return manyfiles_testkit::skip(why),
    };
    // Closes of one file are made one after the other, so there are some.
    const FILES: usize = 256;
    let path = |n: usize| temp.path().join((n % FILES).to_string());
    (0..FILES).for_each(|n| drop(written(&path(n))));
    // So few threads that the four below are mostly faster than they.
    let closer = Closer::options().policy(Policy::Always).threads(8).build();
    let most = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for n in 0..25_000 {
                    let mut file = File::options().write(true).open(path(n)).unwrap();
                    file.write_all(b"x").unwrap();
                    closer.close(file);
                    most.fetch_max(closer.pending(), std::sync::atomic::Ordering::Relaxed);
                }
            });
        }
    });
    closer.wait().unwrap();
    let most = most.into_inner();
    // How near to it they come depends on which side is faster.
    assert!((1..=512).contains(&most), "{most}");
    (0..FILES).for_each(|n| drop(open_alone(&path(n)).unwrap()));
}
