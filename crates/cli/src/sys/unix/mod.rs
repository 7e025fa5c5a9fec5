mod acl;
mod reach;
mod trace;
#[cfg(not(target_vendor = "apple"))]
mod trash;

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use manyfiles::tree::Node;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use signal_hook::iterator::Signals;

use super::{FileId, SIGHUP, SIGINT, SIGTERM};
use crate::stop::Stop;

pub(crate) use acl::Acls;
pub(crate) use reach::{is_too_long, reach};
pub(crate) use trace::trace;
#[cfg(not(target_vendor = "apple"))]
pub(crate) use trash::trash;

/// Calls `on_signal` with each SIGHUP, SIGINT and SIGTERM from now on, on a thread of its own. If `on_signal` says no,
/// the signal ends the process as it does without a handler. If SIGHUP was ignored when this process began, it stays
/// ignored: so `nohup` works.
pub(crate) fn on_signals(on_signal: impl Fn(i32) -> bool + Send + 'static) -> io::Result<()> {
    let hang_up = Some(SIGHUP).filter(|&signal| !is_ignored(signal));
    let mut signals = Signals::new([SIGINT, SIGTERM].into_iter().chain(hang_up))?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            if !on_signal(signal) {
                // It only fails for signals that cannot be caught.
                let _impossible = signal_hook::low_level::emulate_default_handler(signal);
            }
        }
    })?;
    Ok(())
}

fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action nothing is changed, and the old one is written where there is room for it.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: it was zeroed, which is a valid action, and filled if the call succeeded.
    asked == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// Opens a file to be read. Opening a FIFO does not wait for a writer: `Input` waits for its bytes.
pub(crate) fn open_to_read(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    // On other systems a FIFO without a writer may look like one at its end.
    if cfg!(target_os = "linux") && std::fs::metadata(path)?.file_type().is_fifo() {
        options.custom_flags(libc::O_NONBLOCK);
    }
    options.read(true).open(path)
}

/// What may keep its reader waiting: a pipe, a terminal.
pub(crate) struct Input(File);

impl Input {
    pub(crate) fn new(file: File) -> Input {
        Input(file)
    }

    /// Standard input, past the standard library's buffer.
    pub(crate) fn stdin() -> io::Result<Input> {
        Ok(Input(File::from(io::stdin().as_fd().try_clone_to_owned()?)))
    }

    /// Reads, or gives `None` if there is nothing to be read within this time.
    pub(crate) fn read_within(&mut self, time: Duration, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let time = Timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos() as _ };
        match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&time)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => Ok(None),
            Ok(_) => match self.0.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                read => read.map(Some),
            },
            Err(error) => Err(error.into()),
        }
    }
}

/// A terminal that shows nothing of what is typed, as long as this lives. Ctrl-C comes as a character.
struct Silent(Termios);

impl Silent {
    fn begin() -> io::Result<Silent> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        silent.special_codes[SpecialCodeIndex::VMIN] = 1;
        silent.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(io::stdin(), OptionalActions::Drain, &silent)?;
        Ok(Silent(before))
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        // A terminal that is gone needs it no more.
        let _gone = tcsetattr(io::stdin(), OptionalActions::Drain, &self.0);
    }
}

/// Reads a line from the terminal that standard input is, and does not show it. `ask` is called when what is typed is
/// hidden already: who answers quickly is not seen either. `None`: it has ended, or the job was stopped.
/// `Interrupted`: by Ctrl-C.
pub(crate) fn read_hidden(stop: &Stop, ask: impl FnOnce()) -> io::Result<Option<Vec<u8>>> {
    const CTRL_C: u8 = 3;
    const CTRL_D: u8 = 4;
    const CTRL_U: u8 = 0x15;
    let _silent = Silent::begin()?;
    ask();
    let mut input = Input::stdin()?;
    let mut line = Vec::with_capacity(256);
    while !stop.is_set() {
        let mut byte = [0];
        match (input.read_within(Duration::from_millis(50), &mut byte)?, byte[0]) {
            (None, _) => {}
            (Some(0), _) | (_, CTRL_D) => return Ok(None),
            (_, b'\n' | b'\r') => return Ok(Some(line)),
            (_, CTRL_C) => return Err(io::ErrorKind::Interrupted.into()),
            (_, CTRL_U) => line.clear(),
            (_, 0x08 | 0x7f) => {
                // All bytes of a character.
                let start = line.iter().rposition(|byte| byte & 0xc0 != 0x80).unwrap_or(0);
                line.truncate(start);
            }
            (_, byte) => line.push(byte),
        }
    }
    Ok(None)
}

