//! Asking what to do about names that are taken, on a thread of its own: the answer may take as long as a person does.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::lock::lock;
use super::own_thread::belongs_to_a_tree;
use crate::tree::Answer;

/// A question about this path, and where its answer goes: `None` if the program's callback panicked.
type Question = (PathBuf, Sender<Option<Answer>>);

/// Where to ask, and the thread that answers.
#[derive(Default)]
pub(super) struct Questions(Mutex<Option<(Sender<Question>, JoinHandle<()>)>>);

impl fmt::Debug for Questions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Questions").field(&lock(&self.0).is_some()).finish()
    }
}

impl Questions {
    /// `answer` is called once for each question, one after the other.
    pub(super) fn to(answer: Arc<dyn Fn(&Path) -> Answer + Send + Sync>) -> io::Result<Questions> {
        let (send, receive) = channel();
        let answering = move |receive: Receiver<Question>| {
            belongs_to_a_tree();
            for (path, reply) in receive {
                // If the thread that asked is gone, nothing depends on the answer.
                if reply.send(catch_unwind(AssertUnwindSafe(|| answer(&path))).ok()).is_err() {
                    continue;
                }
            }
        };
        let thread = std::thread::Builder::new().name("manyfiles-ask".into()).spawn(move || answering(receive))?;
        Ok(Questions(Mutex::new(Some((send, thread)))))
    }

    /// `None` if there is no answer: the program's callback panicked.
    pub(super) fn ask(&self, path: PathBuf) -> Option<Answer> {
        let (reply, answer) = channel();
        let asked = lock(&self.0).as_ref().is_some_and(|(questions, _)| questions.send((path, reply)).is_ok());
        if asked { answer.recv().unwrap_or(None) } else { None }
    }

    /// Ends the thread.
    pub(super) fn end(&self) {
        let asking = lock(&self.0).take();
        if let Some((questions, thread)) = asking {
            drop(questions);
            drop(thread.join()); // Every question has been answered: no panic is lost.
        }
    }
}
