//! [`Failures`]: names the first failures of each cause, and counts the rest.

use std::collections::HashMap;

use manyfiles::{Error, Operation};

use super::Screen;
use crate::human::count;

/// The most failures of one cause that are named. More lines would say nothing new, and would push other lines off the
/// screen.
const NAMED: u64 = 5;

/// What has been said of failures so far.
#[derive(Default)]
pub(crate) struct Failures {
    names_all: bool,
    /// Failures that were looked at.
    seen: usize,
    /// The causes, in the order they came up, each with the number of its failures.
    causes: Vec<(Cause, u64)>,
    numbers: HashMap<Cause, usize>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Cause {
    operation: Operation,
    /// What the system said, without a path.
    said: String,
}

impl Failures {
    pub(crate) fn new(names_all: bool) -> Failures {
        Failures { names_all, ..Failures::default() }
    }

    /// How many were looked at.
    pub(crate) fn seen(&self) -> usize {
        self.seen
    }

    /// Names these, as far as they are among the first of their cause.
    pub(crate) fn name<'a>(&mut self, screen: &Screen, failures: impl IntoIterator<Item = &'a Error>) {
        let named: Vec<_> = failures.into_iter().filter(|failure| self.is_named(failure)).collect();
        screen.say_all(named);
    }

    /// Those that were only counted, a line for each cause.
    pub(crate) fn counted(&self) -> Vec<String> {
        let unnamed = self.causes.iter().filter(|(_, n)| *n > NAMED && !self.names_all);
        let line = |(cause, n): &(Cause, u64)| {
            let (verb, more) = (cause.operation.verb(), count(n - NAMED));
            format!("cannot {verb} {more} more: {} (-v names each)", cause.said)
        };
        unnamed.map(line).collect()
    }

    fn is_named(&mut self, failure: &Error) -> bool {
        self.seen += 1;
        let cause = Cause { operation: failure.operation(), said: said(failure) };
        let number = *self.numbers.entry(cause.clone()).or_insert(self.causes.len());
        if number == self.causes.len() {
            self.causes.push((cause, 0));
        }
        let (_, n) = &mut self.causes[number];
        *n += 1;
        *n <= NAMED || self.names_all
    }
}

/// What the system said in the end: an error may be the reason of another, and each has its path.
fn said(error: &Error) -> String {
    match error.io_error().get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(inner) => said(inner),
        None => error.io_error().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    fn full(path: &str) -> Error {
        Error::new(Operation::Write, path, io::Error::from_raw_os_error(28))
    }

    #[test]
    fn the_first_of_a_cause_are_named_and_the_rest_counted() {
        let mut failures = Failures::default();
        let named = (0..2000).filter(|n| failures.is_named(&full(&n.to_string()))).count();
        assert_eq!((named, failures.seen()), (5, 2000));
        let other = Error::new(Operation::Create, "x", io::ErrorKind::PermissionDenied.into());
        assert!(failures.is_named(&other), "another cause is named however many there were of the first");
        let counted = failures.counted();
        assert_eq!(counted.len(), 1, "{counted:?}");
        assert!(counted[0].starts_with("cannot write 1,995 more: "), "{counted:?}");
    }

    #[test]
    fn the_path_of_what_led_to_it_makes_no_other_cause() {
        let because_of = |inner: &str, outer: &str| {
            Error::new(
                Operation::Create,
                outer,
                io::Error::from(Error::new(Operation::Open, inner, io::ErrorKind::PermissionDenied.into())),
            )
        };
        let mut failures = Failures::default();
        let named = (0..7).filter(|n| failures.is_named(&because_of(&format!("src/{n}"), &n.to_string()))).count();
        assert_eq!((named, failures.counted().len()), (5, 1));
    }

    #[test]
    fn all_are_named_if_that_is_asked_for() {
        let mut failures = Failures::new(true);
        assert!((0..100).all(|n| failures.is_named(&full(&n.to_string()))));
        assert!(failures.counted().is_empty());
    }
}
