//! A failed close is an event, once.
#![cfg(feature = "tracing")]

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use manyfiles::close::{Closer, Policy};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

/// Keeps what every event says.
#[derive(Clone, Default)]
struct Keeps(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl Subscriber for Keeps {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "manyfiles::close"
    }
    fn event(&self, event: &Event<'_>) {
        assert_eq!(*event.metadata().level(), Level::ERROR);
        let mut line = Line(String::new());
        event.record(&mut line);
        let panics = line.0.contains("a subscriber's own panic");
        self.0.lock().unwrap().push(line.0);
        if panics {
            std::panic::resume_unwind(Box::new("the subscriber is broken"));
        }
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

struct Fails(&'static str);

impl Drop for Fails {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new(self.0));
    }
}

#[test]
fn each_failed_close_is_one_event_whichever_call_takes_the_error() {
    let events = Keeps::default();
    // Of the whole process: closes fail on any thread.
    tracing::subscriber::set_global_default(events.clone()).unwrap();
    for policy in [Policy::Always, Policy::Never] {
        for taken_by_callback in [false, true] {
            let options = Closer::options().policy(policy);
            let closer = if taken_by_callback { options.on_error(|_| {}) } else { options }.build();
            closer.close(());
            closer.close_at(Fails("the other side is gone"), "pipe");
            closer.wait().err();
            let told = std::mem::take(&mut *events.0.lock().unwrap());
            assert_eq!(
                told,
                ["message=cannot close pipe: its drop panicked: the other side is gone path=pipe "],
                "{policy:?}"
            );
        }
    }
    let closer = Closer::new();
    closer.close(Fails("a subscriber's own panic"));
    assert_eq!(closer.wait().unwrap_err().len(), 1, "the error is kept all the same");
    assert_eq!(events.0.lock().unwrap().len(), 1);
}
