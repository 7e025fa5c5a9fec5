//! Several entrants do the same work in interleaved rounds.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::place::Place;
use crate::{process, progress};

/// How many rounds there are.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Counted rounds of a contest; one more before them warms up.
    pub rounds: usize,
    /// Fewer rounds and smaller sets than a claim needs.
    pub quick: bool,
    /// Contests whose work and place, as tables show them with a comma between, don't contain this are left out.
    pub only: &'a str,
}

impl Plan<'_> {
    /// The same, for work so short that one round tells little.
    pub fn times(self, factor: usize) -> Self {
        Plan { rounds: if self.quick { self.rounds } else { self.rounds * factor }, ..self }
    }
}

/// What one run took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Seconds until all was written and closed.
    pub seconds: f64,
    /// Processor time, in user space and in the kernel, of the process that did it. It says more than the clock does where
    /// others use the machine too.
    pub cpu_seconds: f64,
    /// Peak resident memory of the process that did it, in bytes, where it was a process of its own.
    pub peak_memory: Option<u64>,
}

/// A run: writes to the folder, which is not there yet, and says what it took.
pub type Run<'a> = Box<dyn FnMut(&Path) -> Result<Sample> + 'a>;

/// What wins a claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// This many times as fast as the entrant, at least.
    Faster(f64),
    /// This many times the entrant's time, at most.
    AtMost(f64),
    /// How many times as fast, and nothing claimed.
    Shown,
    /// How many times the entrant's time, and nothing claimed.
    ShownTime,
}

impl Target {
    /// Whether it is about our time as a multiple of the entrant's, and not about how many times as fast ours is.
    pub fn is_of_time(self) -> bool {
        matches!(self, Target::AtMost(_) | Target::ShownTime)
    }
}

/// One of those compared.
pub struct Entrant<'a> {
    /// As tables show it.
    pub name: String,
    /// What the first entrant is to reach against this one.
    pub target: Target,
    /// A slow one takes part in this many rounds only, the first of them, without warming up.
    pub rounds_at_most: Option<usize>,
    /// Whether its output is right.
    pub check: &'a Check<'a>,
    /// The work.
    pub run: Run<'a>,
}

impl<'a> Entrant<'a> {
    /// One that takes part in every round.
    pub fn new(name: impl Into<String>, target: Target, check: &'a Check<'a>, run: Run<'a>) -> Entrant<'a> {
        Entrant { name: name.into(), target, rounds_at_most: None, check, run }
    }
}

/// Checks what a run left in its folder.
pub type Check<'a> = Box<dyn Fn(&Path) -> Result<()> + 'a>;

/// What is compared. The first entrant is ours.
pub struct Contest<'a> {
    /// The group's name.
    pub group: &'static str,
    /// The work, as tables show it.
    pub what: String,
    /// Where.
    pub place: &'a Place,
    /// Who.
    pub entrants: Vec<Entrant<'a>>,
}

/// What came of a contest.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The group's name.
    pub group: &'static str,
    /// The work.
    pub what: String,
    /// Where.
    pub place: String,
    /// The entrants in their order, each with its runs; the first is ours.
    pub entrants: Vec<Score>,
}

/// An entrant's runs.
#[derive(Clone, Debug)]
pub struct Score {
    /// As tables show it.
    pub name: String,
    /// What the first entrant was to reach against this one.
    pub target: Target,
    /// The runs that counted, each with its round.
    pub samples: Vec<(usize, Sample)>,
    /// What was wrong with an output, or why a run failed; such runs don't count.
    pub problems: Vec<String>,
}

impl Score {
    /// One figure of each run.
    pub fn each(&self, figure: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.samples.iter().map(|(_, sample)| figure(sample)).collect()
    }
}

/// Lets everybody do the work in turn, round by round. Whoever began a round is last in the next one. `None` if the plan leaves
/// this contest out.
pub fn run(contest: Contest<'_>, plan: Plan) -> Option<Outcome> {
    let Contest { group, what, place, mut entrants } = contest;
    if !format!("{what}, {}", place.name).contains(plan.only) {
        return None;
    }
    let mut scores: Vec<Score> = entrants
        .iter()
        .map(|it| Score { name: it.name.clone(), target: it.target, samples: vec![], problems: vec![] })
        .collect();
    for round in 0..=plan.rounds {
        progress::show(&format!("{group}: {what}, {}: round {round} of {}", place.name, plan.rounds));
        for turn in 0..entrants.len() {
            let who = (turn + round) % entrants.len();
            let (entrant, score) = (&mut entrants[who], &mut scores[who]);
            let warms_up = round == 0;
            if entrant.rounds_at_most.is_some_and(|most| warms_up || round > most) {
                continue;
            }
            match run_once(entrant, place) {
                Ok(sample) if !warms_up => score.samples.push((round, sample)),
                Ok(_) => (),
                Err(e) => score.problems.push(format!("round {round}: {e:#}")),
            }
        }
    }
    progress::clear();
    Some(Outcome { group, what, place: place.name.clone(), entrants: scores })
}

fn run_once(entrant: &mut Entrant<'_>, place: &Place) -> Result<Sample> {
    let folder = place.fresh()?;
    let result = (entrant.run)(&folder);
    let sample =
        result.and_then(|sample| (entrant.check)(&place.behind(&folder)).context("wrong output").map(|()| sample));
    place.done_with(&folder)?;
    sample
}

/// Times `work`, on this thread and those it starts.
pub fn timed(work: impl FnOnce() -> Result<()>) -> Result<Sample> {
    let (start, cpu_before) = (Instant::now(), process::cpu_seconds());
    work()?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Sample { seconds, cpu_seconds: process::cpu_seconds() - cpu_before, peak_memory: None })
}
