//! Compressed tars: decoded on a thread of their own, which hands blocks to the thread that looks for entries.
//!
//! Blocks are bounded in number and used again. The thread ends with the input, or when the receiver is gone. A thread
//! that waits for a stream which neither ends nor sends is left behind.

mod ahead;
mod bzip2;
mod head;
mod input;
mod lz4;
mod lzw;
mod members;
mod package;
mod zstd;

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::Builder;
use std::time::Duration;

pub(crate) use input::Input;
use input::State;
use manyfiles::threads::spawn_quiet;
use members::Members;

use crate::cancel::Cancel;
use crate::error::{ErrorKind, Position, Result};
use crate::format::{Format, HEAD, detect};

/// A multiple of the tar block, so that headers never lie across two.
const BLOCK: usize = 256 << 10;
/// Blocks that are decoded and not yet looked at.
const AHEAD: usize = 4;
/// How often a wait for input looks whether it was cancelled.
const PATIENCE: Duration = Duration::from_millis(100);

/// A decoded block, and how much of the input it took until then.
pub(crate) struct Taken {
    pub block: Vec<u8>,
    pub input: u64,
}

enum Message {
    /// What the input is, with its first bytes.
    Head(Option<Format>, Vec<u8>),
    Block(Taken),
    End,
    Failed(io::Error),
}

/// The receiving end of a decoding thread.
pub(crate) struct Blocks {
    full: Receiver<Message>,
    empty: Sender<Vec<u8>>,
    state: Arc<State>,
    ended: bool,
}

impl Blocks {
    /// Starts to decode `input`, whatever it is compressed with. Ask for its [`format`](Blocks::format) first.
    pub(crate) fn start(input: Input) -> io::Result<Blocks> {
        let (to, full) = sync_channel(AHEAD);
        let (empty, used) = channel();
        let state = Arc::clone(&input.state);
        spawn_quiet(Builder::new().name("decode".into()), move || {
            let end = match decode(input, &to, &used) {
                Ok(()) => Message::End,
                Err(error) => Message::Failed(error),
            };
            // An error here says that the receiver needs no more.
            drop(to.send(end));
        })?;
        Ok(Blocks { full, empty, state, ended: false })
    }

    /// What the input is, and its first bytes. There are blocks only if it can be read from
    /// front to back.
    pub(crate) fn format(&mut self, cancel: &Cancel) -> Result<(Option<Format>, Vec<u8>), ErrorKind> {
        match self.receive(cancel)? {
            Message::Head(format, head) => Ok((format, head)),
            _ => unreachable!("the head is what the thread sends first"),
        }
    }

    /// The next block, in exchange for one that was used. `None`: that was all, and it was whole.
    pub(crate) fn next(&mut self, used: Vec<u8>, cancel: &Cancel) -> Result<Option<Taken>, ErrorKind> {
        if self.ended {
            return Ok(None);
        }
        // An error here says that the thread has nothing more to decode.
        drop(self.empty.send(used));
        match self.receive(cancel) {
            Ok(Message::Block(taken)) => Ok(Some(taken)),
            ended => {
                // Behind an error there is nothing more, either.
                self.ended = true;
                ended.map(|_| None)
            }
        }
    }

    /// Waits for a message that is no failure.
    fn receive(&self, cancel: &Cancel) -> Result<Message, ErrorKind> {
        loop {
            cancel.check()?;
            match self.full.recv_timeout(PATIENCE) {
                Ok(Message::Failed(error)) if self.state.failed.load(Relaxed) => return Err(ErrorKind::Read(error)),
                Ok(Message::Failed(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(self.damage("it is cut short"));
                }
                Ok(Message::Failed(error)) if error.kind() == io::ErrorKind::OutOfMemory => {
                    return Err(ErrorKind::Read(error));
                }
                // Nothing is wrong with it, but it is not for this decoder.
                Ok(Message::Failed(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    return Err(ErrorKind::Unsupported(error.to_string()));
                }
                // A checksum comes behind what it is of, and damage may decode to something for a while.
                Ok(Message::Failed(error)) => {
                    return Err(self.damage(&format!("{error} (files before this may be wrong, too)")));
                }
                Ok(message) => return Ok(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.damage("the decoder panicked")),
            }
        }
    }

    fn damage(&self, cause: &str) -> ErrorKind {
        ErrorKind::damaged(Position::Archive(self.state.used.load(Relaxed)), cause)
    }

    /// How many bytes of the input were taken by the decoder.
    pub(crate) fn used(&self) -> u64 {
        self.state.used.load(Relaxed)
    }

    /// Whether zeros that the compression does not allow stand between its members or behind them.
    pub(crate) fn odd_padding(&self) -> bool {
        self.state.odd_padding.load(Relaxed)
    }

    /// Whether a part of the content had no checksum, or one that could not be computed.
    pub(crate) fn unchecked(&self) -> bool {
        self.state.unchecked.load(Relaxed)
    }

    /// Whether a checksum was of a kind that is not known.
    pub(crate) fn unknown_check(&self) -> bool {
        self.state.unknown_check.load(Relaxed)
    }

    /// Whether what a package has before its files is damaged or odd.
    pub(crate) fn odd_package(&self) -> bool {
        self.state.odd_package.load(Relaxed)
    }

    pub(crate) fn trailing_garbage(&self) -> bool {
        self.state.trailing_garbage.load(Relaxed)
    }
}

/// What the thread does.
fn decode(mut input: Input, to: &SyncSender<Message>, used: &Receiver<Vec<u8>>) -> io::Result<()> {
    let head = input.peek(HEAD)?.to_vec();
    let format = detect(&head);
    // An error here says that the receiver needs no more.
    drop(to.send(Message::Head(format, head)));
    let state = Arc::clone(&input.state);
    let decoder: Box<dyn Read> = match format {
        _ if input.is_plain => Box::new(input),
        None | Some(Format::Zip) => return Ok(()),
        Some(Format::Deb) => package::deb(input)?,
        Some(Format::Rpm) => package::rpm(input)?,
        Some(format) => match format.compression() {
            None => Box::new(input),
            Some(compression) => Box::new(Members::new(compression, input)?),
        },
    };
    pump(decoder, to, used, &state)
}

/// Fills blocks until the input ends or the receiver is gone.
fn pump(
    mut decoder: Box<dyn Read>,
    to: &SyncSender<Message>,
    used: &Receiver<Vec<u8>>,
    state: &State,
) -> io::Result<()> {
    loop {
        let mut block = used.try_recv().unwrap_or_default();
        block.resize(BLOCK, 0);
        let mut len = 0;
        let filled = loop {
            if len == BLOCK {
                break Ok(true);
            }
            match decoder.read(&mut block[len..]) {
                Ok(0) => break Ok(false),
                Ok(more) => len += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        block.truncate(len);
        let wanted = len == 0 || to.send(Message::Block(Taken { block, input: state.used.load(Relaxed) })).is_ok();
        // Bytes that were decoded before an error are handed over before the error.
        if !filled? || !wanted {
            return Ok(());
        }
    }
}