/// Ends the process as Ctrl-C does.
pub(crate) fn interrupt() {
    // It only fails for signals that there are not.
    let _impossible = signal_hook::low_level::raise(SIGINT);
}

/// What may keep its writer waiting: a pipe.
pub(crate) struct Output {
    file: File,
    /// How much is written at once: where there is room, there is room for so much. A file has always room.
    most: usize,
}

impl Output {
    pub(crate) fn new(file: File) -> Output {
        let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
        Output { file, most: if is_file { usize::MAX } else { 4096 } } // `PIPE_BUF`
    }

    /// Writes, or gives `None` if there is no room within this time.
    pub(crate) fn write_within(&mut self, time: Duration, bytes: &[u8]) -> io::Result<Option<usize>> {
        let time = Timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos() as _ };
        match poll(&mut [PollFd::new(&self.file, PollFlags::OUT)], Some(&time)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => Ok(None),
            Ok(_) => match self.file.write(&bytes[..bytes.len().min(self.most)]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                written => written.map(Some),
            },
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether this user may give files any owner and permissions, and so should.
pub(crate) fn is_privileged() -> bool {
    rustix::process::geteuid().is_root()
}

/// The entries of a folder, if the folder of this path is still the one that was `found`: what a link leads to that has
/// taken its place, or the place of a folder above it, is not read.
pub(crate) fn read_folder(path: &Path, found: &Metadata) -> io::Result<std::fs::ReadDir> {
    let reached = reach(path)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let folder = File::options().read(true).custom_flags(flags.bits() as i32).open(reached.path())?;
    let now = folder.metadata()?;
    if (now.dev(), now.ino()) != (found.dev(), found.ino()) {
        return Err(io::Error::other("another folder has its name since it was found"));
    }
    match std::fs::read_dir(by_descriptor(&folder)) {
        // Without /proc there is no way but the path.
        Err(error) if error.kind() == io::ErrorKind::NotFound => std::fs::read_dir(reached.path()),
        read => read,
    }
}

/// Which file it is.
pub(crate) fn file_id(_path: &Path, metadata: &Metadata) -> Option<FileId> {
    Some((metadata.dev(), metadata.ino()))
}

/// The trash of macOS.
#[cfg(target_vendor = "apple")]
pub(crate) fn trash(path: &Path) -> io::Result<()> {
    trash::delete(path).map_err(|error| io::Error::other(format!("it cannot be moved to the trash: {error}")))
}

/// Which folders the current one and those above it are, up to the root, whatever paths lead to them.
pub(crate) fn current_and_above() -> io::Result<Vec<FileId>> {
    #[cfg(target_os = "linux")]
    let how = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let how = OFlags::RDONLY;
    let how = how | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = rustix::fs::open(".", how, rustix::fs::Mode::empty())?;
    let mut ids: Vec<FileId> = Vec::new();
    loop {
        let stat = rustix::fs::fstat(&folder)?;
        let id = (stat.st_dev as _, stat.st_ino as _);
        // The root is above itself.
        if ids.last() == Some(&id) {
            return Ok(ids);
        }
        ids.push(id);
        folder = rustix::fs::openat(&folder, "..", how, rustix::fs::Mode::empty())?;
    }
}

/// Which file it is, and how many names it has.
pub(crate) fn file_id_and_names(_path: &Path, metadata: &Metadata) -> Option<(FileId, u64)> {
    Some(((metadata.dev(), metadata.ino()), metadata.nlink()))
}

/// The user and the group that this process's new files belong to.
pub(crate) fn own_ids() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

/// Whether the file takes less room than its length.
pub(crate) fn has_holes(metadata: &Metadata) -> bool {
    metadata.blocks() * 512 < metadata.len()
}

/// Whether it is a socket. A socket leads to a running program, so a copy of it would be of no use.
pub(crate) fn is_socket(metadata: &Metadata) -> bool {
    metadata.file_type().is_socket()
}

/// Standard output, past the standard library's buffer. An error: it was closed when this process began.
pub(crate) fn stdout() -> io::Result<File> {
    let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    // The standard library opens /dev/null in the place of a closed stream, to be read and written. A shell that leads
    // output to /dev/null opens it to be written only.
    let is_null = |other: Metadata| stdout.metadata().is_ok_and(|own| own.rdev() == other.rdev());
    let mode = rustix::fs::fcntl_getfl(&stdout)?.intersection(OFlags::RWMODE);
    if mode == OFlags::RDWR
        && stdout.metadata()?.file_type().is_char_device()
        && std::fs::metadata("/dev/null").is_ok_and(is_null)
    {
        return Err(io::Error::new(io::ErrorKind::NotConnected, "it is closed"));
    }
    Ok(stdout)
}

/// Lets a write that goes over the limit for the size of files fail, in place of ending the process.
pub(crate) fn fail_over_file_size_limit() {
    // SAFETY: no handler is installed.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Which file standard output goes to.
pub(crate) fn stdout_id() -> Option<FileId> {
    let metadata = stdout().ok()?.metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// A path to an open file, as long as it is open.
fn by_descriptor(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()))
}

/// Permission bits, set-id and sticky bits included.
pub(crate) fn mode(metadata: &Metadata) -> u32 {
    metadata.mode() & 0o7777
}

pub(crate) fn owner(metadata: &Metadata) -> Option<(u32, u32)> {
    Some((metadata.uid(), metadata.gid()))
}

/// What a device or FIFO is.
pub(crate) fn node(metadata: &Metadata) -> Option<Node> {
    let (major, minor) = (rustix::fs::major(metadata.rdev()), rustix::fs::minor(metadata.rdev()));
    match metadata.file_type() {
        kind if kind.is_fifo() => Some(Node::Fifo),
        kind if kind.is_char_device() => Some(Node::CharDevice(major, minor)),
        kind if kind.is_block_device() => Some(Node::BlockDevice(major, minor)),
        _ => None,
    }
}

/// The path by which something that was found is opened: the one that its messages have.
pub(crate) fn path_to_open<'a>(found: &'a Path, _absolute: &'a Path) -> &'a Path {
    found
}

/// Names in paths mean what they are.
pub(crate) fn keep_name(_absolute: &mut PathBuf, _name: &OsStr) {}

/// How wide the terminal is, if it is one that says so.
pub(crate) fn columns(stream: &impl AsFd) -> Option<usize> {
    rustix::termios::tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col)) // no terminal, no width
}

/// Whether bytes that are written there may still be read: not if the other end of the pipe or socket is closed.
pub(crate) fn has_reader(stream: &impl AsFd) -> bool {
    // No event is asked for: these two are reported in any case.
    let mut polled = [PollFd::new(stream, PollFlags::empty())];
    match poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
        Ok(1..) => !polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP),
        _ => true,
    }
}

/// The path with these bytes.
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// Whether `error` says that this process, or the system, has no room for another handle.
pub(crate) fn is_out_of_handles(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// Whether there is such a process.
pub(crate) fn is_running(process: i32) -> bool {
    let Some(process) = rustix::process::Pid::from_raw(process) else { return false };
    !matches!(rustix::process::test_kill_process(process), Err(rustix::io::Errno::SRCH))
}
