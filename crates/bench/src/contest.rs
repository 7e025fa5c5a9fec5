//! Contests among peers: which of them a run plays, how often, and the line that says how far they are.

pub use manyfiles_measure::contest::{Check, Contest, Entrant, Goal, Outcome, Run, Sample, Score, timed};
use manyfiles_measure::contest::{Watch, run as play};

use crate::progress;

/// Rounds of an entrant that takes seconds: an interval of 95 % needs six.
pub const FEW: usize = 7;

/// How many rounds there are.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Counted rounds of a contest; one more before them warms up.
    pub rounds: usize,
    /// Fewer rounds and smaller sets than a claim needs.
    pub quick: bool,
    /// Contests whose work and place, as tables show them with a comma between, contain none of these are left out, if
    /// there are any.
    pub only: &'a [String],
}

impl Plan<'_> {
    /// The same, for work so short that one round tells little.
    pub fn times(self, factor: usize) -> Self {
        Plan { rounds: if self.quick { self.rounds } else { self.rounds * factor }, ..self }
    }
}

/// Lets everybody do the work in turn, round by round. `None` if the plan leaves this contest out.
pub fn run(contest: Contest<'_>, plan: Plan) -> Option<Outcome> {
    let what = format!("{}, {}", contest.what, contest.place.name());
    if !plan.only.is_empty() && !plan.only.iter().any(|only| what.contains(only)) {
        return None;
    }
    let line = Line { what: format!("{}: {what}", contest.group), rounds: plan.rounds };
    let outcome = play(contest, plan.rounds, &line);
    progress::clear();
    Some(outcome)
}

/// Says how far it is.
struct Line {
    what: String,
    rounds: usize,
}

impl Watch for Line {
    fn wants_round(&self, round: usize) -> bool {
        progress::show(&format!("{}: round {round} of {}", self.what, self.rounds));
        true
    }
}
