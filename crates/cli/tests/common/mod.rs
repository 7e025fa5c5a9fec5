//! What the tests of the command stand on: running it, archives made on the spot, a look at a whole tree, scratch mounts.
#![allow(dead_code)] // each test file uses its part

mod pty;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

pub use pty::Pty;

pub const BINARY: &str = env!("CARGO_BIN_EXE_manyfiles");

/// What a run of the command came to.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Fails the test unless the exit status was this.
    #[track_caller]
    pub fn code(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Fails the test unless standard error has this text.
    #[track_caller]
    pub fn says(self, text: &str) -> Ran {
        assert!(self.err.contains(text), "standard error lacks {text:?}: {self:#?}");
        self
    }

    /// Fails the test if standard error has this text.
    #[track_caller]
    pub fn does_not_say(self, text: &str) -> Ran {
        assert!(!self.err.contains(text), "standard error has {text:?}: {self:#?}");
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// Runs the command in `folder`, without a terminal.
pub fn manyfiles(folder: &Path, args: &[&str]) -> Ran {
    manyfiles_reading(folder, args, &[])
}

/// Runs the command in `folder` with `stdin` as its standard input.
pub fn manyfiles_reading(folder: &Path, args: &[&str], stdin: &[u8]) -> Ran {
    run(assert_cmd::Command::new(BINARY).args(args), folder, stdin)
}

/// Runs a shell script in `folder`; `$M` is the command.
pub fn shell(folder: &Path, script: &str) -> Ran {
    run(assert_cmd::Command::new("sh").args(["-c", script]).env("M", BINARY), folder, &[])
}

fn run(command: &mut assert_cmd::Command, folder: &Path, stdin: &[u8]) -> Ran {
    // The time is there so that a hang is a failure; nothing here takes a second.
    let output = command.current_dir(folder).write_stdin(stdin).timeout(Duration::from_secs(120)).output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A tar made entry by entry.
pub struct Tar(tar::Builder<Vec<u8>>);

impl Tar {
    pub fn new() -> Tar {
        Tar(tar::Builder::new(Vec::new()))
    }

    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Tar {
        self.file_with(path, content, 0o644, 1_500_000_000)
    }

    pub fn file_with(mut self, path: &str, content: impl AsRef<[u8]>, mode: u32, modified: u64) -> Tar {
        let content = content.as_ref();
        let mut header = header(path, tar::EntryType::Regular, mode);
        header.set_size(content.len() as u64);
        header.set_mtime(modified);
        self.append(header, content)
    }

    pub fn folder(mut self, path: &str, mode: u32) -> Tar {
        let header = header(path, tar::EntryType::Directory, mode);
        self.append(header, &[])
    }

    pub fn symlink(mut self, path: &str, target: &str) -> Tar {
        let mut header = header(path, tar::EntryType::Symlink, 0o777);
        header.set_link_name(target).unwrap();
        self.append(header, &[])
    }

    pub fn hard_link(mut self, path: &str, existing: &str) -> Tar {
        let mut header = header(path, tar::EntryType::Link, 0o644);
        header.set_link_name(existing).unwrap();
        self.append(header, &[])
    }

    pub fn fifo(mut self, path: &str) -> Tar {
        let header = header(path, tar::EntryType::Fifo, 0o644);
        self.append(header, &[])
    }

    fn append(mut self, mut header: tar::Header, content: &[u8]) -> Tar {
        header.set_cksum();
        self.0.append(&header, content).unwrap();
        self
    }

    pub fn bytes(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }

    pub fn save(self, path: impl AsRef<Path>) {
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

/// What is below `root`: path → kind, permissions, time, and content or target.
pub fn tree(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut tree = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let what = match metadata.file_type() {
                kind if kind.is_dir() => {
                    folders.push(path.clone());
                    "folder".into()
                }
                kind if kind.is_symlink() => format!("link to {}", fs::read_link(&path).unwrap().display()),
                kind if kind.is_file() => {
                    let content = fs::read(&path).unwrap();
                    match content.len() {
                        0..100 => format!("file {:?}", String::from_utf8_lossy(&content)),
                        len => format!("file of {len} bytes, sum {}", content.iter().map(|&byte| u64::from(byte)).sum::<u64>()),
                    }
                }
                _ => "special".into(),
            };
            let mode = metadata.permissions().mode() & 0o7777;
            let (seconds, nanos) = (metadata.mtime(), metadata.mtime_nsec());
            tree.insert(path.strip_prefix(root).unwrap().into(), format!("{what}, {mode:o}, {seconds}.{nanos:09}"));
        }
    }
    tree
}

/// The names below `root`, sorted.
pub fn names(root: &Path) -> Vec<String> {
    tree(root).into_keys().map(|path| path.to_string_lossy().into_owned()).collect()
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A file system of its own, for what a folder cannot do: be full, be read-only.
pub struct Mount {
    pub path: PathBuf,
}

impl Mount {
    /// A tmpfs at `path`, which is made. `None`, and a word about it, where that is not possible.
    pub fn tmpfs(path: PathBuf, options: &str) -> Option<Mount> {
        fs::create_dir(&path).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&path).output();
        match mounted {
            Ok(output) if output.status.success() => Some(Mount { path }),
            Ok(output) => {
                eprintln!("skipped: cannot mount a tmpfs: {}", String::from_utf8_lossy(&output.stderr));
                None
            }
            Err(error) => {
                eprintln!("skipped: cannot run mount: {error}");
                None
            }
        }
    }

    pub fn make_read_only(&self) {
        let status = Command::new("mount").args(["-o", "remount,ro"]).arg(&self.path).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let status = Command::new("umount").arg(&self.path).status().unwrap();
        assert!(status.success(), "{} stays mounted", self.path.display());
    }
}
