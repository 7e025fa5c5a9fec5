//! [`Pty`]: the command on a terminal of its own, to be talked to.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::{Command, open};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::BINARY;

/// A run of the command on a pseudo-terminal of 80 columns.
pub(crate) struct Pty {
    child: Child,
    terminal: Arc<pty_process::blocking::Pty>,
    output: Receiver<Vec<u8>>,
    reader: JoinHandle<()>,
    is_closed: Arc<AtomicBool>,
    seen: String,
}

impl Pty {
    /// Runs the command with `args` (as a shell reads them) in `folder`.
    pub(crate) fn run(folder: &Path, args: &str) -> Pty {
        Pty::shell(folder, &format!("exec {BINARY} {args}"))
    }

    /// Runs a script in `folder`, with the command as `$0`.
    pub(crate) fn shell(folder: &Path, script: &str) -> Pty {
        super::with_default_hang_up();
        let (terminal, other_end) = open().unwrap();
        terminal.resize(Size::new(24, 80)).unwrap();
        let child = Command::new("sh")
            .args(["-c", script, BINARY])
            .current_dir(folder)
            .env("TERM", "xterm")
            .spawn(other_end)
            .unwrap();
        let terminal = Arc::new(terminal);
        let (sender, output) = mpsc::channel();
        let shown = Arc::clone(&terminal);
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&is_closed);
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while !closed.load(Ordering::Relaxed) {
                let moment = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
                if poll(&mut [PollFd::new(&*shown, PollFlags::IN)], Some(&moment)) == Ok(0) {
                    continue;
                }
                // An error once the other end is closed and all was read.
                match (&*shown).read(&mut buffer) {
                    Ok(n @ 1..) if sender.send(buffer[..n].to_vec()).is_ok() => {}
                    _ => break,
                }
            }
        });
        Pty { child, terminal, output, reader, is_closed, seen: String::new() }
    }

    /// Waits until the terminal shows `text`, after what was waited for before.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> &mut Pty {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(at) = self.seen.find(text) {
                self.seen.drain(..at + text.len());
                return self;
            }
            match self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.seen += &String::from_utf8_lossy(&bytes),
                Err(RecvTimeoutError::Timeout) => panic!("the terminal never showed {text:?}, but {:?}", self.seen),
                Err(RecvTimeoutError::Disconnected) => panic!("the command ended without {text:?}: {:?}", self.seen),
            }
        }
    }

    /// Types `text`.
    pub(crate) fn send(&mut self, text: &str) -> &mut Pty {
        (&*self.terminal).write_all(text.as_bytes()).unwrap();
        self
    }

    /// Closes the terminal, as a window that is closed or a connection that is lost.
    /// The exit status.
    pub(crate) fn close(self) -> i32 {
        let Pty { mut child, terminal, reader, is_closed, .. } = self;
        is_closed.store(true, Ordering::Relaxed);
        reader.join().unwrap();
        drop(terminal);
        child.wait().unwrap().code().unwrap_or(-1)
    }

    /// Waits for the end: the exit status, and what was shown since the last wait.
    pub(crate) fn end(mut self) -> (i32, String) {
        while let Ok(bytes) = self.output.recv() {
            self.seen += &String::from_utf8_lossy(&bytes);
        }
        let status = self.child.wait().unwrap();
        (status.code().unwrap_or(-1), self.seen)
    }
}
