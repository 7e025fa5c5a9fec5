//! A file that counts its drops, and the count.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Condvar, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

/// A file that counts as closed when its close, and what comes after it, is done.
pub struct Counted {
    /// `None` only in its drop.
    pub file: Option<File>,
    pub after: After,
}

/// What a [`Counted`] does after its close.
#[derive(Clone, Copy)]
pub enum After {
    Nothing,
    /// Takes as long as a slow close.
    Wait(Duration),
    /// Writes a byte to the [log](open_log).
    Log,
}

impl Counted {
    pub fn new(file: File, after: After) -> Counted {
        Counted { file: Some(file), after }
    }

    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.as_mut().expect("not being dropped").write_all(bytes)
    }
}

impl manyfiles::close::FastCloseable for Counted {}
impl close_already::FastCloseable for Counted {}

impl Drop for Counted {
    fn drop(&mut self) {
        drop(self.file.take());
        match self.after {
            After::Nothing => (),
            After::Wait(time) => thread::sleep(time),
            After::Log => {
                let log = LOG.get().expect("opened before the first drop");
                log.lock().expect("nobody panics with the lock").write_all(b".").expect("the log can be written to");
            }
        }
        *CLOSED.lock().expect("nobody panics with the lock") += 1;
        CHANGED.notify_all();
    }
}

static CLOSED: Mutex<usize> = Mutex::new(0);
static CHANGED: Condvar = Condvar::new();
static LOG: OnceLock<Mutex<File>> = OnceLock::new();

/// Makes the log of [`After::Log`]. Its length is the number of closes, however the process ends.
pub fn open_log(path: &Path) -> io::Result<()> {
    LOG.set(Mutex::new(File::create_new(path)?)).expect("opened once");
    Ok(())
}

/// How many have been closed so far.
pub fn closed() -> usize {
    *CLOSED.lock().expect("nobody panics with the lock")
}

/// Returns when `count` have been closed.
pub fn wait_for(count: usize) {
    let closed = CLOSED.lock().expect("nobody panics with the lock");
    drop(CHANGED.wait_while(closed, |closed| *closed < count).expect("nobody panics with the lock"));
}
