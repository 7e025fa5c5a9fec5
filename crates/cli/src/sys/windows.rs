use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::os::windows::io::AsHandle;
use std::path::{Component, Path, PathBuf, Prefix};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use manyfiles::tree::{Node, Refusal, check};
use winapi_util::{Handle, file};

use super::{FileId, SIGINT, Traced};
use crate::stop::Stop;
use crate::words::CannotBegin;

/// Calls `on_signal` with each Ctrl-C, Ctrl-Break and request to end from now on, on a thread of its own; all of them
/// are passed as Ctrl-C, because the handler is not told which one came. If `on_signal` says no, the process ends at
/// once.
pub(crate) fn on_signals(on_signal: impl Fn(i32) -> bool + Send + 'static) -> io::Result<()> {
    ctrlc::set_handler(move || {
        if !on_signal(SIGINT) {
            std::process::exit(128 + SIGINT);
        }
    })
    .map_err(io::Error::other)
}

/// Opens a file to be read.
pub(crate) fn open_to_read(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// An input that may keep its reader waiting: a pipe, a terminal. A thread reads it, because no wait for input has a
/// time limit on Windows.
#[derive(Clone)]
pub(crate) struct Input(Arc<Mutex<Pending>>);

struct Pending {
    chunks: Receiver<io::Result<Vec<u8>>>,
    /// What is left of the last chunk, and where it begins.
    chunk: Vec<u8>,
    at: usize,
}

impl Input {
    pub(crate) fn new(mut file: File) -> Input {
        let (send, chunks) = sync_channel(2);
        let read = move || {
            loop {
                let mut chunk = vec![0; 64 << 10];
                let read = file.read(&mut chunk).map(|len| {
                    chunk.truncate(len);
                    chunk
                });
                let is_last = !matches!(&read, Ok(chunk) if !chunk.is_empty());
                if send.send(read).is_err() || is_last {
                    return;
                }
            }
        };
        // Without a thread there is nothing to be read: the other end of the channel is gone then.
        drop(thread::Builder::new().name("input".into()).spawn(read));
        Input(Arc::new(Mutex::new(Pending { chunks, chunk: Vec::new(), at: 0 })))
    }

    /// Standard input, past the standard library's buffer. All callers share one: bytes that its thread has read must
    /// not be lost.
    pub(crate) fn stdin() -> io::Result<Input> {
        static STDIN: OnceLock<Input> = OnceLock::new();
        if let Some(input) = STDIN.get() {
            return Ok(input.clone());
        }
        let file = File::from(io::stdin().as_handle().try_clone_to_owned()?);
        Ok(STDIN.get_or_init(|| Input::new(file)).clone())
    }

    /// Reads, or gives `None` if there is nothing to be read within this time.
    pub(crate) fn read_within(&mut self, time: Duration, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.at == pending.chunk.len() {
            match pending.chunks.recv_timeout(time) {
                Ok(chunk) => (pending.chunk, pending.at) = (chunk?, 0),
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => return Ok(Some(0)),
            }
        }
        let rest = &pending.chunk[pending.at..];
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        pending.at += len;
        Ok(Some(len))
    }
}

/// Reads a line from the console, and does not show it.
pub(crate) fn read_hidden(_stop: &Stop, ask: impl FnOnce()) -> io::Result<Option<Vec<u8>>> {
    ask();
    rpassword::read_password().map(|line| Some(line.into_bytes()))
}

/// Ends the process as Ctrl-C does.
pub(crate) fn interrupt() {
    std::process::exit(128 + SIGINT);
}

/// Standard output. Writes to a pipe wait here until it has room.
pub(crate) struct Output(File);

impl Output {
    pub(crate) fn new(file: File) -> Output {
        Output(file)
    }

    /// Writes, however long it takes.
    pub(crate) fn write_within(&mut self, _time: Duration, bytes: &[u8]) -> io::Result<Option<usize>> {
        self.0.write(bytes).map(Some)
    }
}

/// There is no umask that a privileged user would want to be free of.
pub(crate) fn is_privileged() -> bool {
    false
}

/// Standard output, past the standard library's buffer.
pub(crate) fn stdout() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

/// There is no such limit here.
pub(crate) fn fail_over_file_size_limit() {}

/// Which file standard output goes to: not asked for here.
pub(crate) fn stdout_id() -> Option<FileId> {
    None
}

/// The entries of a folder.
pub(crate) fn read_folder(path: &Path, _found: &Metadata) -> io::Result<std::fs::ReadDir> {
    std::fs::read_dir(reach(path)?.path())
}

/// Which file it is.
pub(crate) fn file_id(path: &Path, metadata: &Metadata) -> Option<FileId> {
    file_id_and_names(path, metadata).map(|(id, _)| id)
}

/// The recycle bin.
pub(crate) fn trash(path: &Path) -> io::Result<()> {
    trash::delete(path).map_err(|error| io::Error::other(format!("it cannot be moved to the recycle bin: {error}")))
}

/// Not asked: a folder has one path in the form that the system gives.
pub(crate) fn current_and_above() -> io::Result<Vec<FileId>> {
    Ok(Vec::new())
}

/// Which file it is, and how many names it has. `None` where it cannot be opened (reading it will say why), and for a
/// link.
pub(crate) fn file_id_and_names(path: &Path, metadata: &Metadata) -> Option<(FileId, u64)> {
    if metadata.is_symlink() {
        return None;
    }
    let information = Handle::from_path_any(path).and_then(file::information).ok()?;
    Some(((information.volume_serial_number(), information.file_index()), information.number_of_links()))
}

/// Users and groups have no numbers.
pub(crate) fn own_ids() -> (u32, u32) {
    (0, 0)
}

/// The system copies files whatever their holes and the length of their paths.
pub(crate) fn has_holes(_metadata: &Metadata) -> bool {
    false
}

/// Folders hold none.
pub(crate) fn is_socket(_metadata: &Metadata) -> bool {
    false
}

/// A path by which the system finds something.
pub(crate) struct Reached(PathBuf);

impl Reached {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

/// The standard library asks for paths of any length.
pub(crate) fn is_too_long(_path: &Path) -> bool {
    false
}

/// The path as it is.
pub(crate) fn reach(path: &Path) -> io::Result<Reached> {
    Ok(Reached(path.to_path_buf()))
}

/// The path by which something that was found is opened: the one that its messages have, if that leads to it.
pub(crate) fn path_to_open<'a>(found: &'a Path, absolute: &'a Path) -> &'a Path {
    if is_verbatim(absolute) { absolute } else { found }
}

/// Makes the path to a name that was found in a folder lead there. What Windows makes of `a.`, `a ` and `nul.txt` in a
/// path is the file `a` and a device, unless the path is a verbatim one. Programs of the Linux subsystem, for instance,
/// make files of such names.
pub(crate) fn keep_name(absolute: &mut PathBuf, name: &OsStr) {
    let means_something_else = || matches!(check(Path::new(name)), Err(Refusal::Device | Refusal::NotAName));
    let Some(Component::Prefix(prefix)) = absolute.components().next() else { return };
    let (begin, rest) = match prefix.kind() {
        Prefix::Disk(_) if means_something_else() => (r"\\?\", 0),
        Prefix::UNC(..) if means_something_else() => (r"\\?\UNC", 1),
        _ => return,
    };
    let units = begin.encode_utf16().chain(absolute.as_os_str().encode_wide().skip(rest));
    *absolute = OsString::from_wide(&units.collect::<Vec<_>>()).into();
}

fn is_verbatim(path: &Path) -> bool {
    matches!(path.components().next(), Some(Component::Prefix(prefix)) if prefix.kind().is_verbatim())
}

/// Whether `error` says that this process has no room for another handle.
pub(crate) fn is_out_of_handles(error: &std::io::Error) -> bool {
    const ERROR_TOO_MANY_OPEN_FILES: i32 = 4;
    error.raw_os_error() == Some(ERROR_TOO_MANY_OPEN_FILES)
}

/// There are lists of another kind, and the bits do not come from them.
#[derive(Default)]
pub(crate) struct Acls {}

impl Acls {
    /// None are looked for.
    pub(crate) fn found(&self) -> u64 {
        0
    }

    pub(crate) fn mode(&mut self, _path: &Path, metadata: &Metadata) -> u32 {
        mode(metadata)
    }
}

/// What the read-only attribute comes to, as permission bits.
pub(crate) fn mode(metadata: &Metadata) -> u32 {
    match (metadata.is_dir(), metadata.permissions().readonly()) {
        (true, _) => 0o777,
        (_, true) => 0o444,
        (_, false) => 0o666,
    }
}

/// Users and groups have no numbers.
pub(crate) fn owner(_metadata: &Metadata) -> Option<(u32, u32)> {
    None
}

/// Folders hold none.
pub(crate) fn node(_metadata: &Metadata) -> Option<Node> {
    None
}

/// Windows has nothing that every user may trace with.
pub(crate) fn trace(_command: &[OsString], _stop: &Stop) -> Result<Traced, CannotBegin> {
    Err(CannotBegin::because(
        "tracing a command needs strace, which is for Linux; here record with Process Monitor, save that as CSV or \
         XML, and give it: \
         'manyfiles explain TRACE'",
    ))
}

/// How wide the terminal is, if it is one.
pub(crate) fn columns(stream: &impl AsHandle) -> Option<usize> {
    terminal_size::terminal_size_of(stream).map(|(width, _)| usize::from(width.0))
}

/// Whether what is written there may still be read: only writing tells.
pub(crate) fn has_reader(_stream: &impl AsHandle) -> bool {
    true
}

/// The path with these bytes, which are those of paths.
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_windows_would_take_for_another_is_reached_by_a_verbatim_path() {
        for (folder, name, opened) in [
            (r"C:\a", "b", r"C:\a\b"),
            (r"C:\a", "b.", r"\\?\C:\a\b."),
            (r"C:\a", "b ", r"\\?\C:\a\b "),
            (r"C:\a", "nul.txt", r"\\?\C:\a\nul.txt"),
            (r"\\server\share\a", "b.", r"\\?\UNC\server\share\a\b."),
            (r"\\?\C:\a", "b.", r"\\?\C:\a\b."),
            (r"\\?\C:\a.", "b", r"\\?\C:\a.\b"),
        ] {
            let mut absolute = Path::new(folder).join(name);
            keep_name(&mut absolute, OsStr::new(name));
            assert_eq!(absolute.as_os_str(), opened, "{folder} {name}");
            let given = Path::new("a").join(name);
            let expected = if opened.starts_with(r"\\?\") { &absolute } else { &given };
            assert_eq!(path_to_open(&given, &absolute).as_os_str(), expected.as_os_str());
        }
    }
}
