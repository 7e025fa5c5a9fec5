//! [`Pty`]: the command on a terminal of its own, to be talked to.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::BINARY;

/// A run of the command under `script`, which gives it a pseudo-terminal.
pub struct Pty {
    child: Child,
    output: Receiver<Vec<u8>>,
    seen: String,
}

impl Pty {
    /// Runs the command with `args` (as a shell reads them) in `folder`. Needs the program `script`.
    pub fn run(folder: &Path, args: &str) -> Pty {
        let mut child = Command::new("script")
            .args(["-q", "-e", "-c", &format!("exec {BINARY} {args}"), "/dev/null"])
            .current_dir(folder)
            .env("TERM", "xterm")
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let (sender, output) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = stdout.read(&mut buffer) {
                if sender.send(buffer[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        Pty { child, output, seen: String::new() }
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
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
        stdin.flush().unwrap();
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
