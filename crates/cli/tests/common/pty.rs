//! [`Pty`]: the command on a terminal of its own, to be talked to.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::{Command, open};

use super::BINARY;

/// A run of the command on a pseudo-terminal of 80 columns.
pub struct Pty {
    child: Child,
    terminal: Arc<pty_process::blocking::Pty>,
    output: Receiver<Vec<u8>>,
    seen: String,
}

impl Pty {
    /// Runs the command with `args` (as a shell reads them) in `folder`.
    pub fn run(folder: &Path, args: &str) -> Pty {
        let (terminal, other_end) = open().unwrap();
        terminal.resize(Size::new(24, 80)).unwrap();
        let child = Command::new("sh")
            .args(["-c", &format!("exec {BINARY} {args}")])
            .current_dir(folder)
            .env("TERM", "xterm")
            .spawn(other_end)
            .unwrap();
        let terminal = Arc::new(terminal);
        let (sender, output) = mpsc::channel();
        let shown = Arc::clone(&terminal);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // An error when nobody has the other end any more and all was read.
            while let Ok(n @ 1..) = (&*shown).read(&mut buffer) {
                if sender.send(buffer[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        Pty { child, terminal, output, seen: String::new() }
    }

    /// Waits until the terminal shows `text`, after what was waited for before.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> &mut Pty {
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
    pub fn send(&mut self, text: &str) -> &mut Pty {
        (&*self.terminal).write_all(text.as_bytes()).unwrap();
        self
    }

    /// Waits for the end: the exit status, and what was shown since the last wait.
    pub fn end(mut self) -> (i32, String) {
        while let Ok(bytes) = self.output.recv() {
            self.seen += &String::from_utf8_lossy(&bytes);
        }
        let status = self.child.wait().unwrap();
        (status.code().unwrap_or(-1), self.seen)
    }
}
