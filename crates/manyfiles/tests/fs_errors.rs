//! Errors of closes belong to the closer that opened the file, under the default policy, on mounts that behave as NFS
//! and plain FUSE file systems do.
#![cfg(target_os = "linux")]

#[path = "support/again.rs"]
mod again;
#[path = "support/slow.rs"]
mod slow;

use std::io::{self, Write};
use std::path::Path;

use again::{again, is_again};
use manyfiles::Errors;
use manyfiles::close::{self, Closer, Policy};
use manyfiles::{Operation, fs};
use manyfiles_testkit::{Need, Op, skip_unless};
use slow::server;

/// The one failure that there is.
fn only<T: std::fmt::Debug>(result: Result<T, Errors>, path: &Path) {
    let errors = result.expect_err("an error is returned");
    let told: Vec<_> = errors.iter().map(|error| (error.operation(), error.path(), error.raw_os_error())).collect();
    assert_eq!(told, [(Operation::Close, Some(path), Some(libc::ENOSPC))]);
}

/// Which closer makes these closes: the global one, or one of the test's own.
enum Files<'a> {
    Global,
    Own(&'a Closer),
}

impl Files<'_> {
    /// Makes a file in one of the ways that there are.
    fn make(&self, way: usize, path: &Path, source: &Path) {
        let bytes = [7; 3_000];
        match (way % 3, self) {
            (0, Files::Global) => fs::write(path, bytes).unwrap(),
            (0, Files::Own(files)) => files.write(path, bytes).unwrap(),
            (1, Files::Global) => drop(fs::copy(source, path).unwrap()),
            (1, Files::Own(files)) => drop(files.copy(source, path).unwrap()),
            (_, Files::Global) => fs::File::create(path).unwrap().write_all(&bytes).unwrap(),
            (_, Files::Own(files)) => files.create(path).unwrap().write_all(&bytes).unwrap(),
        }
    }
}

#[test]
fn an_error_at_any_close_of_a_run_is_told_once_to_its_owner_with_its_path() {
    skip_unless!(Need::Fuse);
    if !is_again() {
        again("an_error_at_any_close_of_a_run_is_told_once_to_its_owner_with_its_path", |_| {});
        return;
    }
    let mount = server().fail(Op::Write, libc::ENOSPC, "bad").mount().unwrap();
    let temp = tempfile::tempdir().unwrap();
    let source = temp.path().join("source");
    std::fs::write(&source, [7; 3_000]).unwrap();
    const RUN: usize = 12;
    let (mut handed_over, mut on_the_spot) = (0, 0);
    // One error at a time: at each place of a run, in each way to make a file, for each owner.
    for (bad, way, owner) in (0..RUN * 9).map(|n| (n / 9, n / 3 % 3, n % 3)) {
        let folder = mount.path().join(format!("{bad}-{way}-{owner}"));
        fs::create_dir(&folder).unwrap();
        let name = |who, n| folder.join(format!("{who}-{n}{}", if (who, n) == (owner, bad) { "-bad" } else { "" }));
        // Two that have learnt nothing yet beside the global one, each on a thread of its own.
        let closers = [Closer::new(), Closer::new()];
        std::thread::scope(|scope| {
            for (who, files) in
                [Files::Global, Files::Own(&closers[0]), Files::Own(&closers[1])].into_iter().enumerate()
            {
                let (name, source) = (&name, &source);
                scope.spawn(move || (0..RUN).for_each(|n| files.make(way + n + RUN - bad, &name(who, n), source)));
            }
        });
        // The others ask first.
        let wait = |who: usize| if who == 0 { close::wait() } else { closers[who - 1].wait() };
        for who in (0..3).filter(|who| *who != owner) {
            wait(who).expect("no error of another closer");
        }
        only(wait(owner), &name(owner, bad));
        (0..3).for_each(|who| wait(who).expect("it was told once"));
        for metrics in closers.iter().map(Closer::metrics) {
            handed_over += metrics.handed_over;
            on_the_spot += metrics.closed_inline;
        }
    }
    assert!(handed_over > 0 && on_the_spot > 0, "closes of one kind alone: {handed_over}, {on_the_spot}");
}

#[test]
fn the_first_error_of_a_closer_that_hands_over_is_told_too() {
    skip_unless!(Need::Fuse);
    let mount = server().fail(Op::Write, libc::ENOSPC, "bad").mount().unwrap();
    for n in 0..3 {
        let files = Closer::options().policy(Policy::Always).build();
        let path = mount.path().join(format!("bad-{n}"));
        files.create(&path).unwrap().write_all(&[7; 3_000]).unwrap();
        only(files.finish(), &path);
    }
}

#[test]
fn an_error_goes_through_a_function_that_returns_an_io_error() {
    fn save(path: &Path) -> io::Result<()> {
        let files = Closer::new();
        files.write(path, vec![7; 3_000])?;
        files.finish()?;
        Ok(())
    }
    skip_unless!(Need::Fuse);
    let mount = server().fail(Op::Write, libc::ENOSPC, "bad").mount().unwrap();
    let path = mount.path().join("bad");
    let error = save(&path).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    only::<()>(Err(error.into_inner().unwrap().downcast_ref::<Errors>().unwrap().clone()), &path);
}

/// A file that a closer has opened is that closer's, whatever it is in when it is dropped.
#[test]
fn an_error_is_told_to_the_closer_that_opened_the_file_though_another_drops_it() {
    skip_unless!(Need::Fuse);
    let mount = server().fail(Op::Close, libc::ENOSPC, "refused").mount().unwrap();
    let path = mount.path().join("refused");
    struct Pair(#[expect(dead_code, reason = "it is dropped")] fs::File, ());
    for policy in [Policy::Always, Policy::Never] {
        let (own, other) = (Closer::new(), Closer::options().policy(policy).build());
        let file = || {
            let mut file = own.create(&path).unwrap();
            file.write_all(b"text").unwrap();
            file
        };
        other.close(Pair(file(), ()));
        other.wait().unwrap();
        only(own.wait().map(drop), &path);
        // The file itself: the closer that it is handed to has the error, with the path.
        other.close(file());
        only(other.finish().map(drop), &path);
        own.finish().unwrap();
    }
}
