//! Tools of the command's tests: running it, archives made on the spot, a look at a whole tree, scratch mounts.
#![allow(dead_code, unused_imports)] // each test file uses its part

#[cfg(unix)]
mod pty;

use std::fs;
use std::path::Path;
use std::time::Duration;

use manyfiles_testkit::{Compare, Tree};
use serde_json::Value;

#[cfg(unix)]
pub(crate) use pty::Pty;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_manyfiles");

/// The result of a run of the command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Fails the test unless the exit status was this.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Fails the test unless standard error has this text.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Ran {
        assert!(self.err.contains(text), "standard error lacks {text:?}: {self:#?}");
        self
    }

    /// Fails the test if standard error has this text.
    #[track_caller]
    pub(crate) fn does_not_say(self, text: &str) -> Ran {
        assert!(!self.err.contains(text), "standard error has {text:?}: {self:#?}");
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// Lets children begin with the default for SIGHUP, also where the tests themselves run under `nohup`.
#[cfg(unix)]
pub(crate) fn with_default_hang_up() {
    // SAFETY: no handler is installed; only the effect of a closed terminal on this process changes.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_DFL) };
}

/// Runs the command in `folder`, without a terminal.
pub(crate) fn manyfiles(folder: &Path, args: &[&str]) -> Ran {
    manyfiles_reading(folder, args, &[])
}

/// Runs the command in `folder` with `stdin` as its standard input.
pub(crate) fn manyfiles_reading(folder: &Path, args: &[&str], stdin: &[u8]) -> Ran {
    run(assert_cmd::Command::new(BINARY).args(args), folder, stdin)
}

/// Runs a shell script in `folder`; `$M` is the command.
pub(crate) fn shell(folder: &Path, script: &str) -> Ran {
    #[cfg(unix)]
    with_default_hang_up();
    run(assert_cmd::Command::new("sh").args(["-c", script]).env("M", BINARY), folder, &[])
}

fn run(command: &mut assert_cmd::Command, folder: &Path, stdin: &[u8]) -> Ran {
    // The time is there so that a hang is a failure; nothing here takes a second.
    let command = command.current_dir(folder).write_stdin(stdin).timeout(Duration::from_secs(120));
    let output = manyfiles_testkit::started(|| command.output()).unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A tar made entry by entry.
pub(crate) struct Tar(tar::Builder<Vec<u8>>);

impl Tar {
    pub(crate) fn new() -> Tar {
        Tar(tar::Builder::new(Vec::new()))
    }

    pub(crate) fn file(self, path: &str, content: impl AsRef<[u8]>) -> Tar {
        self.file_with(path, content, 0o644, 1_500_000_000)
    }

    pub(crate) fn file_with(self, path: &str, content: impl AsRef<[u8]>, mode: u32, modified: u64) -> Tar {
        let content = content.as_ref();
        let mut header = header(path, tar::EntryType::Regular, mode);
        header.set_size(content.len() as u64);
        header.set_mtime(modified);
        self.append(header, content)
    }

    pub(crate) fn folder(self, path: &str, mode: u32) -> Tar {
        let header = header(path, tar::EntryType::Directory, mode);
        self.append(header, &[])
    }

    pub(crate) fn symlink(self, path: &str, target: &str) -> Tar {
        let mut header = header(path, tar::EntryType::Symlink, 0o777);
        header.set_link_name(target).unwrap();
        self.append(header, &[])
    }

    pub(crate) fn hard_link(self, path: &str, existing: &str) -> Tar {
        let mut header = header(path, tar::EntryType::Link, 0o644);
        header.set_link_name(existing).unwrap();
        self.append(header, &[])
    }

    pub(crate) fn fifo(self, path: &str) -> Tar {
        let header = header(path, tar::EntryType::Fifo, 0o644);
        self.append(header, &[])
    }

    /// Records for the next entry.
    pub(crate) fn pax(mut self, records: &[(&str, &[u8])]) -> Tar {
        self.0.append_pax_extensions(records.iter().copied()).unwrap();
        self
    }

    fn append(mut self, mut header: tar::Header, content: &[u8]) -> Tar {
        header.set_cksum();
        self.0.append(&header, content).unwrap();
        self
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }

    pub(crate) fn save(self, path: impl AsRef<Path>) {
        fs::write(path, self.bytes()).unwrap();
    }
}

/// A header with the path as it is: no check stands between a test and a hostile name.
fn header(path: &str, kind: tar::EntryType, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.as_ustar_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(1234);
    header.set_gid(5678);
    header.set_mtime(1_500_000_000);
    header.set_size(0);
    header
}

/// The names below `root`, sorted.
pub(crate) fn names(root: &Path) -> Vec<String> {
    Tree::read(root).unwrap().entries.into_keys().map(|path| path.to_string_lossy().into_owned()).collect()
}

/// Fails the test unless both folders hold the same: names, content, permissions, times, links.
#[track_caller]
pub(crate) fn assert_same_tree(expected: &Path, actual: &Path) {
    Tree::read(expected).unwrap().assert_same(&Tree::read(actual).unwrap(), Compare::ALL);
}

/// Makes the file, and folders above it.
pub(crate) fn write(path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
    fs::create_dir_all(path.as_ref().parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// The file's content.
#[track_caller]
pub(crate) fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}
