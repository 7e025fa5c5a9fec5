//! A case: what a seed stands for.

use std::collections::BTreeSet;
use std::fmt::{Debug, Write};

use manyfiles_testkit::{Call, Random, Rule};

use super::subject::{Numbered, Subject};
use super::{appender, closer, fs, tree, vfs, writer};

/// The type that a program is played on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tree,
    Vfs,
    Appender,
    Writer,
    Closer,
    Fs,
}

impl Kind {
    pub fn of(seed: u64) -> Kind {
        Random::new(seed).pick(&[Kind::Tree, Kind::Vfs, Kind::Appender, Kind::Writer, Kind::Closer, Kind::Fs])
    }

    pub fn name(self) -> &'static str {
        match self {
            Kind::Tree => "TreeWriter",
            Kind::Vfs => "Vfs",
            Kind::Appender => "Appender",
            Kind::Writer => "FileWriter",
            Kind::Closer => "Closer",
            Kind::Fs => "fs",
        }
    }
}

/// Does something with the [`Subject`] of a kind.
macro_rules! with_subject {
    ($kind:expr, $subject:ident => $work:expr) => {
        match $kind {
            Kind::Tree => {
                type $subject = tree::Tree;
                $work
            }
            Kind::Vfs => {
                type $subject = vfs::Files;
                $work
            }
            Kind::Appender => {
                type $subject = appender::Log;
                $work
            }
            Kind::Writer => {
                type $subject = writer::Writers;
                $work
            }
            Kind::Closer => {
                type $subject = closer::Closers;
                $work
            }
            Kind::Fs => {
                type $subject = fs::Functions;
                $work
            }
        }
    };
}
pub(super) use with_subject;

/// A call of the system that fails.
#[derive(Clone, Debug)]
pub struct Failure {
    call: Call,
    nth: u64,
    /// 0: it moves one byte.
    errno: i32,
}

impl Failure {
    fn new(random: &mut Random, calls: &[Call]) -> Failure {
        let call = random.pick(calls);
        let errnos: &[i32] = match call {
            Call::Open => &[libc::EMFILE, libc::EIO, libc::ENOSPC],
            Call::Close => &[libc::EDQUOT, libc::EIO, libc::EINTR],
            Call::Write | Call::Copy => &[libc::ENOSPC, libc::EIO, libc::EINTR, 0, 0],
            Call::Read => &[libc::EIO, libc::EINTR, 0, 0],
            Call::Mkdir => &[libc::ENOSPC, libc::EIO],
            _ => &[libc::EIO, libc::ENOSPC],
        };
        let most = random.pick(&[3, 8, 30]);
        Failure { call, nth: 1 + random.below(most) as u64, errno: random.pick(errnos) }
    }

    /// For paths that have this text alone.
    pub fn rule(&self, text: &str) -> Rule {
        let rule = if self.errno == 0 { Rule::short(self.call, 1) } else { Rule::fail(self.call, self.errno) };
        rule.nth(self.nth).path_contains(text)
    }
}

/// A case of one type.
pub struct Case<S: Subject> {
    pub options: S::Options,
    pub failures: Vec<Failure>,
    pub threads: Vec<Vec<Numbered<S::Call>>>,
}

/// What is left of a case: the numbers of its failures and calls. `None`: all.
pub type Keep = Option<BTreeSet<u64>>;

impl<S: Subject> Case<S> {
    pub fn new(seed: u64, keep: &Keep) -> Case<S> {
        let mut random = Random::new(seed);
        random.next(); // the kind
        let options = S::options(&mut random);
        let mut number = 0;
        let mut is_kept = || {
            number += 1;
            keep.as_ref().is_none_or(|keep| keep.contains(&(number - 1))).then_some(number - 1).ok_or(())
        };
        let failures = if random.percent(40) { 0 } else { 1 + random.below(3) };
        let failures = (0..failures).map(|_| Failure::new(&mut random, S::FAILS));
        let failures = failures.filter(|_| is_kept().is_ok()).collect();
        let count = random.pick(&[1, 1, 2, 3]);
        let calls = 5 + random.below(56);
        let mut threads = vec![Vec::new(); count];
        for n in 0..calls {
            let thread = n * count / calls;
            let call = S::call(&mut random, &options, thread);
            if let Ok(number) = is_kept() {
                threads[thread].push(Numbered { number, call });
            }
        }
        Case { options, failures, threads }
    }
}

/// All numbers of the case.
pub fn numbers(seed: u64) -> BTreeSet<u64> {
    fn of<S: Subject>(seed: u64) -> BTreeSet<u64> {
        let case = Case::<S>::new(seed, &None);
        let calls: usize = case.threads.iter().map(Vec::len).sum();
        (0..(case.failures.len() + calls) as u64).collect()
    }
    with_subject!(Kind::of(seed), S => of::<S>(seed))
}

/// The program as lines.
pub fn show(seed: u64, keep: &Keep) -> String {
    fn of<S: Subject>(seed: u64, keep: &Keep) -> String {
        let case = Case::<S>::new(seed, keep);
        let mut text = format!("  {} with {:?}\n", Kind::of(seed).name(), case.options);
        for Failure { call, nth, errno } in &case.failures {
            let what = if *errno == 0 { "moves one byte".into() } else { format!("fails with {errno}") };
            let _ = writeln!(text, "  {call:?} number {nth} {what}");
        }
        for (thread, calls) in case.threads.iter().enumerate() {
            for Numbered { number, call } in calls {
                let _ = writeln!(text, "  thread {thread}: {number}: {call:?}");
            }
        }
        text
    }
    with_subject!(Kind::of(seed), S => of::<S>(seed, keep))
}
