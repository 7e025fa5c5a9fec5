//! Injected errors, short writes and delays reach the calls they were meant for.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use manyfiles_testkit::{Call, Need, Preload, Rule, skip_unless};

/// Runs a few lines of Python in `folder`: its `os` module passes each call on as it is.
fn python(folder: &Path, rules: impl IntoIterator<Item = Rule>, script: &str) -> Output {
    let preload = rules.into_iter().fold(Preload::new(), Preload::rule);
    let mut command = Command::new("python3");
    let prelude = "import os,errno\n\
        def attempt(f, *a, **k):\n try: return f(*a, **k)\n except OSError as e: return errno.errorcode[e.errno]\n\
        def new(n): return os.open(n, os.O_CREAT | os.O_WRONLY)\n";
    preload
        .apply(command.current_dir(folder).args(["-S", "-c", &format!("{prelude}{script}")]))
        .unwrap()
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn a_close_fails_for_the_path_named_and_the_descriptor_is_closed_all_the_same() {
    skip_unless!(Need::Preload, Need::Program("python3"));
    let folder = tempfile::tempdir().unwrap();
    let rule = Rule::fail(Call::Close, libc::EIO).path_contains("/bad");
    let script =
        "a, b = new('good'), new('bad')\nprint(attempt(os.close, a), attempt(os.close, b), attempt(os.fstat, b))";
    assert_eq!(said(&python(folder.path(), [rule], script)), "None EIO EBADF");
}

#[test]
fn the_nth_call_fails_or_all_after_it() {
    skip_unless!(Need::Preload, Need::Program("python3"));
    let folder = tempfile::tempdir().unwrap();
    let script = "fd = new('w')\nprint(*[attempt(os.write, fd, b'x') for _ in range(5)])";
    let second = Rule::fail(Call::Write, libc::ENOSPC).path_contains("/w").nth(2);
    assert_eq!(said(&python(folder.path(), [second], script)), "1 ENOSPC 1 1 1");
    let later = Rule::fail(Call::Write, libc::EDQUOT).path_contains("/w").after(3);
    assert_eq!(said(&python(folder.path(), [later], script)), "1 1 1 EDQUOT EDQUOT");
}

#[test]
fn writes_fall_short_but_nothing_is_lost_of_what_they_claim() {
    skip_unless!(Need::Preload, Need::Program("python3"));
    let folder = tempfile::tempdir().unwrap();
    let rule = Rule::short(Call::Write, 3).path_contains("/w");
    let script = "fd = new('w')\n\
        print(os.write(fd, b'abcdef'), os.writev(fd, [b'gh', b'ijkl']), os.pwrite(fd, b'01234', 6))";
    assert_eq!(said(&python(folder.path(), [rule], script)), "3 3 3");
    assert_eq!(std::fs::read(folder.path().join("w")).unwrap(), b"abcghi012");
}

#[test]
fn every_call_on_the_list_can_fail() {
    skip_unless!(Need::Preload, Need::Program("python3"));
    let calls: [(Call, &str); 14] = [
        (Call::Open, "attempt(os.open, 'xyzzy', os.O_RDONLY)"),
        (Call::Close, "attempt(os.close, fd)"),
        (Call::Read, "attempt(os.read, fd, 1)"),
        (Call::Write, "attempt(os.pwrite, fd, b'xyzzy', 0)"),
        (Call::Fsync, "attempt(os.fdatasync, fd)"),
        (Call::Syncfs, "attempt_c('syncfs', fd)"),
        (Call::Mkdir, "attempt(os.mkdir, 'xyzzy', dir_fd=folder)"),
        (Call::Rename, "attempt(os.rename, 'y', 'xyzzy', src_dir_fd=folder, dst_dir_fd=folder)"),
        (Call::Unlink, "attempt(os.unlink, 'xyzzy', dir_fd=folder)"),
        (Call::Link, "attempt(os.symlink, 'y', 'xyzzy', dir_fd=folder)"),
        (Call::Ftruncate, "attempt(os.ftruncate, fd, 0)"),
        (Call::Utimens, "attempt(os.utime, 'xyzzy', dir_fd=folder)"),
        (Call::Chmod, "attempt(os.fchmod, fd, 0o600)"),
        (Call::Copy, "attempt(os.copy_file_range, source, fd, 1)"),
    ];
    let setup = "import ctypes\n\
        def attempt_c(name, *a):\n r = ctypes.CDLL(None, use_errno=True)[name](*a)\n \
        return errno.errorcode[ctypes.get_errno()] if r == -1 else r\n\
        fd = os.open('xyzzy-open', os.O_CREAT | os.O_RDWR)\nfolder = os.open('.', os.O_RDONLY)\nsource = new('source')\n";
    for (call, attempt) in calls {
        let folder = tempfile::tempdir().unwrap();
        // The file of the set-up must open.
        let skipped = u64::from(call == Call::Open);
        let rule = Rule::fail(call, libc::EXDEV).path_contains("xyzzy").after(skipped);
        let output = said(&python(folder.path(), [rule], &format!("{setup}print({attempt})")));
        assert_eq!(output, "EXDEV", "{call:?}");
    }
}

#[test]
fn a_delayed_call_takes_that_long() {
    skip_unless!(Need::Preload, Need::Program("python3"));
    let folder = tempfile::tempdir().unwrap();
    let delay = Duration::from_millis(300);
    let start = Instant::now();
    said(&python(folder.path(), [Rule::delay(Call::Close, delay).path_contains("/slow")], "os.close(new('slow'))"));
    assert!(start.elapsed() >= delay);
}

#[test]
fn a_program_in_rust_meets_the_errors_too() {
    skip_unless!(Need::Preload);
    const CHILD: &str = "TESTKIT_TEST_CHILD";
    if let Ok(folder) = std::env::var(CHILD) {
        let written = std::fs::write(Path::new(&folder).join("victim"), "bytes");
        assert_eq!(written.unwrap_err().raw_os_error(), Some(libc::ENOSPC));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "a_program_in_rust_meets_the_errors_too"]).env(CHILD, folder.path());
    let rule = Rule::fail(Call::Write, libc::ENOSPC).path_contains("victim");
    let output = Preload::new().rule(rule).apply(&mut child).unwrap().output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
