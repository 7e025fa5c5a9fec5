//! [`Preload`]: system calls of a child process that fail, fall short or take long.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::cc;

/// A kind of call, with all the names it has in the C library. System calls made past it, in assembler, are not
/// reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `open`, `openat`, `openat2`.
    Open,
    /// `close`. It closes all the same when it is to fail, as Linux does.
    Close,
    /// `read`, `pread`.
    Read,
    /// `write`, `writev`, `pwrite`, `pwritev`.
    Write,
    /// `fsync`, `fdatasync`.
    Fsync,
    /// `syncfs`.
    Syncfs,
    /// `mkdir`, `mkdirat`.
    Mkdir,
    /// `rename`, `renameat`, `renameat2`; goes by the new name.
    Rename,
    /// `unlink`, `unlinkat`, `rmdir`.
    Unlink,
    /// `link`, `linkat`, `symlink`, `symlinkat`, `mknodat`; goes by the new name.
    Link,
    /// `ftruncate`.
    Ftruncate,
    /// `utimensat`, `futimens`.
    Utimens,
    /// `chmod`, `fchmod`, `fchmodat`.
    Chmod,
    /// `copy_file_range`, `sendfile`; goes by the file written to.
    Copy,
    /// `stat` and its like, `statx`.
    Stat,
    /// `opendir`, `readdir`.
    List,
    /// `chown` and its like.
    Chown,
    /// `fallocate`, `posix_fallocate`.
    Reserve,
    /// `readlink`, `readlinkat`.
    Readlink,
    /// `flock`.
    Lock,
    /// `mmap` of a file.
    Map,
    /// `pthread_create`, which has no path.
    Thread,
    /// `sync_file_range`.
    SyncRange,
    /// `flistxattr`, `getxattr`, `fsetxattr` and their like: attributes and access control lists.
    Xattr,
    /// The `ioctl`s that read and set a file's flags, and tell where its space is.
    Flags,
    /// Each of these: [`Rule::nth`] then counts all of them as one.
    Any,
}

impl Call {
    fn name(self) -> &'static str {
        match self {
            Call::Open => "open",
            Call::Close => "close",
            Call::Read => "read",
            Call::Write => "write",
            Call::Fsync => "fsync",
            Call::Syncfs => "syncfs",
            Call::Mkdir => "mkdir",
            Call::Rename => "rename",
            Call::Unlink => "unlink",
            Call::Link => "link",
            Call::Ftruncate => "ftruncate",
            Call::Utimens => "utimens",
            Call::Chmod => "chmod",
            Call::Copy => "copy",
            Call::Stat => "stat",
            Call::List => "list",
            Call::Chown => "chown",
            Call::Reserve => "reserve",
            Call::Readlink => "readlink",
            Call::Lock => "lock",
            Call::Map => "map",
            Call::Thread => "thread",
            Call::SyncRange => "syncrange",
            Call::Xattr => "xattr",
            Call::Flags => "flags",
            Call::Any => "any",
        }
    }
}

/// A change to some calls of one kind: an error, a delay, or a shorter transfer.
#[derive(Clone, Debug)]
pub struct Rule {
    call: Call,
    first: u64,
    last: u64,
    errno: i32,
    at_most: usize,
    delay: Duration,
    text: String,
}

impl Rule {
    fn of(call: Call) -> Rule {
        Rule { call, first: 1, last: 0, errno: 0, at_most: 0, delay: Duration::ZERO, text: String::new() }
    }

    /// The call fails with this error number.
    pub fn fail(call: Call, errno: i32) -> Rule {
        Rule { errno, ..Rule::of(call) }
    }

    /// The call first waits this long, to the microsecond.
    pub fn delay(call: Call, delay: Duration) -> Rule {
        Rule { delay, ..Rule::of(call) }
    }

    /// A read, write or copy moves at most this many bytes.
    pub fn short(call: Call, at_most: usize) -> Rule {
        assert!(
            matches!(call, Call::Read | Call::Write | Call::Copy | Call::Any) && at_most > 0,
            "only these can fall short"
        );
        Rule { at_most, ..Rule::of(call) }
    }

    /// Only for paths that contain `text`. A relative path is one below the current folder. A call on a descriptor goes
    /// by the descriptor's path at that moment.
    #[must_use]
    pub fn path_contains(mut self, text: &str) -> Rule {
        assert!(!text.contains('\n'), "one rule is one line");
        self.text = text.to_owned();
        self
    }

    /// Only the `n`th such call of the process, counted from 1.
    #[must_use]
    pub fn nth(mut self, n: u64) -> Rule {
        (self.first, self.last) = (n, n);
        self
    }

    /// Only the calls that come after the first `n`.
    #[must_use]
    pub fn after(mut self, n: u64) -> Rule {
        (self.first, self.last) = (n + 1, 0);
        self
    }
}

/// Rules for the system calls of a child process, brought in by `LD_PRELOAD`. Its own children inherit them.
///
/// ```no_run
/// use manyfiles_testkit::{Call, Preload, Rule};
/// let mut child = std::process::Command::new("cp");
/// Preload::new().rule(Rule::fail(Call::Close, 5).path_contains("target")).apply(child.args(["source", "target"]))?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Preload {
    rules: Vec<Rule>,
    record: Option<PathBuf>,
}

impl Preload {
    /// No rules yet.
    pub fn new() -> Preload {
        Preload::default()
    }

    /// One more rule. Where several apply to a call, their delays add up and the last one's error counts.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Preload {
        self.rules.push(rule);
        self
    }

    /// Appends a line to the file `path` for each call that a rule meets: the kind of call, the error's number (or 0),
    /// what is open (`d` a folder, `r` for reading alone, `w` for writing, `-` nothing), the path.
    #[must_use]
    pub fn record(mut self, path: impl Into<PathBuf>) -> Preload {
        self.record = Some(path.into());
        self
    }

    /// Lets `command` start its child with these rules. Compiles the library when it is first needed.
    pub fn apply(self, command: &mut Command) -> io::Result<&mut Command> {
        let lines: Vec<String> = self.rules.iter().map(Rule::line).collect();
        command.env("LD_PRELOAD", library()?).env("TESTKIT_PRELOAD", lines.join("\n"));
        if let Some(record) = self.record {
            command.env("TESTKIT_PRELOAD_FIRED", record);
        }
        Ok(command)
    }
}

impl Rule {
    fn line(&self) -> String {
        let Rule { call, first, last, errno, at_most, delay, text } = self;
        format!("{} {first} {last} {errno} {at_most} {} {text}", call.name(), delay.as_micros())
    }
}

pub(crate) fn library() -> io::Result<PathBuf> {
    cc::compiled("preload", include_str!("c/preload.c"), &["-shared", "-fPIC", "-ldl"].map(String::from))
}
