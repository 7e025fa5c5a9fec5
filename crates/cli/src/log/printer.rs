//! [`Printer`]: records on standard output, in the form that was asked for.

use std::io::{self, BufWriter, ErrorKind, Stdout, Write};
use std::process::ExitCode;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use manyfiles::Error;
use manyfiles::appender::{Missing, Position};
use serde_json::{Map, Value};

use crate::args::Form;
use crate::report::{self, INCOMPLETE, json_path};
use crate::terminal::Screen;

/// Standard output. After the first failure nothing more is printed: [`is_open`](Printer::is_open) tells, and
/// [`end`](Printer::end) says why.
pub(super) struct Printer {
    form: Form,
    out: BufWriter<Stdout>,
    screen: Screen,
    /// The first failure.
    failure: Option<io::Error>,
    /// Something in the log could not be read.
    is_incomplete: bool,
}

impl Printer {
    pub(super) fn new(form: Form) -> Printer {
        let out = BufWriter::with_capacity(256 << 10, io::stdout());
        Printer { form, out, screen: Screen::default(), failure: None, is_incomplete: false }
    }

    /// Whether standard output still has a reader.
    pub(super) fn is_open(&self) -> bool {
        self.failure.is_none()
    }

    /// A record that begins at `position`; the one behind it, at `next` or later.
    pub(super) fn record(&mut self, position: Option<Position>, next: Position, bytes: &[u8]) {
        let printed = match self.form {
            Form { json: true, .. } => self.json(position, next, bytes),
            Form { hex: true, .. } => self.hex(bytes),
            Form { null: true, .. } => self.out.write_all(bytes).and_then(|()| self.out.write_all(b"\0")),
            _ => self.line(bytes),
        };
        self.keep(printed);
    }

    /// Reports damage on standard error. As JSON, the report also stands in the place of the records.
    pub(super) fn error(&mut self, error: &Error) {
        self.is_incomplete = true;
        self.screen.say(error);
        if self.form.json {
            let mut object = Map::new();
            object.insert("error".into(), error.to_string().into());
            if let Some(path) = error.path() {
                json_path(&mut object, "file", path);
            }
            if let Some(damage) = error.damage() {
                object.insert("offset".into(), damage.offset.into());
                object.insert("bytes".into(), damage.bytes.into());
            }
            if let Some(Missing { from, to, .. }) = error.missing() {
                object.insert("missing_from".into(), from.0.into());
                object.insert("missing_to".into(), to.map(|to| to.0).into());
            }
            let printed = writeln!(self.out, "{}", Value::from(object));
            self.keep(printed);
        }
    }

    /// A line that is no record.
    pub(super) fn text(&mut self, text: &str) {
        let printed = writeln!(self.out, "{text}");
        self.keep(printed);
    }

    /// Says something on standard error.
    pub(super) fn say(&self, message: &str) {
        self.screen.say(message);
    }

    /// Hands over what was printed, to be seen now.
    pub(super) fn flush(&mut self) {
        let flushed = self.out.flush();
        self.keep(flushed);
    }

    /// The exit status; `signal` is what ended the work before its end.
    pub(super) fn end(mut self, signal: Option<i32>) -> ExitCode {
        self.flush();
        let code = match signal {
            Some(signal) => 128 + signal as u8,
            None if self.is_incomplete => INCOMPLETE,
            None => 0,
        };
        report::printed(self.failure.take().map_or(Ok(()), Err), code)
    }

    fn line(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        if bytes.last() == Some(&b'\n') { Ok(()) } else { self.out.write_all(b"\n") }
    }

    fn hex(&mut self, bytes: &[u8]) -> io::Result<()> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut digits = [0; 1024];
        for chunk in bytes.chunks(digits.len() / 2) {
            for (pair, byte) in digits.chunks_exact_mut(2).zip(chunk) {
                pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
            }
            self.out.write_all(&digits[..2 * chunk.len()])?;
        }
        self.out.write_all(b"\n")
    }

    fn json(&mut self, position: Option<Position>, next: Position, bytes: &[u8]) -> io::Result<()> {
        let position = position.unwrap_or(next);
        write!(self.out, "{{\"position\":{},\"next\":{}", position.0, next.0)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                self.out.write_all(b",\"text\":")?;
                serde_json::to_writer(&mut self.out, text)?;
            }
            Err(_) => write!(self.out, ",\"base64\":\"{}\"", BASE64_STANDARD.encode(bytes))?,
        }
        self.out.write_all(b"}\n")
    }

    /// A record that cannot be printed now is not printed later: the reader would take the next one for it.
    fn keep(&mut self, printed: io::Result<()>) {
        if let Err(error) = printed
            && error.kind() != ErrorKind::Interrupted
            && self.failure.is_none()
        {
            self.failure = Some(error);
        }
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        // The drop of the buffer would write the failed bytes once more.
        if self.failure.is_some() {
            let unwritten = std::mem::replace(&mut self.out, BufWriter::with_capacity(0, io::stdout()));
            drop(unwritten.into_parts());
        }
    }
}
