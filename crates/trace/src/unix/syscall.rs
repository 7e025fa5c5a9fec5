//! The effect of Unix system calls on files.

use hashbrown::{DefaultHashBuilder, HashMap};

use crate::call::Kind;

/// What a call is for, and which of its arguments tell about files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Syscall {
    pub kind: Kind,
    pub shape: Shape,
}

/// The arguments of a call, as far as they are about files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A path, then flags; or a folder before the path.
    Open,
    OpenAt,
    /// A path; the file is emptied and written to.
    Create,
    /// A descriptor that is closed.
    Close,
    CloseRange,
    /// A descriptor; the result is a number of bytes.
    Read,
    Write,
    /// The same; the last argument is where to.
    WriteAt,
    /// Bytes from one descriptor to another: which argument is written to.
    Into(usize, &'static str),
    Sync,
    /// What was written goes to the disk, and no promise is made that all of this file is there.
    WriteBack,
    Seek,
    /// Sets a length, or reserves room: the next write may still begin where the last one ended.
    Length,
    /// Only a descriptor, a path, or a folder and a path.
    Fd,
    Path,
    PathAt,
    MakeFolder,
    MakeFolderAt,
    /// Makes a pipe, a socket or the like, under the number returned, or two under those in the first brackets.
    Channel,
    Channels,
    /// A copy of a descriptor, under the number returned.
    Duplicate,
    DuplicateTo,
    Fcntl,
    /// Hands work to the kernel that is in no call.
    HandOver,
    /// Maps a file: protection, kind and descriptor are the third to fifth arguments.
    Map,
    ChangeFolder,
    ChangeFolderFd,
    Fork,
    Exec,
    Exit,
    None,
}

/// The calls met so far. Every line of a trace looks one up.
#[derive(Default)]
pub(super) struct Syscalls(HashMap<Box<[u8]>, Syscall, DefaultHashBuilder>);

impl Syscalls {
    /// More names than there are calls are no names of calls.
    const MOST: usize = 2000;

    pub(super) fn get(&mut self, name: &[u8]) -> Syscall {
        if let Some(&known) = self.0.get(name) {
            return known;
        }
        let syscall = classify(name);
        if self.0.len() < Self::MOST {
            self.0.insert(name.into(), syscall);
        }
        syscall
    }
}

fn classify(name: &[u8]) -> Syscall {
    use Kind::*;
    let (kind, shape) = match name {
        b"open" => (Open, Shape::Open),
        b"creat" => (Open, Shape::Create),
        b"openat" | b"openat2" => (Open, Shape::OpenAt),
        b"close" => (Close, Shape::Close),
        b"close_range" => (Close, Shape::CloseRange),
        b"read" | b"readv" | b"pread64" | b"pread" | b"preadv" | b"preadv2" => (Read, Shape::Read),
        b"readahead" | b"fadvise64" | b"fadvise64_64" => (Read, Shape::Fd),
        b"write" | b"writev" => (Write, Shape::Write),
        b"pwrite64" | b"pwrite" => (Write, Shape::WriteAt),
        b"pwritev" | b"pwritev2" => (Write, Shape::Seek),
        b"copy_file_range" => (Write, Shape::Into(2, "fd_out")),
        b"splice" => (Write, Shape::Into(2, "fd_out")),
        b"sendfile" | b"sendfile64" => (Write, Shape::Into(0, "out_fd")),
        b"ftruncate" | b"ftruncate64" | b"fallocate" => (Write, Shape::Length),
        b"truncate" | b"truncate64" => (Write, Shape::Path),
        b"fsync" | b"fdatasync" => (Sync, Shape::Sync),
        b"sync_file_range" | b"sync_file_range2" | b"syncfs" => (Sync, Shape::WriteBack),
        b"sync" | b"msync" => (Sync, Shape::None),
        b"lseek" | b"_llseek" => (Metadata, Shape::Seek),
        b"fstat" | b"fstat64" | b"fstatfs" | b"fstatfs64" | b"fchmod" | b"fchown" | b"fchown32" | b"fgetxattr"
        | b"fsetxattr" | b"flistxattr" | b"fremovexattr" | b"flock" => (Metadata, Shape::Fd),
        b"stat" | b"stat64" | b"lstat" | b"lstat64" | b"oldstat" | b"statfs" | b"statfs64" | b"access"
        | b"readlink" | b"chmod" | b"chown" | b"chown32" | b"lchown" | b"lchown32" | b"utime" | b"utimes"
        | b"getxattr" | b"lgetxattr" | b"setxattr" | b"lsetxattr" | b"listxattr" | b"llistxattr" | b"removexattr"
        | b"lremovexattr" => (Metadata, Shape::Path),
        b"newfstatat" | b"fstatat64" | b"statx" | b"faccessat" | b"faccessat2" | b"readlinkat" | b"fchmodat"
        | b"fchmodat2" | b"fchownat" | b"utimensat" | b"utimensat_time64" | b"futimesat" | b"name_to_handle_at" => {
            (Metadata, Shape::PathAt)
        }
        b"mkdir" => (Names, Shape::MakeFolder),
        b"mkdirat" => (Names, Shape::MakeFolderAt),
        b"getdents" | b"getdents64" => (Names, Shape::Fd),
        b"rename" | b"unlink" | b"rmdir" | b"link" | b"symlink" | b"mknod" => (Names, Shape::Path),
        b"renameat" | b"renameat2" | b"unlinkat" | b"linkat" | b"mknodat" => (Names, Shape::PathAt),
        b"symlinkat" => (Names, Shape::None),
        b"pipe" | b"pipe2" | b"socketpair" => (Other, Shape::Channels),
        b"socket" | b"eventfd" | b"eventfd2" | b"epoll_create" | b"epoll_create1" | b"signalfd4"
        | b"timerfd_create" | b"inotify_init1" | b"memfd_create" | b"pidfd_open" | b"io_uring_setup" => {
            (Other, Shape::Channel)
        }
        b"io_uring_enter" => (Wait, Shape::HandOver),
        b"mmap" | b"mmap2" => (Other, Shape::Map),
        b"accept" | b"accept4" => (Wait, Shape::Channel),
        b"dup" => (Other, Shape::Duplicate),
        b"dup2" | b"dup3" => (Other, Shape::DuplicateTo),
        b"fcntl" | b"fcntl64" => (Other, Shape::Fcntl),
        b"ioctl" => (Other, Shape::Fd),
        b"chdir" => (Other, Shape::ChangeFolder),
        b"fchdir" => (Other, Shape::ChangeFolderFd),
        b"clone" | b"clone2" | b"clone3" | b"fork" | b"vfork" => (Other, Shape::Fork),
        b"execve" | b"execveat" => (Other, Shape::Exec),
        b"exit" | b"exit_group" => (Other, Shape::Exit),
        b"wait4"
        | b"waitid"
        | b"waitpid"
        | b"futex"
        | b"futex_time64"
        | b"futex_wait"
        | b"futex_waitv"
        | b"poll"
        | b"ppoll"
        | b"ppoll_time64"
        | b"select"
        | b"_newselect"
        | b"pselect6"
        | b"pselect6_time64"
        | b"epoll_wait"
        | b"epoll_pwait"
        | b"epoll_pwait2"
        | b"nanosleep"
        | b"clock_nanosleep"
        | b"clock_nanosleep_time64"
        | b"pause"
        | b"rt_sigsuspend"
        | b"rt_sigtimedwait"
        | b"rt_sigtimedwait_time64"
        | b"sigsuspend"
        | b"io_getevents"
        | b"io_pgetevents"
        | b"connect"
        | b"recvfrom"
        | b"recvmsg"
        | b"recvmmsg"
        | b"sendto"
        | b"sendmsg"
        | b"sendmmsg"
        | b"restart_syscall"
        | b"semop"
        | b"semtimedop"
        | b"msgrcv"
        | b"mq_timedreceive" => (Wait, Shape::None),
        _ => (Other, Shape::None),
    };
    Syscall { kind, shape }
}
